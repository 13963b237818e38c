"""Counts of test images classified correctly by clients' models, by class, and two scores computed from them.

All clients share one test set. A shared representation is applied to it once, and then each head; a client that trained
alone applies its own network. A score looks at a client's own classes only.
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


def counted(method, pixels, body, head, features, kept, test) -> tuple[jax.Array, jax.Array]:
    """Return the numbers of test images with these features that one client classifies correctly, (classes,), and its
    accuracy on the images that it kept."""
    classes, most = test.images.shape[:2]
    labels = jnp.repeat(jnp.arange(classes), most)
    there = jnp.tile(jnp.arange(most), classes) < jnp.repeat(test.counts, most)
    right = (jnp.argmax(apply(head, features), axis=1) == labels) & there
    validated = jnp.argmax(apply(head, method.task.network.forward(body, pixels(kept.images))), axis=1)
    return right.reshape(-1, most).sum(axis=1), (validated == kept.labels).mean()


def features_of(method, pixels, body, test) -> jax.Array:
    """Return the features of all test images, those of the padding included."""
    return method.task.network.forward(body, pixels(test.images.reshape(-1, *test.images.shape[2:])))


@partial(jax.jit, static_argnames=("method", "pixels", "chunk"))
def _federated(method, pixels, shared, own, clients, kept, test, keys, chunk):
    body = method.representation(shared)
    features = features_of(method, pixels, body, test)

    def client_counts(given):
        own, client, kept, key = given
        head = method.final_head(shared, own, pixels.client(client), key)
        return counted(method, pixels, body, head, features, kept, test)

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
def _alone(method, pixels, clients, kept, test, keys, chunk):
    def client_counts(given):
        client, kept, key = given
        body, head = method.trained(pixels.client(client), key)
        return counted(method, pixels, body, head, features_of(method, pixels, body, test), kept, test)

    return jax.lax.map(client_counts, (clients, kept, keys), batch_size=None if chunk == 1 else chunk)


def alone(method: StandAlone, pixels: Pixels, some: Client, kept: Client, test: TestSet, keys: jax.Array) -> Counts:
    """Test clients that train alone, with a key for each."""
    return Counts(*map(np.asarray, _alone(method, pixels, some, kept, test, keys, min(client_chunk(), len(keys)))))
