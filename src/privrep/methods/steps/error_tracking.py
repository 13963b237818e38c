"""What released numbers tell of e^2 and s^2 of unit steps: a posterior on a grid of their logarithms.

Measured are, in each round, the mean log residual of users, each clipped, and the energy of the released step, which is
noise and kappa times the error. See `privrep.methods.steps.unit_schedule` for e^2, s^2 and kappa.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, ndtr, polygamma

from privrep.methods.steps.unit_schedule import CONTRACTION, SMALLEST, Sizes

MODEL_SD, ENERGY_SD = 0.1, 0.2  # standard deviations of what models of log residual and log energy leave out
STEP_SD, DRIFT_SD = 0.15, 0.3
"""Standard deviations of what the model leaves out in log e^2: of any round, and of a contraction by e."""
GUESS_SD = (1.0, 0.5)  # standard deviations of the first guesses of log e^2 and log s^2
FAILED = 0.05  # density of larger errors, all alike, after a start that failed, over that of the guess
WRONG, WRONG_SD = 0.02, 3.0  # the same of a guess of s^2 that is wrong, and the standard deviation of its logarithm
CAUTION = 1.0
"""Steps are as long as is best for a log e^2 so many standard deviations larger: steps that are too short leave the
error larger than is believed, and the next ones are shorter still, while long ones add noise alone."""
ASTRAY = 1e-3  # probability, in each round, that log s^2 is anywhere on the grid
NOISE_SDS = 2.0  # s^2 is no larger than what was found by so many standard deviations
POINTS, ABOVE, BELOW = (80, 61), 10.0, 6.0  # of the grid; its ends about the mean of log e^2
SPAN, LEAST_SD = 4.0, 0.25  # its ends about the mean of log s^2 in standard deviations, which are at least this


@dataclass(frozen=True)
class FilterState:
    """Probabilities (J, K) of log e^2 (J,) and log s^2 (K,)."""

    sizes: Sizes
    log_errors: np.ndarray
    log_noises: np.ndarray
    weights: np.ndarray

    @classmethod
    def guessed(cls, sizes: Sizes, error2: float, noise2: float) -> FilterState:
        """Return what is known before anything is measured: the start is as expected, or worse where it failed, and the
        noise is as stated, or anything near where that is wrong."""
        errors, noises = cls._grid(sizes, math.log(error2), math.log(noise2), WRONG_SD)
        far, off = errors - math.log(error2), (noises - math.log(noise2)) ** 2 / 2
        of_error = np.exp(-((far / GUESS_SD[0]) ** 2) / 2) + FAILED * (far > 0)
        weights = np.outer(of_error, np.exp(-off / GUESS_SD[1] ** 2) + WRONG * np.exp(-off / WRONG_SD**2))
        return cls(sizes, errors, noises, weights / weights.sum())

    @staticmethod
    def _grid(sizes: Sizes, log_error: float, log_noise: float, noise_sd: float) -> tuple[np.ndarray, np.ndarray]:
        top = min(math.log(sizes.largest_error2), log_error + ABOVE)
        half = SPAN * max(noise_sd, LEAST_SD)
        return np.linspace(top - ABOVE - BELOW, top, POINTS[0]), log_noise + np.linspace(-half, half, POINTS[1])

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """e^2 (J, 1) and s^2 (1, K) of the cells."""
        return np.exp(self.log_errors)[:, None], np.exp(self.log_noises)[None, :]

    @property
    def error2(self) -> float:
        return float(self.weights.sum(axis=1) @ np.exp(self.log_errors))

    @property
    def noise2(self) -> float:
        return math.exp(self._moments(self.log_noises)[0])

    def _moments(self, points: np.ndarray) -> tuple[float, float]:
        """Return mean and standard deviation of a number of each cell."""
        mean = (self.weights * points).sum()
        return float(mean), math.sqrt((self.weights * (points - mean) ** 2).sum())

    def largest_noise2(self, declared: float) -> float:
        """Return the larger of the declared s^2 and the one found, but no more than that one may be."""
        mean, sd = self._moments(self.log_noises)
        return math.exp(min(max(math.log(declared), mean), mean + NOISE_SDS * sd))

    def measured(self, found: float, sd: float, width: float, residual: float) -> FilterState:
        """Update by the mean over users, released with this sd, of log residuals over an expected one, each clipped."""
        error2, noise2 = self.cells
        # Heads are taken midway between those of one length and Gaussian ones.
        typical = math.exp(log_chi(np.asarray(self.sizes.rank)) / 2)
        away = np.log(self.sizes.residual(typical * error2, noise2) / residual)
        expected = clipped_mean(away, math.sqrt(polygamma(1, self.sizes.freedom / 2)), width)
        return self._weighed((found - expected) ** 2, sd**2 + MODEL_SD**2)

    def seen(self, energy: float, variance: float) -> FilterState:
        """Update by the mean square of an entry of the mean step, which has noise of this variance."""
        error2, noise2 = self.cells
        entries, expected = self.sizes.entries, self.sizes.gain(error2, noise2) ** 2 * error2 + variance
        share = variance / expected
        away = np.log(max(energy, 1e-300) / expected) - share * log_chi(np.asarray(entries))
        return self._weighed(away**2, share * (2 - share) * polygamma(1, entries / 2) + ENERGY_SD**2)

    def _weighed(self, squares: np.ndarray, variance: np.ndarray | float) -> FilterState:
        logs = np.where(self.weights > 0, -(squares / variance + np.log(variance)) / 2, -np.inf)
        weights = self.weights * np.exp(logs - logs.max())
        return replace(self, weights=weights / weights.sum())

    def step_length(self, variance: float) -> float:
        """Return by what a mean step with this variance of noise is multiplied: the best linear estimate."""
        error2, noise2 = self.cells
        error2 = error2 * math.exp(CAUTION * self._moments(self.log_errors[:, None])[1])
        gain = self.sizes.gain(error2, noise2)
        return float((self.weights * gain * error2).sum() / ((self.weights * gain**2 * error2).sum() + variance))

    def stepped(self, length: float, variance: float) -> FilterState:
        """Predict what is known after a mean step, with noise of this variance, times this length."""
        error2, noise2 = self.cells
        eta = length * self.sizes.gain(error2, noise2)
        left = ((1 - eta) ** 2 + (1 - CONTRACTION) * eta) * error2 + length**2 * variance
        errors = np.log(np.clip(left, SMALLEST, self.sizes.largest_error2))
        mean, _ = self._moments(errors)
        grid = self._grid(self.sizes, mean, *self._moments(self.log_noises))
        weights = dealt((errors, np.broadcast_to(self.log_noises, errors.shape)), self.weights, grid)
        weights += ASTRAY * (weights.mean(axis=1, keepdims=True) - weights)
        sd = math.hypot(STEP_SD, DRIFT_SD * (mean - self._moments(self.log_errors[:, None])[0]))
        blurred = np.exp(-((np.subtract.outer(grid[0], grid[0]) / sd) ** 2) / 2)
        return replace(self, log_errors=grid[0], log_noises=grid[1], weights=blurred / blurred.sum(axis=0) @ weights)


def log_chi(freedom: np.ndarray) -> np.ndarray:
    """Return E log(chi^2 / f) for f degrees of freedom, positive integers."""
    values = np.arange(1, freedom.max() + 1)
    return (digamma(values / 2) + np.log(2 / values))[freedom - 1]


def clipped_mean(mean: np.ndarray, sd: float, width: float) -> np.ndarray:
    """Return means of normal numbers clipped to +-width."""
    low, high = (-width - mean) / sd, (width - mean) / sd
    density = np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)
    inside = ndtr(high) - ndtr(low)
    return mean * inside + sd * density / math.sqrt(2 * math.pi) + width * (ndtr(-high) - ndtr(low))


def dealt(points: tuple[np.ndarray, np.ndarray], weights: np.ndarray, grid: tuple) -> np.ndarray:
    """Divide weights (J, K) of points among the corners of a grid around each, those outside among its edge's."""
    pairs = list(zip(points, grid, strict=True))
    places = [np.clip((one - axis[0]) / (axis[1] - axis[0]), 0, len(axis) - 1.001) for one, axis in pairs]
    found = np.zeros([len(axis) for axis in grid])
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at = tuple(one.astype(int) + more for one, more in zip(places, corner, strict=True))
        np.add.at(found, at, weights * math.prod(1 - np.abs(one - to) for one, to in zip(places, at, strict=True)))
    return found
