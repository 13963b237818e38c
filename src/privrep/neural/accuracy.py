"""Accuracy of clients' models on the test images of their own classes; a logit for every class, also for those that a client does not have.

The test set is one for all clients. A shared representation is applied to it once, and then each head.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from privrep.neural.method import Client, Method, Pixels
from privrep.neural.networks import Layer, apply
from privrep.neural.rounds import Round
from privrep.neural.stand_alone import StandAlone


def share_right(head: Layer, features: jax.Array, labels: jax.Array, own: jax.Array) -> jax.Array:
    """Share of the test images of a client's classes that its head gets right. features : (T, f). labels : (T,). own : (classes,) bool."""
    mine = own[labels]
    right = jnp.argmax(apply(head, features), axis=1) == labels
    return (right & mine).sum() / mine.sum()


@partial(jax.jit, static_argnames=("method", "pixels"))
def _federated(method, pixels, shared, own_parts, clients, test, own, key):
    features = method.task.network.forward(method.representation(shared), pixels(test.images))

    def one(key, given):
        part, client, mine = given
        fit, key = jax.random.split(key)
        head = method.final_head(shared, part, pixels.client(client), fit)
        return key, share_right(head, features, test.labels, mine)

    return jax.lax.scan(one, key, (own_parts, clients, own))[1]


def federated(
    method: Method, pixels: Pixels, last: Round, clients: Client, test: Client, own: np.ndarray, key: jax.Array
) -> np.ndarray:
    """Accuracy of each client after the last round, (n,).

    Parameters
    ----------
    clients, test : pixels uint8. own : (n, classes), which classes clients have. key : of the descent on the heads.
    """
    return np.asarray(_federated(method, pixels, last.shared, last.own, clients, test, jnp.asarray(own), key))


@partial(jax.jit, static_argnames=("method", "pixels"))
def _alone(method, pixels, clients, test, own, key):
    images = pixels(test.images)

    def one(key, given):
        client, mine = given
        fit, key = jax.random.split(key)
        body, head = method.trained(pixels.client(client), fit)
        return key, share_right(head, method.task.network.forward(body, images), test.labels, mine)

    return jax.lax.scan(one, key, (clients, own))[1]


def alone(
    method: StandAlone, pixels: Pixels, clients: Client, test: Client, own: np.ndarray, key: jax.Array
) -> np.ndarray:
    """Accuracy of each client that trains alone, (n,); parameters as in `federated`."""
    return np.asarray(_alone(method, pixels, clients, test, jnp.asarray(own), key))
