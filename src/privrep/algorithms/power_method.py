"""Private power method (shen2023, Algorithm 5 `PPM`), several independent runs at once.

    X <- random (d, k) orthonormal
    for l = 1..L:
        Y_i <- M_i X,   M_i = (1/q) sum_{j in S_i} y_ij^2 x_ij x_ij^T        S_i: q samples of user i
        X   <- QR( ( sum_i clip(Y_i; zeta_0) + N(0, (sigma_0 zeta_0)^2) ) / n )

E[M_i] = 2 Gamma + tr(Gamma) I with Gamma = U* Sigma U*^T: its top k eigenvectors span U*, with a gap of 2 lam_k. One step
contracts by tr / (tr + 2 lam_k). sigma_0 is twice the noise multiplier. Clipping commutes with rotations about U*, so it turns
no direction.

Differs from the print: the mean is over q = mbar_0 samples, printed as 1/mbar, and X is returned (E58); the runs draw the same
positions of samples in an iteration, and have noise of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.algorithms.candidate_selection import average, select
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST, release_vector
from privrep.problem import Block, Problem, Users
from privrep.splits import SAMPLE_USES, SampleDraws
from privrep.subspace import check_planted, dist2, dist_frobenius, planted_subspace, random_subspace
from privrep.task import Outcome, Task, check_choice, check_count
from privrep.thresholds import check_update_scale, moment_threshold

STARTS = ("planted", "random")
LARGEST = 1e3
"""A user with ||F||^2 / q beyond this many clipping bounds adds nothing. Norms would no longer be exact enough to clip by."""
ROUNDING = 1e-6
"""Taken off the clipping bound: more than rounding adds to the norm of a user within `LARGEST`. Its product F^T P and its norm are
computed in float64 from the same float32 F and P, so that the rounding of P itself does no harm."""
TOGETHER = 64
"""Users at a time: with 36 runs of rank 2 their products stay in the second-level cache."""


def clipped_products(
    block: Block, samples: np.ndarray, bases: np.ndarray, bound: float
) -> tuple[np.ndarray, np.ndarray]:
    """sum_i clip(M_i X_c; bound) over the users of a block, for all runs c, (c, d, k) float64; and ||M_i X_c||_F, (B, c).

    A user beyond `LARGEST` has norm 0 here. With the rows y x of a user in F and P = F X, M X = F^T P / q and
    ||F^T P||^2 = <P, (F F^T) P>: the product of a single user is never formed.

    Parameters
    ----------
    bases : (c, d, k), orthonormal columns in each.
    """
    runs, dim, rank = bases.shape
    columns = bases.transpose(1, 0, 2).reshape(dim, -1).astype(np.float32)
    total, lengths = np.zeros((dim, runs * rank)), np.empty((block.users, runs))
    for first in range(0, block.users, TOGETHER):
        part = slice(first, first + TOGETHER)
        with np.errstate(over="ignore", invalid="ignore"):
            rows = (block.features[samples, part] * block.labels[samples, part, None]).transpose(1, 0, 2)
            size = np.einsum("bqd,bqd->b", rows, rows, dtype=np.float64)
        users, q, _ = rows.shape
        rows = np.ascontiguousarray(rows)
        rows[~(size <= LARGEST * q * bound)] = 0
        # From here on in float64: of vectors that nearly cancel, float32 would lose the norm, and in sums over users it would
        # let the rounding of all depend on each.
        products = (rows.reshape(-1, dim) @ columns).astype(np.float64).reshape(users, q, runs * rank)
        wide = rows.astype(np.float64)
        squares = np.einsum("bqr,bqr->br", (wide @ wide.transpose(0, 2, 1)) @ products, products)
        norms = np.sqrt(np.maximum(squares.reshape(users, runs, rank).sum(axis=2), 0)) / q
        lengths[part] = norms
        factor = clip_factor(norms, bound * (1 - ROUNDING)) / q
        products *= np.repeat(factor, rank, axis=1)[:, None, :]
        total += wide.reshape(-1, dim).T @ products.reshape(users * q, runs * rank)
    return total.reshape(dim, runs, rank).transpose(1, 0, 2), lengths


def power_method(
    users: Users,
    starts: np.ndarray,
    *,
    iterations: int,
    draw_samples: Callable[[], np.ndarray],
    clip: float,
    noise_multiplier: float,
    rng: np.random.Generator,
    ledger: Ledger,
    watch: Callable[[np.ndarray], None] = lambda lengths: None,
) -> np.ndarray:
    """The released subspaces of all runs, (c, d, k), each orthonormal.

    Sensitivity: a user adds at most zeta_0 to the sum of one run, so replacing it moves the sum by at most 2 zeta_0. Each of
    the c L sums is a release of its own; the runs share users and samples and do compose (Corollary F.1).

    Parameters
    ----------
    starts : (c, d, k). draw_samples : positions of the samples of one iteration.
    watch : sees ||Y_i||_F of the users of each block before the clip, (B, c); for analysis alone, nothing of it is released.
    """
    bases = starts
    everyone = range(users.problem.users)
    for _ in range(iterations):
        samples = draw_samples()
        total = np.zeros(bases.shape)
        for block in users.blocks():
            part, lengths = clipped_products(block, samples, bases, clip)
            total += part
            watch(lengths)
        released = [
            release_vector(
                one,
                bound=clip,
                noise_multiplier=noise_multiplier,
                rng=rng,
                ledger=ledger,
                users=everyone,
                name="power_method",
            )
            for one in total
        ]
        bases = np.linalg.qr(np.array(released))[0]
    return bases


def random_starts(count: int, problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Independent uniform subspaces, (count, d, k)."""
    return np.array([random_subspace(problem.dim, problem.rank, rng) for _ in range(count)])


