"""PPSGD (Bietti et al. 2022): additive models, a shared head plus one of the client's own.

    w_i      <- descent on the client's own part of the head, the shared model fixed
    b, w     <- descent on the shared model, w_i fixed;  send the displacement,  keep w_i
    at the end each client fits w_i once more

As in shen2023's scripts, only the head has an added part.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from images.fedavg import FedAvg
from images.method import Client, added, fitted_head, moved
from images.networks import Layer, Model
from images.training import Descent, descend


@dataclass(frozen=True)
class Ppsgd(FedAvg):
    """PPSGD: in each round the descent `correction` on the own part, then the descent `local` on the shared model; at
    the end the descent `head` on the own part."""

    correction: Descent

    def own(self, key: jax.Array) -> Layer:
        return jax.tree.map(jnp.zeros_like, self.task.head(key))

    def corrected(self, shared: Model, own: Layer, client: Client, key: jax.Array, rule: Descent) -> Layer:
        """Return the own part after descent with the shared model fixed."""
        body, head = shared
        return fitted_head(body, own, self.task, client, key, rule, fixed=head)

    def client_update(self, shared: Model, own: Layer, client: Client, key: jax.Array) -> tuple[Model, Layer]:
        first, second = jax.random.split(key)
        own = self.corrected(shared, own, client, first, self.correction)

        def loss(model: Model, images: jax.Array, labels: jax.Array) -> jax.Array:
            body, head = model
            return self.task.loss(body, added(head, own), images, labels)

        return moved(descend(loss, shared, *client, second, self.local), shared), own

    def final_head(self, shared: Model, own: Layer, client: Client, key: jax.Array) -> Layer:
        return added(shared[1], self.corrected(shared, own, client, key, self.head))
