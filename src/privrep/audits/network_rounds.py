"""The rounds of the image experiments (`privrep.images.rounds`) as a mechanism that can be audited:
a network of three features on tiny images.

Users' features are read as pixels, rounded and cut to 0 to 255, the signs of their labels as two classes.
What is audited is the clip of whole displacements, their sum, the noise and the ledger, not the accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privrep.data.passes import rows
from privrep.data.problem import Block, UserData
from privrep.fitting.method import Iterate
from privrep.images.federated_images import experiments
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release


def pixels_and_classes(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Users' images (B, m, d, 1, 1) and classes (B, m), uint8."""
    images = np.clip(128 + 40 * block.features.transpose(1, 0, 2), 0, 255).astype(np.uint8)
    return images[..., None, None], (block.labels.T > 0).astype(np.uint8)


@dataclass(frozen=True)
class NetworkRounds:
    """DP-FedAvg on the images. count : rounds. clip : of a user's displacement."""

    count: int = 3
    clip: float = 0.25
    theorem = None

    @property
    def cost(self) -> Cost:
        return self.count * GAUSSIAN_COST

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """The rounds. A user adds at most the clip to each, whatever its images, so that replacing it moves the sum by
        at most twice that. Parameters as in `Method.fit`."""
        rounds = experiments().rounds
        from privrep.images.small import small_rounds

        images, classes = rows(users, pixels_and_classes)
        for _ in small_rounds(images, classes, rounds.RoundPlan(self.count, self.clip), release):
            yield Iterate(None)
