"""The exponential mechanism as a mechanism: its draw, its ledger, its sensitivity, and users who mean harm."""

import math

import numpy as np
import pytest
from conftest import make_task
from scipy import stats
from scipy.special import logsumexp

from privrep.methods.exponential import personalised
from privrep.methods.running.runner import fit, prepared
from privrep.methods.steps.nets import chart_net
from privrep.methods.steps.user_scores import UserScore
from privrep.privacy.accounting import Budget, gdp_epsilon
from privrep.privacy.contributions import Scores
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease
from privrep.privacy.mechanisms import Release
from privrep.users.given_users import GivenUsers
from privrep.users.losses import Loss
from privrep.users.problem import Problem, Users
from replication.experiments.exponential_neighbours import exact_law, neighbouring_scores
from replication.run.registry import load_options

FALSE_ALARM = 1e-6
ALIKE = GivenUsers(Problem(10, 1, 1, 1).known, np.zeros((1, 10, 1)), np.zeros((1, 10)))


def handle(multiplier: float, seed: int = 0) -> Release:
    return Release.from_one(multiplier, np.random.default_rng(seed), 10, Ledger())


def chosen(release: Release, scores: np.ndarray, width: float) -> int:
    """Among candidates with these scores, to which all users add alike."""
    given = np.tile(scores[:, None] / len(release.users), len(release.users))
    return release.choice("u", ALIKE, lambda block: Scores(given), width=width)


@pytest.mark.parametrize("multiplier", [0.3, 2.0])
def test_choice_is_drawn_from_its_law(multiplier):
    """20,000 draws against exp(-score / (2 w Delta)) by chi-square; twice and half the temperature are rejected."""
    scores, width = np.array([-3.0, -2.5, -1.0, 0.0, -2.9]), 1.5
    release = handle(multiplier)
    counts = np.bincount([chosen(release, scores, width) for _ in range(20_000)], minlength=5)

    def p_value(scale: float) -> float:
        law = np.exp(-scores / scale - logsumexp(-scores / scale))
        return stats.chisquare(counts, law * counts.sum()).pvalue

    assert p_value(2 * width * multiplier) > FALSE_ALARM
    assert max(p_value(width * multiplier), p_value(4 * width * multiplier)) < FALSE_ALARM


def test_ledger_of_a_choice():
    """Epsilon is one over the multiplier, of the users behind the release handle;
    without noise the least score is taken and epsilon is infinite."""
    release = handle(0.25).of(range(2, 7))
    chosen(release, np.zeros(3), 1.0)
    release.temperature("v", width=2.0, limit=True)
    assert release.ledger.entries == [PureRelease("u", 4.0, 2, 7), PureRelease("v", 4.0, 2, 7, limit=True)]
    silent = handle(0.0)
    assert chosen(silent, np.array([0.0, -2.0, -1.0]), 1.0) == 1
    assert math.isinf(silent.ledger.epsilon(1e-6))
    for width in (0.0, math.inf, math.nan):
        refusing = handle(1.0)
        with pytest.raises(ValueError, match="width is"):
            refusing.temperature("u", width=width)
        with pytest.raises(ValueError, match="width is"):
            chosen(refusing, np.zeros(3), width)
        assert not refusing.ledger.entries


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
    with pytest.raises(ValueError, match="stands in no paper"):
        fit(options, make_task(Users(Problem(80, 8, 6, 2)), Budget(epsilon, 1e-6)))


@pytest.mark.parametrize("name", ["exponential", "exponential_chain", "exponential_staged", "exponential_law"])
def test_the_score_and_the_final_fit_take_a_half_each(name):
    """The first half of the samples and the second, as Algorithm 4 has them:
    the risk of Theorem 5.2 needs a final fit on fresh samples."""
    problem = Problem(50, 8, 6, 2)
    score = load_options(name, {}).score(problem.known)
    if name != "exponential_law":
        assert prepared(load_options(name, {}), problem).score == score
    final = personalised(np.eye(6)[:, :2], score, problem.known).heads.samples
    assert (score.samples, final) == (slice(0, 4), slice(4, 8))
