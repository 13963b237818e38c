"""Noisy power method (shen2023, Algorithm 6 `NPM`, after Hardt and Price 2014): the device of analysis behind Theorem G.1.

    for l = 1..L:   X <- QR(A X + G_l)          G_l: any perturbation

Runs on a given matrix, not on users: it releases nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def noisy_power_method(
    matrix: np.ndarray, start: np.ndarray, iterations: int, perturbation: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The iterates X_1, ..., X_L, (L, ..., d, k).

    Parameters
    ----------
    matrix : (d, d) symmetric. start : (..., d, k) orthonormal; leading axes are independent runs.
    perturbation : maps the current iterates to G_l, of their shape.
    """
    bases, iterates = start, []
    for _ in range(iterations):
        bases = np.linalg.qr(matrix @ bases + perturbation(bases))[0]
        iterates.append(bases)
    return np.array(iterates)
