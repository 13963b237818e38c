"""Speed of the library's kernels: statistics, scores and rounds."""

import math
import time
from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from privrep.methods.centaur import RepresentationGradients
from privrep.methods.power_method import power_method
from privrep.methods.steps.moment_step import UserMoments
from privrep.methods.steps.server import Server
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release, clipped_sums
from privrep.privacy.regression_moments import SampleClip
from privrep.users.heads import fit_heads
from privrep.users.losses import Loss
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SampleDraws
from privrep.users.subspace import orthonormalise, planted_subspace, random_subspaces
from replication.methods.steps.user_scores import UserScore

pytestmark = pytest.mark.benchmark(timer=time.process_time)


CLIP = SampleClip(feature=10.0, label=2.0)
"""Near the medians of ||x|| ||v|| and |y|, so that about half of the samples are clipped."""


def users_of(users: int, samples: int = 10, dim: int = 50, rank: int = 2, **more) -> Users:
    """Users whose blocks stay in memory after a first pass: all of them fit into the default memory budget."""
    return Users(Problem(users, samples, dim, rank, label_noise_sd=0.1, **more))


def drawing(users: Users) -> Callable[[], None]:
    """What draws the same users block by block and does nothing with them."""
    redrawn = Users(users.problem, memory_budget=0)
    return lambda: deque(redrawn.blocks(), maxlen=0)


def statistics(users: Users, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 2's statistics of the first `count` users by all samples: feature norms, head step, sums of moments."""
    for block in users.blocks():
        block.__dict__.pop("feature_norms", None)
    basis = users.truth.basis
    samples = slice(0, users.problem.samples)
    contribution = UserMoments(lambda block: fit_heads(block.features, block.labels, basis), samples)
    return clipped_sums(users, contribution, CLIP, over=range(count))


def loop_over_users(users: Users, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The same from the formulas as printed, vectorised over the samples of one user."""
    basis, dim, rank = users.truth.basis.astype(np.float32), users.problem.dim, users.problem.rank
    second, first = np.zeros((dim * rank, dim * rank)), np.zeros(dim * rank)
    for block in users.blocks(0, count):
        for j in range(block.users):
            features, labels = block.features[:, j], block.labels[:, j]
            projected = features @ basis
            head = np.linalg.solve(projected.T @ projected, projected.T @ labels)
            rows = (features[:, None, :] * head[:, None]).reshape(len(labels), -1)
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            rows *= np.minimum(1, np.float32(CLIP.feature) / norms)[:, None]
            second += rows.T @ rows
            first += np.minimum(np.maximum(labels, -CLIP.label), CLIP.label) @ rows
    return second, first


def test_statistics_over_drawing(in_turn, judge, size):
    """One pass of Algorithm 2's statistics, head step included, over kept users, against drawing them block by block;
    n=50000, m=10, d=50, k=2, all samples in each step."""
    users = users_of(size(50_000))
    work, draw = in_turn(partial(statistics, users, users.problem.users), drawing(users))
    judge(work / draw, "ratio of times", most=0.75)


def test_speedup_over_loop(in_turn, judge, size):
    """Head step and statistics of n=50000 users, m=10, d=50, k=2, against a loop over users, vectorised over the
    samples of one. The loop runs over the first 4000 users, and its time is scaled; both give the same statistics, to
    float32 accuracy."""
    users, count = users_of(size(50_000)), size(4_000)
    for found, expected in zip(statistics(users, count), loop_over_users(users, count), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    work, looped = in_turn(partial(statistics, users, users.problem.users), partial(loop_over_users, users, count))
    judge(looped / count * users.problem.users / work, "times faster", least=10)


def test_rate_over_sgemm(in_turn, judge, size):
    """Algorithm 2's statistics with the head step, counted as their Gram part, at d=100, k=4, m=10, n=10000, N (dk)^2
    flops for N=nm samples, against the rate of a float32 2000x2000 product, 2 n^3 flops."""
    users = users_of(size(10_000), dim=100, rank=4)
    left, right = np.random.default_rng(0).standard_normal((2, 2000, 2000), dtype=np.float32)
    work, product = partial(statistics, users, users.problem.users), partial(np.matmul, left, right)
    seconds, sgemm = in_turn(work, partial(product, out=np.empty_like(left)))
    flops = users.problem.users * users.problem.samples * 400**2
    judge(flops / seconds / (2 * 2000**3 / sgemm), "ratio of rates", least=0.5)


def test_score_over_drawing(in_turn, judge, size):
    """Score of one subspace of Algorithm 4 (jain2021) near the truth, all samples, over kept users, against drawing
    them block by block; n=100000, m=12, d=20, k=2."""
    users = users_of(size(100_000), samples=12, dim=20, head_law="sphere")
    near = planted_subspace(users.truth.basis, 0.3, np.random.default_rng(0))[None]
    score = UserScore(Loss("pseudo-huber"), 6.0, math.sqrt(2), slice(0, 12))
    work, draw = in_turn(partial(score.totals, users, near), drawing(users))
    judge(work / draw, "ratio of times", most=1.0)


def release_and_draws(users: Users) -> tuple[Release, SampleDraws]:
    """Noise multiplier 1, and samples that serve several times."""
    draws = SampleDraws("reuse", users.problem.samples, np.random.default_rng(0))
    return Release.from_one(1.0, np.random.default_rng(0), users.problem.users, Ledger()), draws


def centaur_round(users: Users) -> None:
    """One round of CENTAUR: 16 samples for the heads, 16 for the gradients, clipped sum, noise, step."""
    release, draws = release_and_draws(users)
    basis = users.truth.basis
    contribution = RepresentationGradients(basis, *draws.take(16, 16))
    orthonormalise(basis - 0.25 * Server(rounds=1, clip=10.0).mean("gradient", users, contribution, release))


def power_step(users: Users, runs: int) -> None:
    """One iteration of the private power method, 8 samples per user."""
    release, draws = release_and_draws(users)
    starts = random_subspaces(runs, users.problem.dim, 2, np.random.default_rng(0))
    power_method(users, starts, release, draws.take(8), 20.0)


@pytest.mark.parametrize(("memory_budget", "most"), [(10**10, 0.3), (0, 1.3)], ids=["kept", "redrawn"])
def test_centaur_round_over_drawing(in_turn, judge, size, memory_budget, most):
    """One round of CENTAUR over kept users, or over users that are drawn again, drawing included, against drawing the
    users block by block; n=10000, m=32, q=16, d=50, k=2."""
    users = Users(users_of(size(10_000), samples=32).problem, memory_budget=memory_budget)
    work, draw = in_turn(partial(centaur_round, users), drawing(users))
    judge(work / draw, "ratio of times", most=most)


def test_power_method_over_drawing(in_turn, judge, size):
    """One iteration of one run of the private power method over kept users, 8 samples each, against drawing the users
    block by block; n=10000, m=32, d=50, k=2."""
    users = users_of(size(10_000), samples=32)
    work, draw = in_turn(partial(power_step, users, 1), drawing(users))
    judge(work / draw, "ratio of times", most=0.1)


def test_power_method_together(in_turn, judge, size):
    """One iteration of 36 runs of the private power method at once, against 36 times that of a single run; kept users,
    n=10000, m=32, 8 samples each, d=50, k=2."""
    users = users_of(size(10_000), samples=32)
    together, one = in_turn(partial(power_step, users, 36), partial(power_step, users, 1))
    judge(36 * one / together, "times faster", least=1.5)
