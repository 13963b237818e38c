"""Public constants of the released mixed model: shares of the budget, clips, strengths, and a prior's eigenvalues.

Scales of labels are in units of half the label's range, those of squared errors in units of the released level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.privacy.contributions import SymmetricOuter

GUESSED_LABEL = 0.55  # guessed root mean square label over half the range; label_sd over it is the unit of labels
LEVEL, LENGTH, ANSWER = 0.02, 0.015, 0.15  # shares of mu^2
MEAN, COMPARED = (160.0, 0.08, 0.37), (250.0, 0.05, 0.15)  # n mu at share 1, least, most share: mean; scores, weights
EDGE = 0.05  # the shape is released where its noise has at most this norm, over the sum of users' norms
LEAST_LEVEL = 0.02
LEVEL_GUESS = (0.3, 0.2)  # mean and standard deviation, where noise hides the level
SQUARE_SPREAD = 0.1  # standard deviation of the mean square about the level's square
LEVEL_STRENGTH, LEVEL_CONSTANT = 20.0, 0.6  # of the prior under which the level is measured
LENGTH_GUESS, LENGTH_SPREAD = 0.5, 0.6  # length of a change: guess, sd of its log about the guess
LENGTH_WIDTH, LENGTH_CLIP = 2.0, 0.5  # clip of that log; clip of a change over its typical length
MEAN_STRENGTH, MEAN_CONSTANT = 5.0, 0.5  # prior for users' changes of the mean
PATH_NOISE, RATE, STEPS = 0.8, 2.0, (4, 16)  # noise of the path over the level; largest rate; least and most steps
SCORES_GROW, MOST_SCORE = 60.0, 4.0  # n mu above which the clip of a user's vector of scores grows, its largest value
TRUSTED = 3.0  # strength at which a prior has half the weight of strength 0 if scores are equal
GAIN_CLIP, WEIGHT_CLIP = 2.0, 1.0  # clips: of a score over the vector's clip; of the products that set weights
DOUBT = 4.0  # penalty on the squared distance of weights from halves, in standard deviations of noise
ERROR_CLIP = 2.0  # clip of a left-out error: the largest difference of two labels
ANSWER_CLIP, ANSWER_MORE = 4.0, 100.0  # of a user's gain over its typical size; n mu above which the clip grows
TWO_ROWS, TWO_ROWS_SD = 0.65, 0.25  # share of a one-row gain that is left with two rows, and its standard deviation
FALL_SD = 0.4  # relative standard deviation of the gain that a further row takes away
LOWER, UPPER = 1.8, 6.5  # lengths of the interval below and above, in standard deviations, chosen on development tables
RAISED, LEAST_SHAPE = 0.25, 1e-3  # least eigenvalues of S over its noise's norm, and over the largest
LEAST_ERROR = 0.25  # least squared error of the mixture, own data's less the gain, over that of own data
CALIBRATION, KNOTS, CHANGE_SD, UNCLIPPED = 0.1, 9, 0.2, 80.0  # share of mu^2; knots, prior sd in levels; n mu over clip
LEAST_PROBABILITY, LEAST_SURE = 0.01, 3.0  # distance of predictions from 0 and 1: least; least times n mu
EVEN = 0.1  # least part of the trace that is spread evenly where eigenvalues are shrunk


def between(value: float, low: float, high: float) -> float:
    """Return the value, clipped to [low, high]."""
    return min(max(float(value), low), high)


def toward(guess: float, spread: float, value: float, noise_sd: float) -> float:
    """Return the posterior mean of a number with a normal prior about a public guess, given its noisy value."""
    return guess + (value - guess) * spread**2 / (spread**2 + noise_sd**2)


@dataclass(frozen=True)
class Plan:
    """Shares of mu^2, from public numbers: users, coordinates in which heads vary, and mu."""

    mean: float
    scores: float
    weights: float
    shape: float  # 0 where noise would hide the shape

    @classmethod
    def of(cls, users: int, dim: int, mu: float) -> Plan:
        """Return the plan; dim : number of coordinates in which heads differ from the mean; if 1, no shape."""
        mean, compared = (between((at / (users * mu)) ** 2, *ends) for at, *ends in (MEAN, COMPARED))
        shape = 1 - LEVEL - LENGTH - ANSWER - mean - 2 * compared
        if dim > 1 and edge(dim, SymmetricOuter.sensitivity(1.0) / (users * mu * math.sqrt(shape))) < EDGE:
            return cls(mean, compared, compared, shape)
        return cls(mean, compared + shape / 2, compared + shape / 2, 0.0)


def score_clip(users_mu: float) -> float:
    """Return the clip of a user's scores, in levels: where noise allows, rare large errors count fully."""
    return between(math.sqrt(users_mu / SCORES_GROW), 1.0, MOST_SCORE)


def edge(dim: int, noise_sd: float) -> float:
    """Return the norm of the averaged noise in S, from the standard deviation of a diagonal entry."""
    return math.sqrt(2 * dim) * noise_sd


def two_spectra(values: np.ndarray, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two choices for the eigenvalues of P, from those of S, (d,) ascending: raised, and shrunk."""
    raised = np.maximum(values, max(RAISED * edge, LEAST_SHAPE * np.abs(values).max()))
    sure = np.sqrt(np.maximum(values**2 - edge**2, 0.0)) * (values > edge)
    shrunk = sure + max(values.sum() - sure.sum(), EVEN * abs(values.sum()), 1e-9) / len(values)
    return np.maximum(raised, 1e-12), np.maximum(shrunk, 1e-12)
