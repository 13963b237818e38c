"""Private FedRep, against a slow version of its public code, and its privacy from the outside."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import fake_users, fixed_noise, gather, handle, make_task

from privrep.methods.private_fedrep import PrivateFedrepOptions
from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget
from privrep.users.problem import Problem, Users
from privrep.users.risk import personalised_risk
from privrep.users.subspace import dist2, planted_subspace

PROBLEM = Problem(60, 12, 7, 2, label_noise_sd=0.2, head_law="sphere")
DELTA = 1e-6


def slow_fedrep(features, labels, basis, *, rounds, clip, step, noise=None, wrong=""):
    """The loop of the public code for heads of norm 1: the whole mean squared error, its clip and step,
    noise on the mean.

    Parameters
    ----------
    features : (m, n, d). labels : (m, n). noise : of each round, (T, d, k).
    wrong : a fault, which the comparison must notice.
    """
    m, n, _ = features.shape
    for t in range(rounds):
        mean = np.zeros(basis.shape)
        for i in range(n):
            x, y = features[:, i], labels[:, i]
            head = np.linalg.pinv(x @ basis) @ y
            gradient = 2 * x.T @ np.outer(x @ basis @ head - y, head) / m
            if wrong == "half the loss":
                gradient /= 2
            if wrong == "by sample":
                parts = [2 * np.outer(x[j], head) * (x[j] @ basis @ head - y[j]) for j in range(m)]
                gradient = sum(part * min(1, clip / np.linalg.norm(part)) for part in parts) / m
            elif wrong != "no clip":
                gradient *= min(1, clip / np.linalg.norm(gradient))
            mean += gradient / n
        if noise is not None:
            mean += noise[t]
        basis = np.linalg.qr(basis - step * mean)[0]
    return basis


@pytest.mark.parametrize("wrong", ["", "half the loss", "by sample", "no clip"])
@pytest.mark.parametrize("multiplier", [0.0, 0.5])
def test_a_run_is_that_of_the_public_code(wrong, multiplier):
    """Clip 10 and step 2.5 on unit heads are clip 10 k / 2 and step 2.5 here, at d = 50 and k = 2 the defaults;
    clips that bite, too."""
    k, their_clip = PROBLEM.rank, 0.8
    options = PrivateFedrepOptions(
        init="planted", clip_scale="absolute", clip=their_clip * k / 2, start_sine=0.7, final_samples=5
    )
    task = make_task(Users(PROBLEM), fixed_noise(multiplier))
    features, labels, _ = gather(task.users)
    start = planted_subspace(task.users.truth.basis, 0.7, task.stream("init"))
    draws, noise = task.stream("noise"), None
    if multiplier:
        sd = 2 * their_clip * multiplier / PROBLEM.users
        noise = [draws.normal(0, sd, start.shape) for _ in range(5)]
    hyper = {"rounds": 5, "clip": their_clip, "step": 2.5, "noise": noise, "wrong": wrong}
    # Heads of norm 1: labels over sqrt(k). The code's rounds have training samples, the last heads others.
    slow = slow_fedrep(features[:7], labels[:7] / math.sqrt(k), start, **hyper)
    found = dist2(fit(options, task).subspace, slow)
    assert found > 1e-3 if wrong else found < 2e-6


def test_the_defaults_are_those_of_the_public_code():
    """Clip 10 k / 2 at d = 50 and k = 2, step 2.5, T = 5, the same samples for head and gradient."""
    method = PrivateFedrepOptions(init="random", final_samples=5).build(Problem(9, 10, 50, 2, head_law="sphere").known)
    assert (method.server.clip, method.step, method.server.rounds) == (pytest.approx(10, rel=1e-12), 2.5, 5)
    assert (method.sample_use, method.batch_samples) == ("same", 5)
    unequal = Problem(9, 10, 50, 2, head_law="aniso", head_condition=3.0)
    assert PrivateFedrepOptions(init="random").build(unequal.known).step == pytest.approx(2.5 / 9)


@pytest.mark.parametrize("sample_use", ["same", "reuse", "fresh"])
def test_the_subspace_is_recovered_without_noise(sample_use):
    """From a spectral start, which is further away than the end; without label noise the heads are the true ones,
    too."""
    problem = Problem(600, 40, 8, 2, head_law="sphere")
    options = PrivateFedrepOptions(sample_use=sample_use, rounds=5, step=1.0, clip=50.0)
    users = Users(problem)
    start, *_, last = options.build(problem.known).fit(users, handle_with_samples(users))
    truth = users.truth.basis
    assert dist2(last.subspace, truth) < 0.02 < 0.05 < dist2(start.subspace, truth)
    longer = fit(replace(options, rounds=12, sample_use="same"), make_task(users, fixed_noise()))
    assert dist2(longer.subspace, truth) < 1e-4
    assert longer.excess_risk < 1e-6
    assert longer.log["zeta"] == pytest.approx(50 * math.sqrt(8) * 2**1.5)
    away = fit(replace(options, rounds=12, sample_use="same", step=1e-3), make_task(users, fixed_noise()))
    assert dist2(away.subspace, truth) > 0.05


def handle_with_samples(users):
    release = handle(users)
    return replace(release, streams={**release.streams, "samples": np.random.default_rng(1)})


def test_no_paper_states_its_noise():
    with pytest.raises(ValueError, match="stands in no paper"):
        fit(PrivateFedrepOptions(), make_task(Users(PROBLEM), Budget(2.0, DELTA, "paper")))


@pytest.mark.parametrize(("use", "count"), [("same", 8), ("same", 7), ("reuse", 8), ("fresh", 8)])
def test_samples_of_the_rounds_and_of_the_heads(use, count):
    """The last `final_samples` labels do not move the subspace, the others do; an odd number of them has pairs, too."""
    users = Users(PROBLEM)
    features, labels, heads = gather(users)
    options = PrivateFedrepOptions(rounds=2, sample_use=use, final_samples=PROBLEM.samples - count, step=0.5)

    def fitted(changed):
        others = replace(fake_users(features, changed, heads, truth=users.truth), problem=PROBLEM)
        outcome = fit(options, make_task(others, fixed_noise(1e-3)))
        return outcome.subspace.tobytes(), outcome.excess_risk

    before = fitted(labels)
    for i in range(PROBLEM.samples):
        changed = labels.copy()
        changed[i] *= 1.5
        after = fitted(changed)
        assert (after[0] != before[0]) == (i < count), i
        assert after[1] != before[1]


@pytest.mark.parametrize(("kept", "final"), [(0, slice(0, 12)), (4, slice(8, 12))])
def test_the_last_heads_have_samples_of_their_own(kept, final):
    """All of them, where none is kept for the end."""
    users = Users(PROBLEM)
    outcome = fit(PrivateFedrepOptions(final_samples=kept), make_task(users, fixed_noise(0.1)))
    assert outcome.excess_risk == pytest.approx(personalised_risk(users, outcome.subspace, final), rel=1e-12)
    assert outcome.excess_risk != pytest.approx(personalised_risk(users, outcome.subspace, slice(0, 8)), rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_samples": 2}, r"^batch_samples is 2; sample_use 'same' needs at least 3"),
        ({"sample_use": "fresh", "rounds": 4}, r"^batch_samples is 1; sample_use 'fresh' needs at least 2"),
        ({"sample_use": "reuse", "batch_samples": 7}, r"^samples is 12; .* needs at least 14"),
        ({"batch_samples": 9, "final_samples": 4}, r"^samples is 8; .* needs at least 9"),
        ({"final_samples": 1}, r"^final_samples is 1; it must be at least the rank, 2"),
    ],
)
def test_options_that_do_not_fit_the_problem_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        PrivateFedrepOptions(**options).build(PROBLEM.known)
