"""The smallest number of users at which private alternating minimisation reaches a target risk, see `privrep.searches.user_search`."""

from privrep.algorithms import altmin
from privrep.searches.user_search import searching

Options = searching(altmin.Options, fewest=lambda options: options.batches)
