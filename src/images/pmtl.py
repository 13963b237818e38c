"""Private multi-task learning with fine tuning (Hu, Wu and Smith 2021; `PMTL-ft` in shen2023):
models held near the shared one.

    theta <- descent on loss + (strength/2) ||theta - theta_bar||^2 from theta_bar;  send theta - theta_bar
    at the end each client fine-tunes the shared head on its own images

Departure from Hu et al.: a client starts each round from the shared model, as in shen2023's scripts, and keeps no
model.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax

from images.fedavg import FedAvg
from images.method import Client, moved
from images.networks import Model
from images.training import descend


@dataclass(frozen=True)
class Pmtl(FedAvg):
    """PMTL; `strength` is lambda, the weight of the penalty."""

    strength: float = 1.0

    def client_update(self, shared: Model, own: tuple[()], client: Client, key: jax.Array) -> tuple[Model, tuple[()]]:
        def loss(model: Model, images: jax.Array, labels: jax.Array) -> jax.Array:
            distance = sum(jax.tree.leaves(jax.tree.map(lambda a, b: ((a - b) ** 2).sum(), model, shared)))
            return self.task.loss(*model, images, labels) + self.strength / 2 * distance

        return moved(descend(loss, shared, *client, key, self.local), shared), own
