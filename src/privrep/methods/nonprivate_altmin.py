"""Alternating minimisation without privacy, trained to convergence: the `Non-private` curve of jain2021's Figure 2.

The same steps as `altmin`, with noise multiplier 0 and no clipping. The ledger records mu = inf.

>>> from privrep.simulate import fit
>>> row, _ = fit("nonprivate_altmin", users=2000, samples=16, dim=8, rank=2, init="random", split="text")
>>> row["mu"], row["dist2"] < 0.01
(inf, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.spectral_init import SpectralInit
from privrep.methods.steps.moment_step import MOMENT_COLUMNS, MomentStep, check_split
from privrep.methods.steps.starts import START_COLUMNS, FreeStart
from privrep.options import Declared, among, check_count, check_nonnegative, option
from privrep.privacy.mechanisms import Release
from privrep.privacy.regression_moments import SampleClip
from privrep.users.blocks import UserData
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.splits import SPLIT_COLUMN, split_samples
from privrep.users.subspace import dist2, orthonormalise


@dataclass(frozen=True)
class NonprivateAltminOptions(Declared):
    """Alternation until two successive subspaces are closer than `tolerance` in dist2, at most `max_epochs` times."""

    init: str = option(START_COLUMNS["init"], among(("random", "spectral")), "random")
    split: str = option(SPLIT_COLUMN["split"], default="all-samples-reused")
    tolerance: float = option("distance of successive subspaces at which alternation stops", check_nonnegative, 1e-5)
    max_epochs: int = option("limit on the number of epochs", check_count, 200)
    numbers: ClassVar = {"epochs_run": "epochs until convergence", "min_eigenvalue": MOMENT_COLUMNS["min_eigenvalue"]}

    def build(self, known: Known) -> NonprivateAltminOptions:
        check_split(self.split, known)
        return self

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        split = split_samples(self.split, users.known.samples)
        subspace_step = MomentStep(split.subspace, SampleClip(math.inf, math.inf))
        start = SpectralInit(split.init, math.inf) if self.init == "spectral" else FreeStart()
        start = start.first(users, release, subspace_step.clip.cost)
        yield start
        basis = start.basis
        for epoch in range(1, self.max_epochs + 1):
            step = subspace_step(users, FittedHeads(basis, split.heads), release)
            previous, basis = basis, orthonormalise(step.minimiser)
            log = {"min_eigenvalue": step.min_eigenvalue, "epochs_run": epoch}
            yield Iterate(basis, LowRank(basis, FittedHeads(basis, split.final)), log)
            if dist2(basis, previous) < self.tolerance:
                return
