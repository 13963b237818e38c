"""Counts of test images classified correctly by clients' models, by class, and two scores computed from them.

All clients share one test set. A shared representation is applied to it once, and then each head; a client that trained
alone has its own network, which is tested on the client's own classes only.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from images.method import Client, ImageMethod, Pixels
from images.networks import apply
from images.rounds import Round, client_chunk
from images.stand_alone import StandAlone


class TestSet(NamedTuple):
    """Test images by class (classes, largest class, height, width, channels) uint8, padded with black images, and the
    number in each class (classes,)."""

    images: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, images: np.ndarray, labels: np.ndarray) -> TestSet:
        """Group labelled images (T, height, width, channels) by class."""
        counts = np.bincount(labels)
        padded = np.zeros((len(counts), counts.max(), *images.shape[1:]), np.uint8)
        for label, count in enumerate(counts):
            padded[label, :count] = images[labels == label]
        return cls(padded, counts)


def by_shards(right: np.ndarray, counts: np.ndarray, shards: np.ndarray) -> np.ndarray:
    """Return the accuracy on the test images of a shard's class, averaged over a client's shards, (n,), from `right`
    and `shards` (n, classes); as in the authors' scripts, a class with two shards counts twice."""
    return (shards * right / counts).sum(axis=1) / shards.sum(axis=1)


def own_classes_once(right: np.ndarray, counts: np.ndarray, shards: np.ndarray) -> np.ndarray:
    """Return the accuracy on the test images of a client's classes, (n,)."""
    own = shards > 0
    return (own * right).sum(axis=1) / (own * counts).sum(axis=1)


class Counts(NamedTuple):
    """Numbers of test images of each class that each client classifies correctly, (n, classes), and the clients'
    validation accuracies, (n,)."""

    right: np.ndarray
    validation: np.ndarray


@partial(jax.jit, static_argnames=("method", "pixels", "chunk"))
def _federated(method, pixels, shared, own, clients, kept, test, keys, chunk):
    body, most = method.representation(shared), test.images.shape[1]
    features = method.task.network.forward(body, pixels(test.images.reshape(-1, *test.images.shape[2:])))
    labels = jnp.repeat(jnp.arange(len(test.counts)), most)
    there = jnp.tile(jnp.arange(most), len(test.counts)) < jnp.repeat(test.counts, most)

    def client_counts(given):
        own, client, kept, key = given
        head = method.final_head(shared, own, pixels.client(client), key)
        right = (jnp.argmax(apply(head, features), axis=1) == labels) & there
        validated = jnp.argmax(apply(head, method.task.network.forward(body, pixels(kept.images))), axis=1)
        return right.reshape(-1, most).sum(axis=1), (validated == kept.labels).mean()

    return jax.lax.map(client_counts, (own, clients, kept, keys), batch_size=None if chunk == 1 else chunk)


def federated(
    method: ImageMethod, pixels: Pixels, last: Round, clients: Client, kept: Client, test: TestSet, key: jax.Array
) -> Counts:
    """Test the first clients after a round, with `kept` images for validation and a key for the descent on the
    heads."""
    some = len(clients.labels)
    own = jax.tree.map(lambda leaf: leaf[:some], last.own)
    keys = jax.random.split(key, some)
    counts = _federated(method, pixels, last.shared, own, clients, kept, test, keys, min(client_chunk(), some))
    return Counts(*map(np.asarray, counts))


@partial(jax.jit, static_argnames=("method", "pixels", "chunk"))
def _alone(method, pixels, clients, kept, test, shards, keys, chunk):
    classes = len(test.counts)

    def client_counts(given):
        client, kept, mine, key = given
        body, head = method.trained(pixels.client(client), key)
        own = jnp.argsort(mine == 0, stable=True)

        def tested(place, right):
            label = own[place]
            predicted = jnp.argmax(apply(head, method.task.network.forward(body, pixels(test.images[label]))), axis=1)
            there = jnp.arange(len(predicted)) < test.counts[label]
            return right.at[label].set(((predicted == label) & there).sum())

        right = jax.lax.fori_loop(0, (mine > 0).sum(), tested, jnp.zeros(classes, int))
        validated = jnp.argmax(apply(head, method.task.network.forward(body, pixels(kept.images))), axis=1)
        return right, (validated == kept.labels).mean()

    return jax.lax.map(client_counts, (clients, kept, shards, keys), batch_size=None if chunk == 1 else chunk)


def alone(
    method: StandAlone, pixels: Pixels, some: Client, kept: Client, test: TestSet, shards: np.ndarray, keys: jax.Array
) -> Counts:
    """Test clients that train alone, with a key for each; counts are 0 for classes that a client does not have."""
    chunk = min(client_chunk(), len(shards))
    return Counts(*map(np.asarray, _alone(method, pixels, some, kept, test, jnp.asarray(shards), keys, chunk)))
