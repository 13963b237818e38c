"""Rounds of a server (shen2023, Algorithm 1, all clients in each): displacements are clipped whole, summed, released,
and their noisy mean added.

    for t = 1..T:   g_i <- CLIENT;   b <- b + eta_g ( sum_i clip(g_i; zeta) + noise ) / n

What clients do is one compiled scan, which clips them as well, at the clip of the mechanism
(`privrep.privacy.mechanisms.Release.sum`), from which the noise comes, in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from privrep.data.passes import Own
from privrep.neural.image_users import Everybody, ImageUsers
from privrep.neural.method import Client, ImageMethod, Pixels
from privrep.neural.training import Parameters
from privrep.privacy.clipping import check_bound, within_float32
from privrep.privacy.mechanisms import Release
from privrep.privacy.noise import Law

MOST_AT_ONCE = 100
"""Clients on an accelerator."""


class Round(NamedTuple):
    """After a round. shared : the model that was released. own : what clients keep, one more axis in front.
    norms : (n,) lengths of the displacements before the clip, exact, for analysis, not released. sent : block -> what
    the clients added."""

    shared: Parameters
    own: Parameters
    norms: np.ndarray
    sent: Callable[[Everybody], Displacements]


def client_chunk(clients: int, backend: str | None = None) -> int:
    """Clients that are worked on at once: one on a CPU, where batches of small products are many times slower;
    on an accelerator the largest number up to `MOST_AT_ONCE` that divides them all."""
    if (backend or jax.default_backend()) == "cpu":
        return 1
    return next(size for size in range(min(MOST_AT_ONCE, clients), 0, -1) if clients % size == 0)


def length(vector: jax.Array) -> jax.Array:
    """Its norm in float32, by sums of sums: sqrt(p) terms in each, so that rounding grows with sqrt(p) alone."""
    side = _side(len(vector))
    squares = jnp.pad(vector * vector, (0, side**2 - len(vector))).reshape(side, side)
    return jnp.sqrt(squares.sum(axis=1).sum())


def _side(size: int) -> int:
    return int(np.ceil(np.sqrt(size)))


@partial(jax.jit, static_argnames=("method", "pixels", "chunk"))
def clipped_sum(
    method: ImageMethod,
    pixels: Pixels,
    shared: Parameters,
    own: Parameters,
    clients: Client,
    key: jax.Array,
    bound: float,
    chunk: int = 1,
) -> tuple[jax.Array, Parameters, jax.Array]:
    """sum_i clip(g_i; bound) (p,), what the clients keep, and the lengths (n,).

    A client whose numbers overflowed adds nothing. chunk : clients worked on at once; it must divide their number.
    """

    def clipped(given: tuple) -> tuple[jax.Array, Parameters, jax.Array]:
        own, client, key = given
        displacement, own = method.client_update(shared, own, pixels.client(client), key)
        flat = ravel_pytree(displacement)[0]
        norm = length(flat)
        sound = jnp.isfinite(norm)
        factor = jnp.where(sound, jnp.minimum(1.0, bound / jnp.maximum(norm, 1e-30)), 0.0)
        return factor * jnp.where(sound, flat, 0.0), own, norm

    def one(total: jax.Array, given: tuple) -> tuple[jax.Array, tuple]:
        flat, own, norm = clipped(given)
        return total + flat, (own, norm)

    def many(total: jax.Array, given: tuple) -> tuple[jax.Array, tuple]:
        flat, own, norm = jax.vmap(clipped)(given)
        return total + flat.sum(axis=0), (own, norm)

    size, n = sum(leaf.size for leaf in jax.tree.leaves(shared)), len(clients.labels)
    given = own, clients, jax.random.split(key, n)
    if chunk == 1:
        total, (own, norms) = jax.lax.scan(one, jnp.zeros(size), given)
        return total, own, norms
    chunks = jax.tree.map(lambda leaf: leaf.reshape(n // chunk, chunk, *leaf.shape[1:]), given)
    total, kept = jax.lax.scan(many, jnp.zeros(size), chunks)
    own, norms = jax.tree.map(lambda leaf: leaf.reshape(n, *leaf.shape[2:]), kept)
    return total, own, norms


@dataclass(frozen=True, eq=False)
class Displacements:
    """What the clients of a block add in a round: their displacements, clipped whole.
    A kind of contribution, taken by one scan.

    shared : the model that the server sent. own : what the clients keep from before.
    key : of mini-batches and their orders. chunk : clients worked on at once. times : clients that each stands for.
    """

    method: ImageMethod
    pixels: Pixels
    clients: Client
    shared: Parameters
    own: Parameters
    key: jax.Array
    chunk: int = 1
    times: float = 1.0

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple:
        """The sum in float64, as if there were as many clients as are stood for;
        then what they keep, a leaf each, and their lengths before the clip.

        Raises
        ------
        ValueError
            If some clients do not take part: the scan is over all.
        """
        if there is not None:
            raise ValueError("some clients do not take part; a round is a scan over all of them")
        parameters = sum(leaf.size for leaf in jax.tree.leaves(self.shared))
        bound = within_float32(clip, 2 * _side(parameters))
        total, own, norms = clipped_sum(
            self.method, self.pixels, self.shared, self.own, self.clients, self.key, bound, self.chunk
        )
        kept = (Own(leaf) for leaf in (*jax.tree.leaves(own), np.asarray(norms)))
        return np.asarray(total, np.float64) * self.times, *kept

    def law(self, clip: float) -> Law:
        """Each adds at most zeta: replacing it moves the sum by at most 2 zeta, and adding or removing it,
        as the paper's scripts count, by zeta."""
        return Law.of_one(2 * clip, clip)


