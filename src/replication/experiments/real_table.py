"""One split of a real table: the mixed model under differential privacy, a private rival of a few lines, and baselines
without privacy (`table_baselines`).

Errors are mean squared residuals on unseen rows over the variance of their labels, without noise and in no ledger.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from privrep.methods.mixed_model.method import MixedModel, MixedModelOptions
from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import NotRun, Task
from privrep.methods.running.runner import open_release
from privrep.options import among, check_positive, option, requires
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, UserData
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known
from privrep.users.rng import stream
from replication.experiments.columns import columns_of

if TYPE_CHECKING:  # so that a study's configuration can be checked without pandas
    from replication.experiments.table_baselines import Halves

TABLES = ("bfi", "star", "lahman", "movielens")
TABLES += (*tomllib.loads(files("replication.experiments").joinpath("real_tables.toml").read_text(encoding="utf-8")),)
PRIVATE, RIVAL, CEILING = "prior", "pooled descent", "ceiling"
OWN, SHRUNK, SINGLE = "own data", "shrunk mean", "single model"
LABEL_SD = 0.55  # public guess of the root mean square label, in units of half the label's range
FEW = 4  # rows of a newcomer
BLOCK = 2048  # users that a pass has in memory
STEPS, CLIP, RATE, PENALTY, INTERCEPT = 8, 0.3, 0.4, 10.0, 0.1  # of the rival (pooled descent), for all tables


@lru_cache(maxsize=4)
def split(table: str, number: int) -> Halves:
    """Split a table's rows into training and test halves; raise NotRun if its package is not installed."""
    from replication.experiments import real_tables
    from replication.experiments.table_baselines import halves

    try:
        rows = real_tables.TABLES[table]()
    except ModuleNotFoundError as error:
        raise NotRun(str(error)) from None
    return halves(rows, table, number)


def of_users(data: Halves, who: np.ndarray) -> Halves:
    """Restrict a split to the users marked in `who` (n,)."""
    number, test = np.cumsum(who) - 1, who[data.test_user]
    kept = {name: getattr(data, name)[who] for name in ("features", "labels", "rows")}
    tests = {name: getattr(data, name)[test] for name in ("test_features", "test_labels")}
    return replace(data, **kept, **tests, test_user=number[data.test_user[test]])


def gradients(mean: np.ndarray, block: Block) -> Rows:
    """Return users' contributions to a step of pooled descent: minus half the gradient of their mean square, (d,)."""
    left = (block.labels - block.features @ mean).astype(np.float64)
    return Rows(np.einsum("mbd,mb->bd", block.features, left) / np.maximum(block.counts, 1)[:, None])


def descent(users: UserData, release: Release) -> np.ndarray:
    """Return a single model by private gradient descent with the whole budget, (d,)."""
    mean = np.zeros(users.known.dim)
    for each in release.split(*[1 / STEPS] * STEPS):
        total = each.sum("pooled_step", users, partial(gradients, mean), clip=CLIP).value
        mean = mean + RATE * total / users.known.users
    return mean


def private_errors(task: Task, table: str, method: str, newcomers: float) -> dict[str, float]:
    """Return errors of the private mixed model on users who took part and on newcomers, or of pooled descent."""
    from replication.experiments.table_baselines import own_data

    seed = task.simulated.problem.seed
    data = split(table, seed)
    new = stream(0, "newcomers", {"table": table, "split": seed}).random(len(data.rows)) < newcomers
    taking_part, others = of_users(data, ~new), of_users(data, new)
    n, m, d = taking_part.features.shape
    features, labels = taking_part.features.transpose(1, 0, 2), taking_part.labels.T
    users = GivenUsers(Known(n, m, d, d), features, labels, block_size=BLOCK)
    if method == RIVAL:  # each user's ridge regression is shrunk towards the single model
        mean = descent(users, open_release(Spending(GAUSSIAN_COST), replace(task, users=users)))
        return {"error": taking_part.error(own_data(taking_part, PENALTY, INTERCEPT, mean))}
    model = MixedModel(LABEL_SD, constant=True)
    last = list(model.fit(users, open_release(model, replace(task, users=users))))[-1]
    shared: Any = last.personal and last.personal.models
    models, own = (np.concatenate([heads(block) for block in users.blocks()]) for heads in (shared, shared.own.heads))
    gains = taking_part.squares(own) - taking_part.squares(models)
    error, error_mean = map(taking_part.error, (models, np.broadcast_to(shared.mean, models.shape)))
    log = dict(last.log) | {"error": error, "error_mean": error_mean}
    two = taking_part.rows[taking_part.test_user] > 1  # users with at least two training rows, as in the released gain
    people = taking_part.test_user[two]
    rows = np.bincount(people)
    log["gain_held_out"] = float((np.bincount(people, gains[two])[rows > 0] / rows[rows > 0]).mean())
    if newcomers:
        features, labels = others.features[:, :FEW].transpose(1, 0, 2), others.labels[:, :FEW].T
        block = Block(0, np.ascontiguousarray(features, np.float32), np.ascontiguousarray(labels, np.float32))
        log["error_newcomers"] = others.error(shared(block))
        log["error_newcomers_mean"] = others.error(np.broadcast_to(shared.mean, (block.users, d)))
    return log


@experiment(
    columns_of("real_table") | dict(MixedModelOptions.numbers),
    prepare=lambda options, problem: Spending(GAUSSIAN_COST) if options.method in (PRIVATE, RIVAL) else None,
)
def real_table(
    task: Task,
    *,
    table: str = option("real table, see replication.experiments.real_tables", among(TABLES)),
    method: str = option(
        "released prior, rival, own data by ridge or shrunk mean, a single model, or the best without privacy",
        among((PRIVATE, RIVAL, OWN, SHRUNK, SINGLE, CEILING)),
        PRIVATE,
    ),
    newcomers: float = option(
        "share of users who take no part", requires(lambda share: 0 <= share < 1, "be at least 0 and below 1"), 0.0
    ),
    least_gain: float = option("gain in a row's log likelihood below which the mixed model ends", check_positive, 1e-5),
) -> dict[str, float]:
    """Fit a method to a real table. Numbers of users, samples and dimensions are the table's, not the study's."""
    if method in (PRIVATE, RIVAL):
        return private_errors(task, table, method, newcomers)
    from replication.experiments.table_baselines import best_own_data, best_shrunk_mean, mixed_model, single_model

    data = split(table, task.simulated.problem.seed)
    if method == CEILING:
        about_single = best_own_data(data, single_model(data)[0])
        return {"error": min(data.error(mixed_model(data, least_gain).models), about_single)}
    alone = {OWN: best_own_data, SHRUNK: best_shrunk_mean, SINGLE: lambda data: data.error(single_model(data))}
    return {"error": alone[method](data)}
