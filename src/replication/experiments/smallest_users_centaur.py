"""The smallest number of users at which CENTAUR reaches a target risk."""

from privrep.methods import centaur
from replication.experiments.smallest_users import searching

smallest_users_centaur = searching(centaur.CentaurOptions)
