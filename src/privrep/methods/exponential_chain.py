"""Exponential mechanism by a Markov chain on the subspaces: the feasible variant that jain2021 asks for in Section 7.

Algorithm 4 with the draw from a net replaced by the last state of a Metropolis chain
(`privrep.methods.steps.grassmann_chain`), whose limit is the law proportional to exp(-beta score(U)) on all
subspaces, the limit of ever finer nets.

The limit is epsilon-DP. A finite chain is not known to be: the ledger's entry says that its epsilon is the limit's.

>>> from privrep.simulate import fit
>>> row, _ = fit("exponential_chain", users=300, samples=16, dim=8, rank=2, epsilon=8.0, burn_in=40, steps=40)
>>> row["releases"], row["excess_risk"] < 2
(1, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.exponential import PrintedOptions, personalised
from privrep.methods.running.method import Iterate
from privrep.methods.steps.grassmann_chain import uniform_starts, walk
from privrep.methods.steps.user_scores import UserScore
from privrep.options import check_count, option
from privrep.privacy.accounting import PureTheorem
from privrep.privacy.mechanisms import PURE_COST, Release
from privrep.users.blocks import UserData
from privrep.users.known import Known


@dataclass(frozen=True)
class ExponentialChain:
    """Algorithm 4 by one chain of `burn_in` and `steps` steps from a uniform subspace."""

    score: UserScore
    theorem: PureTheorem
    burn_in: int
    steps: int
    cost = PURE_COST

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        start = uniform_starts(1, users.known.dim, users.known.rank, release.streams["init"])

        def end_of_chain(scale: float, rng: np.random.Generator) -> np.ndarray:
            if not scale:
                raise ValueError("noise_multiplier is 0; a chain needs a positive one")
            return walk(partial(self.score.totals, users), start, scale, self.burn_in, self.steps, rng).last[0]

        basis = release.approached("subspace", end_of_chain, width=self.score.width)
        yield Iterate(basis, personalised(basis, self.score, users.known))


@dataclass(frozen=True, kw_only=True)
class ExponentialChainOptions(PrintedOptions):
    """Options of the chain: those of the score, and its lengths."""

    burn_in: int = option("steps of a chain in which its step size is found", check_count, 500)
    steps: int = option("steps of a chain after that", check_count, 500)

    def build(self, known: Known) -> ExponentialChain:
        return ExponentialChain(self.score(known), self.theorem(known), self.burn_in, self.steps)
