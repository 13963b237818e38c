"""Losses that are 1-Lipschitz in the prediction, and their mean over a Gaussian residual.

jain2021 Section 5 takes any loss that is xi-Lipschitz in its first argument. All of these have xi = 1: a loss of
`width` h is quadratic within about h of the label and linear beyond, in units of the labels.

    absolute       |r|
    huber          r^2 / (2h) for |r| <= h, |r| - h/2 beyond
    pseudo-huber   sqrt(r^2 + h^2) - h
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from privrep.options import among, check_positive, ensure

QUADRATURE = 200  # nodes of the Gauss-Legendre rule on either side of 0, out to `REACH` standard deviations
REACH = 12.0


@cache
def _half_normal() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of a quadrature for the mean of a function of |Z|, Z standard normal."""
    # Nodes in z^(1/3): a kink at |r| = h << sd lies near 0, where they are dense.
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE)
    root = (nodes + 1) / 2
    z, jacobian = REACH * root**3, REACH * 3 * root**2 / 2
    return z, 2 * (np.exp(-z * z / 2) / math.sqrt(2 * math.pi)) * jacobian * weights


@dataclass(frozen=True)
class _Shape:
    """A loss of width 1, even in r: its value l(r), and the weights l'(r) / r and l''(r)."""

    value: Callable[[np.ndarray], np.ndarray]
    weights: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _huber(r: np.ndarray) -> np.ndarray:
    inside = np.minimum(np.abs(r), 1)
    return np.abs(r) - inside + inside * inside / 2


def _huber_weights(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outside = np.maximum(np.abs(r), 1)
    return 1 / outside, (outside == 1).astype(r.dtype)


def _pseudo_huber(r: np.ndarray) -> np.ndarray:
    squared = r * r
    return squared / (1 + np.sqrt(1 + squared))  # sqrt(1 + r^2) - 1, without cancellation


def _pseudo_huber_weights(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weight = 1 / np.sqrt(1 + r * r)
    return weight, weight * weight * weight


SHAPES = {"huber": _Shape(_huber, _huber_weights), "pseudo-huber": _Shape(_pseudo_huber, _pseudo_huber_weights)}
LOSSES = ("absolute", *SHAPES)


@dataclass(frozen=True)
class Loss:
    """A loss of r = prediction - label, with a width h in units of labels: positive, or 0 for the absolute loss."""

    name: str
    width: float = 1.0

    def __post_init__(self):
        among(LOSSES)("loss", self.name)
        if self.name == "absolute":
            ensure(self.width == 0, "loss_width", self.width, "the absolute loss has width 0")
        else:
            check_positive("loss_width", self.width)

    def value(self, residual: np.ndarray) -> np.ndarray:
        if self.name == "absolute":
            return np.abs(residual)
        return self.width * SHAPES[self.name].value(residual / self.width)

    def weights(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return l'(r) / r and l''(r), of a loss with a width: l(s) <= l(r) + (l'(r) / r) (s^2 - r^2) / 2 for all s."""
        if self.width == 1:
            return SHAPES[self.name].weights(residual)
        weight, curvature = SHAPES[self.name].weights(residual / self.width)
        return weight / self.width, curvature / self.width

    def gaussian_mean(self, sd: np.ndarray) -> np.ndarray:
        """Return E l(Z) for Z ~ N(0, sd^2), elementwise, with a relative error below 1e-5 for sd up to 1e3 widths."""
        sd = np.asarray(sd, dtype=float)
        if self.name == "absolute":
            return sd * math.sqrt(2 / math.pi)
        z, density = _half_normal()
        return self.value(sd[..., None] * z) @ density
