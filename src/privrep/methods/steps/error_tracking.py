"""An extended Kalman filter for (log e^2, log s^2), see `privrep.methods.steps.unit_schedule`, from released numbers.

What is measured is the logarithm of the residual (d - k) k e^2 + s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privrep.methods.steps.unit_schedule import CONTRACTION, SMALLEST, Sizes

MODEL_SD = 0.1  # standard deviation of what the model of the residual leaves out
STEP_SD, DRIFT_SD = 0.3, 0.5
"""Standard deviations of what the model leaves out in log e^2: of any round, and of a contraction by e."""
GUESS_SD, FAILED_SD = (1.0, 2.0), (3.0, 2.0)
"""Standard deviations of the first guesses of log e^2 and log s^2, after a start as expected, and after a failed one,
which moves the first by up to 8; a noise level that is off by 3 moves the second by 2.2."""
SURPRISE = 3.0  # a start has failed if the first residual is off by more than so many deviations


@dataclass(frozen=True)
class FilterState:
    """State of the filter: mean (2,) and covariance (2, 2) of (log e^2, log s^2)."""

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def guessed(cls, error2: float, noise2: float) -> FilterState:
        """Return the state before anything is measured."""
        return cls(np.log([error2, noise2]), np.diag(np.square(GUESS_SD)))

    @property
    def error2(self) -> float:
        return max(math.exp(self.mean[0]), SMALLEST)

    @property
    def noise2(self) -> float:
        return math.exp(self.mean[1])

    def measured(self, sizes: Sizes, log_ratio: float, sd: float) -> FilterState:
        """Update the state by a measurement of the log residual over its expectation, with this sd."""
        across, variance = self._expected(sizes, sd)
        weight = across / variance
        return replace(self, mean=self.mean + weight * log_ratio, covariance=self.covariance - np.outer(weight, across))

    def checked(self, sizes: Sizes, log_ratio: float, sd: float) -> FilterState:
        """Return the first guesses, less sure where they do not explain the first measurement: the start failed."""
        failed = log_ratio**2 > SURPRISE**2 * self._expected(sizes, sd)[1]
        return replace(self, covariance=np.diag(np.square(FAILED_SD))) if failed else self

    def _expected(self, sizes: Sizes, sd: float) -> tuple[np.ndarray, float]:
        """Return the covariance of (log e^2, log s^2) with a measured log residual, and that one's variance."""
        part = sizes.dist2(self.error2) / sizes.residual(self.error2, self.noise2)
        slope = np.array([part, 1 - part])
        across = self.covariance @ slope
        return across, slope @ across + sd**2 + MODEL_SD**2

    def step_length(self, noise2: float) -> float:
        """Return eta of a step that has noise of this variance."""
        return self.error2 / (self.error2 + noise2)

    def stepped(self, eta: float) -> FilterState:
        """Predict the state after a round of gain eta."""
        drift = math.log(1 - CONTRACTION * eta)
        variance = STEP_SD**2 + (DRIFT_SD * drift) ** 2
        drifted = self.mean + np.array([drift, 0.0])
        return replace(self, mean=drifted, covariance=self.covariance + np.diag([variance, 0.0]))
