"""Folds that split each user's rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator

from privrep.options import check_whole, integer
from privrep.users.identity import people


class RowsWithinUsers(BaseCrossValidator):
    """Folds that each test about 1 / n_splits of the rows of every user, which measures the users' heads. GroupKFold
    tests users who were not in the fit, which measures the shared mean.

    Parameters
    ----------
    n_splits : folds, at least 2.
    random_state : seed of the order of a user's rows; None keeps their order.
    """

    def __init__(self, n_splits: int = 5, random_state: int | None = None):
        integer(2)("n_splits", n_splits)
        if random_state is not None:
            check_whole("random_state", random_state)
        self.n_splits = n_splits
        self.random_state = random_state

    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def _iter_test_indices(self, X=None, y=None, groups=None) -> Iterator[np.ndarray]:
        if groups is None:
            raise ValueError("groups is None; it must give the user of each row, as `users` of fit does")
        number = pd.factorize(people(groups, "groups"), sort=True)[0]
        turn = np.arange(len(number))
        if self.random_state is not None:
            turn = np.random.default_rng(self.random_state).permutation(len(number))
        order = np.lexsort((turn, number))
        position = np.empty(len(number), int)
        position[order] = np.arange(len(number)) - np.searchsorted(number[order], number[order])
        # Users begin at different folds, so that those with few rows are not all tested in the first.
        fold = (position + number) % self.n_splits
        yield from (np.flatnonzero(fold == index) for index in range(self.n_splits))
