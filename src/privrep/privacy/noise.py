"""Gaussian noise of the releases, and what a sum needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


def symmetric_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """N_sym(0, sd^2): independent entries on and above the diagonal, the upper triangle copied below.

    Parameters
    ----------
    size : of the square matrix.
    sd : of each entry.
    rng : of the noise.
    """
    noise = np.triu(rng.normal(0.0, sd, (size, size)))
    return noise + np.triu(noise, 1).T


def isotropic_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """(N + N^T) / 2 with independent entries of N: isotropic in Frobenius norm, sd on the diagonal, sd / sqrt(2) beside
    it.

    Parameters
    ----------
    size : of the square matrix.
    sd : of each entry of N.
    rng : of the noise.
    """
    noise = rng.normal(0.0, sd, (size, size))
    return (noise + noise.T) / 2


@dataclass(frozen=True)
class Noise:
    """Noise of one array at noise multiplier 1.

    Attributes
    ----------
    sd : of its entries, as `form` takes it.
    form : independent entries; or of a symmetric matrix, with the upper triangle copied below (`symmetric_noise`), or
        averaged with its transpose (`isotropic_noise`).
    """

    sd: float
    form: Literal["independent", "copied", "averaged"] = "independent"

    def draw(self, shape: tuple[int, ...], multiplier: float, rng: np.random.Generator) -> np.ndarray:
        """The noise at a noise multiplier.

        Parameters
        ----------
        shape : of the array; square for a symmetric matrix.
        multiplier : at least 0, times `sd`.
        rng : of the noise.
        """
        sd = self.sd * multiplier
        if self.form == "independent":
            return rng.normal(0.0, sd, shape)
        return (symmetric_noise if self.form == "copied" else isotropic_noise)(shape[0], sd, rng)

    def added(self, exact: np.ndarray, multiplier: float, rng: np.random.Generator) -> np.ndarray:
        """A sum with its noise.

        Parameters
        ----------
        exact : the sum.
        multiplier : noise multiplier.
        rng : source of the noise.
        """
        return exact + self.draw(exact.shape, multiplier, rng)


@dataclass(frozen=True)
class Law:
    """How a clipped sum is released at noise multiplier 1.

    Attributes
    ----------
    sensitivity, noise_sd : of the ledger's entry, in one unit.
    noises : of each array of the sum.
    bounds : what a user adds to each, at most.
    terms : how many terms a user adds to an entry, at most, where all are clipped and added in float64; None where they
        are not, or their absolute values may be longer than the bound. Noise on a lattice asks for it.
    """

    sensitivity: float
    noise_sd: float
    noises: tuple[Noise, ...]
    bounds: tuple[float, ...]
    terms: int | None = None

    @classmethod
    def of_one(cls, sensitivity: float, bound: float, form: str = "independent", terms: int | None = None) -> Law:
        """Of a sum of one array.

        Parameters
        ----------
        sensitivity : replace-one, in L2 norm, which is also the sd of the noise.
        bound : what a user adds, at most.
        form : of the noise, see `Noise`.
        terms : that a user adds to an entry, at most.
        """
        return cls(sensitivity, sensitivity, (Noise(sensitivity, form),), (bound,), terms)
