"""The smallest number of users at which private FedRep reaches a target risk."""

from privrep.algorithms import private_fedrep
from privrep.searches.user_search import searching

SmallestUsersPrivateFedrepOptions = searching(private_fedrep.PrivateFedrepOptions)
