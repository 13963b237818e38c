"""Metropolis chains on the subspaces of R^d, for laws proportional to exp(-score(U) / scale) against the uniform law.

    U' <- Q factor of U + s Z,   Z (d, k) standard normal
    accept with probability min(1, exp((score(U) - score(U')) / scale))

The proposal is symmetric: its law depends on the angles between the subspaces alone, since Z has the same law after
rotations of R^d and of the basis. Several chains walk at once. In the first `burn_in` steps the scale falls
geometrically to its value from one at which the chain moves freely, and each chain sets its step s so that a share
`WANTED` is accepted; afterwards both are fixed.

After finitely many steps the law of a chain is only near its limit, so that a state is epsilon-DP only approximately.
No useful bound on the distance is known here; where the subspaces can be listed it can be computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.users.subspace import random_subspaces

WANTED = 0.3  # share of proposals accepted, between the best for one and for many dimensions (Gelman et al. 1996)
HOTTEST, LOOKED_AT = 0.3, 8  # first scale over the range of scores of LOOKED_AT uniform subspaces
GAIN = 0.6  # factor on changes of a chain's log step size, over the square root of the iteration's number


@dataclass(frozen=True)
class Walk:
    """States and scores of chains after the burn-in."""

    last: np.ndarray  # (c, d, k), the final states
    scores: np.ndarray  # (steps, c), after each step
    kept: np.ndarray  # (r, c, d, k), states evenly spaced in time
    accepted: np.ndarray  # share of proposals accepted, (c,)


def walk(
    score: Callable[[np.ndarray], np.ndarray],
    starts: np.ndarray,
    scale: float,
    burn_in: int,
    steps: int,
    rng: np.random.Generator,
    keep: int = 1,
) -> Walk:
    """Run chains from the given starts, (c, d, k), and keep `keep` states of each after the burn-in."""
    bases, scores = starts, score(starts)
    chains, dim, rank = starts.shape
    size = np.full(chains, 1 / math.sqrt(dim * rank))
    hot = max(HOTTEST * float(np.ptp(score(random_subspaces(LOOKED_AT, dim, rank, rng)))), scale)
    trace, kept, moved = np.empty((steps, chains)), [], np.zeros(chains)
    for t in range(-burn_in, steps):
        cooling = max(0.0, -t / burn_in * 2 - 1) if burn_in else 0.0  # 1 to 0 over the first half of the burn-in
        proposals = np.linalg.qr(bases + size[:, None, None] * rng.standard_normal(starts.shape))[0]
        proposed = score(proposals)
        gain = (scores - proposed) / (scale * (hot / scale) ** cooling)
        yes = np.log(rng.random(chains)) < gain
        bases, scores = np.where(yes[:, None, None], proposals, bases), np.where(yes, proposed, scores)
        if t < 0:
            chance = np.exp(np.minimum(gain, 0))
            size = np.minimum(size * np.exp(GAIN / math.sqrt(t + burn_in + 1) * (chance - WANTED) / WANTED), 1.0)
        else:
            trace[t], moved = scores, moved + yes
            if (t + 1) * keep // steps > t * keep // steps:
                kept.append(bases)
    return Walk(bases, trace, np.array(kept), moved / max(steps, 1))
