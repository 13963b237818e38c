"""Experiments: functions of a whole task, truth included, and of options, which return named numbers.

@experiment({"iterations": "iterations of a run"})
def noisy_power_method(task: Task, *, gap: float = option("1 - s_{k+1} / s_k of the matrix", check_share)) -> dict:

A study names one by its file, whose name the function has. The function becomes the class of its options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass, replace
from inspect import Parameter, signature
from typing import Any

from privrep.methods.running.method import Outcome, Task
from privrep.methods.running.runner import open_release, statement
from privrep.options import Declared, plain
from privrep.privacy.accounting import Cost, Theorem
from privrep.users.simulated import Problem


@dataclass(frozen=True)
class Spending:
    """The cost and theorem by which an experiment's noise is chosen, and what its ledger may hold if something else."""

    cost: Cost
    theorem: Theorem | None = None
    spends: Cost | None = None


Prepare = Callable[[Any, Problem], Spending | None]  # what is taken of a budget, or ValueError


def experiment(
    numbers: Mapping[str, str], *, base: type[Declared] = Declared, prepare: Prepare = lambda options, problem: None
) -> Callable[[Callable[..., Outcome | dict[str, float]]], type[Declared]]:
    """Turn a function into the class of its options: those of `base`, and the parameters that it has by keyword.

    `numbers` has the meaning of what it returns, or has in the `log` of an outcome. It is given `task` and, where it
    has such parameters, `options`, which are all of them, and `release`, a handle of the budget, None where nothing is
    spent; then its row has the noise multiplier and the privacy statement, too.
    """

    def declare(function: Callable[..., Outcome | dict[str, float]]) -> type[Declared]:
        asked = signature(function).parameters.values()
        own = [(field.name, field.annotation, field.default) for field in asked if field.kind is Parameter.KEYWORD_ONLY]
        given = [field.name for field in asked if field.kind is not Parameter.KEYWORD_ONLY]

        def run(options: Declared, spending: Spending | None, task: Task) -> Outcome:
            release = open_release(spending, task) if spending and "release" in given else None
            known = {"task": task, "options": options, "release": release}
            result = function(*map(known.get, given), **{name: getattr(options, name) for name, *_ in own})
            outcome = result if isinstance(result, Outcome) else Outcome(log=result)
            if release is not None:
                log = {"noise_multiplier": release.noise_multiplier} | outcome.log
                outcome = replace(outcome, **statement(spending, release.noise_multiplier, task), log=log)
            return replace(outcome, log=plain(outcome.log))

        body = {"experiment": prepare, "run": run, "numbers": {**base.numbers, **numbers}, "scores": ()}
        kind = make_dataclass(function.__name__, own, bases=(base,), namespace=body, frozen=True, kw_only=True)
        kind.__doc__, kind.__module__ = function.__doc__, function.__module__
        return kind

    return declare
