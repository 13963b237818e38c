"""A Gaussian prior of all d coordinates of the heads, released once: unit steps for heads that lie in no subspace. Ours.

    h, s        public guesses of a model's root mean square coordinate and of the label noise;   h is learned as in unit steps, labels <- y / h
    a_i, b_i    <- ridge models of the even and of the odd samples of i, each over its length
    S           <- ( sum_i (a_i b_i^T + b_i a_i^T)/2 + noise ) / n
    P           <- S with eigenvalues raised to a quarter of the norm 2 sqrt(2d) Delta of the noise in S, and to a thousandth of the largest;  trace d
    each user:  theta_i <- P X_i^T (X_i P X_i^T + s^2 I)^-1 y_i                                posterior mean under N(0, P), on all samples

The noise of two halves is independent, so that S has that of the heads alone. |S_i| <= 1, and users with opposite S_i attain the sensitivity 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.method import FullRank, Iterate
from privrep.algorithms.unit_steps import LEAST_NOISE, Guesses, learned_scale, ridge_models, unit
from privrep.data.passes import total
from privrep.data.problem import Block, Problem, UserData
from privrep.laws.unit_steps import SCALE
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release

RAISED, LEAST_EIGENVALUE = 0.25, 1e-3
"""Eigenvalues are raised to this part of the noise's norm, since a prior that noise has made too small forbids what is there; and to this part of
the largest."""
TINY = 1e-12
"""The least eigenvalue where nothing was learned at all, as from users with one sample: all are then the same."""


def half_products(block: Block, penalty: float) -> np.ndarray:
    """Sum over the users of a block of (a b^T + b a^T)/2, (d, d); of norm at most 1 for each user."""
    halves = (slice(0, None, 2), slice(1, None, 2))
    first, second = (unit(ridge_models(block.features[half], block.labels[half], penalty)) for half in halves)
    product = first.T @ second
    return (product + product.T) / 2


def posterior_means(block: Block, prior: np.ndarray, noise2: float) -> np.ndarray:
    """Models of the users of a block under the prior N(0, prior), (B, d)."""
    features = block.features.transpose(1, 0, 2).astype(np.float64)
    known = features @ prior
    gram = known @ features.transpose(0, 2, 1)
    # As in `ridge_models`: a user whose system is not regular would stop them all.
    own = noise2 + 1e-6 * np.trace(gram, axis1=1, axis2=2)
    system = gram + own[:, None, None] * np.eye(features.shape[1])
    weights = np.linalg.solve(system, block.labels.T[:, :, None].astype(np.float64))
    return np.einsum("bmd,bm->bd", known, weights[:, :, 0])


@dataclass(frozen=True)
class FullPrior:
    """The method. head_scale, noise : public guesses of h and s, in units of the labels."""

    head_scale: float
    noise: float

    cost = GAUSSIAN_COST
    theorem = None

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        d = users.problem.dim
        scale = learned_scale(Guesses(d, self.head_scale, self.noise), users, release.share(SCALE))
        noise2 = max(self.noise / scale, LEAST_NOISE) ** 2
        products = total(users, lambda block: half_products(block, noise2))
        door = release.share(1 - SCALE)
        values, vectors = np.linalg.eigh(door.isotropic("half_products", products, sensitivity=2.0))
        noise = 2 * door.noise_multiplier * math.sqrt(2 * d)
        values = np.maximum(values, max(RAISED * noise, LEAST_EIGENVALUE * np.abs(values).max(), TINY))
        values *= d / values.sum()
        prior = scale**2 * (vectors * values) @ vectors.T
        yield Iterate(
            None,
            FullRank(lambda block: posterior_means(block, prior, noise2 * scale**2)),
            {"learned_scale": scale},
        )


@dataclass(frozen=True)
class Options:
    """Options: `scale_guess`, `noise_guess`, as in `privrep.algorithms.unit_steps`."""

    scale_guess: float = 1.0
    noise_guess: float = 1.0
    scores = ()
    columns: ClassVar = Guesses.columns | {
        "learned_scale": "released root mean square coordinate of a head",
    }

    def __post_init__(self):
        Guesses.check(self.scale_guess, self.noise_guess)

    def build(self, problem: Problem) -> FullPrior:
        """The method for a problem. A model has d coordinates of mean square k/d that of a head."""
        scale = self.scale_guess * math.sqrt((problem.head_scales**2).mean() * problem.rank / problem.dim)
        return FullPrior(scale, self.noise_guess * problem.label_noise_sd)
