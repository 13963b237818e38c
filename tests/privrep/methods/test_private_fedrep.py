"""Private FedRep, against a slow version of its public code, and its privacy from the outside."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import fixed_noise, gather, make_task

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


def test_no_paper_states_its_noise():
    with pytest.raises(ValueError, match="stands in no paper"):
        fit(PrivateFedrepOptions(), make_task(Users(PROBLEM), Budget(2.0, DELTA, "paper")))


@pytest.mark.parametrize("samples", [12, 7])
def test_the_last_heads_have_all_samples(samples):
    """An odd number of them has pairs for a start, too."""
    users = Users(replace(PROBLEM, samples=samples))
    outcome = fit(PrivateFedrepOptions(), make_task(users, fixed_noise(0.1)))
    risks = [personalised_risk(users, outcome.subspace, slice(0, number)) for number in (samples, samples - 1)]
    assert outcome.excess_risk == pytest.approx(risks[0], rel=1e-12) != pytest.approx(risks[1], rel=1e-3)
    assert outcome.log["zeta"] == pytest.approx(0.5 * math.sqrt(7) * 2**1.5)
