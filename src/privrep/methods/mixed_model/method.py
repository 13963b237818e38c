"""A differentially private linear mixed model, mixed with each user's own data (this project).

    y = <x, theta_i> + noise,   theta_i ~ N(beta, P)

    v       <- (mean over users of the root mean square error on left-out samples)^2, or the mean square if larger
    beta    <- 0;  then in each step, with g_i the change of i's ridge model from beta, over R, clipped in norm
               beta <- beta + R rate ( sum_i g_i + noise ) / n
    S       <- ( sum_i (a_i b_i^T + b_i a_i^T) / 2 + noise ) / n,  with a_i, b_i ridge models of the residuals of the
               even and of the odd samples of i, each over its length;  only where its noise is small
    priors  <- mean 0 (own data);  mean beta, isotropic or for the constant alone;  beta alone;  mean beta with
               covariance from S, eigenvalues raised or shrunk;  each at several strengths
    kinds   <- per kind of prior, heads weighted by ( sum_i gains in squared error on left-out samples + noise )
    w       <- the best convex weights of the kinds, by ( sum_i products of left-out errors + noise );  one is own data
    gain    <- ( sum_i squared errors of own data less those of the mixture + noise ) / users of two rows or more,
               and its interval
    map     <- only for labels of two values: a monotone map of predictions to mean labels (calibration)
    each user:  theta_i <- the mixture's head, linear in the labels, from all samples

All users have the same weights, whatever their own samples are. Where noise is large, level and length shrink towards
public guesses, and own data and the kind with mean beta get about half of the weight each.

>>> from privrep.simulate import fit
>>> row, _ = fit("mixed_model", users=4000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["answer"], row["excess_risk"] < 0.1
(22, 0, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from privrep.methods.mixed_model import plan
from privrep.methods.mixed_model.calibration import BINARY, GAUSSIAN, Calibration, calibration
from privrep.methods.mixed_model.stacking import (
    ANSWERS,
    Candidates,
    errors,
    isotropic,
    mean_over_samples,
    prior,
    released_mixture,
)
from privrep.methods.running.method import FullRank, Iterate
from privrep.methods.steps.posterior import Mixture, by_size, spectra
from privrep.methods.unit_steps.method import half_products
from privrep.options import Declared
from privrep.privacy.contributions import Rows, Scalars, SymmetricOuter
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known
from privrep.users.subspace import orthonormalise


def own_errors(root: np.ndarray, unit: float, block: Block) -> np.ndarray:
    """Contribution of users: root mean square error on left-out samples, its square, and 1, or three zeros for users
    with one sample or none; each less 1/2."""
    left = errors([prior(np.zeros(len(root)), root, [plan.LEVEL_STRENGTH])], block)[0, 0]
    size = np.minimum(np.sqrt(mean_over_samples((left / unit) ** 2, block)), 1.0)
    counts = block.counts > 1
    return np.array([np.where(counts, size, 0.0), np.where(counts, size**2, 0.0), counts]).T - 0.5


def changes(mean: np.ndarray, root: np.ndarray, block: Block) -> np.ndarray:
    """Contribution of users: their ridge model less the shared mean, in coordinates of the root, (d,)."""
    centred = prior(mean, root, [plan.MEAN_STRENGTH])
    return next(spectra([centred], block)).changes(centred.strengths, centred.weights)


def log_lengths(root: np.ndarray, guess: float, block: Block) -> Scalars:
    """Contribution of users: log length of `changes` from mean 0, over a guess; a user of length 0 adds 0."""
    lengths = by_size(changes, np.zeros(len(root)), root, block).norms
    return Scalars(np.log(np.where(lengths > 0, lengths, guess) / guess))


def residual_halves(mean: np.ndarray, varies: np.ndarray, block: Block) -> SymmetricOuter:
    """Contribution of users: `half_products` of residuals from a mean, in the varying coordinates, norm at most 1."""
    left = (block.labels - block.features @ mean.astype(np.float32)).astype(np.float32)
    return half_products(block.features[:, :, varies], left, float(varies.sum()))


@dataclass(frozen=True, eq=False)
class SharedHeads:
    """Models of users, (B, d), their models from own data alone, and the shared mean, used for other users."""

    mixture: Mixture
    own: Mixture
    mean: np.ndarray
    mean_noise: np.ndarray  # standard deviations, (d,), an upper bound: steps may shrink the noise of earlier steps
    mean_reach: float  # largest distance that the steps can move the mean, over `mean_noise`
    level_noise: float  # standard deviation
    error: float  # typical squared error of the mixture on a left-out sample
    calibration: Calibration | None = None  # for labels of two values

    def __call__(self, block: Block) -> np.ndarray:
        return by_size(self.mixture.heads, block).values


@dataclass(frozen=True)
class MixedModel:
    """The released mixed model."""

    label_sd: float  # public guess of the root mean square label
    rank: int | None = None  # of the released shapes; None for all d
    constant: bool = False  # whether the first feature is the constant 1
    varies: np.ndarray | None = None  # marks coordinates in which heads differ from the mean, (d,); None for all

    family: str = GAUSSIAN  # or BINARY, whose predictions are calibrated

    cost = GAUSSIAN_COST
    """All releases together, since their shares of mu^2 add up to one."""
    theorem = None

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        n, d = users.known.users, users.known.dim
        mu, unit = 1 / release.multiplier if release.multiplier else math.inf, self.label_sd / plan.GUESSED_LABEL
        varies = np.ones(d, bool) if self.varies is None else self.varies
        if self.family == BINARY:
            of_calibration, release = (release.share(part) for part in (plan.CALIBRATION, 1 - plan.CALIBRATION))
        sizes = plan.Plan.of(n, int(varies.sum()), mu * math.sqrt(release.part))
        given = [plan.LEVEL, plan.LENGTH, sizes.mean, sizes.scores, sizes.weights, plan.ANSWER]
        of_level, of_length, of_mean, *of_mixture = map(release.share, given)
        root = isotropic(d, plan.LEVEL_CONSTANT, self.constant)
        clip = math.sqrt(0.75)
        mine = partial(by_size, own_errors, root, unit)
        released = of_level.sum("mixed_level", users, mine, clip=clip)
        (size, square, count), count_sd = released.value + n / 2, released.sd
        people = max(count, count_sd, n / 10)
        sd = count_sd / people
        level = plan.between(plan.toward(*plan.LEVEL_GUESS, size / people, sd), plan.LEAST_LEVEL, 1.0)
        # Where few people have large errors, as with a rare outcome, the mean square is well above the squared mean.
        square = plan.between(plan.toward(level**2, plan.SQUARE_SPREAD, square / people, sd), level**2, 1.0)
        level_noise = plan.toward(0.0, plan.LEVEL_GUESS[1], sd * math.hypot(1, level), sd)
        at_most = plan.between(count + count_sd, n / 10, n)
        mean, noise, reach = self.mean(users, level, unit, of_length, of_mean)
        shapes = self.shapes(users, mean, varies, release.share(sizes.shape)) if sizes.shape else []
        candidates = Candidates.of(mean, shapes, self.constant, varies)
        mixture, own, answer = released_mixture(users, candidates, square, unit, (at_most, count_sd), *of_mixture)
        log = {"answer": ANSWERS.index(answer.text), "own_part": answer.own, "level": level * unit}
        log |= {"gain": answer.gain, "gain_low": answer.low, "gain_high": answer.high}
        bent = calibration(users, mixture, level * unit, unit, of_calibration) if self.family == BINARY else None
        subspace = None if self.rank is None or not shapes else orthonormalise(shapes[0])
        error = unit**2 * plan.between(square - answer.gain / unit**2, plan.LEAST_ERROR * square, square)
        models = SharedHeads(mixture, own, mean, noise, reach, level_noise * unit, error, bent)
        yield Iterate(subspace, FullRank(models), log)

    def mean(
        self, users: UserData, level: float, unit: float, of_length: Release, of_mean: Release
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Release beta, (d,); return it, an upper bound of the standard deviations of its noise, and the largest
        distance that the steps can move it, over that bound.

        Without clipping a step maps b to b - rate H b in the coordinates of the root, where H is a mean of matrices
        between 0 and 1 and rate is at most 2: it never amplifies earlier noise. How much it shrinks that noise depends
        on the data."""
        n, d = users.known.users, users.known.dim
        root = isotropic(d, plan.MEAN_CONSTANT, self.constant)
        guess, width = plan.LENGTH_GUESS * unit, plan.LENGTH_WIDTH
        lengths = of_length.sum("mixed_length", users, partial(log_lengths, root, guess), clip=width) / n
        length = plan.toward(0.0, plan.LENGTH_SPREAD, float(lengths.value), lengths.sd)
        clip = plan.LENGTH_CLIP * guess * math.exp(plan.between(length, -width, width))
        # Sum of the rates at which the noise of the path is a given part of the level.
        noise = Rows.sensitivity(clip) * of_mean.noise_multiplier / n
        rates = plan.PATH_NOISE * level * unit / noise if noise else math.inf
        steps = int(plan.between(rates / plan.RATE, *plan.STEPS))
        mean, rate = np.zeros(d), min(plan.RATE, rates / steps)
        for each in of_mean.split(*[1 / steps] * steps):
            change = each.sum("mixed_step", users, partial(by_size, changes, mean, root), clip=clip) / n
            mean = mean + root @ (rate * change.value)
        reach = clip * math.sqrt(steps) / change.sd if change.sd else math.inf
        return mean, np.diag(root) * rate * change.sd * math.sqrt(steps), reach

    def shapes(self, users: UserData, mean: np.ndarray, varies: np.ndarray, release: Release) -> list[np.ndarray]:
        """Release roots of P, (d, rank), from S in the coordinates that vary, with eigenvalues raised and shrunk."""
        n, d = users.known.users, int(varies.sum())
        released = release.sum("mixed_shape", users, partial(residual_halves, mean, varies), clip=1.0) / n
        values, vectors = np.linalg.eigh(released.value)
        edge = plan.edge(d, released.sd)
        kept = slice(d - (self.rank or d), None)
        places = np.eye(len(varies))[:, varies]
        return [places @ (vectors * np.sqrt(spectrum))[:, kept] for spectrum in plan.two_spectra(values, edge)]


@dataclass(frozen=True)
class MixedModelOptions(Declared):
    """The mixed model has no options: the label's root mean square is a public guess, here the true one."""

    numbers: ClassVar = {
        "answer": "whether sharing helps: 0 it does, 1 it cannot be told, 2 own data serve as well",
        "own_part": "weight of own data in the mixture",
        "level": "released typical error of own data, a root mean square over left-out samples",
        "gain": "released gain of the mixture over own data in squared error",
        "gain_low": "lower end of its 95 % interval",
        "gain_high": "upper end of its 95 % interval",
    }

    def build(self, known: Known) -> MixedModel:
        return MixedModel(math.sqrt(known.rank * known.head_variance + known.label_noise_sd**2))
