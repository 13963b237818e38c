"""shen2023 Section 6: one method on images of clients with few classes each (`privrep.neural`), with the accuracy of
their models.

Images are glyphs, a stand-in for EMNIST, or a set whose files are there. Of the linear problem `users` are clients,
`samples` images of a client, validation included, `rank` its classes and `dim` the pixels; nothing else of it counts.
What the server learns comes from the mechanisms; accuracies and lengths are exact, for analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from privrep.data.problem import Problem
from privrep.fitting.method import EXACT, NotRun, Outcome, Task
from privrep.fitting.options import Declared, among, check_count, option, unless
from privrep.fitting.runner import opened
from privrep.neural.clients import SPLITS
from privrep.neural.sets import SETS, check_set
from privrep.privacy.accounting import UNLIMITED, Cost, gdp_epsilon
from privrep.privacy.clipping import check_bound
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST

FEDERATED = ("fedavg", "pmtl", "ppsgd", "centaur")
NEIGHBOURS = ("add-remove", "replace-one")
"""What the budget is for. The paper defines neighbours by replacing a user;
its scripts count adding or removing one, whose sensitivity is half."""
DRAWN = Path("results") / "images"
"""Where drawn images are kept, below the folder that the run is started from."""
DATA = Path("data")
"""Where the files of the other sets are, each set in a folder of its own, below the same."""
NEEDED = ("jax", "jaxlib", "PIL", "pooch")
"""Packages of the extra `neural`."""


def neural():
    """The experiments.

    Raises
    ------
    NotRun
        If a package that they need is not installed.
    """
    try:
        from privrep.neural import experiment
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise NotRun(f"{error.name} is not installed; the extra `neural` brings it: pip install -e .[neural]") from None
    return experiment


@dataclass(frozen=True)
class Alone:
    """Clients that train by themselves."""

    options: FederatedImagesOptions

    def run(self, task: Task) -> Outcome:
        """Their accuracy."""
        federation, recipe, seed = self.options.prepared(task)
        some = federation.first(self.options.watched or task.users.problem.users)
        return Outcome(log=spread(neural().train_alone(some, recipe, seed)))


@dataclass(frozen=True)
class Together:
    """A federated method. It costs T releases; for neighbours that differ by adding or removing a user,
    each of half the sensitivity."""

    options: FederatedImagesOptions
    theorem = None

    @property
    def spends(self) -> Cost:
        """What the ledger has, whose sensitivities are for replacing a user.
        An estimate with fewer clients releases nothing that a claim could be made of: its entries are thrown away."""
        return (self.options.rounds if self.options.nominal is None else 0) * GAUSSIAN_COST

    @property
    def cost(self) -> Cost:
        whole = self.options.rounds * GAUSSIAN_COST
        if self.options.neighbours == "replace-one":
            return whole
        return Cost(mu_squared=whole.mu_squared / 4, rho=whole.rho / 4)

    def run(self, task: Task) -> Outcome:
        """The accuracy of the clients."""
        options = self.options
        release = opened(self, task)
        if options.nominal is not None:
            release = replace(release, ledger=Ledger(), allowed=UNLIMITED)
        federation, recipe, seed = options.prepared(task)
        found = neural().train_together(
            federation, options.method, recipe, options.plan, release, seed, options.shift, options.watched
        )
        log = {"noise_multiplier": release.noise_multiplier} | spread(found.accuracies.test) | options.log(found)
        if release.noise_multiplier and options.nominal is None:
            log["epsilon_add_remove"] = gdp_epsilon(task.ledger.mu / 2, task.budget.delta)
        return Outcome(log=log)


def spread(accuracies: np.ndarray) -> dict[str, float]:
    """Mean and standard deviation over clients."""
    return {
        "accuracy": float(accuracies.mean()),
        "accuracy_sd": float(accuracies.std(ddof=1)),
        "tested": len(accuracies),
    }


@dataclass(frozen=True)
class FederatedImagesOptions(Declared):
    """Options of an image experiment. By default the simulated clients stand for themselves, and the run is private.
    With `watched` 0 none are tested on the way, and all train alone."""

    method: str = option(
        "method of the image experiments: stand_alone, fedavg, pmtl, ppsgd or centaur",
        among(("stand_alone", *FEDERATED)),
    )
    images: str = option(
        "image set: glyphs, which are drawn, or files: emnist, mnist, cifar10 or cifar100", default="glyphs"
    )
    classes: int = option("classes of the images", default=10)
    split: str = option(
        "how images are partitioned among clients: distinct classes, or shards", among(SPLITS), "shards"
    )
    rounds: int = option("rounds of the server", check_count, 40)
    clip: float = option("clipping bound of an update (zeta)", check_bound, 0.25)
    nominal: int | None = option(
        "clients that the simulated ones stand for, with their noise: an estimate of accuracy without a claim on "
        "privacy",
        unless(None, check_count),
        None,
    )
    neighbours: str = option(
        "what epsilon protects: adding or removing a user, or replacing one; epsilon_exact is for replacing one",
        among(NEIGHBOURS),
        "add-remove",
    )
    local_epochs: int = option("epochs of a client's descent on what is shared, in a round", check_count, 2)
    batch: int = option("most images of a mini-batch", check_count, 100)
    head_epochs: int = option("epochs of a client's descent on its head", check_count, 15)
    alone_epochs: int = option("epochs of a client that trains alone", check_count, 100)
    shift: int = option(
        "pixels by which images are moved, and mirrored, when heads are fitted; 0: none", unless(0, check_count), 0
    )
    watched: int = option("clients that are tested on the way, or that train alone", unless(0, check_count), 0)
    fetch: bool = option("whether missing files of an image set may be fetched", default=False)
    numbers: ClassVar = {
        "epsilon_add_remove": "epsilon_exact for neighbours that differ by adding or removing a user",
        "tested": "clients that accuracy is a mean over",
        "accuracy": "mean over clients of the share of test images of their classes that their models get right"
        + EXACT,
        "accuracy_sd": "standard deviation of that share over clients" + EXACT,
        "validation": "the same as accuracy, of a client's own images that it does not train on" + EXACT,
        "clipped_share": "share of all updates that the clip shortens" + EXACT,
        "first_norm": "median length of the updates of the first round" + EXACT,
        "last_norm": "median length of the updates of the last round" + EXACT,
        "parameters": "numbers that are shared",
        **{
            f"accuracy_{part}_8": f"accuracy of the watched clients after {part}/8 of the rounds" + EXACT
            for part in range(1, 8)
        },
        **{
            f"{when}_{name}": f"{meaning}, {which} round" + EXACT
            for when, which in (("first", "first"), ("last", "last"))
            for name, meaning in (
                ("mean", "length of the mean of the clipped updates, without noise"),
                ("in_common", "mean inner product of two clients' updates over their mean square length"),
                (
                    "effective_rank",
                    "(sum of eigenvalues)^2 / sum of squares of the Gram matrix of up to 64 clients' updates",
                ),
            )
        },
    }

    def __post_init__(self):
        super().__post_init__()
        check_set(self.images, self.classes)

    def experiment(self, problem: Problem) -> Alone | Together:
        """The experiment for a problem.

        Raises
        ------
        ValueError
            If its dimension is not the number of pixels, a client would have more classes than there are,
            or `nominal` is less than the clients.
        """
        dim = SETS[self.images].dim
        if problem.dim != dim:
            raise ValueError(f"dim is {problem.dim}; an image of {self.images} has {dim} numbers")
        if problem.rank > self.classes:
            raise ValueError(f"rank is {problem.rank}; a client can have at most {self.classes} classes")
        if self.nominal is not None and self.nominal < problem.users:
            raise ValueError(f"nominal is {self.nominal}; it must be at least users, {problem.users}")
        if self.watched > problem.users:
            raise ValueError(f"watched is {self.watched}; it must be at most users, {problem.users}")
        return Alone(self) if self.method == "stand_alone" else Together(self)

    @property
    def plan(self):
        """The server's rounds."""
        return neural().rounds.RoundPlan(self.rounds, self.clip, self.nominal)

    def prepared(self, task: Task) -> tuple:
        """Clients, how they train, and the seed of their starts and mini-batches, which all methods share.

        Raises
        ------
        NotRun
            If the files of the set are not there.
        """
        experiment, problem = neural(), task.users.problem
        recipe = experiment.Recipe(
            local_epochs=self.local_epochs,
            batch=self.batch,
            head_epochs=self.head_epochs,
            alone_epochs=self.alone_epochs,
        )
        seed = int(task.stream("init").integers(2**31))
        partition = experiment.PartitionSettings(
            problem.users, problem.samples, self.classes, problem.rank, self.split, seed
        )
        try:
            return experiment.federation(self.images, partition, DRAWN, DATA, self.fetch), recipe, seed
        except FileNotFoundError as missing:
            raise NotRun(str(missing)) from None

    def log(self, found) -> dict[str, float]:
        """Numbers of the row of a federated run, beside its accuracy."""
        numbers = {
            "validation": float(found.accuracies.validation.mean()),
            "clipped_share": float((found.norms > self.clip).mean()),
            "first_norm": float(np.median(found.norms[0])),
            "last_norm": float(np.median(found.norms[-1])),
            "parameters": found.parameters,
        }
        numbers |= {f"accuracy_{part}_8": value for part, value in enumerate(found.along, 1)}
        for place, when in ((0, "first"), (-1, "last")):
            numbers |= {
                f"{when}_mean": found.means[place],
                f"{when}_in_common": found.in_common[place],
                f"{when}_effective_rank": found.effective_rank[place],
            }
        return numbers
