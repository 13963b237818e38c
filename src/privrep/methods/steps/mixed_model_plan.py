"""Public constants of the released mixed model: shares, clips, strengths, and a prior's eigenvalues."""

from __future__ import annotations

import numpy as np

STEPS = 3
LENGTH, FEATURES, CONSTANT, STEP, CHOICE, ANSWER = 0.005, 0.06, 0.01, 0.04, 0.14, 0.08
"""Shares of mu^2: a length, the moments, the mean label, a step, all gains, the answer's; the rest is the shape's."""
STEP_CLIPS, STEP_NOISE = (1.0, 4.0), 0.1  # ends of a clip over the typical length, and noise between them
RAISED, LEAST_SHAPE = 0.25, 1e-3  # least eigenvalues of S over its noise's norm, and over the largest
EVEN = 0.1  # least part of the trace that is spread evenly where eigenvalues are shrunk
STRENGTHS, ALONE_STRENGTHS = (0.25, 1.0, 4.0), (0.3, 3.0)  # variance that a prior gives a label over its noise
GAIN_WIDTH = 0.5  # clip of a gain, the log of the ratio of two mean squares of left-out samples
GAIN_FLOOR = 0.1  # part of the released residual variance that is added to a mean square before its log is taken
SURE = 2.0  # a gain is sure beyond this many standard deviations of its noise


def shares(constant: bool) -> list[float]:
    """Return the shares of mu^2 in the order of the releases; the shape's is the last."""
    found = [LENGTH, FEATURES, CONSTANT * constant, *STEPS * [LENGTH, STEP], LENGTH, CHOICE, ANSWER]
    return [*found, 1 - sum(found)]


def two_spectra(values: np.ndarray, edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues of P from those of S, (d,) ascending: raised, and shrunk."""
    raised = np.maximum(values, max(RAISED * edge, LEAST_SHAPE * np.abs(values).max()))
    sure = np.sqrt(np.maximum(values**2 - edge**2, 0.0)) * (values > edge)
    shrunk = sure + max(values.sum() - sure.sum(), EVEN * abs(values.sum()), 1e-9) / len(values)
    return np.maximum(raised, 1e-12), np.maximum(shrunk, 1e-12)
