"""What a method is, what it yields, and what became of a fit.

A method sees users, what is publicly known of them, and a release handle, never the truth. It yields an iterate for
each subspace that it has released. The options of a study's file are made into a method for what is known; noise,
privacy statement and scores are the business of `privrep.fitting.runner`. An experiment is given the whole task, truth
included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from privrep.data.known import Known
from privrep.data.problem import Block, Problem, UserData
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release

EXACT = "; exact, for analysis, not released"
"""Of a column without noise that a real server could not have: it reads the users' data past the mechanisms."""


class NotRun(Exception):
    """What a cell needs is not on this machine, files of data or a package: the message says what, and where it should
    be."""


@dataclass(frozen=True)
class LowRank:
    """User j predicts by <basis @ v_j, x>. basis : (d, k'), any matrix.
    heads : block -> (B, k'), fitted on the user's side."""

    basis: np.ndarray
    heads: Callable[[Block], np.ndarray]

    def models(self, block: Block) -> np.ndarray:
        """theta_j of the users of a block, (B, d).

        Parameters
        ----------
        block : B users.
        """
        return self.heads(block) @ self.basis.T


@dataclass(frozen=True)
class FullRank:
    """User j predicts by <theta_j, x>. models : block -> (B, d), on the user's side."""

    models: Callable[[Block], np.ndarray]


@dataclass(frozen=True)
class Candidates:
    """Released subspaces among which one is chosen. bases : (c, d, k).
    accuracy : at which a candidate is a good one."""

    bases: np.ndarray
    chosen: int
    accuracy: float


@dataclass(frozen=True)
class Iterate:
    """What is known after a step.

    Attributes
    ----------
    subspace : (d, k) orthonormal basis of the released representation, or None.
    personal : what each user makes of it; None for a step that personalises nothing.
    log : numbers of the row that follow from releases and options. The last iterate's are kept.
    candidates : the subspaces among which this one was chosen.
    """

    subspace: np.ndarray | None
    personal: LowRank | FullRank | None = None
    log: Mapping[str, float] = field(default_factory=dict)
    candidates: Candidates | None = None


class Method(Protocol):
    """A method as its paper prints it, with thresholds in absolute terms.

    A private one has two properties more: `cost`, of one user at noise multiplier 1, which is all that its releases may
    take, and `theorem`, the printed privacy statement, or None where it stands in no paper. An experiment whose ledger
    has other entries than those of one run of a method says what they cost: `spends`, in place of `cost`.
    """

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Run the method.

        Parameters
        ----------
        users : whose data are read on their own side, and by the release handle.
        release : handle through which alone anything leaves them.

        Yields
        ------
        An iterate after each step, the start included where it is a released subspace.

        Raises
        ------
        LinAlgError, ArithmeticError
            If the method breaks down.
        OverBudget
            If a release takes more than is left.
        """


class MethodOptions(Protocol):
    """The class of options of a file in `privrep.algorithms`: what a study's file says, in units of the data.

    `build` raises ValueError where users of these sizes cannot be had with them. `scores` names what the row tells of
    the way there (`privrep.fitting.scoring.SCORES`), `columns` says what the options and the numbers beside them mean:
    name -> meaning.
    """

    scores: tuple[str, ...]
    columns: Mapping[str, str]

    def build(self, known: Known) -> Method:
        """The method for users of whom this is known.

        Parameters
        ----------
        known : sizes of the data, and laws that are public.

        Raises
        ------
        ValueError
            If the options do not suit the sizes; the message names the option.
        """


class Experiment(Protocol):
    """What runs on a whole task, truth included: an audit, a lemma taken apart, a search."""

    def run(self, task: Task) -> Outcome:
        """Run the experiment.

        Parameters
        ----------
        task : the cell, whose ledger takes the entries of what is released.
        """


class ExperimentOptions(Protocol):
    """The class of options of an experiment's file; `experiment` raises ValueError where the problem cannot be had with
    them."""

    columns: Mapping[str, str]

    def experiment(self, problem: Problem) -> Experiment:
        """The experiment on a problem.

        Parameters
        ----------
        problem : of the task that it will be run on.

        Raises
        ------
        ValueError
            If the problem cannot be had with the options.
        """


@dataclass(frozen=True)
class Task:
    """One cell to run: data, budget, named random streams ("init", "noise") and the ledger of its releases.

    `budget` is None for methods without privacy.
    """

    users: UserData
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
    log : further numbers of the row; each must stand in the data dictionary (`privrep.run.results`).
    scores : the same, for numbers that look at the truth, for instance distances along the way.
    personal : what users make of the released model.
    held_out : its error on samples that no fit has seen, and that of predicting zero.
    """

    excess_risk: float | None = None
    subspace: np.ndarray | None = None
    theorem: str = ""
    epsilon_paper: float | None = None
    log: dict[str, float] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    personal: LowRank | FullRank | None = None
    held_out: tuple[float, float] | None = None
