"""Gaussian prior of all d coordinates of the heads from one release: the counterpart of unit steps for heads that lie
in no subspace (this project).

    h, s        guesses of a model's root mean square coordinate and of the label noise, public
                h is learned as in unit steps, labels <- y / h
    a_i, b_i    <- ridge models of the even and of the odd samples of i, each over its length
    S           <- ( sum_i (a_i b_i^T + b_i a_i^T)/2 + noise ) / n
    P           <- S with eigenvalues raised to at least a quarter of the norm 2 sqrt(2d) Delta of the noise in S,
                and to a thousandth of the largest;  trace d
    each user:  theta_i <- P X_i^T (X_i P X_i^T + s^2 I)^-1 y_i        posterior mean under N(0, P), on all samples

The label noise of the two halves is independent, so it adds no term to the mean of S. |S_i| <= 1, and users with
opposite S_i attain the sensitivity 2.

>>> from privrep.simulate import fit
>>> row, _ = fit("full_prior", users=2000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["excess_risk"] < 0.1
(2, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import FullRank, Iterate
from privrep.methods.unit_steps.method import LEAST_NOISE, HyperparameterOptions, half_products, learned_scale
from privrep.methods.unit_steps.schedule import SCALE
from privrep.privacy.contributions import SymmetricOuter
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known

RAISED, LEAST_EIGENVALUE = 0.25, 1e-3
"""Least eigenvalue over the noise's norm, and over the largest eigenvalue: a variance near 0 would rule out models."""
TINY = 1e-12  # least eigenvalue where nothing was learned, as from users with one sample each


def halves(penalty: float, block: Block) -> SymmetricOuter:
    """Contribution of users: (a b^T + b a^T)/2, (d, d), of norm at most 1."""
    return half_products(block.features, block.labels, penalty)


@dataclass(frozen=True, eq=False)
class PosteriorMeans:
    """Posterior means of the models of a block's users under N(0, prior), (B, d)."""

    prior: np.ndarray
    noise2: float

    def __call__(self, block: Block) -> np.ndarray:
        features = block.features.transpose(1, 0, 2).astype(np.float64)
        known = features @ self.prior
        gram = known @ features.transpose(0, 2, 1)
        # As in `ridge_models`: one singular system would stop the solver for all users.
        own = self.noise2 + 1e-6 * np.trace(gram, axis1=1, axis2=2)
        system = gram + own[:, None, None] * np.eye(features.shape[1])
        weights = np.linalg.solve(system, block.labels.T[:, :, None].astype(np.float64))
        return np.einsum("bmd,bm->bd", known, weights[:, :, 0])


@dataclass(frozen=True)
class FullPrior:
    """A Gaussian prior of all coordinates of the heads, released once."""

    head_scale: float  # guess of h, in units of the labels
    noise: float  # guess of s, in units of the labels

    cost = GAUSSIAN_COST
    theorem = None

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        d = users.known.dim
        of_scale, handle = release.split(SCALE, 1 - SCALE)
        scale = learned_scale(users, of_scale, d, self.head_scale, self.noise)
        noise2 = max(self.noise / scale, LEAST_NOISE) ** 2
        released = handle.sum("half_products", users, partial(halves, noise2), clip=1.0)
        values, vectors = np.linalg.eigh(released.value)
        noise = released.sd * math.sqrt(2 * d)
        values = np.maximum(values, max(RAISED * noise, LEAST_EIGENVALUE * np.abs(values).max(), TINY))
        values *= d / values.sum()
        prior = scale**2 * (vectors * values) @ vectors.T
        models = PosteriorMeans(prior, noise2 * scale**2)
        yield Iterate(None, FullRank(models), {"learned_scale": scale})


@dataclass(frozen=True)
class FullPriorOptions(HyperparameterOptions):
    """Options of the full prior: public hyperparameters."""

    numbers: ClassVar = {"learned_scale": "released root mean square coordinate of a head"}

    def build(self, known: Known) -> FullPrior:
        """Return the method; a model's coordinate has k/d times the mean square of a head's coordinate."""
        scale = self.scale_guess * math.sqrt(known.head_variance * known.rank / known.dim)
        return FullPrior(scale, self.noise_guess * known.label_noise_sd)
