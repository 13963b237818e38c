"""One fit from outside: the noise is calibrated, the method run, its privacy stated and its model scored.

A method is given users and a door for releases; what is here knows the truth, too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from privrep.algorithms.method import Iterate, Method, MethodOptions, Outcome, Task
from privrep.data.rng import Streams
from privrep.instruments.scoring import NormWatch, Path, excess_loss, excess_risk, scores
from privrep.privacy.accounting import UNLIMITED, Cost
from privrep.privacy.ledger import OverBudget
from privrep.privacy.mechanisms import Release


def fit(options: MethodOptions, task: Task) -> Outcome:
    """Run a method, or an instrument, on a task.

    Raises
    ------
    ValueError
        If the options do not suit the problem.
    LinAlgError, ArithmeticError
        If the method breaks down.
    OverBudget
        If what it releases is not what it declares.
    """
    method = options.build(task.users.problem)
    outcome = method.run(task) if hasattr(method, "run") else scored(method, options.scores, task)
    check_spent(method, task)
    return outcome


def with_truth(method: Method, truth: np.ndarray, streams: Streams) -> Method:
    """The method, with a start at the planted distance from the truth (d, k) where it has a planted one."""
    start = getattr(method, "start", None)
    return replace(method, start=start.given(truth, streams["init"])) if hasattr(start, "given") else method


def multiplier(method: Method, task: Task) -> float:
    """Delta for a private method; 0 for one without a budget."""
    return task.budget.noise_multiplier(method.cost, method.theorem) if is_private(method) else 0.0


def is_private(method: Method) -> bool:
    """Whether a method needs noise."""
    return hasattr(method, "cost")


def declared(method: Method) -> Cost:
    """What the ledger of a method may cost at noise multiplier 1: the method's cost, unless it is an instrument that `spends` something else, and no
    limit without a cost."""
    return getattr(method, "spends", method.cost) if is_private(method) else UNLIMITED


def opened(method: Method, task: Task) -> Release:
    """The door of a task for a method: the noise is calibrated, and what the method declares may be spent at it, whatever epsilon that comes to."""
    noise_multiplier, users = multiplier(method, task), range(task.users.problem.users)
    allowed = declared(method).at(noise_multiplier)
    return Release(noise_multiplier, task.ledger, users, Streams(task.stream), allowed)


def check_spent(method: Method, task: Task) -> None:
    """Raise OverBudget if the ledger has more than a method declares, or nothing where it declares something."""
    cost = declared(method)
    if cost == UNLIMITED:
        return
    if task.ledger.entries:
        task.ledger.check(cost.at(multiplier(method, task)))
    elif cost.mu_squared or cost.pure:
        raise OverBudget(f"{type(method).__name__} declares a cost, and its ledger is empty")


def scored(method: Method, names: tuple[str, ...], task: Task) -> Outcome:
    """The outcome of a method, with the named scores."""
    users, truth, watch = task.users, task.users.truth.basis, NormWatch()
    release = replace(opened(method, task), watch=watch)
    noise_multiplier = release.noise_multiplier
    method = with_truth(method, truth, release.streams)
    path: list[Iterate] = []
    for last in method.fit(users, release):
        path.append(replace(last, personal=None))  # what earlier iterates made of the users is not kept
    if not path:
        raise RuntimeError(f"{type(method).__name__} yields no iterate; a method yields one after each step")
    return Outcome(
        excess_risk=excess_risk(users, last.personal),
        subspace=last.subspace,
        **statement(method, noise_multiplier, task),
        log={**({"noise_multiplier": noise_multiplier} if task.ledger.entries else {}), **last.log},
        scores=scores(names, Path(path, truth, watch, lambda: excess_loss(users, last.personal, method.loss))),
    )


def statement(method: Method, noise_multiplier: float, task: Task) -> dict:
    """The printed privacy statement and the epsilon that it promises."""
    if is_private(method) and method.theorem:
        epsilon = method.theorem.epsilon(noise_multiplier, task.budget.delta)
        return {"theorem": method.theorem.id, "epsilon_paper": epsilon}
    return {"epsilon_paper": math.inf if task.ledger.entries and not is_private(method) else None}
