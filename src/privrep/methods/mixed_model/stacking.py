"""Mixture of predictors by their errors on left-out samples of all users, with a released gain over own data.

One predictor uses own data alone, so that the mixture need not be worse. Three releases: errors of all priors, which
weigh the priors of a kind; products of the kinds' errors, which weigh the kinds; and the gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from privrep.methods.mixed_model import plan
from privrep.methods.steps.posterior import Mixture, Prior, by_size, spectra
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData

SHARE, UNKNOWN, OWN = "share", "cannot be told", "own data"
ANSWERS = (SHARE, UNKNOWN, OWN)
CONSTANT_PARTS = (0.3, 0.9)  # of the constant in the variance of a label under an isotropic prior
OWN_STRENGTHS, OWN_LEVEL_STRENGTHS = (3.0, 30.0), (2.0, 30.0)  # of the constant alone
SHARED_STRENGTHS, CONSTANT_STRENGTHS = (0.3, 1.5, 8.0, 50.0), (0.3, 3.0)
LEAST_WEIGHT = 1e-3  # priors of smaller weight are dropped
LEAST_SD = 1e-4  # least standard deviation of scores and products


def isotropic(dim: int, part: float, constant: bool) -> np.ndarray:
    """Return a diagonal root, (d, d), under which labels have variance 1; the constant has the share `part` of it."""
    if not constant or dim == 1:
        return np.eye(dim) / math.sqrt(dim)
    return np.diag(np.sqrt(np.r_[part, np.full(dim - 1, (1 - part) / (dim - 1))]))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Priors by kind: the first kind is own data, the last the mean alone; c candidates in all."""

    kinds: tuple[tuple[Prior, ...], ...]

    @classmethod
    def of(cls, mean: np.ndarray, shapes: Sequence[np.ndarray], constant: bool, varies: np.ndarray) -> Candidates:
        """Return the kinds: own data, isotropic priors about the mean, shapes about the mean, and the mean alone.

        varies : (d,) marks the coordinates in which heads differ from the mean."""
        d = len(mean)
        even = [isotropic(d, part, constant) for part in (CONSTANT_PARTS if constant else (0.0,))]
        alone = prior(mean, np.eye(d)[:, :1], (0.0,))
        roots = even if varies.all() else [spread(root * varies) for root in even]
        about = [prior(mean, root, SHARED_STRENGTHS) for root in roots if varies[constant:].any()]
        if constant:
            about.append(prior(mean, np.eye(d)[:, :1], CONSTANT_STRENGTHS))
        own = [prior(np.zeros(d), root, OWN_STRENGTHS) for root in even]
        if constant and d > 1:
            own.append(prior(np.zeros(d), np.eye(d)[:, :1], OWN_LEVEL_STRENGTHS))
        kinds = [own, [*about, alone]]
        if shapes:
            kinds.append([prior(mean, spread(root), SHARED_STRENGTHS) for root in shapes])
        return cls(tuple(map(tuple, [*kinds, [alone]])))

    @cached_property
    def priors(self) -> tuple[Prior, ...]:
        """All priors; that of the last kind is omitted, since another kind has it too."""
        return sum(self.kinds[:-1], ())

    @cached_property
    def kind(self) -> np.ndarray:
        """Kind of each candidate, (c,)."""
        counts = [sum(len(prior.strengths) for prior in kind) for kind in self.kinds[:-1]]
        return np.repeat(np.arange(len(counts)), counts)

    def weights(self, scores: np.ndarray, noise_sd: float) -> np.ndarray:
        """Return weights of the candidates in each kind, (kinds, c): the softmax of gains over their noise.

        A larger strength, which lets few rows decide more, needs a larger gain for the same weight."""
        strengths = np.concatenate([prior.strengths for prior in self.priors])
        scores = scores / noise_sd - np.log1p(strengths / plan.TRUSTED)
        parts = [softmax(np.where(self.kind == kind, scores, -np.inf)) for kind in range(self.kind[-1] + 1)]
        return np.array([*parts, strengths == 0])

    def mixture(self, weights: np.ndarray) -> Mixture:
        """Return the mixture with weights (c,)."""
        weights = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        parts = np.split(weights / weights.sum(), np.cumsum([len(prior.strengths) for prior in self.priors])[:-1])
        return Mixture(tuple(kept(*pair) for pair in zip(self.priors, parts, strict=True) if pair[1].any()))


def prior(mean: np.ndarray, root: np.ndarray, strengths: Sequence[float]) -> Prior:
    """Return priors of these strengths, all of weight 1."""
    return Prior(mean, root, np.array(strengths), np.ones(len(strengths)))


