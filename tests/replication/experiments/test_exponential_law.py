"""Chains on the subspaces: their limit, law F7, and what they spend on the way; losses and heads by other means."""

import math

import numpy as np
import pytest
from conftest import fixed_noise, make_task
from scipy import optimize

from privrep.methods.running.runner import fit, prepared
from privrep.privacy.accounting import Budget, gdp_epsilon
from privrep.privacy.ledger import GaussianRelease, PureRelease
from privrep.users.losses import Loss
from privrep.users.risk import personal_loss
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import orthonormalise
from replication.experiments.exponential_law import largest_gap
from replication.experiments.exponential_neighbours import chain_law, exact_law, neighbouring_scores
from replication.methods.exponential import personalised
from replication.methods.steps.bounded_heads import fit_bounded
from replication.methods.steps.nets import chart_net
from replication.methods.steps.user_scores import BoundedHeads, UserScore
from replication.run.registry import load_options

SMOOTH = (Loss("huber"), Loss("pseudo-huber"), Loss("pseudo-huber", 0.2), Loss("huber", 3.0))


# Heads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("loss", [*SMOOTH, Loss("absolute", 0.0)], ids=str)
def test_heads_against_a_general_solver(loss, rank, dtype, rng):
    """Within its certificate of SLSQP's minimum, and in the ball, tight or loose."""
    q, users, rounding = 6, 6, 1e-5 if dtype == np.float32 else 1e-9
    z, y = rng.standard_normal((rank, q, users)).astype(dtype), 2 * rng.standard_normal((q, users)).astype(dtype)
    for bound in (0.4, 3.0):
        found = fit_bounded(z, y, loss, bound)
        assert ((found.heads**2).sum(axis=0) <= bound**2 * (1 + 1e-6)).all()
        for j in range(users):

            def value(v, j=j):
                return loss.value(v @ z[:, :, j] - y[:, j]).mean()

            inside = {"type": "ineq", "fun": lambda v, bound=bound: bound**2 - v @ v}
            starts = (np.zeros(rank), found.heads[:, j].astype(float))
            best = min(optimize.minimize(value, x, method="SLSQP", constraints=inside).fun for x in starts)
            assert found.values[j] == pytest.approx(value(found.heads[:, j]), abs=rounding)
            assert found.values[j] <= best + found.gaps[j] + 1e-6
            assert found.gaps[j] <= 2.001e-3 + rounding


# Scores


def test_score_is_that_of_the_paper(rng):
    """A double loop with a general solver; rotations of the basis leave it."""
    users = Users(Problem(12, 6, 5, 2, label_noise_sd=0.3))
    (block,) = users.blocks()
    score = UserScore(Loss("pseudo-huber"), 1.2, 1.0, slice(0, 3))
    basis = users.truth.basis
    rotation = orthonormalise(rng.standard_normal((2, 2)))
    found = score.shares(block, np.array([basis, basis @ rotation]))
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
    for j in range(12):
        x, y = block.features[:3, j] @ basis, block.labels[:3, j]
        x = x * np.minimum(1, 1.2 / np.linalg.norm(x, axis=1))[:, None]

        def value(v, x=x, y=y):
            return score.loss.value(x @ v - y).mean()

        inside = {"type": "ineq", "fun": lambda v: 1 - v @ v}
        best = optimize.minimize(value, np.zeros(2), method="SLSQP", constraints=inside).fun
        assert found[0, j] == pytest.approx(best - score.loss.value(y).mean(), abs=1e-3)
    totals = score.totals(users, basis[None])
    assert totals[0] == pytest.approx(found[0].sum())
    assert largest_gap(score, users, basis[None]) <= 1e-3


