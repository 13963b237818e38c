"""The smallest number of users at which unit steps reach a target risk."""

from privrep.methods.unit_steps import method as unit_steps
from replication.experiments.smallest_users import searching

smallest_users_unit_steps = searching(unit_steps.UnitStepsOptions)
