"""How alike clients' updates are: what averaging keeps of them, and in how many directions they lie.
Exact, for analysis, not released."""

from __future__ import annotations

import numpy as np


def in_common(updates: np.ndarray) -> float:
    """Mean inner product of two clients' updates over their mean square length; 1 if all are the same, 0 if they have
    nothing in common.

    updates : (n, p), n at least 2.
    """
    n = len(updates)
    squares = (updates**2).sum()
    return float(((updates.sum(axis=0) ** 2).sum() - squares) / ((n - 1) * squares))


def effective_rank(updates: np.ndarray) -> float:
    """(sum of eigenvalues)^2 / sum of their squares, of the Gram matrix of updates (n, p): between 1 and n."""
    gram = updates @ updates.T
    return float(np.trace(gram) ** 2 / (gram**2).sum())
