"""A mixed model that is released: a shared mean, a Gaussian prior of the heads about it, and whether sharing helps.
Ours.

    y = <x, theta_i> + noise,   theta_i ~ N(beta, P)

    C       <- ( sum_i X_i^T X_i / m_i + noise ) / n,  shrunk to a multiple of I (James and Stein);  W <- C^-1/2
    beta    <- the mean label, of a constant;  then three times, with H = C, small eigenvalues raised,
               g_i  <- H^-1/2 X_i^T (y_i - X_i beta) / m_i,  clipped in norm
               beta <- beta + c H^-1/2 ( sum_i g_i + noise ) / n,  c the part of the square that noise does not explain
    a_i,b_i <- ridge models of the residuals of the even and of the odd samples of i in W x, each over its length
    S       <- ( sum_i (a_i b_i^T + b_i a_i^T) / 2 + noise ) / n
    priors  <- shapes from S (eigenvalues raised, or shrunk), isotropic about beta, the constant alone, beta alone, and
               without a word of the server: isotropic about 0;  each at some strengths
    G       <- ( sum_i gains of i under all priors, by samples left out, clipped in norm + noise ) / n
    chosen  <- the best prior by G, if it is surely better than the best without the server; else the latter
    g       <- ( sum_i gains of the chosen one over the best own and over beta, clipped + noise ) / n
    answer  <- "heads" if both gains are surely positive, "mean" if that of beta over own data is, else "own data"
    each user:  theta_i <- posterior mean under the prior of the answer, on all samples;  where that is own data, means
               under it, under beta and under a weak isotropic prior about beta, weighed by the evidence of i's samples

Lengths of features, gradients and residuals are released first, as means of logs, and clips are set by them.
The gains of the second release are of priors that the first has chosen, so that no choice biases them.

>>> from privrep.run.shell import fit
>>> row, _ = fit("mixed_model", users=4000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["answer"], row["excess_risk"] < 0.1
(12, 0, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.parts.posterior import Mixture
from privrep.algorithms.parts.sharing import ANSWERS, candidates, released_answer
from privrep.algorithms.unit_steps import ridge_models, unit
from privrep.data.known import Known
from privrep.data.problem import Block, UserData
from privrep.data.subspace import orthonormalise
from privrep.fitting.method import FullRank, Iterate
from privrep.fitting.options import Declared, check_count, check_positive, option, unless
from privrep.laws.mixed_model_plan import STEP_CLIPS, STEP_NOISE, shares, two_spectra
from privrep.privacy.contributions import Rows, Scalars, SemidefiniteByNorm, SymmetricOuter
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release

LENGTH_WIDTH = 3.0
"""Clip of a user's log length about its guess."""
FEATURE_CLIP = 1.5
"""Of second moments, over their typical length."""
LEAST_EIGENVALUE = 0.05
"""Of C, over its mean eigenvalue."""
EDGE_PART = 0.5
"""Eigenvalues of H and W are at least this part of the norm of the noise in C."""


