"""CENTAUR for a linear representation (shen2023, Algorithms 1, 3 and 4).

    B <- INITIALIZATION                                   the best of T_0 runs of the private power method
    for t = 1..T:                                         SERVER
        S1, S2 <- disjoint subsets of q samples each      CLIENT, on the user's side
        w_i <- least squares of y on B^T x over S1
        G_i <- (1/q) sum_{S2} (w_i^T B^T x - y) x w_i^T
        G   <- ( sum_i clip(G_i; zeta_g) + N(0, (sigma_g zeta_g)^2) ) / n
        B   <- QR( B - eta G )                            eta = step / s_1^2
    each user: w_i <- least squares in the final B, on all samples

G_i is a gradient, so the server subtracts it (eq. 24 has the other sign: E11). sigma_g is twice the noise multiplier.
The paper leaves open which samples each round uses (E52); `sample_use` decides.

>>> from privrep.simulate import fit
>>> row, _ = fit("centaur", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, init="random", rounds=20, clip=0.5,
...              batch_samples=8)
>>> row["releases"], row["dist2"] < 0.2
(20, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privrep.methods.power_method import PowerMethodOptions, PowerMethodStart
from privrep.methods.running.method import Iterate
from privrep.methods.spectral_init import StartedSpectrally
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, UPDATE_SCALES, gradient_threshold, moment_threshold
from privrep.methods.steps.descent import Descent
from privrep.methods.steps.server import DIVISORS, SERVER_COLUMNS, Server, check_rate
from privrep.methods.steps.starts import START_COLUMNS, Start, check_start
from privrep.options import among, check_count, check_positive, check_share, check_sine, ensure, option
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import FINAL_HEADS, FINAL_HEADS_COLUMN, fit_heads
from privrep.users.known import Known
from privrep.users.splits import SAMPLE_USE_COLUMN, SAMPLE_USES, SampleDraws, check_draws


def representation_gradients(
    block: Block, first: np.ndarray, second: np.ndarray, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute CLIENT for a block: factors of G_i = l w^T, l (B, d) and w (B, k); `first` fits w, `second` l."""
    heads = fit_heads(block.features[first], block.labels[first], basis)
    features = block.features[second]
    projected = features.reshape(-1, len(basis)) @ basis.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = np.einsum("qbk,bk->qb", projected.reshape(len(second), block.users, -1), heads)
        residual = ((fitted - block.labels[second]) / len(second)).astype(np.float32)
        return np.einsum("qbd,qb->bd", features, residual), heads


@dataclass(frozen=True, eq=False)
class RepresentationGradients:
    """Contribution of users in one round: their gradients from `representation_gradients`."""

    basis: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __call__(self, block: Block) -> Outer:
        return Outer(*representation_gradients(block, self.first, self.second, self.basis))


@dataclass(frozen=True)
class CentaurOptions(Descent, StartedSpectrally):
    """CENTAUR for a linear representation; the theorem takes step 1/4; claims on good starts take a planted one."""

    rounds: int = option(SERVER_COLUMNS["rounds"], check_count)
    clip: float = option(SERVER_COLUMNS["clip"], check_bound)
    batch_samples: int = option("samples per user for each of head and gradient in a round", check_count)
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(UPDATE_SCALES), "practical")
    step: float = option("step size, in units of 1 / s_1^2", check_positive, 0.25)
    sample_use: str = option(SAMPLE_USE_COLUMN["sample_use"], among(SAMPLE_USES), "reuse")
    participation: float = option(SERVER_COLUMNS["participation"], check_rate, 1.0)
    divide_by: str = option(SERVER_COLUMNS["divide_by"], among(DIVISORS), "expected")
    init: str = option(START_COLUMNS["init"], among(("planted", "power_method", "random", "spectral")), "power_method")
    start_sine: float = option(START_COLUMNS["start_sine"], check_sine, 0.1)
    starts: int = option("independent runs of the power method, T_0", check_count, 36)
    iterations: int = option("iterations of the power method, L", check_count, 14)
    init_samples: int = option("samples per user and iteration of the power method", check_count, 8)
    init_clip: float = option("clipping bound of the power method (zeta_0), in units of clip_scale", check_bound, 1.0)
    init_label_clip: float = option("clipping bound of the labels in Algorithm 3", check_bound, 0.5)
    init_share: float = option("share of the privacy cost that the start takes", check_share, 0.5)
    accuracy: float = option("accuracy of a good candidate in the selection, eps_i", check_share, 0.01)
    final_heads: str = option(FINAL_HEADS_COLUMN, among(FINAL_HEADS), "least squares")
    numbers: ClassVar = {
        "zeta": SERVER_COLUMNS["zeta"],
        "selection_passed": "1 where the selected candidate passed the printed test, 0 where none did",
    }
    scores = ("start_dist2", "start_dist2_median", "steady_dist2", "steady_distF", "largest_dist2")

    def build(self, known: Known) -> CentaurOptions:
        """Return the method with clips and step in absolute terms, after checking that there are enough samples."""
        batch = self.batch_samples
        ensure(batch >= known.rank, "batch_samples", batch, f"it must be at least the rank, {known.rank}")
        before = [self.init_samples] * self.iterations if self.init == "power_method" else []
        check_draws(self.sample_use, known.samples, before + [2 * self.batch_samples] * self.rounds)
        check_start(self.init, known)
        return replace(
            self,
            clip_scale="absolute",
            **{name: gradient_threshold(self.clip_scale, clip, known) for name, clip in self.clips.items()},
            init_clip=moment_threshold(self.clip_scale, self.init_clip, known),
            init_label_clip=self.label_threshold(known),
            step=self.step / known.head_condition**2,
        )

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        start = self.start().first(users, release, self.server.cost)
        yield start
        samples, q = users.known.samples, self.batch_samples
        draws = SampleDraws(self.sample_use, samples, release.streams["samples"], self.start().samples_used)
        yield from self.descent(start, lambda basis: RepresentationGradients(basis, *draws.take(q, q)), users, release)

    @property
    def server(self) -> Server:
        return Server(self.rounds, **self.clips, participation=self.participation, divide_by=self.divide_by)

    def start(self, samples: slice = slice(None)) -> Start:
        if self.init != "power_method":
            return super().start(samples)
        shared = ("starts", "iterations", "init_samples", "init_clip", "clip_scale", "sample_use", "accuracy")
        return PowerMethodStart(PowerMethodOptions(**{name: getattr(self, name) for name in shared}), self.init_share)

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, without amplification; `init_share` sets a start's noise."""
        return self.start().cost_with(self.server.cost)

    @property
    def theorem(self) -> Theorem:
        """Theorem 5.2: eps = 2 sqrt(T ln(1/delta)) / sigma_g. Its proof charges the start as much as the rounds."""
        return Theorem("B-T5.2", self.rounds)
