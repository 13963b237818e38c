"""A whole fit: calibrate the noise, run the method, state its privacy and score its model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeGuard

from privrep.methods.running.method import Iterate, Method, Outcome, Private, Task
from privrep.methods.running.scoring import WATCHED, NormWatch, Path, excess_risk, scores
from privrep.options import Declared
from privrep.privacy.accounting import UNLIMITED, Cost
from privrep.privacy.ledger import ROUNDING, OverBudget
from privrep.privacy.mechanisms import Release
from privrep.users.risk import personal_loss
from privrep.users.rng import Streams
from privrep.users.simulated import Problem


def fit(options: Declared, task: Task) -> Outcome:
    """Run a method, or an experiment, on a task."""
    method, run = prepared(options, task.simulated.problem), getattr(options, "run", None)
    return check_spent(method, task, run(method, task) if run else scored(method, options.scores, task))


def prepared(options: Declared, problem: Problem) -> Method:
    """Build a method from the public facts of a problem; for an experiment, return its cost."""
    own: Any = options
    return own.experiment(problem) if hasattr(own, "experiment") else own.build(problem.known)


def multiplier(method: object, task: Task) -> float:
    """Return the noise multiplier of a private method; 0 for one without a budget."""
    return task.given.noise_multiplier(method.cost, method.theorem) if is_private(method) else 0.0


def is_private(method: object) -> TypeGuard[Private]:
    """Whether a method, or an experiment, needs noise."""
    return hasattr(method, "cost")


def declared(method: object) -> Cost:
    """Return the largest cost that a method's ledger may have at noise multiplier 1; unlimited without a cost."""
    return getattr(method, "spends", None) or method.cost if is_private(method) else UNLIMITED


def open_release(method: object, task: Task) -> Release:
    """Return a handle with noise calibrated to the budget; it refuses more than the method's declared cost."""
    noise_multiplier, users = multiplier(method, task), range(task.users.known.users)
    allowed = declared(method).at(noise_multiplier)
    return Release(noise_multiplier, task.ledger, users, Streams(task.stream), allowed)


def check_spent(method: object, task: Task, outcome: Outcome) -> Outcome:
    """Raise OverBudget where the ledger does not fit the declared cost, and log the share of mu^2 that is unspent."""
    cost, ledger = declared(method), task.ledger
    if cost == UNLIMITED:
        return outcome
    if not ledger.entries and (cost.mu_squared or cost.pure):
        raise OverBudget(f"{type(method).__name__} declares a cost, and its ledger is empty")
    allowed = cost.at(multiplier(method, task))
    ledger.check(allowed)
    spent = ledger.spent("mu_squared") / allowed.mu_squared if 0 < allowed.mu_squared < math.inf else 1.0
    return outcome if spent > 1 - ROUNDING else replace(outcome, log=outcome.log | {"unspent": 1 - spent})


def scored(method: Method, names: tuple[str, ...], task: Task) -> Outcome:
    """Run a method and compute its scores; those named in `names` only where the truth is known."""
    users, watch = task.users, NormWatch()
    release = replace(open_release(method, task), watch=watch.lengths if WATCHED.intersection(names) else None)
    noise_multiplier = release.noise_multiplier
    path: list[Iterate] = []
    for last in method.fit(users, release):
        path.append(replace(last, personal=None))  # personal models of earlier iterates are not kept
    if not path:
        raise RuntimeError(f"{type(method).__name__} yields no iterate; a method yields one after each step")
    of_truth = {}
    if users.truth is not None:
        own: Any = last.personal
        score: Any = getattr(method, "score", None)
        way = Path(
            path, users.truth.basis, watch, lambda: personal_loss(task.simulated, own.basis, own.heads, score.loss)
        )
        of_truth = {"excess_risk": excess_risk(task.simulated, own), "scores": scores(names, way)}
    return Outcome(
        subspace=last.subspace,
        **statement(method, noise_multiplier, task),
        log={**({"noise_multiplier": noise_multiplier} if task.ledger.entries else {}), **last.log},
        personal=last.personal,
        **of_truth,
    )


def statement(method: object, noise_multiplier: float, task: Task) -> dict:
    """Return the id of the printed privacy statement and its epsilon: inf without privacy, None without a promise."""
    if is_private(method) and method.theorem:
        epsilon = method.theorem.epsilon(noise_multiplier, task.given.delta)
        return {"theorem": method.theorem.id, "epsilon_paper": epsilon}
    return {"epsilon_paper": math.inf if task.ledger.entries and not is_private(method) else None}
