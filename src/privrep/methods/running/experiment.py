"""Experiments: functions of a whole task, including the truth, and of options; they return named numbers.

@experiment({"iterations": "iterations of a run"})
def noisy_power_method(task: Task, *, gap: float = option("1 - s_{k+1} / s_k of the matrix", check_share)) -> dict:

The file of an experiment has the function's name, by which studies refer to it. The function becomes its options.
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
    """Cost and theorem that set an experiment's noise, and the cost that its ledger may reach if it differs."""

    cost: Cost
    theorem: Theorem | None = None
    spends: Cost | None = None


Prepare = Callable[[Any, Problem], Spending | None]  # cost of the experiment, or ValueError


def experiment(
    numbers: Mapping[str, str], *, base: type[Declared] = Declared, prepare: Prepare = lambda options, problem: None
) -> Callable[[Callable[..., Outcome | dict[str, float]]], type[Declared]]:
    """Turn a function into the class of its options: those of `base`, and its keyword-only parameters.

    `numbers` has the meaning of each number that the function returns, or has in the `log` of its outcome. The function
    gets `task` and, if it has these parameters, `options`, an object of all options, and `release`, a handle of the
    budget, None if nothing is spent; with a handle the row also has the noise multiplier and the privacy statement.
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
