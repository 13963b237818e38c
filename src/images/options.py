"""Options of one run of an image experiment, and the numbers of its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from images.clients import check_batch, training_images
from images.sets import SETS
from privrep.methods.running.method import EXACT
from privrep.options import Declared, among, check_count, option, requires, unless
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import GAUSSIAN_COST

STAND_ALONE = "stand_alone"
METHODS = (STAND_ALONE, "fedavg", "pmtl", "ppsgd", "centaur")
EIGHTHS = tuple(range(1, 9))
ADDED = Rows.sensitivity(1.0, "added or removed") / Rows.sensitivity(1.0)
"""Sensitivity of a sum of updates where a client is added or removed, over that where one is replaced."""
LAST_SHIFT = 4
"""Pixels by which images move for the second score of a run whose heads were fitted on images as they are."""


@dataclass(frozen=True)
class ImageOptions(Declared):
    """Options of the clients' training, by default those of the authors' scripts, which stand in no paper."""

    images: str = option(f"image set: {', '.join(SETS)}", among(tuple(SETS)))
    method: str = option(f"method of the image experiments: {', '.join(METHODS)}", among(METHODS))
    batch: int = option("images of a mini-batch, at most those that a client trains on", check_count)
    local_epochs: int = option("epochs on what is shared, in a round; all of a client that trains alone", check_count)
    rounds: int = option("rounds of the server", unless(0, check_count), 0)
    clip: float = option("clipping bound of an update (zeta)", check_bound, 1.0)
    momentum: float = option("of all descent", requires(lambda value: 0 <= value < 1, "be in [0, 1)"), 0.9)
    head_epochs: int = option("epochs of a client's descent on its head", check_count, 15)
    shift: int = option("pixels by which images move, and are mirrored, for heads; 0: none", unless(0, check_count), 0)
    watched: int = option("first clients, tested after each eighth of the rounds or trained alone", check_count, 200)
    numbers: ClassVar = {
        "epsilon_add_remove": "epsilon_exact for neighbours that differ by adding or removing a user",
        "tested": "clients that accuracy is a mean over",
        "accuracy": "mean over clients and their shards of the share of test images of the shard's class that is right"
        + EXACT,
        "accuracy_once": "mean over clients of the share of test images of their classes that is right" + EXACT,
        "accuracy_sd": "standard deviation of accuracy over clients" + EXACT,
        "validation": "share of a client's own images that it does not train on that is right" + EXACT,
        "accuracy_moved_last": "accuracy where the last heads alone are fitted on images moved by "
        f"{LAST_SHIFT} pixels, of a long run that moves none before" + EXACT,
        "parameters": "numbers that are shared",
        "clipped_share": "share of all updates that the clip shortens" + EXACT,
        **{
            f"{name}_{part}_8": meaning.format(part) + EXACT
            for name, meaning in (
                ("accuracy", "accuracy of the watched clients after {}/8 of the rounds"),
                ("length", "median length of an update over the clip in the {}th eighth of the rounds"),
                ("cut", "share of updates that the clip shortens in the {}th eighth of the rounds"),
            )
            for part in EIGHTHS
        },
    }

    def __post_init__(self):
        super().__post_init__()
        if self.method != STAND_ALONE and not self.rounds:
            raise ValueError(f"rounds is 0; {self.method} needs at least 1")

    def check_clients(self, samples: int, rank: int) -> None:
        """Raise ValueError unless clients with so many images and shards can train with these options."""
        if rank > SETS[self.images].classes:
            raise ValueError(f"rank is {rank}; {self.images} has {SETS[self.images].classes} classes")
        check_batch(self.batch, training_images(samples))

    @property
    def cost(self) -> Cost:
        """The cost of T releases where a client is added or removed; the ledger has that of replacing one."""
        whole = self.spends
        return Cost(mu_squared=ADDED**2 * whole.mu_squared, rho=ADDED**2 * whole.rho)

    @property
    def spends(self) -> Cost:
        """The cost in the ledger."""
        return self.rounds * GAUSSIAN_COST
