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
from privrep.privacy.mechanisms import Release


def fit(options: MethodOptions, task: Task) -> Outcome:
    """Run a method, or an instrument, on a task.

    Raises
    ------
    ValueError
        If the options do not suit the problem.
    LinAlgError, ArithmeticError
        If the method breaks down.
    """
    method = options.build(task.users.problem)
    return method.run(task) if hasattr(method, "run") else scored(method, options.scores, task)


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


def scored(method: Method, names: tuple[str, ...], task: Task) -> Outcome:
    """The outcome of a method, with the named scores."""
    users, truth, watch, streams = task.users, task.users.truth.basis, NormWatch(), Streams(task.stream)
    noise_multiplier = multiplier(method, task)
    method = with_truth(method, truth, streams)
    release = Release(noise_multiplier, task.ledger, range(users.problem.users), streams, watch=watch)
    path: list[Iterate] = []
    for last in method.fit(users, release):
        path.append(replace(last, personal=None))  # what earlier iterates made of the users is not kept
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
