"""Labelled images, as the readers of files and the glyphs give them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Images:
    """pixels : (N, height, width) or, in colour, (N, height, width, 3) uint8; 0 to 255, channels red, green, blue.
    labels : (N,) uint8; 0 to classes - 1."""

    pixels: np.ndarray
    labels: np.ndarray
