"""Public constants of the released mixed model: shares of the budget, clips, strengths, and a prior's eigenvalues.

Scales of labels are in units of half the label's range, those of squared errors in units of the released level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.privacy.contributions import SymmetricOuter

GUESSED_LABEL = 0.55  # root mean square label: what is in units of half the range is multiplied by label_sd over it
LEVEL, LENGTH, ANSWER = 0.02, 0.015, 0.15  # shares of mu^2
MEAN, COMPARED = (160.0, 0.08, 0.37), (250.0, 0.05, 0.15)  # n mu at which a share is 1, its ends: mean; scores, weights
EDGE = 0.05  # the shape is released where its noise has at most this norm, over the sum of users' norms
LEAST_LEVEL = 0.02
LEVEL_GUESS = (0.3, 0.2)  # mean and standard deviation, where noise hides the level
SQUARE_SPREAD = 0.1  # standard deviation of the mean square about the level's square
LEVEL_STRENGTH, LEVEL_CONSTANT = 20.0, 0.6  # of the prior under which the level is measured
LENGTH_GUESS, LENGTH_SPREAD = 0.5, 0.6  # of a change: guess, sd of its log about that
LENGTH_WIDTH, LENGTH_CLIP = 2.0, 0.5  # clip of its log, clip over typical length
MEAN_STRENGTH, MEAN_CONSTANT = 5.0, 0.5  # of the prior under which users change the mean
PATH_NOISE, RATE, STEPS = 0.8, 2.0, (4, 16)  # of the path of the mean over the level, largest rate, ends of its steps
SCORES_GROW, MOST_SCORE = 60.0, 4.0  # n mu above which the clip of a user's vector of scores grows, its largest value
TRUSTED = 3.0  # strength of a prior which has half of the weight of none, where scores say nothing
GAIN_CLIP, WEIGHT_CLIP = 2.0, 1.0  # of a score, over the vector's clip; of what weights come from
DOUBT = 4.0  # of the squared distance of weights from halves, in standard deviations of their noise
ERROR_CLIP = 2.0  # of a left-out error, the largest between two labels
ANSWER_CLIP, ANSWER_MORE = 4.0, 100.0  # of a user's gain over its typical size; n mu above which the clip grows
TWO_ROWS, TWO_ROWS_SD = 0.65, 0.25  # part of a gain that a second row leaves, and its standard deviation
FALL_SD = 0.4  # relative, of what a further row takes
LOWER, UPPER = 1.8, 6.5  # parts of the interval in standard deviations, chosen on tables that were developed on
RAISED, LEAST_SHAPE = 0.25, 1e-3  # least eigenvalues of S over its noise's norm, and over the largest
LEAST_ERROR = 0.25  # least squared error of the mixture over that of own data, of which one less its gain is left
CALIBRATION, KNOTS, CHANGE_SD, UNCLIPPED = 0.1, 9, 0.2, 80.0  # share of mu^2; knots, prior sd in levels; n mu over clip
LEAST_PROBABILITY, LEAST_SURE = 0.01, 3.0  # least prediction of 0 and 1, and n mu times it
EVEN = 0.1  # least part of the trace that is spread evenly where eigenvalues are shrunk


def between(value: float, low: float, high: float) -> float:
    """Return the value, or the nearest end."""
    return min(max(float(value), low), high)


def toward(guess: float, spread: float, value: float, noise_sd: float) -> float:
    """Return the mean of a number that is normal about a public guess, given its value with noise."""
    return guess + (value - guess) * spread**2 / (spread**2 + noise_sd**2)


@dataclass(frozen=True)
class Plan:
    """Shares of mu^2 and sizes, from what is public: how many users, how many features, and mu."""

    mean: float
    scores: float
    weights: float
    shape: float  # 0 where it would not stand out of its noise

    @classmethod
    def of(cls, users: int, dim: int, mu: float) -> Plan:
        """Return the plan; dim : coordinates in which heads differ from the mean, of which one alone has no shape."""
        mean, compared = (between((at / (users * mu)) ** 2, *ends) for at, *ends in (MEAN, COMPARED))
        shape = 1 - LEVEL - LENGTH - ANSWER - mean - 2 * compared
        if dim > 1 and edge(dim, SymmetricOuter.sensitivity(1.0) / (users * mu * math.sqrt(shape))) < EDGE:
            return cls(mean, compared, compared, shape)
        return cls(mean, compared + shape / 2, compared + shape / 2, 0.0)


def score_clip(users_mu: float) -> float:
    """Return the clip of a user's scores, in levels: where noise allows, few users with large errors count fully."""
    return between(math.sqrt(users_mu / SCORES_GROW), 1.0, MOST_SCORE)


def edge(dim: int, noise_sd: float) -> float:
    """Return the norm of averaged noise in S, by that of an entry on its diagonal."""
    return math.sqrt(2 * dim) * noise_sd


def two_spectra(values: np.ndarray, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues of P from those of S, (d,) ascending: raised, and shrunk."""
    raised = np.maximum(values, max(RAISED * edge, LEAST_SHAPE * np.abs(values).max()))
    sure = np.sqrt(np.maximum(values**2 - edge**2, 0.0)) * (values > edge)
    shrunk = sure + max(values.sum() - sure.sum(), EVEN * abs(values.sum()), 1e-9) / len(values)
    return np.maximum(raised, 1e-12), np.maximum(shrunk, 1e-12)
