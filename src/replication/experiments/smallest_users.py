"""The smallest number of users at which private alternating minimisation reaches a target risk."""

from privrep.methods import altmin
from replication.experiments.user_search import searching

SmallestUsersOptions = searching(altmin.AltminOptions, fewest=lambda options: options.batches)
