"""The interface of methods, and the results that they and experiments yield.

A method sees users, what is publicly known of them, and a release handle, never the truth; it yields an iterate for
each subspace that it has released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from privrep.options import Declared
from privrep.privacy.accounting import Budget, Cost, FixedNoise, Theorem
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known
from privrep.users.simulated import Users

EXACT = "; exact, for analysis, not released"  # for a column that no real server has: it reads users' data


class NotRun(Exception):
    """Data files or a package that a cell needs are missing on this machine; the message names them and their place."""


@dataclass(frozen=True)
class LowRank:
    """Personal models theta_j = basis v_j, with heads fitted on the user's side."""

    basis: np.ndarray  # (d, k'), any matrix
    heads: Callable[[Block], np.ndarray]  # block -> (B, k')

    def models(self, block: Block) -> np.ndarray:
        return self.heads(block) @ self.basis.T


@dataclass(frozen=True)
class FullRank:
    """Personal models theta_j, fitted on the user's side."""

    models: Callable[[Block], np.ndarray]  # block -> (B, d)


@dataclass(frozen=True)
class Candidates:
    """Released subspaces among which one is chosen."""

    bases: np.ndarray  # (c, d, k)
    chosen: int
    accuracy: float  # largest distance of a good candidate from the truth


@dataclass(frozen=True)
class Iterate:
    """Result of one step of a method."""

    subspace: np.ndarray | None  # (d, k) orthonormal basis of the released representation
    personal: LowRank | FullRank | None = None  # None for a step that personalises nothing
    log: Mapping[str, float] = field(default_factory=dict)  # numbers for a row of results: the last iterate's
    candidates: Candidates | None = None  # subspaces among which this one was chosen

    @property
    def basis(self) -> np.ndarray:
        """The subspace of a method that releases one."""
        assert self.subspace is not None
        return self.subspace


class Private(Protocol):
    """A method or an experiment that spends a budget."""

    cost: Cost  # of a user at multiplier 1
    theorem: Theorem | None


class Method(Protocol):
    """A method as printed in its paper; a private method is `Private`, too."""

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Run the method."""
        ...


class MethodOptions(Declared):
    """Options of a method's file, in units of the data; `build` raises ValueError for users that they do not suit."""

    def build(self, known: Known) -> Method:
        """Return the method for users with these public facts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Task:
    """One cell to run: data, budget (None without privacy), named random streams, and the ledger of its releases."""

    users: UserData
    budget: Budget | FixedNoise | None
    stream: Callable[[str], np.random.Generator]
    ledger: Ledger

    @property
    def simulated(self) -> Users:
        """The users, for code that needs their truth."""
        return cast(Users, self.users)

    @property
    def given(self) -> Budget | FixedNoise:
        """The budget, for code that needs one."""
        assert self.budget is not None
        return self.budget


@dataclass(frozen=True)
class Outcome:
    """A fitted model with its scores."""

    excess_risk: float | None = None  # mean over users of ||theta_j - theta_hat_j||^2, exact
    subspace: np.ndarray | None = None  # (d, k) orthonormal basis of the released representation
    theorem: str = ""  # id of the printed privacy statement, and the epsilon that it promises
    epsilon_paper: float | None = None
    log: dict[str, float] = field(default_factory=dict)  # further columns of the row
    scores: dict[str, float] = field(default_factory=dict)  # the same, for numbers that use the truth
    personal: LowRank | FullRank | None = None
