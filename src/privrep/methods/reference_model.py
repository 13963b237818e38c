"""Models that use no data to choose the representation: points of reference for Figure 2 of jain2021.

`random`: independent U and v_j ~ N(0, I_k), expected excess risk 2k ("a purely random model is around 4").
`random-subspace`: random U, heads fitted by the users. `zero`: theta = 0, expected excess risk k. `planted-subspace`: U
at a given distance from the truth, heads fitted on the second half of the samples, as in jain2021 Theorem 4.2.

>>> from privrep.simulate import fit
>>> row, ledger = fit("reference_model", users=2000, samples=16, dim=8, rank=2, kind="planted-subspace", start_sine=0.3)
>>> ledger.entries, abs(row["dist2"] - 0.3) < 1e-3
([], True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privrep.methods.altmin import check_split
from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.starts import START_COLUMNS, RandomStart, Start, free_start
from privrep.options import Declared, among, check_any_sine, option
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import Release
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.passes import Own
from privrep.users.problem import UserData

KINDS = ("random", "random-subspace", "zero", "planted-subspace")
NOTHING = Cost(0.0, 0.0)


@dataclass(frozen=True)
class FittedInStart:
    """Heads that the users fit in the subspace of a start, on the samples `final`."""

    start: Start
    final: slice

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        basis = self.start.first(users, release, NOTHING).subspace
        yield Iterate(basis, LowRank(basis, FittedHeads(basis, self.final)))


@dataclass(frozen=True)
class RandomModel:
    """A random subspace with heads drawn from N(0, scale^2 I); scale 0 predicts zero and has no subspace."""

    scale: float

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        basis = RandomStart().first(users, release, NOTHING).subspace
        heads = self.scale * release.streams["init"].standard_normal((users.known.users, users.known.rank))
        yield Iterate(basis if self.scale else None, LowRank(basis, Own(heads).of))


@dataclass(frozen=True)
class ReferenceModelOptions(Declared):
    """Options of the reference models."""

    kind: str = option("which reference model", among(KINDS))
    start_sine: float = option(START_COLUMNS["start_sine"], check_any_sine, 0.0)

    def build(self, known: Known) -> FittedInStart | RandomModel:
        if self.kind == "planted-subspace":
            start = free_start("planted", self.start_sine, known)
            return FittedInStart(start, check_split("text", known).final)
        if self.kind == "random-subspace":
            return FittedInStart(RandomStart(), check_split("all-samples-reused", known).final)
        return RandomModel(1.0 if self.kind == "random" else 0.0)
