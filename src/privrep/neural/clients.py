"""The federated split of shen2023 Section 6: clients with few classes each, and equally many images.

    distinct    a client has S classes, and equally many images of each
    shards      images of each class are cut into equal pieces, and a client takes S of all: at most S classes,
                as in the authors' scripts

Of a client's images a tenth is kept for validation. It is tested on the test images of its own classes.
No image belongs to two clients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SPLITS = ("distinct", "shards")
VALIDATION = 0.1
"""Share of a client's images."""


@dataclass(frozen=True)
class Partition:
    """Positions in a set of images. training : (n, m). validation : (n, v).
    own : (n, classes), whether a client has the class."""

    training: np.ndarray
    validation: np.ndarray
    own: np.ndarray


def class_sets(clients: int, per_client: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """(n, S) classes, S distinct ones for each client, in all as equally often as can be.

    Each client takes the classes that are left most often, at random among equals:
    the numbers left never differ by more than one.
    """
    left = np.zeros(classes)
    chosen = np.empty((clients, per_client), np.int64)
    for client in range(clients):
        chosen[client] = np.lexsort((rng.random(classes), left))[:per_client]
        left[chosen[client]] += 1
    return chosen


def shard_size(counts: np.ndarray, pieces: int) -> int:
    """The largest size at which the classes, cut each by itself, give so many pieces; 0 where there are fewer images
    than that."""
    size = int(counts.sum()) // pieces
    while size and (counts // size).sum() < pieces:
        size -= 1
    return size


def split(
    labels: np.ndarray, clients: int, per_client: int, kind: str, rng: np.random.Generator, images: int | None = None
) -> Partition:
    """Images partitioned among clients.

    Parameters
    ----------
    labels : (N,) classes of the images, 0, 1, ... per_client : S. kind : one of `SPLITS`.
    images : of a client, validation included; by default as many as all can have.

    Raises
    ------
    ValueError
        If the kind is unknown, there are fewer classes than S, or fewer images than the clients need.
    """
    if kind not in SPLITS:
        raise ValueError(f"split is {kind!r}; it must be one of {', '.join(SPLITS)}")
    counts = np.bincount(labels)
    if not 1 <= per_client <= len(counts):
        raise ValueError(
            f"per_client is {per_client}; it must be at least 1 and at most the number of classes, {len(counts)}"
        )
    if kind == "distinct":
        sets = class_sets(clients, per_client, len(counts), rng)
        wanted = np.bincount(sets.ravel(), minlength=len(counts))
        size = int((counts[wanted > 0] // wanted[wanted > 0]).min())
    else:
        size = shard_size(counts, clients * per_client)
    if images is not None:
        if not per_client <= images <= size * per_client:
            raise ValueError(f"images is {images}; {clients} clients can have {per_client} to {size * per_client} each")
        size = images // per_client
    if size < 1:
        raise ValueError(f"clients is {clients}; {len(labels)} images are too few for {per_client} classes each")
    order = np.lexsort((rng.random(len(labels)), labels))  # by class, at random within
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    # Where each piece of each class begins; a class has as many as fit.
    pieces = [first[c] + size * rng.permutation(counts[c] // size) for c in range(len(counts))]
    if kind == "distinct":
        turn = np.zeros(len(counts), np.int64)
        begin = np.empty((clients, per_client), np.int64)
        for place in np.ndindex(begin.shape):
            chosen = sets[place]
            begin[place] = pieces[chosen][turn[chosen]]
            turn[chosen] += 1
    else:
        begin = rng.permutation(np.concatenate(pieces))[: clients * per_client].reshape(clients, per_client)
    dealt = order[begin[:, :, None] + np.arange(size)]
    own = np.zeros((clients, len(counts)), bool)
    np.put_along_axis(own, labels[dealt].reshape(clients, -1), True, axis=1)
    dealt = rng.permuted(dealt.reshape(clients, -1), axis=1)
    kept = round(VALIDATION * dealt.shape[1])
    return Partition(dealt[:, kept:], dealt[:, :kept], own)
