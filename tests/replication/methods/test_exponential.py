"""Methods built on the exponential mechanism, from outside: scale of their draws, what their candidates depend on."""

import math

import numpy as np
import pytest
from conftest import Recorder, make_task

from privrep.methods.running.method import Task
from privrep.methods.running.runner import fit, prepared
from privrep.privacy.accounting import UNLIMITED, Budget, gdp_epsilon
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease
from privrep.privacy.mechanisms import Release
from privrep.users.rng import Streams
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import sines
from replication.experiments.exponential_neighbours import OTHERS, delta_at, kinds
from replication.methods.steps.user_scores import UserScore
from replication.run.registry import load_options

PROBLEM = Problem(40, 8, 6, 2, label_noise_sd=0.2)
DELTA = 1e-6


class Compared(np.ndarray):
    """Noise that remembers what is taken from it."""

    def __sub__(self, other):
        self.seen.append(np.array(other))
        return np.asarray(self) - other


def drawn(options, budget, monkeypatch) -> tuple[list[np.ndarray], list[np.ndarray], Task]:
    """Exact scores of what was chosen from, what was taken from Gumbel noise of scale 1, and the task, of one fit."""
    totals, tilts = [], []
    plain = Release.choice

    def recorded(self, name, users, contribution, *, width):
        totals.append(contribution.score.totals(users, contribution.bases))
        return plain(self, name, users, contribution, width=width)

    class Noise(Recorder):
        def gumbel(self, loc, scale, size):
            assert (loc, scale) == (0, 1)
            noise = self.generator.gumbel(loc, scale, size).view(Compared)
            noise.seen = tilts
            return noise

    monkeypatch.setattr(Release, "choice", recorded)
    task = make_task(Users(PROBLEM), budget)
    task = Task(task.users, budget, lambda role: Noise(make_task(task.users).stream(role)), task.ledger)
    fit(options, task)
    return totals, tilts, task


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("exponential", {"count": 30}),
        (
            "exponential",
            {"count": 30, "loss": "absolute", "loss_width": 0.0, "clip_scale": "absolute", "clip_feature": 3.0},
        ),
        ("exponential_staged", {"around": 6}),
        ("exponential_staged", {"first": "centaur", "runs": 2, "rounds": 2, "around": 2}),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_scale_of_the_draw_is_that_of_the_ledger(name, options, epsilon, monkeypatch):
    """1/beta, from what noise was compared with, is 2 w / epsilon of the ledger's entry, w = L_f C by hand."""
    unit = 1.0 if options.get("clip_scale") == "absolute" else math.sqrt(2 * math.log(320))
    width = options.get("clip_feature", 1.0) * unit * math.sqrt(2)
    (scores,), (tilt,), task = drawn(load_options(name, options), Budget(epsilon, DELTA, "exact"), monkeypatch)
    (pure,) = [entry for entry in task.ledger.entries if isinstance(entry, PureRelease)]
    assert len(scores) > 6 and np.ptp(scores) > 0.1
    assert 2 * width * tilt == pytest.approx(pure.epsilon * scores, rel=1e-9)
    assert not pure.limit
    rest = [entry for entry in task.ledger.entries if entry is not pure]
    assert all(isinstance(entry, GaussianRelease) for entry in rest)
    spent = pure.epsilon + gdp_epsilon(math.sqrt(sum(entry.mu**2 for entry in rest)), DELTA)
    assert spent == pytest.approx(epsilon, rel=1e-9)


def handle(users, multiplier: float, seed: int = 0) -> Release:
    streams = Streams(lambda role: np.random.default_rng([seed, *role.encode()]))
    return Release(multiplier, Ledger(), range(users.known.users), streams, UNLIMITED)


@pytest.mark.parametrize("options", [{"around": 5}, {"first": "centaur", "rounds": 3, "around": 2}])
def test_staged_candidates_hold_what_was_released(options):
    """Those that the first stage yields by itself, at the same noise, and others around the last, nearest first."""
    users, stage = Users(PROBLEM), prepared(load_options("exponential_staged", options), PROBLEM).bases.__self__
    bases = stage.bases(users, handle(users, 1.0))
    released = [iterate.subspace for iterate in stage.first.fit(users, handle(users, 1.0).start(stage.relative))]
    for own, candidate in zip(released, bases, strict=False):
        np.testing.assert_array_equal(own, candidate)
    around = [float(sines(basis, released[-1])[0]) for basis in bases[len(released) :]]
    assert len(around) == options["around"]
    assert 0 < around[0] < 0.1 < around[-1] < 0.95
    np.testing.assert_allclose(np.einsum("cdk,cdl->ckl", bases, bases), [np.eye(2)] * len(bases), atol=1e-9)


def test_delta_of_two_laws():
    """Randomised response with odds 3: delta(eps) = (3 - e^eps) / 4, either way round, and 0 from ln 3 on."""
    first, second = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    for epsilon in (0.0, 0.5, 1.0):
        for pair in ((first, second), (second, first)):
            assert delta_at(epsilon, *pair) == pytest.approx((3 - math.exp(epsilon)) / 4)
    assert delta_at(math.log(3) + 1e-12, first, second) == 0
    lopsided = np.log([0.98, 0.02]), np.log([0.9, 0.1])
    assert delta_at(0.5, *lopsided) == pytest.approx(0.1 - math.exp(0.5) * 0.02)


@pytest.mark.parametrize("others", OTHERS)
def test_neighbours_have_the_samples_that_are_said(others):
    """x = L_f e_1 and at the stated angle, labels L_f C, in all samples that are scored."""
    score = UserScore(load_options("exponential", {}).score(PROBLEM).loss, 2.0, 1.5, slice(0, 4))
    angle, _ = OTHERS[others]
    block = kinds(score, angle, 5)
    assert block.features.shape == (4, 2, 5)
    lengths = np.linalg.norm(block.features, axis=2)
    assert lengths == pytest.approx(np.full((4, 2), 2.0))
    assert (block.features[:, 0] * block.features[:, 1]).sum(axis=1) / 4 == pytest.approx(
        [math.cos(angle)] * 4, abs=1e-6
    )
    assert block.labels == pytest.approx(np.full((4, 2), 3.0))
