"""The parts of one step of Algorithm 1 from a planted start, as in the proof of jain2021 Lemma 4.4 (Lemmas B.3 to B.7).

With Q = U*^T U, W = sum_j v_j v_j^T (x) I, A, b the sums of Algorithm 2, G, g their noise, the new iterate is (eq. 27)

    A_priv^{-1} b_priv = U* Q + M + F + F~
    M  = U* Q sum_j (Q^{-1} v_j* - v_j) v_j^T (sum_j v_j v_j^T)^{-1}     error of the heads, along U*
    F~ = A_priv^{-1} (g - G vec(U* Q))                                   privacy noise
    F  = A_priv^{-1} (b - A vec(U* Q)) - M, the rest of the iterate      sampling and label noise

For analysis: the experiment reads the truth and the noise-free sums. Only the noisy pair is released.
"""

from __future__ import annotations

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, SCALES
from privrep.methods.steps.moment_step import UserMoments, check_split
from privrep.options import among, check_sine, option
from privrep.privacy.accounting import sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import NamedSum, Release, clipped_sums
from privrep.privacy.regression_moments import MOMENTS_COST, SampleClip
from privrep.users.blocks import Block, true_heads
from privrep.users.heads import FittedHeads, HeadRule
from privrep.users.passes import parts
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SPLIT_COLUMN, count
from privrep.users.subspace import check_planted, orthonormalise, planted_subspace
from replication.experiments.columns import columns_of


def head_errors(users: Users, rule: HeadRule, overlap: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return sums of v_j v_j^T and Delta_j v_j^T, Delta_j = v_j - Q^{-1} v_j*; lengths of both vectors (Lemma B.4)."""

    def statistics(block: Block) -> tuple[np.ndarray, ...]:
        heads = rule(block)
        errors = heads - np.linalg.solve(overlap, true_heads(block).T.astype(np.float64)).T
        squares = (np.einsum("bk,bk->b", vectors, vectors) for vectors in (errors, heads))
        return (heads.T @ heads, errors.T @ heads, *squares)

    second, cross, errors, lengths = parts(users, statistics)
    squares, longest = np.concatenate(errors), float(max(map(np.max, lengths)))
    rms, most = float(np.sqrt(squares.mean())), float(np.sqrt(squares.max()))
    log = {"head_error_rms": rms, "head_error_max": most, "head_norm_max": longest**0.5}
    return sum(second, np.zeros(())), sum(cross, np.zeros(())), log


def whitened(matrix: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return W^{-1/2} matrix W^{-1/2} for W = second (x) I."""
    values, vectors = np.linalg.eigh(second)
    root = (vectors / np.sqrt(values)) @ vectors.T
    outer = np.kron(root, np.eye(len(matrix) // len(second)))
    return outer @ matrix @ outer


def prepare(options, problem: Problem) -> Spending:
    """Check sizes; return the cost, with the paper's privacy theorem for one step."""
    check_planted(problem.dim, problem.rank)
    check_split(options.split, problem.known)
    return Spending(MOMENTS_COST, sequential_theorem(MOMENTS_COST))


@experiment(columns_of("step_lemmas"), prepare=prepare)
def step_lemmas(
    task: Task,
    release: Release,
    *,
    split: str = option(SPLIT_COLUMN["split"]),
    clip_feature: float = option("clipping bound of the features (eta)", check_bound),
    clip_label: float = option("clipping bound of the labels (zeta)", check_bound),
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(SCALES), "data"),
    start_sine: float = option("sine of every principal angle between a planted start and the truth", check_sine, 0.1),
) -> Outcome:
    """Run one step of Algorithm 1 from a planted start, with options as in `privrep.methods.altmin`."""
    users, problem, truth = task.simulated, task.simulated.problem, task.simulated.truth.basis
    samples = check_split(split, problem.known)
    eta, zeta = SCALES[clip_scale](problem.known)
    clip = SampleClip(clip_feature * eta, clip_label * zeta)
    start = planted_subspace(truth, start_sine, release.streams["init"])
    overlap = truth.T @ start
    rule = FittedHeads(start, samples.heads)
    heads, error_cross, of_heads = head_errors(users, rule, overlap)
    contribution = UserMoments(rule, samples.subspace)
    second, first = clipped_sums(users, contribution, clip)
    noisy_second, noisy_first = (one.value for one in release.sums(users, contribution, NamedSum("step_lemmas", clip)))
    identity, weight = np.eye(len(second)), count(samples.subspace) * heads
    sampled = whitened(second, weight) - identity
    noisy = whitened(noisy_second, weight) - identity
    target = (truth @ overlap).T.reshape(-1)
    along = -(truth @ overlap @ np.linalg.solve(heads, error_cross.T).T).T.reshape(-1)
    private = np.linalg.solve(noisy_second, (noisy_first - first) - (noisy_second - second) @ target)
    iterate = np.linalg.solve(noisy_second, noisy_first)
    log = {
        **clip.log,
        **of_heads,
        "gram_deviation_2": np.linalg.norm(sampled, 2),
        "gram_deviation_F": np.linalg.norm(sampled),
        "noise_deviation_2": np.linalg.norm(noisy - sampled, 2),
        "total_deviation_2": np.linalg.norm(noisy, 2),
        "along_F": np.linalg.norm(along),
        "residual_F": np.linalg.norm(iterate - target - along - private),
        "private_F": np.linalg.norm(private),
    }
    return Outcome(subspace=orthonormalise(iterate.reshape(-1, problem.dim).T), log=log)
