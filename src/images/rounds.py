"""Rounds of a server (shen2023, Algorithm 1, with all clients in each): displacements are clipped as a whole, summed
and released, and their noisy mean is added to the model.

    for t = 1..T:   g_i <- CLIENT;   b <- b + eta_g ( sum_i clip(g_i; zeta) + noise ) / n

One compiled scan goes over the clients and clips their displacements, at the clip of the mechanism
(`privrep.privacy.mechanisms.Release.sum`); the mechanism adds the noise, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from images.image_users import Everybody, ImageUsers
from images.method import Client, ImageMethod, Pixels
from images.training import Parameters
from privrep.privacy.clipping import within_float32
from privrep.privacy.contributions import of_any_two
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.privacy.noise import NoiseSpec
from privrep.users.blocks import UserData
from privrep.users.passes import UserRows

AT_ONCE = 100
"""Clients in one batch on an accelerator."""


class Round(NamedTuple):
    """State after round `number`, from 1: shared parameters as a vector and as a model, the clients' kept parameters
    with a leading client axis, and exact displacement lengths (n,) before the clip, for analysis."""

    number: int
    flat: np.ndarray
    shared: Parameters
    own: Parameters
    lengths: np.ndarray


class Begun(NamedTuple):
    """State after a stop: the number of finished rounds, the shared parameters as a vector, and the leaves kept by
    clients."""

    number: int
    flat: np.ndarray
    own: list[np.ndarray]


def client_chunk(backend: str | None = None) -> int:
    """Return the number of clients in a batch: one on a CPU, where batches of small products are many times slower."""
    return 1 if (backend or jax.default_backend()) == "cpu" else AT_ONCE


def length(vector: jax.Array) -> jax.Array:
    """Return the norm in float32, by sums of sums of sqrt(p) terms each, so that rounding grows with sqrt(p)."""
    side = _side(len(vector))
    squares = jnp.pad(vector * vector, (0, side**2 - len(vector))).reshape(side, side)
    return jnp.sqrt(squares.sum(axis=1).sum())


def _side(size: int) -> int:
    return int(np.ceil(np.sqrt(size)))


def _blocks(tree: Parameters, chunk: int) -> Parameters:
    """Cut leaves (n, ...) into blocks (n / chunk rounded up, chunk, ...), the last one padded with zeros."""

    def cut(leaf: jax.Array) -> jax.Array:
        missing = -len(leaf) % chunk
        filled = jnp.concatenate([leaf, jnp.zeros((missing, *leaf.shape[1:]), leaf.dtype)])
        return filled.reshape(-1, chunk, *leaf.shape[1:])

    return jax.tree.map(cut, tree)


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
    """Return sum_i clip(g_i; bound) (p,), the parameters kept by clients, and the lengths (n,), with `chunk` clients in
    a batch. A client whose numbers overflow adds nothing."""

    def clipped(own: Parameters, client: Client, key: jax.Array) -> tuple[jax.Array, Parameters, jax.Array]:
        displacement, own = method.client_update(shared, own, pixels.client(client), key)
        flat = ravel_pytree(displacement)[0]
        norm = length(flat)
        sound = jnp.isfinite(norm)
        factor = jnp.where(sound, jnp.minimum(1.0, bound / jnp.maximum(norm, 1e-30)), 0.0)
        return factor * jnp.where(sound, flat, 0.0), own, norm

    def add_client(total: jax.Array, given: tuple) -> tuple[jax.Array, tuple]:
        flat, own, norm = clipped(*given)
        return total + flat, (own, norm)

    def many(total: jax.Array, given: tuple) -> tuple[jax.Array, tuple]:
        *clients, there = given
        flat, own, norm = jax.vmap(clipped)(*clients)
        return total + (flat * there[:, None]).sum(axis=0), (own, norm)

    size, n = sum(leaf.size for leaf in jax.tree.leaves(shared)), len(clients.labels)
    given = own, Client(*map(jnp.asarray, clients)), jax.random.split(key, n)
    if chunk == 1:
        total, (own, norms) = jax.lax.scan(add_client, jnp.zeros(size), given)
        return total, own, norms
    total, kept = jax.lax.scan(many, jnp.zeros(size), _blocks((*given, jnp.ones(n)), chunk))
    own, norms = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:n], kept)
    return total, own, norms


@dataclass(frozen=True, eq=False)
class Displacements:
    """Contributions of a block's clients in a round: their displacements from the shared model, each clipped as a
    whole, in one scan; the key decides mini-batches and their orders."""

    method: ImageMethod
    pixels: Pixels
    clients: Client
    shared: Parameters
    own: Parameters
    key: jax.Array
    chunk: int = 1
    sensitivity = staticmethod(of_any_two)

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple:
        """Return the sum in float64, then the leaves kept by clients, and their lengths before the clip; raise
        ValueError if some clients do not take part, since the scan is over all."""
        if there is not None:
            raise ValueError("some clients do not take part; a round is a scan over all of them")
        parameters = sum(leaf.size for leaf in jax.tree.leaves(self.shared))
        bound = within_float32(clip, 2 * _side(parameters))
        given = self.method, self.pixels, self.shared, self.own, self.clients, self.key
        total, own, norms = clipped_sum(*given, bound, self.chunk)
        kept = (UserRows(leaf) for leaf in (*jax.tree.leaves(own), np.asarray(norms)))
        return np.asarray(total, np.float64), *kept

    def noise_spec(self, clip: float) -> NoiseSpec:
        """Return the noise of a sum of updates of norm at most zeta; the paper's scripts add or remove a client."""
        return NoiseSpec.of_one(self.sensitivity(clip), clip)


def run(
    method: ImageMethod,
    pixels: Pixels,
    users: ImageUsers,
    count: int,
    clip: float,
    release: Release,
    key: jax.Array,
    begun: Begun | None = None,
) -> Iterator[Round]:
    """Yield `count` rounds, or those after `begun`, to which `release` was restored, with a clipping bound of updates.
    The public key decides starts, mini-batches and their orders; a round's number determines its own key."""
    n = users.known.users
    chunk, everybody = min(client_chunk(), n), cast(UserData, users)  # ImageUsers has all that is used of UserData
    start, keep, orders = jax.random.split(key, 3)
    flat, unravel = ravel_pytree(method.shared(start))
    own = jax.vmap(method.own)(jax.random.split(keep, n))
    structure, first = jax.tree.structure(own), 0
    if begun is not None:
        first, flat, own = begun.number, begun.flat, jax.tree.unflatten(structure, begun.own)
    shared = unravel(jnp.asarray(flat))
    for t in range(first, count):
        turn = jax.random.fold_in(orders, t)

        def sent(block: Everybody, shared=shared, own=own, turn=turn) -> Displacements:
            return Displacements(method, pixels, block.clients, shared, own, turn, chunk)

        total, *kept, lengths = release.sums(everybody, sent, NamedSum("displacement", clip))
        own = jax.tree.unflatten(structure, [leaf.rows for leaf in kept])
        flat = np.asarray(flat + (total.value / n).astype(np.float32))
        shared = unravel(jnp.asarray(flat))
        yield Round(t + 1, flat, shared, own, lengths.rows)
