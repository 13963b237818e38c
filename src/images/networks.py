"""The networks of shen2023 Section 6, as plain pytrees: a representation (body) and a linear head on its features.

    MLP      dense 256, 128, 16 with ReLU                                          EMNIST
    LeNet-5  5 x 5 convolutions of 64 and 64 channels, each with ReLU and 2 x 2 maxima;
             dense 384 (CIFAR-100: 128) and 32 with ReLU

The head is the last layer. There is no normalisation and no dropout. A convolution is written as a product with the
patches of the images (im2col): on a CPU this is many times faster than XLA's own inside a scan, and for many clients at
once it becomes a batched product. On a CPU with a C compiler `images.kernel` computes both convolutions of LeNet.
Initial weights are those of PyTorch, uniform within +-1/sqrt(inputs).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from images import kernel

Layer = tuple[jax.Array, jax.Array]
"""Weights (inputs, outputs) and offsets (outputs,)."""
Body = tuple[Layer, ...]
Model = tuple[Body, Layer]
"""Representation and head."""

AT_ONCE = 100
"""Images at once on an accelerator, or in one call of the kernel: maps take thousands of bytes per pixel."""
WINDOW = 5
"""Side of a convolution's window."""


class Moves(NamedTuple):
    """Moves of B images in E copies: the corner (E, B, 2), row and column, at which a copy starts in the zero-padded
    image, and whether it is then mirrored (E, B)."""

    corners: jax.Array
    mirrored: jax.Array


def with_edges(images: jax.Array, shift: int) -> jax.Array:
    """Pad images (B, height, width, channels) with `shift` zeros on all four sides."""
    return jnp.pad(images, ((0, 0), (shift, shift), (shift, shift), (0, 0)))


@dataclass(frozen=True)
class Network:
    """A network: `init` maps a key to a body, and `forward` a body and images (B, height, width, channels) float32 to
    features (B, `features`). `of_copies`, if not None, maps a body, images, moves, and the largest shift to features
    (E, B, `features`) of all copies at once."""

    features: int
    init: Callable[[jax.Array], Body]
    forward: Callable[[Body, jax.Array], jax.Array]
    of_copies: Callable[[Body, jax.Array, Moves, int], jax.Array] | None = None


def dense(key: jax.Array, inputs: int, outputs: int) -> Layer:
    """Draw an initial dense layer."""
    bound = 1 / math.sqrt(inputs)
    weights, offsets = jax.random.split(key)
    draw = partial(jax.random.uniform, minval=-bound, maxval=bound)
    return draw(weights, (inputs, outputs)), draw(offsets, (outputs,))


def apply(layer: Layer, rows: jax.Array) -> jax.Array:
    """Map rows (..., inputs) to (..., outputs)."""
    weights, offsets = layer
    return rows @ weights + offsets


def layers(key: jax.Array, widths: tuple[int, ...]) -> Body:
    """Draw initial dense layers between consecutive widths."""
    keys = jax.random.split(key, len(widths) - 1)
    return tuple(dense(layer_key, *pair) for layer_key, pair in zip(keys, itertools.pairwise(widths), strict=True))


# Cached, so that JAX finds what it compiled for an equal network.
@cache
def mlp(pixels: int, widths: tuple[int, ...] = (256, 128, 16)) -> Network:
    """Return the network for EMNIST, for images with this number of pixels, all channels."""

    def forward(body: Body, images: jax.Array) -> jax.Array:
        rows = images.reshape(len(images), -1)
        for layer in body:
            rows = jax.nn.relu(apply(layer, rows))
        return rows

    return Network(widths[-1], lambda key: layers(key, (pixels, *widths)), forward)


def patches(images: jax.Array) -> jax.Array:
    """Return the windows of a 5 x 5 convolution without padding, (B, h, w, c) -> (B, h - 4, w - 4, 25 c)."""
    _, height, width, _ = images.shape
    rows, columns = height - WINDOW + 1, width - WINDOW + 1
    windows = [images[:, i : i + rows, j : j + columns] for i in range(WINDOW) for j in range(WINDOW)]
    return jnp.concatenate(windows, axis=3)


def halved(images: jax.Array) -> jax.Array:
    """Take maxima over 2 x 2 squares, (B, h, w, c) -> (B, h/2, w/2, c); an odd last row or column is dropped."""
    batch, height, width, channels = images.shape
    even = images[:, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(batch, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


@cache
def lenet(side: int, channels: int, widths: tuple[int, int] = (384, 32), filters: int = 64) -> Network:
    """Return the network for CIFAR, with dense widths (384, 32) for CIFAR-10 and (128, 32) for CIFAR-100."""
    left = ((side - WINDOW + 1) // 2 - WINDOW + 1) // 2

    def init(key: jax.Array) -> Body:
        first, second, rest = jax.random.split(key, 3)
        window = WINDOW**2
        convolutions = dense(first, window * channels, filters), dense(second, window * filters, filters)
        return (*convolutions, *layers(rest, (left**2 * filters, *widths)))

    compiled = (side, channels, filters) == kernel.SIZES and kernel.ready()

    def dense_layers(body: Body, rows: jax.Array) -> jax.Array:
        for layer in body[2:]:
            rows = jax.nn.relu(apply(layer, rows))
        return rows

    def forward(body: Body, images: jax.Array) -> jax.Array:
        def convolved(image: jax.Array) -> jax.Array:
            if compiled:
                return kernel.convolved(body[:2], image[None])[0]
            maps = image[None]
            for layer in body[:2]:
                maps = jax.nn.relu(halved(apply(layer, patches(maps))))  # ReLU last, on a quarter of the entries
            return maps.reshape(-1)

        if compiled and len(images) <= AT_ONCE:
            return dense_layers(body, kernel.convolved(body[:2], images))
        # On a CPU the windows of one image fit the cache, which makes a round nearly twice as fast.
        batch = None if jax.default_backend() == "cpu" else AT_ONCE
        return dense_layers(body, jax.lax.map(convolved, images, batch_size=batch))

    def of_copies(body: Body, images: jax.Array, moves: Moves, shift: int) -> jax.Array:
        return dense_layers(body, kernel.convolved_copies((body[0], body[1]), with_edges(images, shift), *moves))

    return Network(widths[-1], init, forward, of_copies if compiled else None)
