"""The score of Algorithm 4: what one user can do to it, what is clipped, and how users are cut into blocks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import recut

from privrep.users.blocks import NORMS, Block
from privrep.users.losses import Loss
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import random_subspaces
from replication.experiments.exponential_neighbours import neighbouring_scores
from replication.methods.steps.bounded_heads import TOLERANCE, fit_bounded
from replication.methods.steps.nets import chart_net
from replication.methods.steps.user_scores import BoundedHeads, Shares, UserScore

LOSSES = (Loss("huber"), Loss("pseudo-huber"), Loss("absolute", 0.0))
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
PROBLEM = Problem(60, 8, 6, 2, label_noise_sd=0.3)
CLIP, BOUND = 1.5, 1.2
W = CLIP * BOUND


def of(loss: Loss, /, **changes) -> UserScore:
    return replace(UserScore(loss, CLIP, BOUND, slice(0, 4)), **changes)


def cut(score: UserScore, block: Block, bases: np.ndarray) -> np.ndarray:
    """What each user of a block adds to the scores, (c, B)."""
    return Shares(score, bases)(block).shares(score.width)


def candidates(count: int = 20, seed: int = 0) -> np.ndarray:
    return random_subspaces(count, PROBLEM.dim, PROBLEM.rank, np.random.default_rng(seed))


def one_user(features, labels) -> Block:
    return Block(0, np.asarray(features, np.float32)[:, None], np.asarray(labels, np.float32)[:, None])


def with_first_user(block: Block, features, labels) -> Block:
    """The block with other samples of its first user."""
    changed = block.features.copy(), block.labels.copy()
    changed[0][:, 0], changed[1][:, 0] = features, labels
    return Block(block.start, *changed)


def bad_users(rng) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Samples (m, d) and labels (m,) of users who mean harm, or cannot count."""
    m, d = PROBLEM.samples, PROBLEM.dim
    x, signs = rng.standard_normal((m, d)), np.where(np.arange(m) % 2, 1.0, -1.0)
    axis = np.eye(d)[np.zeros(m, int)]
    return {
        "collinear": (5 * axis, np.ones(m)),
        "opposed": (100 * axis, signs),
        "huge": (1e11 * x / np.linalg.norm(x, axis=1)[:, None], 1e11 * signs),
        "largest": (NORMS[1] * axis, np.full(m, NORMS[1])),
        "nan": (np.where(rng.random((m, d)) < 0.3, np.nan, x), x[:, 0]),
        "infinite": (x, np.where(signs > 0, np.inf, x[:, 0])),
        "nothing": (0 * x, 0 * signs),
        "scales": (x * np.logspace(-6, 6, m)[:, None], np.logspace(6, -6, m) * signs),
        "small": (1e-9 * x, 1e9 * signs),
    }


@every_loss
@pytest.mark.parametrize("kind", bad_users(np.random.default_rng(0)))
def test_one_user_moves_totals_by_w_and_differences_by_2w(loss, kind, rng):
    """Whoever takes the first user's place, and with him all that is summed over the others.
    Rounding and the others' own accuracy, at a hundredth of the tolerance each, are allowed for."""
    (block,) = Users(PROBLEM).blocks()
    score, bases = of(loss), candidates()
    other = with_first_user(block, *bad_users(rng)[kind])
    before, after = cut(score, block, bases), cut(score, other, bases)
    for shares in (before, after):
        assert np.isfinite(shares).all()
        assert shares.min() >= -W and shares.max() <= 0
    change = after.sum(axis=1) - before.sum(axis=1)
    allowed = 0.01 * TOLERANCE * PROBLEM.users
    assert np.abs(change).max() <= W + allowed
    assert np.ptp(change) <= 2 * W + allowed


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e6, -1e6])
def test_a_solver_that_fails_moves_no_share_out_of_its_interval(rubbish, monkeypatch):
    """Whatever it says of one user; the others keep theirs, and what is summed is what each adds."""
    (block,) = Users(PROBLEM).blocks()
    score, bases = of(Loss("huber")), candidates(3)
    sound = cut(score, block, bases)

    def broken(*arguments):
        fit = fit_bounded(*arguments)
        fit.values[:: PROBLEM.users] = rubbish
        return fit

    monkeypatch.setattr("replication.methods.steps.user_scores.fit_bounded", broken)
    shares = cut(score, block, bases)
    assert ((shares >= -W) & (shares <= 0)).all()
    assert np.array_equal(shares[:, 1:], sound[:, 1:])
    (total,) = Shares(score, bases)(block).clipped(score.width)
    assert total == pytest.approx(shares.sum(axis=1), rel=1e-12)


