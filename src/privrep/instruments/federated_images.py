"""shen2023 Section 6: one method on images of clients with few classes each (`privrep.neural`), with the accuracy of their models.

Images are glyphs, a stand-in for EMNIST. Of the linear problem `users` are clients, `samples` images of a client, validation included, `rank` its
classes and `dim` the pixels; nothing else of it counts. What the server learns comes from the mechanisms; accuracies and lengths are exact, for
analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from privrep.algorithms.method import EXACT, Outcome, Task, check_choice, check_count
from privrep.data.problem import Problem
from privrep.data.rng import Streams
from privrep.neural.clients import SPLITS
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release

FEDERATED = ("fedavg", "pmtl", "ppsgd", "centaur")
NEIGHBOURS = ("add-remove", "replace-one")
"""What the budget is for. The paper defines neighbours by replacing a user; its scripts count adding or removing one, whose sensitivity is half."""
IMAGES = Path("results") / "images"
"""Where rendered images are kept, below the folder that the run is started from."""
PIXELS = 28 * 28


@dataclass(frozen=True)
class Alone:
    """Clients that train by themselves."""

    options: Options

    def run(self, task: Task) -> Outcome:
        """Their accuracy."""
        from privrep.neural import experiment

        found = experiment.train_alone(*self.options.prepared(task))
        return Outcome(log=self.options.log(found.accuracies, found.norms))


@dataclass(frozen=True)
class Together:
    """A federated method. It costs T releases; for neighbours that differ by adding or removing a user, each of half the sensitivity."""

    options: Options
    theorem = None

    @property
    def cost(self) -> Cost:
        whole = self.options.rounds * GAUSSIAN_COST
        if self.options.neighbours == "replace-one":
            return whole
        return Cost(mu_squared=whole.mu_squared / 4, rho=whole.rho / 4)

    def run(self, task: Task) -> Outcome:
        """The accuracy of the clients in the end."""
        from privrep.neural import experiment

        options, clients = self.options, task.users.problem.users
        multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        # An estimate with fewer clients releases nothing that a claim could be made of: its entries are thrown away.
        ledger = task.ledger if options.nominal is None else Ledger()
        release = Release(multiplier, ledger, range(clients), Streams(task.stream))
        federation, recipe, seed = options.prepared(task)
        found = experiment.train_together(
            federation, options.method, recipe, options.rounds, options.clip, release, seed, options.nominal
        )
        return Outcome(log={"noise_multiplier": multiplier} | options.log(found.accuracies, found.norms))


@dataclass(frozen=True)
class Options:
    """Options of an image experiment.

    Parameters
    ----------
    method : "stand_alone" or one of `FEDERATED`. classes : 10, 47 or 62. split : one of `privrep.neural.clients.SPLITS`.
    rounds, clip : T_g and zeta_g. nominal : clients that the simulated ones stand for; by default these are all, and the run is private.
    neighbours : one of `NEIGHBOURS`.
    local_epochs, batch, head_epochs, alone_epochs : see `privrep.neural.experiment.Recipe`.
    """

    method: str
    classes: int = 10
    split: str = "shards"
    rounds: int = 40
    clip: float = 0.25
    nominal: int | None = None
    neighbours: str = "add-remove"
    local_epochs: int = 2
    batch: int = 100
    head_epochs: int = 15
    alone_epochs: int = 100
    scores = ()
    columns: ClassVar = {
        "method": "method of the image experiments: stand_alone, fedavg, pmtl, ppsgd or centaur",
        "classes": "classes of the images",
        "split": "how images are dealt out to clients: distinct classes, or shards",
        "rounds": "rounds of the server",
        "clip": "clipping bound of an update (zeta)",
        "nominal": "clients that the simulated ones stand for, with their noise: an estimate of accuracy without a claim on privacy",
        "neighbours": "what epsilon protects: adding or removing a user, or replacing one; epsilon_exact is for replacing one",
        "local_epochs": "epochs of a client's descent on what is shared, in a round",
        "batch": "most images of a mini-batch",
        "head_epochs": "epochs of a client's descent on its head",
        "alone_epochs": "epochs of a client that trains alone",
        "accuracy": "mean over clients of the share of test images of their classes that their models get right"
        + EXACT,
        "clipped_share": "share of all updates that the clip shortens" + EXACT,
        "first_norm": "median length of the updates of the first round" + EXACT,
        "last_norm": "median length of the updates of the last round" + EXACT,
    }

    def __post_init__(self):
        check_choice("method", self.method, ("stand_alone", *FEDERATED))
        check_choice("split", self.split, SPLITS)
        check_choice("neighbours", self.neighbours, NEIGHBOURS)
        for name in ("classes", "rounds", "local_epochs", "batch", "head_epochs", "alone_epochs"):
            check_count(name, getattr(self, name))
        if self.nominal is not None:
            check_count("nominal", self.nominal)
        check_bound("clip", self.clip)

    def build(self, problem: Problem) -> Alone | Together:
        """The experiment for a problem.

        Raises
        ------
        ValueError
            If its dimension is not the number of pixels, a client would have more classes than there are, or `nominal` is less than the clients.
        """
        if problem.dim != PIXELS:
            raise ValueError(f"dim is {problem.dim}; images have {PIXELS} pixels")
        if problem.rank > self.classes:
            raise ValueError(f"rank is {problem.rank}; a client can have at most {self.classes} classes")
        if self.nominal is not None and self.nominal < problem.users:
            raise ValueError(f"nominal is {self.nominal}; it must be at least users, {problem.users}")
        return Alone(self) if self.method == "stand_alone" else Together(self)

    def prepared(self, task: Task) -> tuple:
        """Clients, how they train, and the seed of their starts and mini-batches, which all methods share."""
        from privrep.neural import experiment

        problem = task.users.problem
        recipe = experiment.Recipe(
            local_epochs=self.local_epochs,
            batch=self.batch,
            head_epochs=self.head_epochs,
            alone_epochs=self.alone_epochs,
        )
        seed = int(task.stream("init").integers(2**31))
        federation = experiment.glyph_federation(
            IMAGES, problem.users, problem.samples, self.classes, problem.rank, self.split, seed
        )
        return federation, recipe, seed

    def log(self, accuracies: np.ndarray, norms: np.ndarray) -> dict[str, float]:
        """Numbers of the row."""
        found = {"accuracy": float(accuracies.mean())}
        if norms.size:
            found |= {
                "clipped_share": float((norms > self.clip).mean()),
                "first_norm": float(np.median(norms[0])),
                "last_norm": float(np.median(norms[-1])),
            }
        return found