def spread(root: np.ndarray) -> np.ndarray:
    """Scale a root so that labels have variance 1."""
    return root / np.linalg.norm(root)


def kept(prior: Prior, weights: np.ndarray) -> Prior:
    """Return a prior with weights, without strengths of weight 0."""
    return replace(prior, strengths=prior.strengths[weights > 0], weights=weights[weights > 0])


def errors(priors: Sequence[Prior], block: Block, *others: np.ndarray) -> np.ndarray:
    """Return errors on left-out samples, (1 + others, c, B, m), 0 beyond a user's samples: first with that sample left
    out, then for each of `others` (B, m) with the sample of this index left out as well."""
    lists = [
        [each.left_out(prior.strengths), *(each.two_left_out(prior.strengths, other) for other in others)]
        for prior, each in zip(priors, spectra(priors, block), strict=True)
    ]
    there = np.isfinite(block.feature_norms).T
    return np.array([np.where(there, np.concatenate(way), 0.0) for way in zip(*lists, strict=True)])


def mean_over_samples(products: np.ndarray, block: Block) -> np.ndarray:
    """Return means over the samples of each user, from (..., B, m)."""
    return products.sum(axis=-1) / np.maximum(block.counts, 1)


def gains(candidates: Candidates, level: float, clip: float, unit: float, block: Block) -> np.ndarray:
    """Contribution of users: gains, (c,), the median squared error of the kind less the candidate's, over the level.

    Weights of a kind depend on differences within it alone; about the median these have a small norm."""
    clipped = np.clip(errors(candidates.priors, block)[0] / unit, -plan.ERROR_CLIP, plan.ERROR_CLIP) ** 2
    squares = mean_over_samples(clipped, block) / level
    for number in range(candidates.kind[-1] + 1):
        same = candidates.kind == number
        squares[same] -= np.median(squares[same], axis=0)
    return np.clip(-squares, -plan.GAIN_CLIP * clip, plan.GAIN_CLIP * clip).T


def of_kinds(candidates: Candidates, weights: np.ndarray, unit: float, block: Block) -> np.ndarray:
    """Return errors of mixtures, (kinds, B, m), in units of labels."""
    mixed = np.einsum("kc,cbm->kbm", weights, errors(candidates.priors, block)[0]) / unit
    return np.clip(mixed, -plan.ERROR_CLIP, plan.ERROR_CLIP)


def products(candidates: Candidates, weights: np.ndarray, level: float, unit: float, block: Block) -> np.ndarray:
    """Contribution of users: means of 2 e_0 (e_k - e_0), (e_k - e_0) (e_l - e_0), over the level; e_0: own data."""
    own, *others = of_kinds(candidates, weights, unit, block)
    differs = np.array(others) - own
    pairs = np.einsum("kbm,lbm->klb", differs, differs).reshape(-1, block.users)
    entries = np.concatenate([2 * np.einsum("bm,kbm->kb", own, differs), pairs])
    return (entries / np.maximum(block.counts, 1) / level).T


def best_weights(linear: np.ndarray, products: np.ndarray, doubt: float) -> np.ndarray:
    """Minimise w . linear + w' products w + doubt |w - h|^2 over w >= 0 with sum(w) <= 1, where h is 1/2 for the first
    entry and 0 elsewhere; return (1 - sum(w), w).

    Without `doubt` noise picks a corner; the mean of two heads errs by no more than the two do on average. Negative
    eigenvalues are noise and count as zero."""
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    squares = (vectors * (np.maximum(values, 1e-9) + doubt)) @ vectors.T
    linear = linear - doubt * np.eye(len(linear))[0]
    solution = minimize(
        lambda w: float(w @ linear + w @ squares @ w),
        np.full(len(linear), 1 / (len(linear) + 1)),
        jac=lambda w: linear + 2 * squares @ w,
        method="SLSQP",
        bounds=[(0, 1)] * len(linear),
        constraints={"type": "ineq", "fun": lambda w: 1 - w.sum(), "jac": lambda w: -np.ones(len(w))},
    )
    w = np.clip(np.nan_to_num(solution.x), 0.0, 1.0)
    w = w / max(1.0, w.sum())
    return np.r_[1 - w.sum(), w]


