"""CENTAUR for a linear representation and private FedRep, against slow versions of pseudo-code and public code."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from conftest import fixed_noise, gather, handle, make_task

from privrep.methods.centaur import CentaurOptions
from privrep.methods.power_method import power_method
from privrep.methods.private_fedrep import PrivateFedrepOptions
from privrep.methods.running.runner import fit, open_release
from privrep.methods.steps.candidate_selection import select
from privrep.privacy.accounting import Budget, gdp_epsilon
from privrep.users.risk import personalised_risk
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SampleDraws
from privrep.users.subspace import dist2, orthonormalise, planted_subspace, random_subspaces

PROBLEM = Problem(60, 40, 7, 2, label_noise_sd=0.2)
DELTA = 1e-6


def algorithm(**options) -> CentaurOptions:
    defaults = {"rounds": 3, "clip": 0.8, "batch_samples": 5, "clip_scale": "absolute", "init": "planted"}
    return CentaurOptions(**{**defaults, **options})


# One round, and whole runs, against a slow version


def slow_gradient(features, labels, basis, first, second):
    """CLIENT of Algorithm 4 for one user: features (m, d), labels (m,)."""
    head = np.linalg.lstsq(features[first] @ basis, labels[first], rcond=None)[0]
    gradient = np.zeros(basis.shape)
    for j in second:
        gradient += (head @ (basis.T @ features[j]) - labels[j]) * np.outer(features[j], head)
    return gradient / len(second)


def slow_centaur(task, start, options):
    """Algorithms 1 and 4 by loops over rounds and users, in float64, from the streams of the task."""
    features, labels, _ = gather(task.users)
    m, n, _ = features.shape
    q, clip, rate = options.batch_samples, options.clip, options.participation
    method = options.build(task.simulated.problem.known)
    multiplier = task.budget.noise_multiplier(method.cost, method.theorem)
    order, noise, who = (task.stream(role) for role in ("samples", "noise", "participants"))
    basis, fresh = start, iter(range(m))
    for _ in range(options.rounds):
        if options.sample_use == "fresh":
            first, second = ([next(fresh) for _ in range(q)] for _ in range(2))
        else:
            positions = order.permutation(m)
            first, second = positions[:q], positions[q : 2 * q]
        taking_part = who.random(n) < rate if rate < 1 else np.ones(n, bool)
        total = np.zeros(basis.shape)
        for i in range(n):
            if taking_part[i]:
                gradient = slow_gradient(features[:, i], labels[:, i], basis, first, second)
                norm = np.linalg.norm(gradient)
                total += gradient * min(1.0, clip / norm)
        if multiplier:
            total += 2 * multiplier * clip * noise.standard_normal(basis.shape)
        divisor = rate * n if options.divide_by == "expected" else taking_part.sum()
        step = options.step / task.simulated.problem.head_condition**2
        basis = orthonormalise(basis - step * total / divisor)
    return basis


def fit_and_slow(options, problem=PROBLEM, multiplier=0.0):
    task = make_task(Users(problem), fixed_noise(multiplier))
    start = planted_subspace(task.users.truth.basis, options.start_sine, task.stream("init"))
    return fit(options, task), slow_centaur(task, start, options)


VARIANTS = [
    {},
    {"sample_use": "fresh"},
    {"rounds": 1, "batch_samples": 2},
    {"participation": 0.5},
    {"participation": 0.5, "divide_by": "realised"},
    {"step": 1.0, "start_sine": 0.6},
    {"clip": 50.0},
]
UNEQUAL = replace(PROBLEM, head_law="aniso", head_condition=3.0)


@pytest.mark.parametrize("multiplier", [0.0, 2.0])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_runs_are_those_of_the_pseudo_code(options, multiplier):
    """Users, samples, gradients, clips, noise, mean, sign and step as printed, round after round; the step is
    eta s_1^2 with s_1 the head condition."""
    for problem in (PROBLEM, UNEQUAL):
        outcome, basis = fit_and_slow(algorithm(**options), problem, multiplier)
        assert dist2(outcome.subspace, basis) < 2e-6


# Samples


def test_fresh_samples_are_used_once(monkeypatch):
    """Those of the power method first, then q for each head and q others for each gradient."""
    taken = []
    plain = SampleDraws.take

    def spying(draws, *sizes):
        found = plain(draws, *sizes)
        assert [len(each) for each in found] == list(sizes)
        taken.append(np.concatenate(found))
        return found

    monkeypatch.setattr(SampleDraws, "take", spying)
    options = algorithm(
        batch_samples=4, sample_use="fresh", init="power_method", starts=2, iterations=3, init_samples=2, rounds=4
    )
    fit(options, make_task(Users(Problem(20, 40, 4, 2)), fixed_noise(0.1)))
    assert [len(each) for each in taken] == [2] * 3 + [8] * 4
    np.testing.assert_array_equal(np.concatenate(taken), np.arange(2 * 3 + 8 * 4))


# What no paper has


@pytest.mark.parametrize("kind", [algorithm, partial(PrivateFedrepOptions, rounds=3, init="random")])
def test_the_last_subspaces_are_averaged(kind):
    """The top directions of the mean projector of a share of the rounds, the last ones; the descent is another."""
    paths = []
    for share in (0.0, 0.67):
        method, task = kind(average_last=share).build(PROBLEM.known), make_task(Users(PROBLEM), fixed_noise(0.3))
        paths.append([iterate.subspace for iterate in method.fit(task.users, open_release(method, task))])
    mean = sum(basis @ basis.T for basis in paths[0][-2:])
    assert dist2(paths[1][-1], np.linalg.eigh(mean)[1][:, -2:]) < 1e-7 < dist2(paths[1][-1], paths[0][-1])


# Privacy of the whole


def test_the_promise_is_that_of_theorem_5_2():
    """2 sqrt(T ln(1 / delta)) / sigma_g, with sigma_g twice the multiplier."""
    outcome = fit(algorithm(rounds=5), make_task(Users(PROBLEM), fixed_noise(3.0, DELTA)))
    assert outcome.epsilon_paper == pytest.approx(2 * math.sqrt(5 * math.log(1 / DELTA)) / 6, rel=1e-12)


def test_sampling_and_a_start_of_all_users_compose():
    """The start is charged in full, the rounds at their rate: more than the start alone, less than the target."""
    options = algorithm(init="power_method", starts=2, iterations=2, init_samples=4, participation=0.2)
    task = make_task(Users(PROBLEM), Budget(3.0, DELTA, "exact"))
    fit(options, task)
    start = math.sqrt(sum(entry.mu**2 for entry in task.ledger.entries if entry.name == "power_method"))
    assert {(entry.name, entry.rate) for entry in task.ledger.entries} == {("power_method", 1.0), ("gradient", 0.2)}
    assert gdp_epsilon(start, DELTA) < task.ledger.epsilon(DELTA) < 3.0


@pytest.mark.parametrize("accuracy", [0.01, 0.999])
def test_the_start_is_the_candidate_that_was_selected(accuracy):
    """One of the released candidates, by the rule of Algorithm 3; scores tell its distance and the median one."""
    options = algorithm(init="power_method", starts=5, iterations=4, init_samples=6, init_clip=30.0, accuracy=accuracy)
    task = make_task(Users(PROBLEM), fixed_noise(0.05))
    outcome = fit(options, task)
    own = SampleDraws("reuse", PROBLEM.samples, task.stream("samples"))
    candidates = power_method(
        task.users,
        random_subspaces(5, 7, 2, task.stream("init")),
        handle(task.users, 1 / task.ledger.entries[0].mu, task.stream("init_noise")),
        [own.take(6)[0] for _ in range(4)],
        30.0,
    )
    chosen = select(candidates, accuracy)
    assert chosen.passed == (accuracy > 0.9)
    truth = task.users.truth.basis
    distances = [dist2(candidate, truth) for candidate in candidates]
    assert outcome.log["selection_passed"] == float(chosen.passed)
    assert outcome.scores["start_dist2_median"] == pytest.approx(sorted(distances)[2], rel=1e-9)
    assert outcome.scores["start_dist2"] == pytest.approx(distances[chosen.index], rel=1e-9)
    assert len(set(distances)) == 5


# Private FedRep, against a slow version of its public code


ODD = Problem(60, 12, 7, 2, label_noise_sd=0.2, head_law="sphere")


def slow_fedrep(features, labels, basis, *, rounds, clip, step, noise=None):
    """The loop of the public code for heads of norm 1: the whole mean squared error, its clip and step,
    noise on the mean.

    features : (m, n, d). labels : (m, n). noise : of each round, (T, d, k).
    """
    m, n, _ = features.shape
    for t in range(rounds):
        mean = np.zeros(basis.shape)
        for i in range(n):
            x, y = features[:, i], labels[:, i]
            head = np.linalg.pinv(x @ basis) @ y
            gradient = 2 * x.T @ np.outer(x @ basis @ head - y, head) / m
            gradient *= min(1, clip / np.linalg.norm(gradient))
            mean += gradient / n
        if noise is not None:
            mean += noise[t]
        basis = np.linalg.qr(basis - step * mean)[0]
    return basis


@pytest.mark.parametrize("multiplier", [0.0, 0.5])
def test_a_run_is_that_of_the_public_code(multiplier):
    """Clip 10, step 2.5 on unit heads are 10 k / 2, 2.5 here, the defaults at d = 50, k = 2; clips that bite, too."""
    k, their_clip = ODD.rank, 0.8
    options = PrivateFedrepOptions(init="planted", clip_scale="absolute", clip=their_clip * k / 2, start_sine=0.7)
    task = make_task(Users(ODD), fixed_noise(multiplier))
    features, labels, _ = gather(task.users)
    start = planted_subspace(task.users.truth.basis, 0.7, task.stream("init"))
    draws, noise = task.stream("noise"), None
    if multiplier:
        sd = 2 * their_clip * multiplier / ODD.users
        noise = [draws.normal(0, sd, start.shape) for _ in range(5)]
    hyper = {"rounds": 5, "clip": their_clip, "step": 2.5, "noise": noise}
    # Heads of norm 1: labels over sqrt(k).
    slow = slow_fedrep(features, labels / math.sqrt(k), start, **hyper)
    assert dist2(fit(options, task).subspace, slow) < 2e-6


def test_no_paper_states_its_noise():
    with pytest.raises(ValueError, match="is in no paper"):
        fit(PrivateFedrepOptions(), make_task(Users(ODD), Budget(2.0, DELTA, "paper")))


@pytest.mark.parametrize("samples", [12, 7])
def test_the_last_heads_have_all_samples(samples):
    """An odd number of them has pairs for a start, too."""
    users = Users(replace(ODD, samples=samples))
    outcome = fit(PrivateFedrepOptions(), make_task(users, fixed_noise(0.1)))
    risks = [personalised_risk(users, outcome.subspace, slice(0, number)) for number in (samples, samples - 1)]
    assert outcome.excess_risk == pytest.approx(risks[0], rel=1e-12) != pytest.approx(risks[1], rel=1e-3)
    assert outcome.log["zeta"] == pytest.approx(0.5 * math.sqrt(7) * 2**1.5)