def test_loss_of_the_final_models_is_exact(rng):
    """Expected loss against 200,000 fresh samples of one user: five standard errors."""
    users = Users(Problem(1, 8, 5, 2, label_noise_sd=0.5))
    loss, (block,) = Loss("pseudo-huber"), users.blocks()
    basis = orthonormalise(rng.standard_normal((5, 2)))
    heads = BoundedHeads(basis, loss, 2.0, slice(4, 8))
    excess = personal_loss(users, basis, heads, loss)
    x, noise = rng.standard_normal((200_000, 5)), 0.5 * rng.standard_normal(200_000)
    theta = users.truth.basis @ block.heads[0]
    drawn = loss.value(x @ (basis @ heads(block)[0] - theta) + noise) - loss.value(noise)
    assert excess == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 200_000**0.5)


# Chains


def law(problem: Problem, multiplier: float, **options) -> dict:
    task = make_task(Users(problem), fixed_noise(multiplier))
    outcome = fit(load_options("exponential_law", {"chains": 6, "burn_in": 300, "steps": 500} | options), task)
    assert [entry.limit for entry in task.ledger.entries] == [True]
    return outcome.log


@pytest.mark.parametrize("rank", [1, 2])
def test_chains_agree_with_the_net(rank):
    """Within six standard errors of the chains among themselves; the mean at 1.5 times the temperature is not."""
    found = law(Problem(40, 12, 3, rank, head_law="sphere"), 0.1, radius=0.08)
    error = 6 * found["score_error"]
    assert found["score_excess"] == pytest.approx(found["net_excess_uniform"], abs=error)
    assert abs(1.5 * found["score_excess"] - found["net_excess_uniform"]) > error
    assert found["r_hat"] < 1.1 and found["ess"] > 100 and 0.2 < found["accepted"] < 0.45


@pytest.mark.parametrize(("options", "power"), [({}, 2), ({"loss": "absolute", "loss_width": 0.0}, 1)])
def test_the_mean_score_follows_f7(options, power):
    """D / (power beta n), within 15 percent; the other power is off by a factor of two."""
    found = law(Problem(60, 16, 8, 1, head_law="sphere"), 0.01, head_bound=2.0, clip_feature=1.5, **options)
    assert found["score_excess"] * found["beta_n"] / 7 == pytest.approx(1 / power, rel=0.15)


# What a chain spends


def spent(problem: Problem, epsilon: float, steps: int, radius: float, others: str) -> dict:
    """What a chain of so many steps tells of two neighbours."""
    options = {"loss": "absolute", "loss_width": 0.0, "radius": radius, "others": others, "chain_steps": steps}
    task = make_task(Users(problem), Budget(epsilon, 1e-6, "exact"))
    return fit(load_options("exponential_neighbours", options), task).log


@pytest.mark.parametrize("others", ["agreeing", "balanced", "divided"])
def test_a_chain_ends_at_the_exact_law(others, rng):
    """On eight points, by many steps of an explicit chain: reversible moves, and the same law."""
    bases = np.stack([np.cos(t := np.linspace(0, np.pi, 9)[:-1]), np.sin(t)], axis=1)[:, :, None]
    scores = rng.random(8)
    assert chain_law(scores, 0.5, bases, 0) == pytest.approx(np.full(8, math.log(1 / 8)))
    far = np.abs(chain_law(scores, 0.5, np.repeat(bases[:1], 8, axis=0), 400) - exact_law(scores, 0.5)).max()
    assert far < 1e-6  # points that coincide, between which each move is proposed alike
    exact, long = (spent(Problem(31, 4, 2, 1), 1.0, steps, 0.02, others) for steps in (0, 2**20))
    assert long["privacy_loss"] == pytest.approx(exact["privacy_loss"], rel=1e-3)


def test_a_chain_that_is_stopped_spends_more():
    """Where the other users are divided, and not where the draw is exact."""
    exact, stopped = (spent(Problem(60, 4, 2, 1), 2.0, steps, 0.01, "divided") for steps in (0, 8192))
    assert exact["privacy_loss"] < 2 and exact["delta_at_epsilon"] == 0
    assert stopped["privacy_loss"] > 4 and stopped["delta_at_epsilon"] > 1e-5


# The mechanism as a mechanism: its draw, its ledger, its sensitivity, and users who mean harm


