"""CENTAUR for a network (shen2023, Algorithm 2): only the representation is shared.

    w   <- head by descent from the client's last head, the representation b_t fixed
    b   <- descent on the representation from b_t, the head w fixed
    send b - b_t,  keep w

At the end each client fits its head once more.
Departure from the paper: line 1 requires the best head; here some epochs of descent fit it, as in the experiments.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax

from images.method import Client, ImageTask, fitted_head, moved
from images.networks import Body, Layer
from images.training import Descent, descend


@dataclass(frozen=True)
class ImageCentaur:
    """CENTAUR: in each round the descent `head` on the head, then the descent `local` on the representation; at the end
    the descent `head` again."""

    task: ImageTask
    local: Descent
    head: Descent

    def shared(self, key: jax.Array) -> Body:
        return self.task.network.init(key)

    def own(self, key: jax.Array) -> Layer:
        return self.task.head(key)

    def client_update(self, shared: Body, own: Layer, client: Client, key: jax.Array) -> tuple[Body, Layer]:
        first, second = jax.random.split(key)
        own = fitted_head(shared, own, self.task, client, first, self.head)

        def loss(body: Body, images: jax.Array, labels: jax.Array) -> jax.Array:
            return self.task.loss(body, own, images, labels)

        return moved(descend(loss, shared, *client, second, self.local), shared), own

    def representation(self, shared: Body) -> Body:
        return shared

    def final_head(self, shared: Body, own: Layer, client: Client, key: jax.Array) -> Layer:
        return fitted_head(shared, own, self.task, client, key, self.head)
