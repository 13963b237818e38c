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
    options = PrivateFedrepOptions(init="planted", clip_scale="absolute", clip=their_clip * k / 2, start_sine=0.7)
    task = make_task(Users(PROBLEM), fixed_noise(multiplier))
    features, labels, _ = gather(task.users)
    start = planted_subspace(task.users.truth.basis, 0.7, task.stream("init"))
    draws, noise = task.stream("noise"), None
    if multiplier:
        sd = 2 * their_clip * multiplier / PROBLEM.users
        noise = [draws.normal(0, sd, start.shape) for _ in range(5)]
    hyper = {"rounds": 5, "clip": their_clip, "step": 2.5, "noise": noise, "wrong": wrong}
    # Heads of norm 1: labels over sqrt(k).
    slow = slow_fedrep(features, labels / math.sqrt(k), start, **hyper)
    found = dist2(fit(options, task).subspace, slow)
    assert found > 1e-3 if wrong else found < 2e-6


def test_the_defaults_are_those_of_the_public_code():
    """Clip 10 k / 2 at d = 50 and k = 2, step 2.5, T = 5."""
    method = PrivateFedrepOptions(init="random").build(Problem(9, 10, 50, 2, head_law="sphere").known)
    assert (method.server.clip, method.step, method.server.rounds) == (pytest.approx(10, rel=1e-12), 2.5, 5)
    unequal = Problem(9, 10, 50, 2, head_law="aniso", head_condition=3.0)
    assert PrivateFedrepOptions(init="random").build(unequal.known).step == pytest.approx(2.5 / 9)


def test_the_subspace_is_recovered_without_noise():
    """From a spectral start, which is further away than the end; without label noise the heads are the true ones,
    too."""
    problem = Problem(600, 40, 8, 2, head_law="sphere")
    options = PrivateFedrepOptions(rounds=5, step=1.0, clip=50.0)
    users = Users(problem)
    start, *_, last = options.build(problem.known).fit(users, handle(users))
    truth = users.truth.basis
    assert dist2(last.subspace, truth) < 0.02 < 0.05 < dist2(start.subspace, truth)
    longer = fit(replace(options, rounds=12), make_task(users, fixed_noise()))
    assert dist2(longer.subspace, truth) < 1e-4
    assert longer.excess_risk < 1e-6
    assert longer.log["zeta"] == pytest.approx(50 * math.sqrt(8) * 2**1.5)
    away = fit(replace(options, rounds=12, step=1e-3), make_task(users, fixed_noise()))
    assert dist2(away.subspace, truth) > 0.05


def test_no_paper_states_its_noise():
    with pytest.raises(ValueError, match="stands in no paper"):
        fit(PrivateFedrepOptions(), make_task(Users(PROBLEM), Budget(2.0, DELTA, "paper")))


@pytest.mark.parametrize("samples", [8, 7])
def test_all_samples_serve_the_rounds_and_the_heads(samples):
    """Each label moves subspace and risk; an odd number of samples has pairs, too."""
    problem = replace(PROBLEM, samples=samples)
    users = Users(problem)
    features, labels, heads = gather(users)
    options = PrivateFedrepOptions(rounds=2, step=0.5)

    def fitted(changed):
        others = replace(fake_users(features, changed, heads, truth=users.truth), problem=problem)
        outcome = fit(options, make_task(others, fixed_noise(1e-3)))
        return outcome.subspace.tobytes(), outcome.excess_risk

    before = fitted(labels)
    for i in range(samples):
        changed = labels.copy()
        changed[i] *= 1.5
        after = fitted(changed)
        assert after[0] != before[0] and after[1] != before[1], i


def test_the_last_heads_have_all_samples():
    users = Users(PROBLEM)
    outcome = fit(PrivateFedrepOptions(), make_task(users, fixed_noise(0.1)))
    assert outcome.excess_risk == pytest.approx(personalised_risk(users, outcome.subspace, slice(0, 12)), rel=1e-12)
    assert outcome.excess_risk != pytest.approx(personalised_risk(users, outcome.subspace, slice(0, 8)), rel=1e-3)


@pytest.mark.parametrize(("samples", "init"), [(2, "random"), (1, "planted")])
def test_too_few_samples_are_named(samples, init):
    with pytest.raises(ValueError, match=rf"^samples is {samples}; it must be at least the rank and one, 3"):
        PrivateFedrepOptions(init=init).build(replace(PROBLEM, samples=samples).known)
