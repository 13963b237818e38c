"""Rounds of DP-FedAvg with a network of three features, small enough for thousands of runs in an audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from images.fedavg import FedAvg
from images.image_users import ImageUsers
from images.method import Client, ImageTask, Pixels
from images.networks import mlp
from images.rounds import Round, run
from images.training import Descent
from privrep.privacy.mechanisms import Release


def small_rounds(images: np.ndarray, classes: np.ndarray, count: int, clip: float, release: Release) -> Iterator[Round]:
    """Yield the rounds of clients with images (n, m, d, 1, 1) uint8 of two classes (n, m), with the same starts and
    mini-batches in each call."""
    whole = images.shape[1]
    method = FedAvg(ImageTask(mlp(images.shape[2], (3,)), 2), Descent(0.5, 4, whole), Descent(0.1, 1, whole))
    arrays: Any = images, classes
    users = ImageUsers.of(Client(*arrays), rank=2)
    yield from run(method, Pixels((0.5,), (0.25,)), users, count, clip, release, jax.random.key(0))
