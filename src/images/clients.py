"""The federated split of shen2023 Section 6: the images of each class are cut into equal shards, S for each client.

A client has at most S classes, since two of its shards may be of one class, as in the authors' scripts; with S distinct
classes, training alone is far from its values in Table 1 (`docs/images.md`). A tenth of a client's images is for
validation. No image belongs to two clients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.options import ensure

VALIDATION = 0.1
"""Share of a client's images that is for validation."""


@dataclass(frozen=True)
class Partition:
    """Positions in a set of images, (n, m) for training and (n, v) for validation, and each client's number of shards
    of each class, (n, classes)."""

    training: np.ndarray
    validation: np.ndarray
    shards: np.ndarray


def training_images(samples: int) -> int:
    """Return the number of a client's training images."""
    return samples - round(VALIDATION * samples)


def check_batch(batch: int, images: int) -> None:
    """Raise ValueError for a batch larger than a client's images: it would silently become one step per epoch."""
    ensure(batch <= images, "batch", batch, f"a client trains on {images} images, and a batch can have no more")


def largest_shard(counts: np.ndarray, shards: int) -> int:
    """Return the largest shard size at which the classes, each cut by itself, give this number of shards; 0 if there
    are too few images."""
    size = int(counts.sum()) // shards
    while size and (counts // size).sum() < shards:
        size -= 1
    return size


def split(labels: np.ndarray, clients: int, per_client: int, samples: int, rng: np.random.Generator) -> Partition:
    """Partition images with labels (N,) among clients of `samples` images, validation included, in `per_client` shards
    each."""
    whole = per_client and samples % per_client == 0
    ensure(whole, "rank", per_client, f"a client's {samples} images must be a multiple of its shards")
    counts, size = np.bincount(labels), samples // per_client
    most = largest_shard(counts, clients * per_client)
    what = f"{clients} clients of {per_client} shards can have {most * per_client}"
    ensure(size <= most, "samples", samples, what)
    order = np.lexsort((rng.random(len(labels)), labels))  # by class, in random order within a class
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # Start of each shard of each class; a class has as many shards as fit.
    begins = np.concatenate([first[c] + size * rng.permutation(counts[c] // size) for c in range(len(counts))])
    begin = rng.permutation(begins)[: clients * per_client].reshape(clients, per_client)
    positions = order[begin[:, :, None] + np.arange(size)]
    shards = (labels[positions[:, :, :1]] == np.arange(len(counts))).sum(axis=1)
    positions = rng.permuted(positions.reshape(clients, -1), axis=1)
    kept = samples - training_images(samples)
    return Partition(positions[:, kept:], positions[:, :kept], shards)
