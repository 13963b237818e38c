"""The parts of one round of CENTAUR from a planted start, as in the proof of shen2023 Lemma C.5 (Lemmas C.1 to C.4, D.1
to D.7).

With S_i the covariance of a user's samples for the head, B the start, w_i* the true heads, and V, V* the
fitted and the true heads over sqrt(n) as rows,

    H_i = B^T S_i B,    K_i = B^T S_i (B B^T - I) B*            delta_1 = max ||H_i - I||,  delta_2 dist2 = max ||K_i||
    w_i = B^T B* w_i* - H_i^{-1} K_i w_i*                       Lemma D.1: V = V* B*^T B - F
    Q = B V^T - B* V*^T,    G = (1/n) sum_i G_i                 E[G | V] = Q V
    B - eta G + noise = B' R                                    QR; B' is the next iterate

Lemmas C.2 and C.3 take a supremum over all n x k matrices. One with a single nonzero row attains it: it
is the largest norm over users of a k x k matrix. G is measured before clipping; the iterate uses the clipped sum, as in
`privrep.methods.centaur`.

For analysis: the experiment reads the truth and the users' gradients. Only the noisy sum is released.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.methods.centaur import representation_gradients
from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, UPDATE_SCALES, gradient_threshold
from privrep.options import among, check_count, check_sine, option
from privrep.privacy.accounting import Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, true_heads
from privrep.users.passes import rows
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SampleDraws
from privrep.users.subspace import check_planted, orthonormalise, planted_subspace
from replication.experiments.columns import columns_of


@dataclass(frozen=True)
class Clients:
    """Terms of a round: G_i = left_i heads_i^T, (n, d) and (n, k), w_i* (n, k), H_i and K_i (n, k, k), all float64."""

    left: np.ndarray
    heads: np.ndarray
    true: np.ndarray
    grams: np.ndarray
    crosses: np.ndarray

    @property
    def norms(self) -> np.ndarray:
        """Frobenius norms ||G_i||_F of the users' gradients, (n,)."""
        return np.linalg.norm(self.left, axis=1) * np.linalg.norm(self.heads, axis=1)

    @property
    def gradient(self) -> np.ndarray:
        """Mean gradient G of all users, (d, k)."""
        return self.left.T @ self.heads / len(self.heads)

    def gradients(self, block: Block) -> Outer:
        own = slice(block.start, block.start + block.users)
        return Outer(self.left[own], self.heads[own])

    @property
    def head_errors(self) -> np.ndarray:
        """Errors of the users' heads, sqrt(n) F of Lemma D.1, with rows (H_i^{-1} K_i w_i*)^T, (n, k)."""
        return np.linalg.solve(self.grams, self.crosses @ self.true[:, :, None])[:, :, 0]


def clients(users: Users, basis: np.ndarray, first: np.ndarray, second: np.ndarray) -> Clients:
    """Compute the terms of a round for all users: heads on the samples `first`, gradients on `second`."""
    truth = users.truth.basis
    outside = basis @ (basis.T @ truth) - truth
    sides = np.hstack([basis, outside]).astype(np.float32)
    rank = basis.shape[1]

    def statistics(block: Block) -> tuple[np.ndarray, ...]:
        left, heads = representation_gradients(block, first, second, basis)
        seen = (block.features[first] @ sides).transpose(1, 0, 2).astype(np.float64)
        moments = seen[:, :, :rank].transpose(0, 2, 1) @ seen / len(first)
        return left, heads, true_heads(block), moments[:, :, :rank], moments[:, :, rank:]

    return Clients(*(part.astype(np.float64) for part in rows(users, statistics)))


def check_round(batch_samples: int, problem: Problem) -> None:
    """Raise ValueError unless users have samples for heads and gradients, and there is room for a planted start."""
    if batch_samples < problem.rank:
        raise ValueError(f"batch_samples is {batch_samples}; it must be at least the rank, {problem.rank}")
    if problem.samples < 2 * batch_samples:
        raise ValueError(f"samples is {problem.samples}; it must be at least twice batch_samples, {batch_samples}")
    check_planted(problem.dim, problem.rank)


def prepare(options, problem: Problem) -> Spending:
    """Check sizes; return the cost, with Theorem 5.2 of shen2023 at T = 1 as privacy statement."""
    check_round(options.batch_samples, problem)
    return Spending(GAUSSIAN_COST, Theorem("B-T5.2", 1))


@experiment(columns_of("client_lemmas"), prepare=prepare)
def client_lemmas(
    task: Task,
    release: Release,
    *,
    clip: float = option("clipping bound of a user's update (zeta_g), in units of clip_scale", check_bound),
    batch_samples: int = option("samples per user for each of head and gradient in a round", check_count),
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(UPDATE_SCALES), "practical"),
    step: float = option("step size, in units of 1 / s_1^2", check_bound, 0.25),
    start_sine: float = option("sine of every principal angle between a planted start and the truth", check_sine, 0.1),
) -> Outcome:
    """Run one round from a planted start, with options as in `privrep.methods.centaur`."""
    users, problem, truth = task.simulated, task.simulated.problem, task.simulated.truth.basis
    n, step = problem.users, step / problem.head_condition**2
    zeta = gradient_threshold(clip_scale, clip, problem.known)
    start = planted_subspace(truth, start_sine, release.streams["init"])
    draws = SampleDraws("reuse", problem.samples, release.streams["samples"])
    measured = clients(users, start, *draws.take(batch_samples, batch_samples))
    iterate = start - step * release.sum("client_lemmas", users, measured.gradients, clip=zeta).value / n
    second = measured.heads.T @ measured.heads / n
    mean = start @ second - truth @ (measured.true.T @ measured.heads) / n
    singular = np.linalg.svd(measured.true, compute_uv=False) / np.sqrt(n)
    log = {
        "zeta": zeta,
        "gradient_median": np.median(measured.norms),
        "gradient_max": measured.norms.max(),
        "clipped_share": (measured.norms > zeta).mean(),
        "gradient_2": np.linalg.norm(measured.gradient, 2),
        "isometry_2": np.abs(np.linalg.eigvalsh(measured.grams) - 1).max(),
        "gram_least": np.linalg.eigvalsh(measured.grams).min(),
        "heads_F": np.linalg.norm(measured.heads) / np.sqrt(n),
        "descent_2": np.linalg.norm(np.eye(problem.rank) - step * second, 2),
        "inverse_2": 1 / np.linalg.svd(iterate, compute_uv=False).min(),
        "cross_2": np.linalg.norm(measured.crosses, 2, axis=(1, 2)).max(),
        "deviation_2": np.linalg.norm(measured.gradient - mean, 2),
        "head_errors_F": np.linalg.norm(measured.head_errors) / np.sqrt(n),
        "signal_max": singular.max(),
        "signal_min": singular.min(),
        "true_head_max": np.linalg.norm(measured.true, axis=1).max(),
    }
    return Outcome(subspace=orthonormalise(iterate), log=log)
