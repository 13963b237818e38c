"""Whether sharing helps: priors are compared by their errors on samples that were left out, in two releases.

The first chooses among all priors. The second measures the chosen one against users alone and against the shared mean;
its noise is independent of the choice, so that no gain is biased by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.steps.mixed_model_plan import ALONE_STRENGTHS, GAIN_FLOOR, GAIN_WIDTH, STRENGTHS, SURE
from privrep.methods.steps.posterior import Mixture, Prior, Spectra
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import Release
from privrep.users.problem import Block, UserData

HEADS, MEAN, OWN = "heads", "mean", "own data"
ANSWERS = (HEADS, MEAN, OWN)  # heads help; the shared mean is enough; each user's own data serve as well
CONSTANT_STRENGTHS, OWN_STRENGTHS = (0.25, 1.0), (ALONE_STRENGTHS, (3.0, 30.0))  # a label's variance over its noise
ISOTROPIC_CONSTANT, OWN_CONSTANTS = 0.5, (0.9, 0.4)  # part of it that a constant has, shared and alone


@dataclass(frozen=True, eq=False)
class Candidate:
    """A prior, which of ANSWERS it stands for, and whether it is the weakest isotropic one about the mean."""

    answer: str
    prior: Prior
    weakest: bool = False


def isotropic(moments: np.ndarray, part: float, constant: bool) -> np.ndarray:
    """Return a diagonal root, (d, d), under which labels have variance 1 for features of these moments."""
    spread = np.trace(moments) - constant * moments[0, 0]
    root = np.full(len(moments), math.sqrt((1 - constant * part) / spread)) if spread > 0 else np.zeros(len(moments))
    if constant:
        root[0] = math.sqrt(part / moments[0, 0])
    return np.diag(root)


def candidates(moments: np.ndarray, mean: np.ndarray, shapes: Sequence[np.ndarray], constant: bool) -> list[Candidate]:
    """Return all priors of the choice, each with a root under which labels have variance 1."""
    d = len(mean)
    alone = np.eye(d)[:, :1]
    shared = [(root / math.sqrt(np.einsum("dp,de,ep->", root, moments, root)), STRENGTHS) for root in shapes]
    even = isotropic(moments, ISOTROPIC_CONSTANT, constant)
    shared.append((even, STRENGTHS))
    if constant:
        shared.append((alone / math.sqrt(moments[0, 0]), CONSTANT_STRENGTHS))
    found = [
        Candidate(HEADS, Prior(mean, root, one), root is even and one == STRENGTHS[0])
        for root, strengths in shared
        for one in strengths
    ]
    found.append(Candidate(MEAN, Prior(mean, alone, 0.0)))
    nothing = np.zeros(d)
    for part, strengths in list(zip(OWN_CONSTANTS, OWN_STRENGTHS, strict=True))[: None if constant else 1]:
        root = isotropic(np.eye(d), part, constant)  # public guesses of the variances alone
        found += [Candidate(OWN, Prior(nothing, root, one)) for one in strengths]
    return found


@dataclass(frozen=True, eq=False)
class LogErrors:
    """Log mean squares of left-out samples under some priors, (c, B); 0 for a user without samples."""

    priors: Sequence[Prior]
    floor: float  # added to a mean square

    def __call__(self, block: Block) -> np.ndarray:
        logs, there, spectra = [], np.isfinite(block.feature_norms).T, {}
        counts = np.maximum(block.counts, 1)
        for prior in self.priors:
            shape = id(prior.mean), id(prior.root)
            if shape not in spectra:  # priors of one shape follow each other
                spectra = {shape: Spectra(block, prior.mean, prior.root)}
            left = np.where(there, spectra[shape].left_out(prior.strength), 0.0)
            logs.append(np.log(np.einsum("bm,bm->b", left, left) / counts + self.floor))
        return np.where(block.counts > 0, np.array(logs), 0.0)


def gains_of_all(errors: LogErrors, block: Block) -> Rows:
    """Contribution of users: gains of all priors over their median, about their mean, (c,)."""
    logs = errors(block)
    gains = np.clip(np.median(logs, axis=0) - logs, -GAIN_WIDTH, GAIN_WIDTH)
    return Rows((gains - gains.mean(axis=0)).T)


def gains_of_first(errors: LogErrors, block: Block) -> Rows:
    """Contribution of users: gains of the first prior over each of the others, clipped to +-GAIN_WIDTH, (c - 1,)."""
    first, *others = errors(block)
    return Rows(np.clip(np.array(others) - first, -GAIN_WIDTH, GAIN_WIDTH).T)


def released_answer(
    users: UserData, found: Sequence[Candidate], level: float, of_choice: Release, of_answer: Release
) -> tuple[Mixture, dict[str, float]]:
    """Release whether sharing helps, from two releases; return the heads of the answer, and numbers of a row."""
    n, floor = users.known.users, GAIN_FLOOR * level**2
    all_errors = LogErrors([one.prior for one in found], floor)
    gains = of_choice.sum("mixed_choice", users, partial(gains_of_all, all_errors), clip=GAIN_WIDTH)
    gains, noise_sd = gains / n, 2 * GAIN_WIDTH * of_choice.noise_multiplier / n

    def best(*answers: str) -> int:
        return max((index for index, one in enumerate(found) if one.answer in answers), key=lambda index: gains[index])

    own, mean = best(OWN), best(MEAN)
    shared = best(HEADS, MEAN)
    worth = gains[shared] - gains[own] > SURE * math.sqrt(2) * noise_sd
    heads = best(HEADS)
    compared = partial(gains_of_first, LogErrors([found[index].prior for index in (heads, own, mean)], floor))
    clip = GAIN_WIDTH * math.sqrt(2)
    over_own, over_mean = of_answer.sum("mixed_answer", users, compared, clip=clip) / n
    noise_sd = 2 * clip * of_answer.noise_multiplier / n
    if worth and min(over_own, over_mean) > SURE * noise_sd:
        answer, priors = HEADS, [heads]
    elif worth and over_own - over_mean > SURE * math.sqrt(2) * noise_sd:
        answer, priors = MEAN, [mean]
    else:  # weighed against the mean and the weakest prior: who has few samples is not worse off than the mean
        answer, priors = OWN, [own, mean, next(index for index, one in enumerate(found) if one.weakest)]
    gains = {"gain_over_own": float(over_own), "gain_over_mean": float(over_mean), "gain_sd": noise_sd}
    mixture = Mixture(tuple(found[index].prior for index in priors), level**2)
    return mixture, {"answer": ANSWERS.index(answer), **gains}
