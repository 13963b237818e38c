"""shen2023 Section 6: one method on images of clients with few classes each (`images`), scored by the accuracy of their
models.

The linear problem's fields mean: `users` clients, `samples` images per client, validation included, `rank` a client's
number of shards S, `dim` pixels; others have no effect. Epsilon is for adding or removing a client, as in the authors'
scripts, with half the sensitivity of replacing one; `epsilon_exact` is for replacing one, as everywhere else.
All information of the server comes from the mechanisms; accuracies and lengths are exact, for analysis.
"""

from __future__ import annotations

from pathlib import Path

from images.options import ADDED, STAND_ALONE, ImageOptions
from images.sets import SETS
from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import NotRun, Task
from privrep.options import ensure
from privrep.privacy.accounting import gdp_epsilon
from privrep.privacy.mechanisms import Release
from privrep.users.simulated import Problem

DATA = Path("data")
"""Folder of the image files, a folder per set, relative to the working directory of the run."""
NEEDED = ("jax", "jaxlib")
"""Packages of the extra `images`."""


def experiments():
    """Import the experiments; raise NotRun if a required package is not installed."""
    try:
        from images import experiment
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise NotRun(f"{error.name} is not installed; the extra `images` brings it: pip install -e .[images]") from None
    return experiment


def spent(release: Release, delta: float) -> dict[str, float]:
    """Return the noise multiplier and, unless it is 0, the ledger's epsilon for adding or removing a user."""
    numbers = {"noise_multiplier": release.noise_multiplier}
    if release.noise_multiplier:
        numbers["epsilon_add_remove"] = gdp_epsilon(ADDED * release.ledger.mu, delta)
    return numbers


def federation(options: ImageOptions, task: Task):
    """Return the clients, and the seed of starts and mini-batches, which all methods share; raise NotRun if files of
    the set are missing."""
    problem, seed = task.simulated.problem, int(task.stream("init").integers(2**31))
    try:
        return experiments().federation(options.images, problem.users, problem.samples, problem.rank, seed, DATA), seed
    except FileNotFoundError as missing:
        raise NotRun(str(missing)) from None


def prepare(options: ImageOptions, problem: Problem) -> Spending | None:
    """Check sizes, and return what the run spends; None if clients train alone, since nothing is released then."""
    dim = SETS[options.images].dim
    ensure(problem.dim == dim, "dim", problem.dim, f"an image of {options.images} has {dim} numbers")
    options.check_clients(problem.samples, problem.rank)
    return None if options.method == STAND_ALONE else Spending(options.cost, spends=options.spends)


@experiment({}, base=ImageOptions, prepare=prepare)
def federated_images(task: Task, release: Release | None, options: ImageOptions) -> dict[str, float]:
    """Run an image experiment as a cell of a study."""
    clients, seed = federation(options, task)
    if release is None:
        return experiments().train_alone(clients, options, seed).numbers
    trained = experiments().train_together(clients, options, release, seed)
    return trained.numbers | spent(release, task.given.delta)
