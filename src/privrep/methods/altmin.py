"""Private alternating minimisation (jain2021, Algorithm 1 `Priv-AltMin`, with Algorithms 2 and 3).

    U <- U_init
    for t = 1..T, on disjoint batches S_t of users, in each of E epochs:
        v_j <- least squares of y_ij on U^T x_ij        for j in S_t, on the user's side
        U   <- private step over S_t                    Algorithm 2
    v_j <- least squares in the final U                 on the user's side

The theorems take E = 1 and T batches; Section 6 takes T = 1 and E epochs over all users, whose costs add up. Batches
are contiguous ranges of users instead of parts of the printed random permutation: users are independent draws.

>>> from privrep.simulate import fit
>>> row, _ = fit("altmin", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, init="spectral", init_label_clip=1.0,
...              split="text", clip_scale="data", clip_feature=1.0, clip_label=1.0)
>>> row["releases"], row["dist2"] < 0.5
(2, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.spectral_init import StartedSpectrally
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, SCALES, USER_SCALES
from privrep.methods.steps.moment_step import FALLBACKS, MOMENT_COLUMNS, MomentStep, check_split, disjoint_batches
from privrep.methods.steps.starts import START_COLUMNS, check_start
from privrep.options import among, check_any_sine, check_count, check_share, ensure, option
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release
from privrep.privacy.regression_moments import MomentClip, SampleClip, UserClip
from privrep.users.blocks import UserData
from privrep.users.heads import FINAL_HEADS, FINAL_HEADS_COLUMN, FittedHeads, final_penalty
from privrep.users.known import Known
from privrep.users.splits import SPLIT_COLUMN, count, split_samples
from privrep.users.subspace import orthonormalise


@dataclass(frozen=True)
class AltminOptions(StartedSpectrally):
    """Algorithm 1 of jain2021 and its options. A planted start uses the truth, for the local theory; privacy statements
    then take the truth as public. By default all releases have one noise multiplier, as printed. User-level clipping is
    not in the paper."""

    init: str = option(START_COLUMNS["init"], among(("random", "spectral", "planted")))
    split: str = option(SPLIT_COLUMN["split"])
    clip_feature: float = option(MOMENT_COLUMNS["clip_feature"], check_bound)
    clip_label: float = option(MOMENT_COLUMNS["clip_label"], check_bound)
    epochs: int = option("passes over all users, E", check_count, 1)
    batches: int = option("disjoint batches of users per epoch, T", check_count, 1)
    clip_unit: str = option("unit of clipping: each sample, or each user's sums", among(("sample", "user")), "sample")
    init_label_clip: float = option("clipping bound of the labels in Algorithm 3", check_bound, 2.0)
    init_share: float | None = option("share of the privacy cost that Algorithm 3 takes", check_share, None)
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(SCALES), "absolute")
    start_sine: float = option(START_COLUMNS["start_sine"], check_any_sine, 0.1)
    fallback: str = option("how the noisy linear system is solved: solve, ridge, or eigclip", among(FALLBACKS), "solve")
    final_heads: str = option(FINAL_HEADS_COLUMN, among(FINAL_HEADS), "least squares")
    numbers: ClassVar = {name: MOMENT_COLUMNS[name] for name in ("eta", "zeta", "min_eigenvalue")}

    def __post_init__(self):
        super().__post_init__()
        fits = self.clip_unit == "sample" or self.clip_scale in USER_SCALES
        ensure(fits, "clip_scale", self.clip_scale, "clip_unit 'user' needs 'absolute' or 'data'")
        fits = self.init_share is None or self.init == "spectral"
        ensure(fits, "init_share", self.init_share, f"init {self.init!r} takes none, only 'spectral' does")

    def build(self, known: Known) -> AltminOptions:
        split, scale = check_split(self.split, known), self.clip_scale
        check_start(self.init, known)
        few = self.batches <= known.users
        ensure(few, "batches", self.batches, f"it must not exceed users, which is {known.users}")
        feature, label = SCALES[scale](known)
        start = {"init_label_clip": self.init_label_clip * label}
        if self.clip_unit == "user":
            feature, label = USER_SCALES[scale](known, count(split.subspace))
        clips = {"clip_feature": self.clip_feature * feature, "clip_label": self.clip_label * label}
        return replace(self, clip_scale="absolute", **clips, **start)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        split, penalty = split_samples(self.split, users.known.samples), final_penalty(self.final_heads, users.known)
        start = self.start(split.init).first(users, release, self.steps_cost)
        yield start
        basis, smallest, step = start.basis, math.inf, self.moment_step(split.subspace, self.clip, self.fallback)
        for _ in range(self.epochs):
            for batch in disjoint_batches(users.known.users, self.batches):
                outcome = step(users, self.head_rule(basis, split.heads), release.of(batch))
                basis, smallest = orthonormalise(outcome.minimiser), min(smallest, outcome.min_eigenvalue)
                final = FittedHeads(basis, split.final, penalty)
                yield Iterate(basis, LowRank(basis, final), {"min_eigenvalue": smallest, **self.clip.log})

    moment_step, head_rule = MomentStep, FittedHeads
    """The subspace step and its heads; an ablation replaces them."""

    @property
    def clip(self) -> MomentClip:
        return (UserClip if self.clip_unit == "user" else SampleClip)(self.clip_feature, self.clip_label)

    @property
    def steps_cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, without the start; a user is in one batch of each epoch."""
        return self.epochs * self.clip.cost

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, initialisation included."""
        return self.start().cost_with(self.steps_cost)

    @property
    def theorem(self) -> Theorem:
        """Theorem 4.2 as stated (one epoch of disjoint batches from Algorithm 3), else Lemma 4.3 of jain2021."""
        as_stated = self.init == "spectral" and self.init_share is None and self.epochs == 1 and self.batches > 1
        return Theorem("A-T4.2", 16) if as_stated else sequential_theorem(self.cost)
