"""DP-FedAvg with fine tuning (Yu, Bagdasaryan and Shmatikov 2020; `DP-FedAvg-fb` in shen2023):
the whole model is shared.

b, w <- descent on the whole model from the shared one;  send the displacement
at the end each client fine-tunes the shared head on its own images
"""

from __future__ import annotations

from dataclasses import dataclass

import jax

from images.method import Client, ImageTask, fitted_head, moved
from images.networks import Body, Layer, Model
from images.training import Descent, descend


@dataclass(frozen=True)
class FedAvg:
    """DP-FedAvg: in each round the descent `local` on the model, and at the end the descent `head` on the head."""

    task: ImageTask
    local: Descent
    head: Descent

    def shared(self, key: jax.Array) -> Model:
        return self.task.model(key)

    def own(self, key: jax.Array) -> tuple[()]:
        return ()

    def client_update(self, shared: Model, own: tuple[()], client: Client, key: jax.Array) -> tuple[Model, tuple[()]]:
        def loss(model: Model, images: jax.Array, labels: jax.Array) -> jax.Array:
            return self.task.loss(*model, images, labels)

        return moved(descend(loss, shared, *client, key, self.local), shared), own

    def representation(self, shared: Model) -> Body:
        return shared[0]

    def final_head(self, shared: Model, own: tuple[()], client: Client, key: jax.Array) -> Layer:
        return fitted_head(*shared, self.task, client, key, self.head)