@partial(jax.jit, static_argnames=("method", "pixels"))
def displacements(
    method: ImageMethod, pixels: Pixels, shared: Parameters, own: Parameters, clients: Client, key: jax.Array
) -> jax.Array:
    """(n, p) what the clients would send next, before the clip; exact, for analysis, not released."""

    def one(given: tuple) -> jax.Array:
        own, client, key = given
        return ravel_pytree(method.client_update(shared, own, pixels.client(client), key)[0])[0]

    return jax.lax.map(one, (own, clients, jax.random.split(key, len(clients.labels))))


@dataclass(frozen=True)
class RoundPlan:
    """rounds : T. clip : zeta, positive. nominal : clients that are stood for, by default all that there are. With
    more, each stands for several, with the noise of many: an estimate of their accuracy, which says nothing of
    anybody's privacy."""

    rounds: int
    clip: float
    nominal: int | None = None

    def __post_init__(self):
        check_bound("clip", self.clip)


def run(
    method: ImageMethod, pixels: Pixels, users: ImageUsers, plan: RoundPlan, release: Release, key: jax.Array
) -> Iterator[Round]:
    """The rounds.

    Parameters
    ----------
    key : of starts, mini-batches and their orders; public.
    """
    n = users.known.users
    many, chunk = plan.nominal or n, client_chunk(n)
    start, keep, orders = jax.random.split(key, 3)
    shared = method.shared(start)
    own = jax.vmap(method.own)(jax.random.split(keep, n))
    flat, unravel = ravel_pytree(shared)
    for t in range(plan.rounds):
        turn = jax.random.fold_in(orders, t)

        def sent(block: Everybody, shared=shared, own=own, turn=turn) -> Displacements:
            return Displacements(method, pixels, block.clients, shared, own, turn, chunk, many / n)

        total, *kept, norms = release.sum("displacement", users, sent, clip=plan.clip)
        own = jax.tree.unflatten(jax.tree.structure(own), [leaf.rows for leaf in kept])
        flat = flat + (total / many).astype(np.float32)
        shared = unravel(flat)
        yield Round(shared, own, norms.rows, sent)
