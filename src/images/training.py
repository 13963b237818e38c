"""A client's local training: stochastic gradient descent with momentum on the cross-entropy, by `lax.scan`.

The paper gives steps and epochs. Momentum 0.9 and weight decay 1e-4 are those of the authors' public scripts, which
train clients alone without momentum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from images.clients import check_batch

Parameters = Any
"""A pytree of arrays."""


@dataclass(frozen=True)
class Descent:
    """Stochastic gradient descent: step size, passes over the images, largest mini-batch, momentum and weight decay."""

    step: float
    epochs: int
    batch: int
    momentum: float = 0.9
    decay: float = 1e-4

    def batches(self, images: int) -> tuple[int, int]:
        """Return the number of mini-batches in an epoch, and the images in each, of equal size so that all have one
        shape; the next epoch, in another order, may use the images left over."""
        check_batch(self.batch, images)
        count = -(-images // self.batch)
        return count, images // count


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy over the rows of logits (B, classes), for labels (B,)."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None].astype(int), axis=1).mean()


def descend(
    loss: Callable[[Parameters, jax.Array, jax.Array], jax.Array],
    start: Parameters,
    inputs: jax.Array,
    labels: jax.Array,
    key: jax.Array,
    rule: Descent,
    anew: bool = False,
) -> Parameters:
    """Return the parameters after descent on a loss of parameters, inputs (m, ...) and labels (m,) of a mini-batch; the
    key decides the orders of the images. With `anew`, each epoch has its own inputs, (epochs, m, ...)."""
    count, size = rule.batches(len(labels))

    def step(state, inputs, labels):
        parameters, speed = state
        gradient = jax.grad(loss)(parameters, inputs, labels)
        speed = jax.tree.map(lambda v, g, p: rule.momentum * v + g + rule.decay * p, speed, gradient, parameters)
        return (jax.tree.map(lambda p, v: p - rule.step * v, parameters, speed), speed), None

    def epoch(state, given):
        key, own = given
        seen = own if anew else inputs
        if count == 1:  # images in their own order, so that XLA can reuse features of the same images
            return step(state, seen, labels)
        order = jax.random.permutation(key, len(labels))[: count * size].reshape(count, size)
        return jax.lax.scan(lambda state, chosen: step(state, seen[chosen], labels[chosen]), state, order)[0], None

    state = start, jax.tree.map(jnp.zeros_like, start)
    return jax.lax.scan(epoch, state, (jax.random.split(key, rule.epochs), inputs if anew else None))[0][0]