def mean_squares(rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of rows (B, m) with zeros where there is no sample, (B,).

    Parameters
    ----------
    rows : (B, m).
    counts : of samples, (B,).
    """
    return np.einsum("bm,bm->b", rows, rows) / np.maximum(counts, 1)


def residuals(block: Block, mean: np.ndarray) -> np.ndarray:
    """Of the shared mean, (B, m).

    Parameters
    ----------
    block : of users.
    mean : beta, (d,).
    """
    return (block.labels - block.features @ mean.astype(np.float32)).T.astype(np.float64)


def log_lengths(squares: np.ndarray, guess: float) -> Scalars:
    """Log of lengths given by their squares, (B,), over a guess; a user without any adds 0.

    Parameters
    ----------
    squares : of lengths, (B,).
    guess : a length, above 0.
    """
    return Scalars(np.log(np.where(squares > 0, squares, guess**2)) / 2 - math.log(guess))


@dataclass(frozen=True, eq=False)
class Moments:
    """What users add: X^T X / m, (d, d)."""

    def __call__(self, block: Block) -> SemidefiniteByNorm:
        rows = block.features.astype(np.float64) / np.sqrt(np.maximum(block.counts, 1))[:, None]
        return SemidefiniteByNorm(rows)


@dataclass(frozen=True, eq=False)
class MomentLengths:
    """What users add: log |X^T X / m|."""

    guess: float

    def __call__(self, block: Block) -> Scalars:
        return log_lengths(Moments()(block).norms ** 2, self.guess)


def mean_labels(block: Block) -> Scalars:
    """What users add: their mean label.

    Parameters
    ----------
    block : of users.
    """
    return Scalars(block.labels.sum(axis=0, dtype=np.float64) / np.maximum(block.counts, 1))


@dataclass(frozen=True, eq=False)
class Gradients:
    """What users add: root X^T (y - X beta) / m, (d,). root : H^-1/2."""

    mean: np.ndarray
    root: np.ndarray

    def rows(self, block: Block) -> np.ndarray:
        """(B, d).

        Parameters
        ----------
        block : of users.
        """
        left = residuals(block, self.mean) / np.maximum(block.counts, 1)[:, None]
        return np.einsum("mbd,bm->bd", block.features, left) @ self.root

    def __call__(self, block: Block) -> Rows:
        return Rows(self.rows(block))


@dataclass(frozen=True, eq=False)
class GradientLengths:
    """What users add: log |gradient|."""

    gradients: Gradients
    guess: float

    def __call__(self, block: Block) -> Scalars:
        return log_lengths((self.gradients.rows(block) ** 2).sum(axis=1), self.guess)


@dataclass(frozen=True, eq=False)
class ResidualLengths:
    """What users add: log of the root mean square residual."""

    mean: np.ndarray
    guess: float

    def __call__(self, block: Block) -> Scalars:
        return log_lengths(mean_squares(residuals(block, self.mean), block.counts), self.guess)


@dataclass(frozen=True, eq=False)
class ResidualHalves:
    """What users add: (a b^T + b a^T) / 2, (d, d), of norm at most 1. root : W."""

    mean: np.ndarray
    root: np.ndarray

    def __call__(self, block: Block) -> SymmetricOuter:
        left = residuals(block, self.mean).T.astype(np.float32)
        features = block.features @ self.root.astype(np.float32)
        halves = (slice(0, None, 2), slice(1, None, 2))
        models = (ridge_models(features[half], left[half], float(len(self.mean))) for half in halves)
        return SymmetricOuter(*map(unit, models))


@dataclass(frozen=True, eq=False)
class Features:
    """C, (d, d), as released and shrunk, and the norm of what noise is left in it."""

    moments: np.ndarray
    edge: float

    @classmethod
    def released(cls, users: UserData, lengths: Release, release: Release) -> Features:
        """From two releases.

        Parameters
        ----------
        users : the data.
        lengths : release handle of the typical length.
        release : release handle of the moments.
        """
        n, d = users.known.users, users.known.dim
        clip = FEATURE_CLIP * typical("mixed_feature_length", users, MomentLengths, float(d), lengths)
        found = release.sum("mixed_features", users, Moments(), clip=clip) / n
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
        """C^-1/2, eigenvalues raised to `least`.

        Parameters
        ----------
        least : eigenvalue.
        """
        values, vectors = np.linalg.eigh(self.moments)
        return (vectors / np.sqrt(np.maximum(values, least))) @ vectors.T


def typical(name: str, users: UserData, lengths: type, guess: float, release: Release, *about) -> float:
    """exp of the released mean over users of log lengths over a guess.

    Parameters
    ----------
    name : of the entry in the ledger.
    users : the data.
    lengths : class of what users add, made of `about` and the guess.
    guess : a length, above 0.
    release : release handle.
    *about : first arguments of `lengths`.
    """
    found = release.sum(name, users, lengths(*about, guess), clip=LENGTH_WIDTH) / users.known.users
    return guess * math.exp(min(max(found, -LENGTH_WIDTH), LENGTH_WIDTH))


@dataclass(frozen=True, eq=False)
class SharedHeads:
    """Users' models, (B, d). mixture : of the answer. mean : beta, (d,), by which others are predicted."""

    mixture: Mixture
    mean: np.ndarray

    def __call__(self, block: Block) -> np.ndarray:
        return self.mixture.heads(block)


@dataclass(frozen=True)
class MixedModel:
    """The method.

    Attributes
    ----------
    label_sd : public guess of the root mean square label.
    rank : of the released shapes; None for all d.
    constant : the first feature is the constant 1, and labels lie in [-1, 1].
    """

    label_sd: float
    rank: int | None = None
    constant: bool = False

    cost = GAUSSIAN_COST
    """All releases together, since their shares of mu^2 add up to one."""
    theorem = None

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        of_length, of_features, of_constant, *of_steps, of_level, of_choice, of_answer, of_shape = release.split(
            *shares(self.constant)
        )
        features = Features.released(users, of_length, of_features)
        mean = self.mean(users, features, of_constant, of_steps)
        level = typical("mixed_level", users, ResidualLengths, self.label_sd, of_level, mean)
        shapes = self.shapes(users, mean, features.inverse_root(), of_shape)
        found = candidates(features.moments, mean, shapes, self.constant)
        answer = released_answer(users, found, level, of_choice, of_answer)
        subspace = None if self.rank is None else orthonormalise(shapes[0])
        log = {
            "answer": ANSWERS.index(answer.answer),
            "gain_over_own": answer.over_own,
            "gain_over_mean": answer.over_mean,
            "gain_sd": answer.noise_sd,
        }
        yield Iterate(subspace, FullRank(SharedHeads(answer.heads, mean)), log)

    def mean(self, users: UserData, features: Features, constant: Release, steps: list[Release]) -> np.ndarray:
        """beta, (d,).

        Parameters
        ----------
        users : the data.
        features : as released.
        constant : release handle of the mean label.
        steps : release handles of lengths and steps in turn.
        """
        n, d = users.known.users, users.known.dim
        mean = np.zeros(d)
        if self.constant:
            mean[0] = min(max(constant.sum("mixed_constant", users, mean_labels, clip=1.0) / n, -1.0), 1.0)
        root, length = features.inverse_root(EDGE_PART * features.edge), self.label_sd
        for lengths, release in zip(steps[::2], steps[1::2], strict=True):
            gradients = Gradients(mean, root)
            length = typical("mixed_step_length", users, GradientLengths, length, lengths, gradients)
            noise = 2 * release.noise_multiplier * math.sqrt(d) / n
            clip = length * (min(max(STEP_NOISE / noise, STEP_CLIPS[0]), STEP_CLIPS[1]) if noise else STEP_CLIPS[1])
            step = release.sum("mixed_step", users, gradients, clip=clip) / n
            energy = step @ step
            kept = max(0.0, 1 - (noise * clip) ** 2 / energy) if energy else 0.0
            mean = mean + root @ (kept * step)
        return mean

    def shapes(self, users: UserData, mean: np.ndarray, root: np.ndarray, release: Release) -> list[np.ndarray]:
        """Roots of P, (d, p), eigenvalues of S raised and shrunk.

        Parameters
        ----------
        users : the data.
        mean : beta, (d,).
        root : W, (d, d).
        release : release handle.
        """
        n, d = users.known.users, users.known.dim
        values, vectors = np.linalg.eigh(release.sum("mixed_shape", users, ResidualHalves(mean, root), clip=1.0) / n)
        edge = 2 * release.noise_multiplier / n * math.sqrt(2 * d)
        kept = slice(d - (self.rank or d), None)
        return [root @ (vectors * np.sqrt(found))[:, kept] for found in two_spectra(values, edge)]


@dataclass(frozen=True)
class MixedModelOptions(Declared):
    """Options of the mixed model."""

    label_guess: float = option("public guess of the root mean square label, over the true one", check_positive, 1.0)
    released_rank: int | None = option(
        "rank of the released shapes of the prior; all of d without one", unless(None, check_count), None
    )
    numbers: ClassVar = {
        "answer": "whether sharing helps: 0 heads about the shared mean do, 1 the shared mean is enough, 2 it does not",
        "gain_over_own": "released gain of the best heads over users alone: mean log ratio of squared errors",
        "gain_over_mean": "released gain of the best heads over the shared mean",
        "gain_sd": "standard deviation of the noise in a gain",
    }

    def build(self, known: Known) -> MixedModel:
        """The method for a problem.

        Parameters
        ----------
        known : what is public.

        Raises
        ------
        ValueError
            If the released rank exceeds the dimension.
        """
        if self.released_rank is not None and self.released_rank > known.dim:
            raise ValueError(f"released_rank is {self.released_rank}; it must not exceed dim, which is {known.dim}")
        power = known.rank * known.head_variance + known.label_noise_sd**2
        return MixedModel(self.label_guess * math.sqrt(power), self.released_rank)
