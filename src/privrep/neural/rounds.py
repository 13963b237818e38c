"""Rounds of a server (shen2023, Algorithm 1, all clients in each): displacements are clipped whole, summed, released, and their noisy mean added.

    for t = 1..T:   g_i <- CLIENT;   b <- b + eta_g ( sum_i clip(g_i; zeta) + noise ) / n

What clients do is one compiled scan. The noise comes from the mechanism (`privrep.privacy.mechanisms.Release.vector`), in float64: a client adds at
most zeta, so replacing it moves the sum by at most 2 zeta, and adding or removing it, as the paper's scripts count, by zeta.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from privrep.neural.method import Client, Method, Pixels
from privrep.neural.training import Parameters
from privrep.privacy.clipping import check_bound, within_float32
from privrep.privacy.mechanisms import Release


class Round(NamedTuple):
    """After a round. shared : the model that was released. own : what clients keep, one more axis in front. norms : (n,) lengths of the
    displacements before the clip; exact, for analysis, not released."""

    shared: Parameters
    own: Parameters
    norms: np.ndarray


def length(vector: jax.Array) -> jax.Array:
    """Its norm in float32, by sums of sums: sqrt(p) terms in each, so that rounding grows with sqrt(p) alone."""
    side = _side(len(vector))
    squares = jnp.pad(vector * vector, (0, side**2 - len(vector))).reshape(side, side)
    return jnp.sqrt(squares.sum(axis=1).sum())


def _side(size: int) -> int:
    return int(np.ceil(np.sqrt(size)))


@partial(jax.jit, static_argnames=("method", "pixels"))
def clipped_sum(
    method: Method, pixels: Pixels, shared: Parameters, own: Parameters, clients: Client, key: jax.Array, bound: float
) -> tuple[jax.Array, Parameters, jax.Array]:
    """sum_i clip(g_i; bound) (p,), what the clients keep, and the lengths (n,).

    A client whose numbers overflowed adds nothing.
    """

    def one(total: jax.Array, given: tuple) -> tuple[jax.Array, tuple]:
        own, client, key = given
        displacement, own = method.client_update(shared, own, pixels.client(client), key)
        flat = ravel_pytree(displacement)[0]
        norm = length(flat)
        sound = jnp.isfinite(norm)
        factor = jnp.where(sound, jnp.minimum(1.0, bound / jnp.maximum(norm, 1e-30)), 0.0)
        return total + factor * jnp.where(sound, flat, 0.0), (own, norm)

    size = sum(leaf.size for leaf in jax.tree.leaves(shared))
    keys = jax.random.split(key, len(clients.labels))
    total, (own, norms) = jax.lax.scan(one, jnp.zeros(size), (own, clients, keys))
    return total, own, norms


def run(
    method: Method,
    pixels: Pixels,
    clients: Client,
    rounds: int,
    clip: float,
    release: Release,
    key: jax.Array,
    nominal: int | None = None,
) -> Iterator[Round]:
    """The rounds.

    Parameters
    ----------
    clients : pixels uint8 (n, m, height, width, channels) and labels (n, m). clip : zeta. key : of starts, mini-batches and their orders; public.
    nominal : clients that are stood for, by default all that there are. With more, each stands for several, with the noise of many: an estimate of
        their accuracy, which says nothing of anybody's privacy.

    Raises
    ------
    ValueError
        If the clip is not positive.
    """
    check_bound("clip", clip)
    n = len(clients.labels)
    many = n if nominal is None else nominal
    start, keep, orders = jax.random.split(key, 3)
    shared = method.shared(start)
    own = jax.vmap(method.own)(jax.random.split(keep, n))
    flat, unravel = ravel_pytree(shared)
    bound = within_float32(clip, 2 * _side(flat.size))
    for t in range(rounds):
        total, own, norms = clipped_sum(method, pixels, shared, own, clients, jax.random.fold_in(orders, t), bound)
        total = np.asarray(total, np.float64) * (many / n)
        moved = release.vector("displacement", total, bound=clip) / many
        flat = flat + moved.astype(np.float32)
        shared = unravel(flat)
        yield Round(shared, own, np.asarray(norms))
