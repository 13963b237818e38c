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
SURE = 2.0  # s^2 is no larger than what was found by so many standard deviations
POINTS, ABOVE, BELOW = (80, 61), 10.0, 6.0  # of the grid; its ends about the mean of log e^2
SPAN, LEAST_SD = 4.0, 0.02  # its ends about the mean of log s^2 in standard deviations, which are at least this


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
        log_error, log_noise = math.log(error2), math.log(noise2)
        errors, noises = cls._grid(sizes, log_error, log_noise, WRONG_SD)
        of_error = np.exp(-(((errors - log_error) / GUESS_SD[0]) ** 2) / 2) + FAILED * (errors > log_error)
        away = (noises - log_noise) ** 2 / 2
        of_noise = np.exp(-away / GUESS_SD[1] ** 2) + WRONG * np.exp(-away / WRONG_SD**2)
        weights = np.outer(of_error, of_noise)
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
        return math.exp(self.weights.sum(axis=0) @ self.log_noises)

    @staticmethod
    def _moments(points: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Return mean and standard deviation."""
        mean = (weights * points).sum()
        return float(mean), math.sqrt((weights * (points - mean) ** 2).sum())

    def largest_noise2(self, declared: float) -> float:
        """Return the larger of the declared s^2 and the one found, but no more than that one may be."""
        mean, sd = self._moments(self.log_noises, self.weights.sum(axis=0))
        return math.exp(min(max(math.log(declared), mean), mean + SURE * sd))

    def measured(self, found: float, sd: float, width: float, residual: float) -> FilterState:
        """Update by the mean over users, released with this sd, of log residuals over an expected one, each clipped."""
        error2, noise2 = self.cells
        freedom, rank = self.sizes.freedom, self.sizes.rank
        # Heads are taken midway between those of one length and Gaussian ones.
        typical = math.exp((digamma(rank / 2) + math.log(2 / rank)) / 2)
        away = np.log(self.sizes.residual(typical * error2, noise2) / residual)
        expected = clipped_mean(away, math.sqrt(polygamma(1, freedom / 2)), width)
        return self._weighed((found - expected) ** 2 / (sd**2 + MODEL_SD**2))

    def seen(self, energy: float, variance: float) -> FilterState:
        """Update by the mean square of an entry of the mean step, which has noise of this variance."""
        error2, noise2 = self.cells
        entries, signal = self.sizes.entries, self.sizes.gain(error2, noise2) ** 2 * error2
        share = variance / (variance + signal)
        spread = share * (2 - share) * polygamma(1, entries / 2) + ENERGY_SD**2
        bias = digamma(entries / 2) + math.log(2 / entries)
        away = np.log(max(energy, 1e-300) / (variance + signal)) - share * bias
        return self._weighed(away**2 / spread, np.log(spread))

    def _weighed(self, squares: np.ndarray, logs: np.ndarray | float = 0.0) -> FilterState:
        logs = np.where(self.weights > 0, -(squares + logs) / 2, -np.inf)
        weights = self.weights * np.exp(logs - logs.max())
        return replace(self, weights=weights / weights.sum())

    def step_length(self, variance: float) -> float:
        """Return by what a mean step with this variance of noise is multiplied: the best linear estimate."""
        _, sd = self._moments(self.log_errors, self.weights.sum(axis=1))
        error2, noise2 = self.cells
        error2 = error2 * math.exp(CAUTION * sd)
        gain = self.sizes.gain(error2, noise2)
        return float((self.weights * gain * error2).sum() / ((self.weights * gain**2 * error2).sum() + variance))

    def stepped(self, length: float, variance: float) -> FilterState:
        """Predict what is known after a mean step, with noise of this variance, times this length."""
        error2, noise2 = self.cells
        eta = length * self.sizes.gain(error2, noise2)
        left = ((1 - eta) ** 2 + (1 - CONTRACTION) * eta) * error2 + length**2 * variance
        largest = math.log(self.sizes.largest_error2)
        errors = np.clip(np.log(left), math.log(SMALLEST), largest)
        noises = np.broadcast_to(self.log_noises, errors.shape)
        mean, _ = self._moments(errors, self.weights)
        drift = mean - self._moments(self.log_errors, self.weights.sum(axis=1))[0]
        grid = self._grid(self.sizes, mean, *self._moments(self.log_noises, self.weights.sum(axis=0)))
        weights = dealt((errors, noises), self.weights, grid)
        apart = np.subtract.outer(grid[0], grid[0]) / math.hypot(STEP_SD, DRIFT_SD * drift)
        blurred = np.exp(-(apart**2) / 2)
        return replace(self, log_errors=grid[0], log_noises=grid[1], weights=blurred / blurred.sum(axis=0) @ weights)


def clipped_mean(mean: np.ndarray, sd: float, width: float) -> np.ndarray:
    """Return means of normal numbers clipped to +-width."""
    low, high = (-width - mean) / sd, (width - mean) / sd
    density = np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)
    inside = ndtr(high) - ndtr(low)
    return mean * inside + sd * density / math.sqrt(2 * math.pi) + width * (ndtr(-high) - ndtr(low))


def dealt(points: tuple[np.ndarray, np.ndarray], weights: np.ndarray, grid: tuple) -> np.ndarray:
    """Divide weights (J, K) of points among the corners of a grid around each, those outside among its edge's."""
    shape = tuple(map(len, grid))
    places = [
        np.clip((one - axis[0]) / (axis[1] - axis[0]), 0, len(axis) - 1) for one, axis in zip(points, grid, strict=True)
    ]
    corners = [np.minimum(one.astype(int), size - 2) for one, size in zip(places, shape, strict=True)]
    found = np.zeros(math.prod(shape))
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at = [first + more for first, more in zip(corners, corner, strict=True)]
        parts = weights * math.prod(1 - np.abs(one - to) for one, to in zip(places, at, strict=True))
        found += np.bincount(np.ravel_multi_index(at, shape).ravel(), parts.ravel(), len(found))
    return found.reshape(shape)
