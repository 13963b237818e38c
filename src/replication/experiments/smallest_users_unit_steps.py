"""The smallest number of users at which unit steps reach a target risk."""

from privrep.methods import unit_steps
from replication.experiments.user_search import searching

SmallestUsersUnitStepsOptions = searching(unit_steps.UnitStepsOptions)