def test_the_sensitivity_is_attained():
    """Opposed users among many that agree come within 3 % of epsilon, so that half the temperature would break it."""
    score = UserScore(Loss("absolute", 0.0), 2.0, 1.5, slice(0, 2))
    net = chart_net(3, 1, 0.0674)  # holds the axes
    scale = 2 * score.width * 1.0
    for times, within in ((1.0, True), (0.5, False)):
        laws = [exact_law(s, times * scale) for s in neighbouring_scores(score, net, 400, "agreeing")]
        loss = np.abs(laws[0] - laws[1]).max()
        assert (loss <= 1) == within
        assert loss > 0.97


@pytest.mark.parametrize(
    ("calibration", "exponent", "spent"),
    [("paper", "proved", 0.25), ("paper", "printed", 0.25 * 60), ("exact", "proved", 1)],
)
def test_what_the_three_exponents_spend(calibration, exponent, spent):
    """A quarter of epsilon by the proof, n times that by the box, all of it with the exact constant."""
    options = load_options("exponential", {"exponent": exponent, "count": 20})
    task = make_task(Users(Problem(60, 4, 6, 2)), Budget(2.0, 1e-6, calibration))
    outcome = fit(options, task)
    (entry,) = task.ledger.entries
    assert entry == PureRelease("subspace", pytest.approx(2.0 * spent), 0, 60)
    assert outcome.epsilon_paper == pytest.approx(2.0 if calibration == "paper" else 8.0)
    # beta = eps / (8 L_f C xi), from the options by hand: Delta = 1 / (2 beta w).
    width = (2 * math.log(240)) ** 0.5 * 2**0.5
    beta = 2.0 / (8 * width) * (4 if calibration == "exact" else 60 if exponent == "printed" else 1)
    assert outcome.log["noise_multiplier"] == pytest.approx(1 / (2 * beta * width))


@pytest.mark.parametrize("first", ["spectral", "centaur"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_first_stage_is_charged(first, epsilon):
    """Gaussian and pure entries with their shares, about half of epsilon each, and a sum that keeps the target."""
    options = load_options("exponential_staged", {"first": first, "runs": 2, "around": 3, "rounds": 5})
    task = make_task(Users(Problem(80, 8, 6, 2)), Budget(epsilon, 1e-6, "exact"))
    outcome = fit(options, task)
    gaussian = [entry for entry in task.ledger.entries if isinstance(entry, GaussianRelease)]
    (pure,) = [entry for entry in task.ledger.entries if isinstance(entry, PureRelease)]
    assert len(gaussian) == (2 if first == "spectral" else 10)
    mu = math.sqrt(sum(entry.mu**2 for entry in gaussian))
    assert gdp_epsilon(mu, 1e-6) + pure.epsilon == pytest.approx(epsilon)
    assert pure.epsilon == pytest.approx(epsilon / 2, rel=0.06)
    assert 0.94 * epsilon < task.ledger.epsilon(1e-6) <= epsilon + 1e-3
    assert outcome.log["chosen_from"] == (2 * 4 if first == "spectral" else 2 * (6 + 3))
    assert outcome.epsilon_paper is None
    with pytest.raises(ValueError, match="is in no paper"):
        fit(options, make_task(Users(Problem(80, 8, 6, 2)), Budget(epsilon, 1e-6)))


@pytest.mark.parametrize("name", ["exponential", "exponential_chain", "exponential_staged", "exponential_law"])
def test_the_score_and_the_final_fit_take_a_half_each(name):
    """Both halves of the samples in Algorithm 4's order: Theorem 5.2's risk needs a last fit on fresh samples."""
    problem = Problem(50, 8, 6, 2)
    score = load_options(name, {}).score(problem.known)
    if name != "exponential_law":
        assert prepared(load_options(name, {}), problem).score == score
    final = personalised(np.eye(6)[:, :2], score, problem.known).heads.samples
    assert (score.samples, final) == (slice(0, 4), slice(4, 8))
