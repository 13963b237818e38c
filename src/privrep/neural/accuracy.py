"""Accuracy of clients' models on the test images of their own classes; a logit for every class, also for those that a
client does not have.

The test set is one for all clients. A shared representation is applied to it once, and then each head.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from privrep.neural.method import Client, ImageMethod, Pixels
from privrep.neural.networks import Body, Layer, apply
from privrep.neural.rounds import Round
from privrep.neural.stand_alone import StandAlone

TOGETHER = 500
"""Test images that go through a network at once: the windows of a convolution take thousands of bytes a pixel."""


def features_of(method: ImageMethod | StandAlone, body: Body, images: jax.Array) -> jax.Array:
    """(T, f) of images (T, height, width, channels)."""
    return jax.lax.map(lambda one: method.task.network.forward(body, one[None])[0], images, batch_size=TOGETHER)


def top1_accuracy(head: Layer, features: jax.Array, labels: jax.Array, own: jax.Array) -> jax.Array:
    """Share of the test images of a client's classes that its head gets right. features : (T, f). labels : (T,).
    own : (classes,) bool."""
    mine = own[labels]
    right = jnp.argmax(apply(head, features), axis=1) == labels
    return (right & mine).sum() / mine.sum()


class Accuracies(NamedTuple):
    """Of each client, (n,). test : on the test images of its classes.
    validation : on the images of its own that it did not train on."""

    test: np.ndarray
    validation: np.ndarray


@partial(jax.jit, static_argnames=("method", "pixels"))
def _federated(method, pixels, shared, own_parts, clients, kept, test, own, key):
    body = method.representation(shared)
    features = features_of(method, body, pixels(test.images))

    def one(key, given):
        part, client, kept, mine = given
        fit, key = jax.random.split(key)
        head = method.final_head(shared, part, pixels.client(client), fit)
        own_features = method.task.network.forward(body, pixels(kept.images))
        found = top1_accuracy(head, features, test.labels, mine), top1_accuracy(head, own_features, kept.labels, mine)
        return key, found

    return jax.lax.scan(one, key, (own_parts, clients, kept, own))[1]


def federated(
    method: ImageMethod,
    pixels: Pixels,
    last: Round,
    clients: Client,
    kept: Client,
    test: Client,
    own: np.ndarray,
    key: jax.Array,
) -> Accuracies:
    """Accuracy of each client after a round.

    Parameters
    ----------
    clients, kept, test : pixels uint8; `kept` of each client, for validation.
    own : (n, classes), which classes clients have. key : of the descent on the heads.
    """
    found = _federated(method, pixels, last.shared, last.own, clients, kept, test, jnp.asarray(own), key)
    return Accuracies(*map(np.asarray, found))


@partial(jax.jit, static_argnames=("method", "pixels"))
def _alone(method, pixels, clients, test, own, key):
    images = pixels(test.images)

    def one(key, given):
        client, mine = given
        fit, key = jax.random.split(key)
        body, head = method.trained(pixels.client(client), fit)
        return key, top1_accuracy(head, features_of(method, body, images), test.labels, mine)

    return jax.lax.scan(one, key, (clients, own))[1]


def alone(
    method: StandAlone, pixels: Pixels, clients: Client, test: Client, own: np.ndarray, key: jax.Array
) -> np.ndarray:
    """Accuracy of each client that trains alone, (n,); parameters as in `federated`."""
    return np.asarray(_alone(method, pixels, clients, test, jnp.asarray(own), key))
