"""Stand-alone training (`Stand-alone-no-FL` in shen2023): each client trains its own model, and nothing is released."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from images.method import Client, ImageTask
from images.networks import Model
from images.training import Descent, descend


@dataclass(frozen=True)
class StandAlone:
    """Training alone, with `local` descent on the whole model."""

    task: ImageTask
    local: Descent

    def trained(self, client: Client, key: jax.Array) -> Model:
        """Return the client's model."""
        start, orders = jax.random.split(key)

        def loss(model: Model, images: jax.Array, labels: jax.Array) -> jax.Array:
            return self.task.loss(*model, images, labels)

        return descend(loss, self.task.model(start), *client, orders, self.local)
