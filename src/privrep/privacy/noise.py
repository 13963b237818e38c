"""Gaussian noise of releases, and its specification for a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Form = Literal["independent", "copied", "averaged"]


def symmetric_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Draw N_sym(0, sd^2): independent entries on and above the diagonal, the upper triangle copied below."""
    noise = np.triu(rng.normal(0.0, sd, (size, size)))
    return noise + np.triu(noise, 1).T


@dataclass(frozen=True)
class Noise:
    """Gaussian noise for one array of a release: its size at noise multiplier 1, and its form."""

    sd: float  # sd of an entry; with form "averaged", of a diagonal entry
    # Independent entries; or, for a symmetric matrix, the upper triangle copied below (`symmetric_noise`), or noise
    # averaged with its transpose: isotropic in Frobenius norm, sd on the diagonal, sd / sqrt(2) off the diagonal.
    form: Form = "independent"

    def draw(self, shape: tuple[int, ...], multiplier: float, rng: np.random.Generator) -> np.ndarray:
        """Draw an array of this noise, its sd multiplied by the noise multiplier."""
        sd = self.sd * multiplier
        if self.form == "copied":
            return symmetric_noise(shape[0], sd, rng)
        noise = rng.normal(0.0, sd, shape)
        return (noise + noise.T) / 2 if self.form == "averaged" else noise

    def added(self, exact: np.ndarray, multiplier: float, rng: np.random.Generator) -> np.ndarray:
        """Return the exact sum plus an array of this noise (`draw`)."""
        return exact + self.draw(exact.shape, multiplier, rng)


@dataclass(frozen=True)
class NoiseSpec:
    """Specification of the release of a clipped sum at noise multiplier 1."""

    sensitivity: float  # the sensitivity that the ledger records, in the unit of `noise_sd`
    noise_sd: float
    noises: tuple[Noise, ...]  # noise of each array of the sum
    bounds: tuple[float, ...]  # bound on a user's contribution to each array
    # Largest number of terms that one user adds to an entry; noise on a lattice needs it to bound rounding. None where
    # terms are not clipped and added in float64, or where their absolute values may exceed the bound.
    terms: int | None = None

    @classmethod
    def of_one(
        cls, sensitivity: float, bound: float, form: Form = "independent", terms: int | None = None
    ) -> NoiseSpec:
        """Return the specification for a sum of one array."""
        return cls(sensitivity, sensitivity, (Noise(sensitivity, form),), (bound,), terms)