@dataclass(frozen=True)
class Algorithm:
    """INITIALIZATION (Algorithm 3) alone, for the laws of Appendices F and G; the subspace of the first run is returned.

    The row also has the norms of the users' products, which are not released, and what selection and averaging make of the runs.

    Parameters
    ----------
    iterations : L. starts : independent runs, each charged. init_samples : q, samples per user and iteration.
    init_clip : zeta_0 in units of `clip_scale` (see `privrep.thresholds.UPDATE_SCALES`).
    sample_use : "reuse" draws q samples anew in each iteration, "fresh" never uses a sample twice.
    accuracy : eps_i, the distance at which a run has succeeded.
    init : X_0 of each run, `random`, or `planted` at sine `start_sine` from the truth in every direction, which reaches the steady
        state in fewer iterations.
    """

    iterations: int
    init_clip: float
    starts: int = 1
    init_samples: int = 8
    clip_scale: str = "practical"
    sample_use: str = "reuse"
    accuracy: float = 0.01
    init: str = "random"
    start_sine: float = 0.2

    def __post_init__(self):
        check_count("iterations", self.iterations)
        check_count("starts", self.starts)
        check_count("init_samples", self.init_samples)
        check_bound("init_clip", self.init_clip)
        check_update_scale(self.clip_scale)
        check_choice("sample_use", self.sample_use, SAMPLE_USES)
        if not 0 < self.accuracy < 1:
            raise ValueError(f"accuracy is {self.accuracy!r}; it must lie strictly between 0 and 1")
        check_choice("init", self.init, STARTS)
        if not 0 <= self.start_sine < 1:
            raise ValueError(f"start_sine is {self.start_sine!r}; it must be at least 0 and less than 1")

    @property
    def cost(self) -> Cost:
        """Of one user: L releases in each run."""
        return self.starts * self.iterations * GAUSSIAN_COST

    @property
    def theorem(self) -> Theorem:
        """Eq. (67) by way of eps = 2 sqrt(rho ln(1/delta)), as Theorem 5.2 converts: L / sigma_0^2 for each run, half of what the
        releases cost (E13)."""
        return Theorem("B-LF.2", self.starts * self.iterations)

    def check(self, problem: Problem) -> None:
        check_draws(self.sample_use, problem, [self.init_samples] * self.iterations)
        if self.init == "planted":
            check_planted(problem.dim, problem.rank)

    def start(self, task: Task) -> np.ndarray:
        """X_0 of all runs, (c, d, k)."""
        rng = task.stream("init")
        if self.init == "random":
            return random_starts(self.starts, task.users.problem, rng)
        truth = task.users.truth.basis
        return np.array([planted_subspace(truth, self.start_sine, rng) for _ in range(self.starts)])

    def fit(self, task: Task) -> Outcome:
        users, problem = task.users, task.users.problem
        noise_multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        clip = moment_threshold(self.clip_scale, self.init_clip, problem)
        draws = SampleDraws(self.sample_use, problem.samples, task.stream("samples"))
        longest, clipped = 0.0, 0

        def watch(lengths: np.ndarray) -> None:
            nonlocal longest, clipped
            longest, clipped = max(longest, float(lengths.max())), clipped + int((lengths > clip).sum())

        bases = power_method(
            users,
            self.start(task),
            iterations=self.iterations,
            draw_samples=lambda: draws.take(self.init_samples)[0],
            clip=clip,
            noise_multiplier=noise_multiplier,
            rng=task.stream("noise"),
            ledger=task.ledger,
            watch=watch,
        )
        chosen = select(bases, self.accuracy)
        return Outcome(
            subspace=bases[0],
            theorem=self.theorem.id,
            epsilon_paper=self.theorem.epsilon(noise_multiplier, task.budget.delta),
            log={
                "noise_multiplier": noise_multiplier,
                "zeta": clip,
                "product_norm_max": longest,
                "clipped_share": clipped / (self.starts * self.iterations * problem.users),
                "selection_passed": float(chosen.passed),
            },
            scores=run_scores(bases, users.truth.basis, chosen.index, self.accuracy),
        )


def run_scores(bases: np.ndarray, truth: np.ndarray, chosen: int, accuracy: float) -> dict[str, float]:
    """Distances of all runs (c, d, k) from the truth (d, k), of the chosen one and of the average."""
    spectral = np.array([dist2(basis, truth) for basis in bases])
    frobenius = np.array([dist_frobenius(basis, truth) for basis in bases])
    return {
        "runs_dist2": float(np.sqrt((spectral**2).mean())),
        "runs_distF": float(np.sqrt((frobenius**2).mean())),
        "runs_dist2_median": float(np.median(spectral)),
        "runs_dist2_max": float(spectral.max()),
        "runs_log_tangent": float(np.mean(np.log(np.tan(np.arcsin(spectral))))),
        "runs_within": float((spectral <= accuracy).mean()),
        "start_dist2": float(spectral[chosen]),
        "average_dist2": dist2(average(bases), truth),
    }


def check_draws(use: str, problem: Problem, rounds: list[int]) -> None:
    """Raise ValueError unless there are samples for all rounds, which take so many each."""
    needed = sum(rounds) if use == "fresh" else max(rounds)
    if needed > problem.samples:
        raise ValueError(f"samples is {problem.samples}; sample_use {use!r} needs at least {needed}")
