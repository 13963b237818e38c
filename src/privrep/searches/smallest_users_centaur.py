"""The smallest number of users at which CENTAUR reaches a target risk."""

from privrep.algorithms import centaur
from privrep.searches.user_search import searching

SmallestUsersCentaurOptions = searching(centaur.CentaurOptions)
