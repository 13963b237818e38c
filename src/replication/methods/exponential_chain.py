"""Exponential mechanism by a Markov chain on the subspaces: the feasible variant that jain2021 asks for in Section 7.

Algorithm 4 of jain2021 with the draw from a net replaced by the last state of a Metropolis chain
(`replication.methods.steps.grassmann_chain`), whose limit is the law proportional to exp(-beta score(U)) on all
subspaces, which is also the limit of the laws on ever finer nets.

The limit is epsilon-DP; a finite chain is not known to be. The ledger's entry says that its epsilon is the limit's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.running.method import Iterate
from privrep.options import check_count, option
from privrep.privacy.accounting import PureTheorem
from privrep.privacy.mechanisms import PURE_COST, Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from privrep.users.subspace import random_subspaces
from replication.methods.exponential import PrintedOptions, personalised
from replication.methods.steps.grassmann_chain import walk
from replication.methods.steps.user_scores import UserScore


@dataclass(frozen=True)
class ExponentialChain:
    """Algorithm 4 by one chain of `burn_in` and `steps` steps from a uniform subspace."""

    score: UserScore
    theorem: PureTheorem
    burn_in: int
    steps: int
    cost = PURE_COST

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        start = random_subspaces(1, users.known.dim, users.known.rank, release.streams["init"])

        def end_of_chain(scale: float, rng: np.random.Generator) -> np.ndarray:
            if not scale:
                raise ValueError("noise_multiplier is 0; a chain needs a positive one")
            return walk(partial(self.score.totals, users), start, scale, self.burn_in, self.steps, rng).last[0]

        basis = release.approached("subspace", end_of_chain, width=self.score.width)
        yield Iterate(basis, personalised(basis, self.score, users.known))


@dataclass(frozen=True, kw_only=True)
class ExponentialChainOptions(PrintedOptions):
    """Options of the chain: those of the score, and its numbers of steps."""

    burn_in: int = option("steps of a chain in which its step size is found", check_count, 500)
    steps: int = option("steps of a chain after that", check_count, 500)

    def build(self, known: Known) -> ExponentialChain:
        return ExponentialChain(self.score(known), self.theorem(known), self.burn_in, self.steps)
