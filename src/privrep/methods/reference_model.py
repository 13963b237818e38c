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

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.moment_step import check_split
from privrep.methods.steps.starts import START_COLUMNS, check_start, free_start
from privrep.options import Declared, among, check_any_sine, option
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.passes import UserRows
from privrep.users.splits import split_samples

SPLITS = {"random-subspace": "all-samples-reused", "planted-subspace": "text"}  # the last range fits the heads


@dataclass(frozen=True)
class ReferenceModelOptions(Declared):
    """The reference models and their options."""

    kind: str = option("which reference model", among(("random", "random-subspace", "zero", "planted-subspace")))
    start_sine: float = option(START_COLUMNS["start_sine"], check_any_sine, 0.0)

    def build(self, known: Known) -> ReferenceModelOptions:
        if self.kind in SPLITS:
            check_split(SPLITS[self.kind], known)
        check_start(self.init, known)
        return self

    @property
    def init(self) -> str:
        return "planted" if self.kind == "planted-subspace" else "random"

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        known = users.known
        basis = free_start(self.init, self.start_sine).first(users, release, Cost(0.0, 0.0)).basis
        if self.kind in SPLITS:
            samples = split_samples(SPLITS[self.kind], known.samples).final
            yield Iterate(basis, LowRank(basis, FittedHeads(basis, samples)))
            return
        drawn = release.streams["init"].standard_normal((known.users, known.rank))
        if self.kind == "random":
            yield Iterate(basis, LowRank(basis, UserRows(drawn).of))
        else:
            yield Iterate(None, LowRank(basis, UserRows(0 * drawn).of))
