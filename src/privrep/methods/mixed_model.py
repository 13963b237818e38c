"""A differentially private linear mixed model (this project): a shared mean, a Gaussian prior of the heads about it,
and whether sharing helps.

    y = <x, theta_i> + noise,   theta_i ~ N(beta, P)

    C       <- ( sum_i X_i^T X_i / m_i + noise ) / n,  shrunk to a multiple of I (James and Stein);  W <- C^-1/2
    beta    <- the mean label, of a constant;  then three times, with H = C, small eigenvalues raised,
               g_i  <- H^-1/2 X_i^T (y_i - X_i beta) / m_i,  clipped in norm
               beta <- beta + c H^-1/2 ( sum_i g_i + noise ) / n,  c the part of the square that noise does not explain
    a_i,b_i <- ridge models of the residuals of the even and of the odd samples of i in W x, each over its length
    S       <- ( sum_i (a_i b_i^T + b_i a_i^T) / 2 + noise ) / n
    priors  <- shapes from S (eigenvalues raised, or shrunk), isotropic about beta, the constant alone, beta alone, and
               from public guesses alone: isotropic about 0;  each at some strengths
    G       <- ( sum_i gains of i under all priors, by samples left out, clipped in norm + noise ) / n
    chosen  <- the best prior by G, if it is surely better than the best without the server; else the latter
    g       <- ( sum_i gains of the chosen one over the best own and over beta, clipped + noise ) / n
    answer  <- "heads" if both gains are surely positive, "mean" if that of beta over own data is, else "own data"
    each user:  theta_i <- posterior mean under the prior of the answer, on all samples;  where that is own data, means
               under it, under beta and under a weak isotropic prior about beta, weighed by the evidence of i's samples

Lengths of features, gradients and residuals are released first, as means of logs, and clips are set by them.
The gains of the second release are of priors that the first has chosen, so that no choice biases them.

>>> from privrep.simulate import fit
>>> row, _ = fit("mixed_model", users=4000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["answer"], row["excess_risk"] < 0.1
(12, 0, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import FullRank, Iterate
from privrep.methods.steps.mixed_model_plan import STEP_CLIPS, STEP_NOISE, shares, two_spectra
from privrep.methods.steps.posterior import Mixture
from privrep.methods.steps.sharing import candidates, released_answer
from privrep.methods.unit_steps import half_products
from privrep.options import Declared
from privrep.privacy.contributions import Rows, Scalars, SemidefiniteByNorm, SymmetricOuter
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.known import Known
from privrep.users.problem import Block, UserData
from privrep.users.subspace import orthonormalise

LENGTH_WIDTH = 3.0  # clip of a user's log length about its guess
FEATURE_CLIP = 1.5  # of second moments, over their typical length
LEAST_EIGENVALUE = 0.05  # of C, over its mean eigenvalue
EDGE_PART = 0.5  # eigenvalues of H and W are at least this part of the norm of the noise in C


def residuals(block: Block, mean: np.ndarray) -> np.ndarray:
    """Return the residuals of the shared mean, (B, m)."""
    return (block.labels - block.features @ mean.astype(np.float32)).T.astype(np.float64)


def mean_squares(mean: np.ndarray, block: Block) -> np.ndarray:
    """Return mean squares of the residuals of the shared mean, (B,)."""
    left = residuals(block, mean)
    return np.einsum("bm,bm->b", left, left) / np.maximum(block.counts, 1)


def log_lengths(squares: Callable[[Block], np.ndarray], guess: float, block: Block) -> Scalars:
    """Contribution of users: logs of lengths, given by their squares, over a guess; a user of length 0 adds 0."""
    found = squares(block)
    return Scalars(np.log(np.where(found > 0, found, guess**2)) / 2 - math.log(guess))


def moments(block: Block) -> SemidefiniteByNorm:
    """Contribution of users: X^T X / m, (d, d)."""
    return SemidefiniteByNorm(block.features.astype(np.float64) / np.sqrt(np.maximum(block.counts, 1))[:, None])


def moment_squares(block: Block) -> np.ndarray:
    """Return |X^T X / m|^2, (B,)."""
    return moments(block).norms ** 2


def mean_labels(block: Block) -> Scalars:
    """Contribution of users: their mean label."""
    return Scalars(block.labels.sum(axis=0, dtype=np.float64) / np.maximum(block.counts, 1))


@dataclass(frozen=True, eq=False)
class Gradients:
    """Contribution of users: root X^T (y - X beta) / m, (d,)."""

    mean: np.ndarray  # beta, (d,)
    root: np.ndarray  # H^-1/2

    def __call__(self, block: Block) -> Rows:
        left = residuals(block, self.mean) / np.maximum(block.counts, 1)[:, None]
        return Rows(np.einsum("mbd,bm->bd", block.features, left) @ self.root)

    def squares(self, block: Block) -> np.ndarray:
        return (self(block).values ** 2).sum(axis=1)


def residual_halves(mean: np.ndarray, root: np.ndarray, block: Block) -> SymmetricOuter:
    """Contribution of users: (a b^T + b a^T) / 2, (d, d), of norm at most 1, from residuals and features W x."""
    left = residuals(block, mean).T.astype(np.float32)
    return half_products(block.features @ root.astype(np.float32), left, float(len(mean)))


@dataclass(frozen=True, eq=False)
class Features:
    """C, (d, d), as released and shrunk, and the norm of the noise that is left in it."""

    moments: np.ndarray
    edge: float

    @classmethod
    def released(cls, users: UserData, lengths: Release, release: Release) -> Features:
        """Estimate C from two releases."""
        n, d = users.known.users, users.known.dim
        clip = FEATURE_CLIP * typical("mixed_feature_length", users, moment_squares, float(d), lengths)
        found = release.sum("mixed_features", users, moments, clip=clip) / n
        noise_sd = math.sqrt(2) * clip * release.noise_multiplier / n
        level = max(np.trace(found) / d, LEAST_EIGENVALUE * clip / d)
        differs = found - np.trace(found) / d * np.eye(d)
        energy, noise = (differs**2).sum(), noise_sd**2 * d * (d + 1) / 2
        kept = 1 - noise / energy if energy > noise else 0.0
        edge = noise_sd * math.sqrt(2 * d)
        values, vectors = np.linalg.eigh(level * np.eye(d) + kept * differs)
        values = np.maximum(values, max(LEAST_EIGENVALUE * level, EDGE_PART * edge * kept))
        return cls((vectors * values) @ vectors.T, edge)

    def inverse_root(self, least: float = 0.0) -> np.ndarray:
        """Return C^-1/2, eigenvalues raised to `least`."""
        values, vectors = np.linalg.eigh(self.moments)
        return (vectors / np.sqrt(np.maximum(values, least))) @ vectors.T


def typical(name: str, users: UserData, squares: Callable, guess: float, release: Release) -> float:
    """Release the typical length: the guess times exp of the mean over users of log lengths over it."""
    found = release.sum(name, users, partial(log_lengths, squares, guess), clip=LENGTH_WIDTH) / users.known.users
    return guess * math.exp(min(max(found, -LENGTH_WIDTH), LENGTH_WIDTH))


@dataclass(frozen=True, eq=False)
class SharedHeads:
    """Models of users, (B, d), and the shared mean by which others are predicted."""

    mixture: Mixture
    mean: np.ndarray

    def __call__(self, block: Block) -> np.ndarray:
        return self.mixture.heads(block)


@dataclass(frozen=True)
class MixedModel:
    """The released mixed model."""

    label_sd: float  # public guess of the root mean square label
    rank: int | None = None  # of the released shapes; None for all d
    constant: bool = False  # whether the first feature is the constant 1, and labels lie in [-1, 1]

    cost = GAUSSIAN_COST
    """All releases together, since their shares of mu^2 add up to one."""
    theorem = None

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        handles = release.split(*shares(self.constant))
        of_length, of_features, of_constant, *of_steps, of_level, of_choice, of_answer, of_shape = handles
        features = Features.released(users, of_length, of_features)
        mean = self.mean(users, features, of_constant, of_steps)
        level = typical("mixed_level", users, partial(mean_squares, mean), self.label_sd, of_level)
        shapes = self.shapes(users, mean, features.inverse_root(), of_shape)
        found = candidates(features.moments, mean, shapes, self.constant)
        heads, log = released_answer(users, found, level, of_choice, of_answer)
        subspace = None if self.rank is None else orthonormalise(shapes[0])
        yield Iterate(subspace, FullRank(SharedHeads(heads, mean)), log)

    def mean(self, users: UserData, features: Features, constant: Release, steps: list[Release]) -> np.ndarray:
        """Release beta, (d,)."""
        n, d = users.known.users, users.known.dim
        mean = np.zeros(d)
        if self.constant:
            mean[0] = min(max(constant.sum("mixed_constant", users, mean_labels, clip=1.0) / n, -1.0), 1.0)
        root, length = features.inverse_root(EDGE_PART * features.edge), self.label_sd
        for lengths, release in zip(steps[::2], steps[1::2], strict=True):
            gradients = Gradients(mean, root)
            length = typical("mixed_step_length", users, gradients.squares, length, lengths)
            noise = 2 * release.noise_multiplier * math.sqrt(d) / n
            clip = length * (min(max(STEP_NOISE / noise, STEP_CLIPS[0]), STEP_CLIPS[1]) if noise else STEP_CLIPS[1])
            step = release.sum("mixed_step", users, gradients, clip=clip) / n
            energy = step @ step
            kept = max(0.0, 1 - (noise * clip) ** 2 / energy) if energy else 0.0
            mean = mean + root @ (kept * step)
        return mean

    def shapes(self, users: UserData, mean: np.ndarray, root: np.ndarray, release: Release) -> list[np.ndarray]:
        """Release roots of P, (d, rank), from S with eigenvalues raised and shrunk."""
        n, d = users.known.users, users.known.dim
        found = release.sum("mixed_shape", users, partial(residual_halves, mean, root), clip=1.0) / n
        values, vectors = np.linalg.eigh(found)
        edge = 2 * release.noise_multiplier / n * math.sqrt(2 * d)
        kept = slice(d - (self.rank or d), None)
        return [root @ (vectors * np.sqrt(found))[:, kept] for found in two_spectra(values, edge)]


@dataclass(frozen=True)
class MixedModelOptions(Declared):
    """The mixed model has no options: the label's root mean square is a public guess, here the true one."""

    numbers: ClassVar = {
        "answer": "whether sharing helps: 0 heads about the shared mean do, 1 the shared mean is enough, 2 it does not",
        "gain_over_own": "released gain of the best heads over users alone: mean log ratio of squared errors",
        "gain_over_mean": "released gain of the best heads over the shared mean",
        "gain_sd": "standard deviation of the noise in a gain",
    }

    def build(self, known: Known) -> MixedModel:
        return MixedModel(math.sqrt(known.rank * known.head_variance + known.label_noise_sd**2))
