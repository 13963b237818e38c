"""Options of one run of an image experiment, and the numbers of its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from images.clients import check_batch, training_images
from images.sets import SETS
from privrep.methods.running.method import EXACT
from privrep.options import Declared, among, check_count, check_whole, ensure, option, requires
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import GAUSSIAN_COST

STAND_ALONE = "stand_alone"
METHODS = (STAND_ALONE, "fedavg", "pmtl", "ppsgd", "centaur")
EIGHTHS = tuple(range(1, 9))
ADDED = Rows.sensitivity(1.0, "added or removed") / Rows.sensitivity(1.0)
"""Sensitivity of a sum of updates to adding or removing a client, over that to replacing one."""
LAST_SHIFT = 4
"""Largest move in pixels for the second score of a run with heads fitted on unmoved images."""


@dataclass(frozen=True)
class ImageOptions(Declared):
    """Options of the clients' training; the defaults are those of the authors' scripts, which are in no paper."""

    images: str = option(f"image set: {', '.join(SETS)}", among(tuple(SETS)))
    method: str = option(f"method of the image experiments: {', '.join(METHODS)}", among(METHODS))
    batch: int = option("images per mini-batch, at most a client's training images", check_count)
    local_epochs: int = option("epochs on the shared parameters per round; for stand_alone, all epochs", check_count)
    rounds: int = option("rounds of the server", check_whole, 0)
    clip: float = option("clipping bound of an update (zeta)", check_bound, 1.0)
    momentum: float = option("momentum of all descents", requires(lambda value: 0 <= value < 1, "be in [0, 1)"), 0.9)
    head_epochs: int = option("epochs of a client's descent on its head", check_count, 15)
    shift: int = option("pixels by which images for heads move, also mirrored; 0: none", check_whole, 0)
    watched: int = option("first clients, tested after each eighth of the rounds or trained alone", check_count, 200)
    numbers: ClassVar = {
        "epsilon_add_remove": "epsilon_exact for neighbours that differ by adding or removing a user",
        "tested": "number of clients in the mean of accuracy",
        "accuracy": "mean over clients and their shards of the accuracy on test images of the shard's class" + EXACT,
        "accuracy_once": "mean over clients of the accuracy on test images of their classes" + EXACT,
        "accuracy_sd": "standard deviation of accuracy over clients" + EXACT,
        "validation": "accuracy on the validation images of clients" + EXACT,
        "accuracy_moved_last": "accuracy if only the last heads are fitted on images moved by "
        f"{LAST_SHIFT} pixels, for a long run without moves before" + EXACT,
        "parameters": "number of shared parameters",
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
        ensure(self.method == STAND_ALONE or self.rounds, "rounds", self.rounds, f"{self.method} needs at least 1")

    def check_clients(self, samples: int, rank: int) -> None:
        """Raise ValueError unless clients with this number of images and shards can train with these options."""
        classes = SETS[self.images].classes
        ensure(rank <= classes, "rank", rank, f"{self.images} has {classes} classes")
        check_batch(self.batch, training_images(samples))

    @property
    def cost(self) -> Cost:
        """Cost of T releases for adding or removing a client; the ledger has that for replacing one."""
        whole = self.spends
        return Cost(mu_squared=ADDED**2 * whole.mu_squared, rho=ADDED**2 * whole.rho)

    @property
    def spends(self) -> Cost:
        """Cost of T releases for replacing a client, as in the ledger."""
        return self.rounds * GAUSSIAN_COST