def test_opposed_users_attain_the_bound():
    """The difference that they make between two subspaces is 2 w within 1 percent; users at 60 degrees make less."""
    score, net = UserScore(Loss("absolute", 0.0), CLIP, BOUND, slice(0, 4)), chart_net(3, 1, 0.02)
    reached = {
        others: np.ptp(np.subtract(*neighbouring_scores(score, net, 10, others))) for others in ("agreeing", "divided")
    }
    assert 0.99 * 2 * W <= reached["agreeing"] <= 2 * W
    assert reached["divided"] < 0.99 * 2 * W


@every_loss
def test_features_are_clipped_after_the_projection(loss, rng):
    """Directions alone count beyond L_f: ten times as long leaves the share, in the subspace and not in R^d;
    without a clip it does not."""
    x, y = rng.standard_normal((4, PROBLEM.dim)), rng.standard_normal(4)
    bases = candidates(30)
    long = 10 * x / np.linalg.norm(x @ bases[0], axis=1)[:, None]
    score = of(loss)
    inside = np.linalg.norm(np.einsum("md,cdk->cmk", long, bases), axis=2).min(axis=1) >= CLIP
    assert inside[0]
    shares = [cut(score, one_user(times * long, y), bases)[inside] for times in (1, 10)]
    assert shares[0] == pytest.approx(shares[1], abs=2 * TOLERANCE)
    outside = long - long @ bases[0] @ bases[0].T
    assert cut(score, one_user(long + 50 * outside, y), bases[:1]) == pytest.approx(shares[0][:1], abs=2 * TOLERANCE)
    short = x * 0.5 * CLIP / np.linalg.norm(x, axis=1)[:, None]
    loose = of(loss, clip=math.inf)
    assert cut(loose, one_user(short, y), bases) == pytest.approx(cut(score, one_user(short, y), bases), abs=1e-6)
    assert np.abs(cut(loose, one_user(10 * long, y), bases) - cut(score, one_user(10 * long, y), bases)).max() > 0.05


@every_loss
def test_only_its_own_samples_count(loss, rng):
    """Those of the slice, and all of those."""
    (block,) = Users(PROBLEM).blocks()
    score, bases = of(loss), candidates(5)
    shares = cut(score, block, bases)
    for rows, same in ((slice(4, 8), True), (slice(3, 4), False)):
        features, labels = block.features.copy(), block.labels.copy()
        features[rows], labels[rows] = (
            rng.standard_normal(features[rows].shape),
            rng.standard_normal(labels[rows].shape),
        )
        assert np.array_equal(cut(score, Block(0, features, labels), bases), shares) == same


@every_loss
def test_blocks_and_chunks_change_rounding_only(loss, monkeypatch):
    """Users in blocks of seven, and subspaces one at a time: totals within the users' tolerances."""
    users, score, bases = Users(PROBLEM), of(loss), candidates(5)
    whole = score.totals(users, bases)
    allowed = 0.01 * TOLERANCE * PROBLEM.users
    assert score.totals(recut(users, 7), bases) == pytest.approx(whole, abs=allowed)
    assert [float(score.totals(users, basis[None])[0]) for basis in bases] == pytest.approx(whole, abs=allowed)
    monkeypatch.setattr("replication.methods.steps.user_scores.CHUNK", 1)
    assert score.totals(users, bases) == pytest.approx(whole, abs=allowed)
    assert (whole >= -PROBLEM.users * W).all() and (whole < 0).all()


@every_loss
def test_final_heads(loss, rng):
    """On their own samples, in the ball, without a clip: no head of a grid over it is better by more than 2e-3."""
    users = Users(PROBLEM)
    (block,) = users.blocks()
    basis = candidates(1)[0]
    heads = BoundedHeads(basis, loss, BOUND, slice(4, 8))(block)
    assert heads.shape == (PROBLEM.users, 2)
    assert np.linalg.norm(heads, axis=1).max() <= BOUND * (1 + 1e-6)
    z = block.features[4:] @ basis
    radii, angles = np.meshgrid(np.linspace(0, BOUND, 25), np.linspace(0, 2 * np.pi, 60))
    grid = np.stack([radii * np.cos(angles), radii * np.sin(angles)]).reshape(2, -1)
    losses = loss.value(z @ grid - block.labels[4:, :, None]).mean(axis=0)
    own = loss.value(np.einsum("mbk,bk->mb", z, heads) - block.labels[4:]).mean(axis=0)
    assert (own <= losses.min(axis=1) + 2e-3).all()
    first = BoundedHeads(basis, loss, BOUND, slice(0, 4))(block)
    assert np.abs(first - heads).max() > 0.1
    far = np.concatenate([block.features[:4], 10 * block.features[4:]])
    assert np.abs(BoundedHeads(basis, loss, BOUND, slice(4, 8))(Block(0, far, block.labels)) - heads).max() > 0.1
