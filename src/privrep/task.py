"""What an algorithm is given and what it returns."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np

from privrep.privacy.accounting import Budget, FixedNoise
from privrep.privacy.ledger import Ledger
from privrep.problem import Problem, Users


@dataclass(frozen=True)
class Task:
    """One cell to run: data, budget, named random streams ("init", "noise") and the ledger of its releases.

    `budget` is None for algorithms without privacy.
    """

    users: Users
    budget: Budget | FixedNoise | None
    stream: Callable[[str], np.random.Generator]
    ledger: Ledger


@dataclass(frozen=True)
class Outcome:
    """A fitted model, scored.

    Attributes
    ----------
    excess_risk : mean over users of ||theta_j - theta_hat_j||^2, exact; None for a step that personalises nothing.
    subspace : (d, k) orthonormal basis of the released representation, or None.
    theorem, epsilon_paper : id of the printed privacy statement and the epsilon that it promises.
    log : further numbers of the row; each must stand in the data dictionary (`privrep.results`).
    scores : the same, for numbers that look at the truth, for instance distances along the way.
    """

    excess_risk: float | None = None
    subspace: np.ndarray | None = None
    theorem: str = ""
    epsilon_paper: float | None = None
    log: dict[str, float] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless an option is one of its choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(choices)}")


def check_count(name: str, value: int) -> None:
    """Raise ValueError unless an option is an integer of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be an integer of at least 1")


class Algorithm(Protocol):
    """The interface of a file in `privrep.algorithms`. One that needs a budget has a property `cost` too."""

    def check(self, problem: Problem) -> None: ...

    def fit(self, task: Task) -> Outcome: ...


def load_algorithm(name: str, options: dict) -> Algorithm:
    """Build the algorithm of file `name` with the given options.

    Raises
    ------
    ValueError
        If the file does not exist, an option is unknown, or a value is out of range.
    """
    try:
        module = importlib.import_module(f"privrep.algorithms.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"privrep.algorithms.{name}":
            raise
        raise ValueError(f"algorithm is {name!r}; there is no file src/privrep/algorithms/{name}.py") from None
    if not hasattr(module, "Algorithm"):
        raise ValueError(f"algorithm is {name!r}; that file is a step of other algorithms and cannot run alone")
    known = [f.name for f in fields(module.Algorithm)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{unknown[0]} is no option of {name}; it has {', '.join(known)}")
    try:
        return module.Algorithm(**options)
    except TypeError as error:
        raise ValueError(f"options of {name}: {error}") from None
