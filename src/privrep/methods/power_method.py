"""Private power method (shen2023, Algorithm 5 `PPM`), several independent runs at once.

    X <- random (d, k) orthonormal
    for l = 1..L:
        Y_i <- M_i X,   M_i = (1/q) sum_{j in S_i} y_ij^2 x_ij x_ij^T        S_i: q samples of user i
        X   <- QR( ( sum_i clip(Y_i; zeta_0) + N(0, (sigma_0 zeta_0)^2) ) / n )

E[M_i] = 2 Gamma + tr(Gamma) I with Gamma = U* Sigma U*^T: its top k eigenvectors span U*, with a gap of 2 lam_k. One
step contracts by tr / (tr + 2 lam_k). sigma_0 is twice the noise multiplier. Clipping commutes with rotations that fix
U*, so it biases no direction.

Differences from the print: the mean is over q = mbar_0 samples, printed as 1/mbar, and X is returned (E58);
the runs draw the same positions of samples in an iteration, and have noise of their own.

>>> from privrep.simulate import fit
>>> row, _ = fit("power_method", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, iterations=5, init_clip=0.7)
>>> row["releases"], row["dist2"] < 0.5
(5, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import Candidates, Iterate
from privrep.methods.steps.candidate_selection import select
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, UPDATE_SCALES, moment_threshold
from privrep.methods.steps.server import SERVER_COLUMNS
from privrep.methods.steps.starts import START_COLUMNS, check_start, truth_of
from privrep.options import Declared, among, check_count, check_share, check_sine, option
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Columns
from privrep.privacy.mechanisms import GAUSSIAN_COST, NamedSum, Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known
from privrep.users.splits import SAMPLE_USE_COLUMN, SAMPLE_USES, SampleDraws, check_draws
from privrep.users.subspace import planted_subspace, random_subspaces

LARGEST = 1e3
"""A user with ||F||^2 / q above this multiple of the clipping bound adds 0: float32 would round too coarsely."""
ROUNDING = 1e-6  # share taken off the clipping bound: more than rounding in float64 adds to a norm or a sum


@dataclass(frozen=True, eq=False)
class Products:
    """Contribution of users in one iteration: M_i X_c for all runs c."""

    samples: np.ndarray  # distinct positions, ascending
    bases: np.ndarray  # (c, d, k), orthonormal columns in each
    bound: float  # zeta_0

    def __call__(self, block: Block) -> tuple[Columns, ...]:
        """Return one contribution for each run, F^T F X / q with rows y x in F; a user beyond `LARGEST` adds 0."""
        runs, dim, rank = self.bases.shape
        columns = self.bases.transpose(1, 0, 2).reshape(dim, -1).astype(np.float32)
        labels, norms, q = block.labels[self.samples], block.feature_norms[self.samples], len(self.samples)
        features = block.features if q == len(block.features) else block.features[self.samples]
        rows = labels * np.where(np.isfinite(norms), norms, 0)
        size = np.einsum("qb,qb->b", rows, rows, dtype=np.float64)
        weights = np.where(size <= LARGEST * q * self.bound, labels**2 / np.float32(q), 0)
        seen = (features.reshape(-1, dim) @ columns).reshape(q, block.users, -1) * weights[:, :, None]
        products = np.ascontiguousarray(seen.transpose(1, 2, 0)) @ features.transpose(1, 0, 2)
        # Norms, clips and sums are in float64, so that earlier rounding is harmless: rounding of a sum in float32 would
        # depend on every user.
        of_runs = products.reshape(-1, runs, rank, dim)
        return tuple(Columns(of_runs[:, run], ROUNDING) for run in range(runs))


def power_method(
    users: UserData, bases: np.ndarray, release: Release, batches: Iterable[np.ndarray], clip: float
) -> np.ndarray:
    """Release the subspaces of all runs from their starts, (c, d, k), each orthonormal, on the samples at given
    positions in each iteration (shen2023, Algorithm 5 and Corollary F.1).

    Sensitivity: a user adds at most zeta_0 to the sum of one run, so replacing the user moves it by at most 2 zeta_0.
    Each of the c L sums is a release of its own; the runs share users and samples: their costs add up."""
    for samples in batches:
        noisy = release.sums(users, Products(samples, bases, clip), *[NamedSum("power_method", clip)] * len(bases))
        bases = np.linalg.qr(np.array([total.value for total in noisy]))[0]
    return bases


@dataclass(frozen=True)
class PowerMethodOptions(Declared):
    """INITIALIZATION (Algorithm 3): runs of PPM and the choice among them; every run is charged."""

    iterations: int = option("iterations of the power method, L", check_count)
    init_clip: float = option("clipping bound of the power method (zeta_0), in units of clip_scale", check_bound)
    starts: int = option("independent runs of the power method, T_0", check_count, 1)
    init_samples: int = option("samples per user and iteration of the power method", check_count, 8)
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(UPDATE_SCALES), "practical")
    sample_use: str = option(SAMPLE_USE_COLUMN["sample_use"], among(SAMPLE_USES), "reuse")
    accuracy: float = option("accuracy of a good candidate in the selection, eps_i", check_share, 0.01)
    init: str = option(START_COLUMNS["init"], among(("planted", "random")), "random")
    start_sine: float = option(START_COLUMNS["start_sine"], check_sine, 0.2)
    numbers: ClassVar = {
        "zeta": SERVER_COLUMNS["zeta"],
        "selection_passed": "1 where the selected candidate passed the printed test, 0 where none did",
    }
    scores = (
        *("product_norm_max", "clipped_share", "runs_dist2", "runs_distF", "runs_dist2_median", "runs_dist2_max"),
        *("runs_log_tangent", "runs_within", "start_dist2", "average_dist2"),
    )

    def build(self, known: Known) -> PowerMethodOptions:
        check_draws(self.sample_use, known.samples, [self.init_samples] * self.iterations)
        check_start(self.init, known)
        return replace(self, clip_scale="absolute", init_clip=moment_threshold(self.clip_scale, self.init_clip, known))

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1: L releases in each run."""
        return self.starts * self.iterations * GAUSSIAN_COST

    @property
    def theorem(self) -> Theorem:
        """Printed cost L / sigma_0^2 of each run, half of the releases' cost (E13; shen2023, eq. (67)), converted as in
        Theorem 5.2 by eps = 2 sqrt(rho ln(1/delta))."""
        return Theorem("B-LF.2", self.starts * self.iterations)

    def choose(self, users: UserData, release: Release) -> Iterate:
        """Return the chosen subspace, with all candidates."""
        draws = SampleDraws(self.sample_use, users.known.samples, release.streams["samples"])
        batches = (draws.take(self.init_samples)[0] for _ in range(self.iterations))
        rng = release.streams["init"]
        if self.init == "planted":
            bases = np.array([planted_subspace(truth_of(users), self.start_sine, rng) for _ in range(self.starts)])
        else:
            bases = random_subspaces(self.starts, users.known.dim, users.known.rank, rng)
        bases = power_method(users, bases, release, batches, self.init_clip)
        chosen = select(bases, self.accuracy)
        log = {"selection_passed": float(chosen.passed)}
        return Iterate(bases[chosen.index], log=log, candidates=Candidates(bases, chosen.index, self.accuracy))

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Run INITIALIZATION alone, for the laws of Appendices F and G; the subspace of the first run is returned."""
        chosen = self.choose(users, release)
        assert chosen.candidates is not None
        yield replace(chosen, subspace=chosen.candidates.bases[0], log={"zeta": self.init_clip, **chosen.log})


@dataclass(frozen=True)
class PowerMethodStart:
    """INITIALIZATION as the start of CENTAUR."""

    method: PowerMethodOptions
    share: float  # of the whole cost mu^2

    @property
    def samples_used(self) -> int:
        return self.method.init_samples * self.method.iterations

    def cost_with(self, steps: Cost) -> Cost:
        return Cost(steps.mu_squared / (1 - self.share), steps.rho / (1 - self.share))

    def first(self, users: UserData, release: Release, steps: Cost) -> Iterate:
        """Return B_0, with a noise multiplier of its T_0 L releases such that they take `share` of the cost."""
        releases = self.method.cost.mu_squared
        relative = (releases * (1 - self.share) / (self.share * steps.mu_squared)) ** 0.5
        return self.method.choose(users, release.start(relative))
