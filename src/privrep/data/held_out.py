"""The error of models on samples that no fit has read, where no truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privrep.data.problem import Block, UserData


def held_out_errors(users: UserData, models: Callable[[Block], np.ndarray]) -> tuple[float, float]:
    """Return the mean over users of the mean squared error on their held-out samples, and that of predicting zero, in
    the labels' own unit squared, for models (B, d) of a block. Users without held-out samples and samples with all
    features zero do not count."""
    sums, counted = np.zeros(2), 0
    for block, held in zip(users.blocks(), users.held_out.blocks(), strict=True):
        predicted = np.einsum("mbd,bd->mb", held.features.astype(np.float64), models(block))
        scored = held.counts > 0
        present = np.isfinite(held.feature_norms)
        for number, left in enumerate((held.labels - predicted, held.labels)):
            squares = np.where(present, left.astype(np.float64) ** 2, 0.0).sum(axis=0)
            sums[number] += (squares[scored] / held.counts[scored]).sum()
        counted += int(scored.sum())
    scale = users.known.label_scale**2
    return tuple(float(part) for part in scale * sums / max(counted, 1))
