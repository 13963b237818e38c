"""The federated split of shen2023 Section 6: images of each class are cut into equal shards, of which a client takes S.

A client has at most S classes, since two of its shards may be of one class, as in the authors' scripts; clients with S
distinct classes are far from what Table 1 prints for training alone (`docs/images.md`). Of a client's images a tenth is
kept for validation. No image belongs to two clients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

VALIDATION = 0.1
"""Share of a client's images."""


@dataclass(frozen=True)
class Partition:
    """Positions in a set of images, (n, m) for training and (n, v) for validation, and the shards of each class that a
    client has, (n, classes)."""

    training: np.ndarray
    validation: np.ndarray
    shards: np.ndarray


def training_images(samples: int) -> int:
    """Return how many of a client's images it trains on."""
    return samples - round(VALIDATION * samples)


def check_batch(batch: int, images: int) -> None:
    """Raise ValueError for a batch that a client cannot fill: it would silently be one step an epoch."""
    if batch > images:
        raise ValueError(f"batch is {batch}; a client trains on {images} images, and a batch can have no more")


def largest_shard(counts: np.ndarray, shards: int) -> int:
    """Return the largest size at which the classes, cut each by itself, give so many shards; 0 where images are too
    few."""
    size = int(counts.sum()) // shards
    while size and (counts // size).sum() < shards:
        size -= 1
    return size


def split(labels: np.ndarray, clients: int, per_client: int, samples: int, rng: np.random.Generator) -> Partition:
    """Partition images with labels (N,) among clients of `samples` images, validation included, in `per_client` shards
    each."""
    if per_client < 1 or samples % per_client:
        raise ValueError(f"rank is {per_client}; a client's {samples} images must be a multiple of its shards")
    counts, size = np.bincount(labels), samples // per_client
    most = largest_shard(counts, clients * per_client)
    if size > most:
        raise ValueError(f"samples is {samples}; {clients} clients of {per_client} shards can have {most * per_client}")
    order = np.lexsort((rng.random(len(labels)), labels))  # by class, at random within
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # Where each shard of each class begins; a class has as many as fit.
    begins = np.concatenate([first[c] + size * rng.permutation(counts[c] // size) for c in range(len(counts))])
    begin = rng.permutation(begins)[: clients * per_client].reshape(clients, per_client)
    positions = order[begin[:, :, None] + np.arange(size)]
    shards = (labels[positions[:, :, :1]] == np.arange(len(counts))).sum(axis=1)
    positions = rng.permuted(positions.reshape(clients, -1), axis=1)
    kept = samples - training_images(samples)
    return Partition(positions[:, kept:], positions[:, :kept], shards)
