"""What the methods of shen2023 Section 6 have in common: clients with images, a shared model that moves,
a head of each client's own.

A method says what the server holds, what a client sends in a round, and which head a client has at the end,
on the shared representation. All clients do the same, so that a round is a scan over them (`privrep.images.rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from privrep.images.networks import Body, Layer, Network, apply, dense
from privrep.images.training import Descent, Parameters, cross_entropy, descend


class Client(NamedTuple):
    """images : (m, height, width, channels) float32, normalised. labels : (m,).
    With one more axis in front for many clients."""

    images: jax.Array
    labels: jax.Array


@dataclass(frozen=True)
class Pixels:
    """How images of 0 to 255 are read. mean, sd : public, of pixels between 0 and 1 by channel, so that networks see
    about mean 0 and sd 1."""

    mean: tuple[float, ...]
    sd: tuple[float, ...]

    def __call__(self, images: jax.Array) -> jax.Array:
        """float32 images."""
        mean, sd = (jnp.array(each, jnp.float32) for each in (self.mean, self.sd))
        return (jnp.asarray(images, jnp.float32) / 255 - mean) / sd

    def client(self, client: Client) -> Client:
        """A client with images as networks see them."""
        return Client(self(client.images), jnp.asarray(client.labels))


@dataclass(frozen=True)
class ImageTask:
    """network : of the representation. classes : logits of a head, all of them though a client has few.
    shift : heads are fitted on images that are moved by up to so many pixels and mirrored, anew in each epoch; 0 on the
    images as they are."""

    network: Network
    classes: int
    shift: int = 0

    def head(self, key: jax.Array) -> Layer:
        """A head at its start."""
        return dense(key, self.network.features, self.classes)

    def model(self, key: jax.Array) -> tuple[Body, Layer]:
        """Representation and head at their start."""
        body, head = jax.random.split(key)
        return self.network.init(body), self.head(head)

    def loss(self, body: Body, head: Layer, images: jax.Array, labels: jax.Array) -> jax.Array:
        """Mean cross-entropy of a model."""
        return cross_entropy(apply(head, self.network.forward(body, images)), labels)


class ImageMethod(Protocol):
    """A federated method."""

    def shared(self, key: jax.Array) -> Parameters:
        """What the server holds at the start."""

    def own(self, key: jax.Array) -> Parameters:
        """What a client keeps from round to round at the start; it is never sent."""

    def client_update(
        self, shared: Parameters, own: Parameters, client: Client, key: jax.Array
    ) -> tuple[Parameters, Parameters]:
        """How far the client's copy of the shared model has moved, and what it keeps."""

    def representation(self, shared: Parameters) -> Body:
        """The shared representation, on which all clients have their heads in the end."""

    def final_head(self, shared: Parameters, own: Parameters, client: Client, key: jax.Array) -> Layer:
        """The client's head in the end."""


def jittered(images: jax.Array, key: jax.Array, shift: int) -> jax.Array:
    """Images (m, height, width, channels), each moved by up to `shift` pixels in both directions, zeros beyond the
    edge, and mirrored or not."""
    padded = jnp.pad(images, ((0, 0), (shift, shift), (shift, shift), (0, 0)))
    move, mirror = jax.random.split(key)
    corners = jax.random.randint(move, (len(images), 2), 0, 2 * shift + 1)
    moved = jax.vmap(lambda image, at: jax.lax.dynamic_slice(image, (*at, 0), images.shape[1:]))(padded, corners)
    return jnp.where(jax.random.bernoulli(mirror, shape=(len(images), 1, 1, 1)), moved[:, :, ::-1], moved)


def head_rows(
    body: Body, task: ImageTask, client: Client, key: jax.Array, rule: Descent
) -> tuple[jax.Array, jax.Array, Descent]:
    """Features, labels and descent of a head whose representation is fixed: features are taken once.
    With `Task.shift` those of all epochs, each of other images, are rows of one."""
    if not task.shift:
        return task.network.forward(body, client.images), client.labels, rule
    features = jax.lax.map(
        lambda one: task.network.forward(body, jittered(client.images, one, task.shift)),
        jax.random.split(key, rule.epochs),
    )
    return features.reshape(-1, features.shape[-1]), jnp.tile(client.labels, rule.epochs), replace(rule, epochs=1)


def fitted_head(body: Body, head: Layer, task: ImageTask, client: Client, key: jax.Array, rule: Descent) -> Layer:
    """The head after descent on the client's images, with the representation fixed."""
    features, labels, rule = head_rows(body, task, client, jax.random.fold_in(key, 1), rule)

    def loss(head: Layer, rows: jax.Array, labels: jax.Array) -> jax.Array:
        return cross_entropy(apply(head, rows), labels)

    return descend(loss, head, features, labels, key, rule)


def moved(after: Parameters, before: Parameters) -> Parameters:
    """after - before."""
    return jax.tree.map(lambda a, b: a - b, after, before)