def gain(candidates: Candidates, weights: np.ndarray, clip: float, unit: float, block: Block) -> np.ndarray:
    """Contribution of users: u, the gain of a mixture over own data in squared error with all m rows, its
    uncertainty, and u^2 / clip - clip; weights (2, c) are of own data and of the mixture. A user of one row has u = 0.

    A left-out sample is predicted from m - 1 others; with all m rows the gain is smaller. With more than two rows the
    last row lowers it by (m - 2) / m times what the row before did, since variances fall as 1 / m; with two rows a
    public share is left. For |u| <= clip the first and third number have norm at most clip together."""
    counts = block.counts
    following = (np.arange(len(block.labels)) + 1) % np.maximum(counts, 1)[:, None]
    raw, before = (
        mean_over_samples(np.clip(np.einsum("kc,cbm->kbm", weights, left) / unit, -2, 2) ** 2, block)
        for left in errors(candidates.priors, block, following)
    )
    raw, before = raw[0] - raw[1], before[0] - before[1]
    falls = (1 - 2 / np.maximum(counts, 2)) * (before - raw)
    gained = np.where(counts > 2, raw - falls, np.where(counts == 2, plan.TWO_ROWS * raw, 0.0))
    doubt = np.where(counts > 2, plan.FALL_SD * falls, np.where(counts == 2, plan.TWO_ROWS_SD * raw, 0.0))
    gained, doubt = (np.clip(part, -clip, clip) for part in (gained, doubt))
    return np.array([gained, doubt, gained**2 / clip - clip]).T


@dataclass(frozen=True)
class Answer:
    """Gain over own data in squared error, a mean over users of two rows or more; its interval, longer above than
    below; and the weight of own data in the mixture."""

    gain: float
    low: float
    high: float
    own: float

    @property
    def text(self) -> str:
        """One of ANSWERS."""
        if self.own > 1 - LEAST_WEIGHT or self.high < 0:
            return OWN
        return SHARE if self.low > 0 else UNKNOWN


def released_mixture(
    users: UserData,
    candidates: Candidates,
    level: float,
    unit: float,
    people: tuple[float, float],
    of_scores: Release,
    of_weights: Release,
    of_answer: Release,
) -> tuple[Mixture, Mixture, Answer]:
    """Release a mixture of the candidates, a mixture of own data alone, and the gain of the first over the second.

    level : a typical squared error of own data, in `unit`^2.
    people : released count of users of two rows or more, which is at most n, and its standard deviation."""
    n, (count, count_sd) = users.known.users, people

    clip = plan.score_clip(n / of_scores.multiplier if of_scores.multiplier else math.inf)
    compared = partial(by_size, gains, candidates, level, clip, unit)
    scores = of_scores.sum("mixed_scores", users, compared, clip=clip) / n
    weights = candidates.weights(scores.value, max(scores.sd, LEAST_SD))
    mixed = partial(by_size, products, candidates, weights, level, unit)
    moments = of_weights.sum("mixed_weights", users, mixed, clip=plan.WEIGHT_CLIP) / n
    kinds, sd = len(weights) - 1, max(moments.sd, LEAST_SD)
    squares = moments.value[kinds:].reshape(kinds, kinds)
    own, *others = best_weights(moments.value[:kinds], squares, plan.DOUBT * sd)
    others = np.array(others)
    chosen = np.r_[own, others] @ weights
    size = level * math.sqrt(max(others @ squares @ others, 0.0) + sd * others @ others) + 1e-4 * level
    more = math.sqrt(max(1.0, n / of_answer.multiplier / plan.ANSWER_MORE)) if of_answer.multiplier else 16
    clip = plan.ANSWER_CLIP * more * size
    mine = partial(by_size, gain, candidates, np.array([weights[0], chosen]), clip, unit)
    answer = of_answer.sum("mixed_answer", users, mine, clip=clip)
    mean, doubt, square = (answer.value + np.array([0, 0, n * clip])) / count * np.array([1, 1, clip])
    private = (answer.sd / count) ** 2
    variance = min(max(square - mean**2, 0.0), clip**2) / count + (mean * count_sd / count) ** 2
    sd = math.sqrt(private + variance + max(doubt**2 - private, 0.0))
    # Gains are understated more often than overstated: a clip cuts large ones, and further rows count with caution.
    # No gain is above own data's squared error, and no mixture that is used errs by much more.
    most = level + 2 * plan.SQUARE_SPREAD
    ends = np.clip([mean, mean - plan.LOWER * sd, mean + plan.UPPER * sd], -most, most) * unit**2
    answer, mixture, alone = Answer(*ends.tolist(), own=own), candidates.mixture(chosen), candidates.mixture(weights[0])
    if answer.text == OWN:  # own data alone are used, with gain 0
        return alone, alone, Answer(0.0, 0.0, 0.0, own=1.0)
    return mixture, alone, answer
