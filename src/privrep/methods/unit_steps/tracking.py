"""Posterior of e^2 and s^2 of unit steps given released numbers, on a grid of their logarithms.

Each round measures the mean over users of clipped log residuals, and the energy of the released step, which is kappa
times the error plus noise. See `privrep.methods.unit_steps.schedule` for e^2, s^2 and kappa.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma

from privrep.methods.unit_steps.schedule import Sizes

MODEL_SD, ENERGY_SD = 0.1, 0.2  # standard deviations of model errors in log residual and log energy
STEP_SD, DRIFT_SD = 0.15, 0.3
"""Standard deviations of model errors in log e^2: of any round, and of a contraction of e^2 by the factor exp(1)."""
FORGOTTEN_SD = 0.03  # standard deviation of the drift of log s^2 in a round: old measurements fade
GUESS_SD = (1.0, 0.5)  # standard deviations of the first guesses of log e^2 and log s^2
FAILED, WRONG = 0.1, 0.001
"""Constant densities over the guess's peak: of larger errors, for a failed start; of any s^2, for a wrong guess."""
CAUTION = 0.5
"""Step lengths are optimal for a log e^2 larger by this number of standard deviations: short steps leave the error
larger than estimated, which shortens the next steps further, while long steps only add noise."""
POINTS, ABOVE, BELOW = (65, 61), 8.0, 5.0  # points of the grid; its reach above and below the mean of log e^2
WIDEST, SPAN, LEAST_SD = 3.0, 4.0, 0.25
"""The grid of log s^2 reaches `SPAN` standard deviations from its mean. These are `WIDEST` at first and later clipped
to [`LEAST_SD`, `WIDEST`]: without information on s^2 the grid would grow for ever."""


@dataclass(frozen=True)
class FilterState:
    """Joint probabilities (J, K) of the values of e^2 (J, 1) and s^2 (K,) on a grid."""

    sizes: Sizes
    errors2: np.ndarray
    noises2: np.ndarray
    weights: np.ndarray

    @classmethod
    def guessed(cls, sizes: Sizes, error2: float, noise2: float) -> FilterState:
        """Return the prior: e^2 is as expected of the start, or larger if it failed, and s^2 is as stated, or any value
        if that is wrong."""
        errors2, noises2 = grid(sizes, math.log(error2), math.log(noise2), WIDEST)
        far, off = np.log(errors2 / error2) / GUESS_SD[0], np.log(noises2 / noise2) / GUESS_SD[1]
        weights = (np.exp(-(far**2) / 2) + FAILED * (far > 0)) * (np.exp(-(off**2) / 2) + WRONG)
        return cls(sizes, errors2, noises2, weights / weights.sum())

    @property
    def error2(self) -> float:
        return float((self.weights * self.errors2).sum())

    @property
    def noise2(self) -> float:
        return math.exp(self.log_moments(self.noises2)[0])

    def log_moments(self, numbers: np.ndarray) -> tuple[float, float]:
        """Return mean and standard deviation of the logarithm of `numbers`, one for each cell."""
        logs = np.log(numbers)
        mean = (self.weights * logs).sum()
        return float(mean), math.sqrt((self.weights * (logs - mean) ** 2).sum())

    def measured(self, log_residual: float, sd: float, energy: float, variance: float) -> FilterState:
        """Update by the mean log residual of users over its expectation, released with this sd, and by the mean square
        entry, `energy`, of the mean step, whose noise has this variance."""
        # Heads are assumed midway between those of one length and Gaussian ones.
        typical = math.exp(log_chi(np.asarray(self.sizes.rank)) / 2)
        expected = self.sizes.residual(self.error2, self.noise2)
        off = log_residual - np.log(self.sizes.residual(typical * self.errors2, self.noises2) / expected)
        gain = self.sizes.gain(self.errors2, self.noises2)
        moved = np.log(max(energy, 1e-300) / (gain**2 * self.errors2 * self.sizes.cosine2(self.errors2) + variance))
        squares = off**2 / (sd**2 + MODEL_SD**2) + moved**2 / (2 / self.sizes.entries + ENERGY_SD**2)
        weights = self.weights * np.exp((squares.min() - squares) / 2)
        return replace(self, weights=weights / weights.sum())

    def step_length(self, variance: float) -> float:
        """Return the factor on a mean step, whose noise has this variance, that best estimates the error linearly."""
        error2 = self.errors2 * math.exp(CAUTION * self.log_moments(self.errors2)[1])
        gain = self.sizes.gain(error2, self.noises2)
        signal = self.weights * gain * error2
        return float(signal.sum() / ((signal * gain).sum() + variance))

    def stepped(self, length: float, variance: float) -> FilterState:
        """Predict the state after a step: the mean step, whose noise has this variance, times the length."""
        eta = length * self.sizes.gain(self.errors2, self.noises2)
        left = np.asarray(self.sizes.turned(self.errors2, eta, length**2 * variance))
        mean = self.log_moments(left)[0]
        errors2, noises2 = grid(self.sizes, mean, *self.log_moments(self.noises2))
        sd = math.hypot(STEP_SD, DRIFT_SD * (mean - self.log_moments(self.errors2)[0]))
        weights = np.einsum("jik,ik->jk", dealt(left, errors2, sd), self.weights)
        weights = weights @ dealt(self.noises2, noises2, FORGOTTEN_SD).T + 1e-12  # for rounding
        return replace(self, errors2=errors2, noises2=noises2, weights=weights)


def log_chi(freedom: np.ndarray) -> np.ndarray:
    """Return E log(chi^2 / f) for f degrees of freedom, positive integers."""
    values = np.arange(1, freedom.max() + 1)
    return (digamma(values / 2) + np.log(2 / values))[freedom - 1]


def grid(sizes: Sizes, log_error: float, log_noise: float, noise_sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Return e^2 (J, 1), up to that of a subspace orthogonal to the true one, and s^2 (K,) of the cells."""
    top = min(-math.log(max(sizes.rank, sizes.outside)), log_error + ABOVE)
    errors = np.linspace(top - ABOVE - BELOW, top, POINTS[0])
    noises = log_noise + SPAN * min(max(noise_sd, LEAST_SD), WIDEST) * np.linspace(-1, 1, POINTS[1])
    return np.exp(errors)[:, None], np.exp(noises)


def dealt(points: np.ndarray, cells: np.ndarray, sd: float) -> np.ndarray:
    """Return the share of each point in each cell of a grid, normal about the point in logarithms with this sd."""
    logs = np.log(cells).reshape(-1, *[1] * points.ndim)
    parts = (logs - np.clip(np.log(points), logs[0], logs[-1])) * (math.sqrt(0.5) / sd)
    # In place, and at least e^-40, which is negligible: new memory and underflow would take most of the time.
    parts *= parts
    np.exp(-np.minimum(parts, 40, out=parts), out=parts)
    parts *= 1 / parts.sum(axis=0)
    return parts
