"""The smallest number of users at which private FedRep reaches a target risk."""

from privrep.methods import private_fedrep
from replication.experiments.user_search import searching

SmallestUsersPrivateFedrepOptions = searching(private_fedrep.PrivateFedrepOptions)
