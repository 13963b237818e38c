"""The smallest number of users at which CENTAUR reaches a target risk."""

from privrep.methods import centaur
from replication.experiments.user_search import searching

SmallestUsersCentaurOptions = searching(centaur.CentaurOptions)
