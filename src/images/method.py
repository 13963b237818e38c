"""Shared parts of the methods of shen2023 Section 6: clients with images, a shared model that is updated, and a head
for each client.

A method defines the server's parameters, a client's update in a round, and a client's final head on the shared
representation. All clients run the same code, so that a round is a scan over them (`images.rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp

from images.networks import Body, Layer, Model, Moves, Network, apply, dense, with_edges
from images.training import Descent, Parameters, cross_entropy, descend


class Client(NamedTuple):
    """Normalised images (m, height, width, channels) float32 and labels (m,) of a client, or of many, with a leading
    client axis."""

    images: jax.Array
    labels: jax.Array


@dataclass(frozen=True)
class Pixels:
    """Normalisation of pixels 0 to 255, by public means and standard deviations of each channel on the scale of 0 to
    1."""

    mean: tuple[float, ...]
    sd: tuple[float, ...]

    def __call__(self, images: jax.Array) -> jax.Array:
        """Return float32 images."""
        mean, sd = (jnp.array(each, jnp.float32) for each in (self.mean, self.sd))
        return (jnp.asarray(images, jnp.float32) / 255 - mean) / sd

    def client(self, client: Client) -> Client:
        """Return a client with normalised images."""
        return Client(self(client.images), jnp.asarray(client.labels))


@dataclass(frozen=True)
class ImageTask:
    """The network of the representation, and the number of classes, one logit of a head for each. With `shift`, heads
    are fitted on images mirrored at random and moved by up to `shift` pixels, anew in each epoch."""

    network: Network
    classes: int
    shift: int = 0

    def head(self, key: jax.Array) -> Layer:
        """Draw the initial head."""
        return dense(key, self.network.features, self.classes)

    def model(self, key: jax.Array) -> Model:
        """Draw the initial representation and head."""
        body, head = jax.random.split(key)
        return self.network.init(body), self.head(head)

    def loss(self, body: Body, head: Layer, images: jax.Array, labels: jax.Array) -> jax.Array:
        """Return the mean cross-entropy of a model."""
        return cross_entropy(apply(head, self.network.forward(body, images)), labels)


class ImageMethod(Protocol):
    """A federated method."""

    def shared(self, key: jax.Array) -> Parameters:
        """Return the server's initial parameters."""
        ...

    def own(self, key: jax.Array) -> Parameters:
        """Return the initial parameters that a client keeps from round to round and never sends."""
        ...

    def client_update(
        self, shared: Parameters, own: Parameters, client: Client, key: jax.Array
    ) -> tuple[Parameters, Parameters]:
        """Return the displacement of the client's copy of the shared model, and the parameters that it keeps."""
        ...

    def representation(self, shared: Parameters) -> Body:
        """Return the shared representation for the clients' final heads."""
        ...

    def final_head(self, shared: Parameters, own: Parameters, client: Client, key: jax.Array) -> Layer:
        """Return the client's final head."""
        ...


def drawn_moves(key: jax.Array, images: int, shift: int) -> Moves:
    """Draw one copy of each image, moved by up to `shift` pixels in both directions, mirrored or not."""
    move, mirror = jax.random.split(key)
    corners = jax.random.randint(move, (images, 2), 0, 2 * shift + 1)
    return Moves(corners, jax.random.bernoulli(mirror, shape=(images,)))


def jittered(images: jax.Array, moves: Moves, shift: int) -> jax.Array:
    """Move each image (m, height, width, channels) once, with zeros beyond the edge, and mirror it or not."""
    cut = jax.vmap(lambda image, at: jax.lax.dynamic_slice(image, (*at, 0), images.shape[1:]))
    moved = cut(with_edges(images, shift), moves.corners)
    return jnp.where(moves.mirrored[:, None, None, None], moved[:, :, ::-1], moved)


def head_features(body: Body, task: ImageTask, client: Client, key: jax.Array, epochs: int) -> jax.Array:
    """Return the features (m, features) of a client's images, or, with a shift, (epochs, m, features): as in the
    authors' scripts, each image is moved anew in each epoch."""
    network, images, shift = task.network, client.images, task.shift
    if not shift:
        return network.forward(body, images)
    moves = jax.vmap(lambda epoch_key: drawn_moves(epoch_key, len(images), shift))(jax.random.split(key, epochs))
    if network.of_copies:
        return network.of_copies(body, images, moves, shift)
    return jax.lax.map(lambda epoch_moves: network.forward(body, jittered(images, epoch_moves, shift)), moves)


def added(first: Layer, second: Layer) -> Layer:
    """Add two heads."""
    return jax.tree.map(jnp.add, first, second)


def fitted_head(
    body: Body, head: Layer, task: ImageTask, client: Client, key: jax.Array, rule: Descent, fixed: Layer | None = None
) -> Layer:
    """Return the head after descent on the client's images, with the representation fixed; in the loss, a `fixed`
    head is added to it."""
    features = head_features(body, task, client, jax.random.fold_in(key, 1), rule.epochs)

    def loss(head: Layer, rows: jax.Array, labels: jax.Array) -> jax.Array:
        return cross_entropy(apply(head if fixed is None else added(fixed, head), rows), labels)

    return descend(loss, head, features, client.labels, key, rule, anew=bool(task.shift))


def moved(after: Parameters, before: Parameters) -> Parameters:
    """Return after - before."""
    return jax.tree.map(lambda a, b: a - b, after, before)
