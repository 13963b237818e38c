"""The rounds of the image experiments (`images.rounds`) as an audited mechanism, on tiny images.

Pixels are the users' features, rounded and cut to 0 to 255; two classes are the signs of their labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from images.federated_images import experiments
from privrep.methods.running.method import Iterate
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, UserData
from privrep.users.passes import rows


def pixels_and_classes(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the images (B, m, d, 1, 1) and classes (B, m) of the users, uint8."""
    images = np.clip(128 + 40 * block.features.transpose(1, 0, 2), 0, 255).astype(np.uint8)
    return images[..., None, None], (block.labels.T > 0).astype(np.uint8)


@dataclass(frozen=True)
class NetworkRounds:
    """DP-FedAvg on the images, with a number of rounds and a clip of the displacement of a user."""

    count: int = 3
    clip: float = 0.25
    theorem = None

    @property
    def cost(self) -> Cost:
        return self.count * GAUSSIAN_COST

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Run the rounds; replacing a user moves each sum of displacements by at most twice the clip."""
        experiments()  # raises NotRun where a package is missing
        from images.small import small_rounds

        images, classes = rows(users, pixels_and_classes)
        for _ in small_rounds(images, classes, self.count, self.clip, release):
            yield Iterate(None)
