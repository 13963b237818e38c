"""The smallest number of users at which unit steps reach a target risk."""

from privrep.algorithms import unit_steps
from privrep.searches.user_search import searching

SmallestUsersUnitStepsOptions = searching(unit_steps.UnitStepsOptions)
