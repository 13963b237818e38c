"""The smallest number of users at which private FedRep reaches a target risk."""

from privrep.methods import private_fedrep
from replication.experiments.smallest_users import searching

smallest_users_private_fedrep = searching(private_fedrep.PrivateFedrepOptions)
