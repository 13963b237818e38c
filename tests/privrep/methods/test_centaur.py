"""CENTAUR for a linear representation, against a slow version of the paper's pseudo-code and against its leading-order
laws.

The laws, for heads with E w w^T = diag(s_i^2), eta = step / s_1^2 and sigma_g = 2 noise multiplier: without noise
direction i contracts by 1 - eta s_i^2 a round; with noise each entry of B_perp^T B is an autoregression of that factor,
driven by noise of sd g = eta sigma_g zeta_g / n, so distF = g sqrt((d - k) sum_i 1 / (1 - (1 - eta s_i^2)^2)).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import FakeUsers, fake_users, fixed_noise, gather, handle, make_task, recut

from privrep.methods.centaur import CentaurOptions, RepresentationGradients, representation_gradients
from privrep.methods.power_method import power_method
from privrep.methods.running.runner import fit
from privrep.methods.steps.candidate_selection import select
from privrep.methods.steps.grassmann_chain import uniform_starts
from privrep.methods.steps.server import Server
from privrep.privacy.accounting import UNLIMITED, Budget, gdp_epsilon
from privrep.privacy.mechanisms import Release, clipped_sums
from privrep.theory import shen2023
from privrep.users.problem import Problem, Truth, Users
from privrep.users.rng import Streams
from privrep.users.splits import SampleDraws
from privrep.users.subspace import dist2, dist_frobenius, orthonormalise, planted_subspace, random_subspace

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


def slow_centaur(task, start, options, wrong=""):
    """Algorithms 1 and 4 by loops over rounds and users, in float64, from the streams of the task.

    `wrong`: a fault to put in, which the comparison must notice.
    """
    features, labels, _ = gather(task.users)
    m, n, _ = features.shape
    q, clip, rate = options.batch_samples, options.clip, options.participation
    method = options.build(task.users.problem.known)
    multiplier = task.budget.noise_multiplier(method.cost, method.theorem)
    order, noise, who = (task.stream(role) for role in ("samples", "noise", "participants"))
    basis, fresh = start, iter(range(m))
    for _ in range(options.rounds):
        if options.sample_use == "fresh":
            first, second = ([next(fresh) for _ in range(q)] for _ in range(2))
        else:
            positions = order.permutation(m)
            first, second = positions[:q], positions[q : 2 * q]
        if wrong == "one set of samples":
            second = first
        taking_part = who.random(n) < rate if rate < 1 else np.ones(n, bool)
        total = np.zeros(basis.shape)
        for i in range(n):
            if taking_part[i]:
                gradient = slow_gradient(features[:, i], labels[:, i], basis, first, second)
                norm = np.linalg.norm(gradient)
                total += gradient if wrong == "no clip" else gradient * min(1.0, clip / norm)
        sigma = 2 * multiplier / (2 if wrong == "half the noise" else 1)
        if sigma:
            total += sigma * clip * noise.standard_normal(basis.shape)
        divisor = rate * n if options.divide_by == "expected" and wrong != "over all" else taking_part.sum()
        sign = 1 if wrong == "sign" else -1
        step = options.step / task.users.problem.head_condition**2
        basis = orthonormalise(basis + sign * step * total / divisor)
    return basis


def fit_and_slow(options, problem=PROBLEM, multiplier=0.0, wrong=""):
    task = make_task(Users(problem), fixed_noise(multiplier))
    start = planted_subspace(task.users.truth.basis, options.start_sine, task.stream("init"))
    return fit(options, task), slow_centaur(task, start, options, wrong)


VARIANTS = [
    {},
    {"sample_use": "fresh"},
    {"rounds": 1, "batch_samples": 2},
    {"participation": 0.5},
    {"participation": 0.5, "divide_by": "realised"},
    {"step": 1.0, "start_sine": 0.6},
    {"clip": 50.0},
]


@pytest.mark.parametrize("multiplier", [0.0, 2.0])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_runs_are_those_of_the_pseudo_code(options, multiplier):
    """Users, samples, gradients, clips, noise, mean, sign and step as printed, round after round."""
    outcome, basis = fit_and_slow(algorithm(**options), multiplier=multiplier)
    assert dist2(outcome.subspace, basis) < 2e-6


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        ("sign", {}),
        ("no clip", {}),
        ("half the noise", {}),
        ("one set of samples", {}),
        ("over all", {"participation": 0.5}),
    ],
)
def test_the_comparison_notices_a_fault(wrong, options):
    """The sign of eq. (24) (E11) and other faults in the slow version."""
    outcome, basis = fit_and_slow(algorithm(**options), multiplier=2.0, wrong=wrong)
    assert dist2(outcome.subspace, basis) > 1e-3


def test_runs_of_unequal_heads():
    """The step is eta s_1^2 with s_1 the head condition."""
    problem = replace(PROBLEM, head_law="aniso", head_condition=3.0)
    outcome, basis = fit_and_slow(algorithm(clip=50.0), problem)
    assert dist2(outcome.subspace, basis) < 2e-6


def test_clips_of_these_tests_bite():
    """At a clip of 0.8 some users are clipped and some are not."""
    users = Users(PROBLEM)
    (block,) = users.blocks()
    basis = planted_subspace(users.truth.basis, 0.1, np.random.default_rng(0))
    left, heads = representation_gradients(block, np.arange(5), np.arange(5, 10), basis)
    assert 0.1 < (np.linalg.norm(left, axis=1) * np.linalg.norm(heads, axis=1) > 0.8).mean() < 0.9


# Samples


def touched(problem, options):
    """Which samples move the subspace if their labels are changed."""
    features, labels, heads = gather(Users(problem))
    truth = Users(problem).truth

    def fitted(changed):
        users = replace(fake_users(features, changed, heads, truth=truth), problem=problem)
        return fit(options, make_task(users, fixed_noise(0.01))).subspace

    before = fitted(labels)
    found = []
    for i in range(problem.samples):
        changed = labels.copy()
        changed[i] += 1.0
        if not np.array_equal(fitted(changed), before):
            found.append(i)
    return found


def test_fresh_samples_are_used_once():
    """The power method takes its iterations first, then each round 2 q; what is left serves the final heads alone."""
    options = algorithm(
        rounds=2, batch_samples=3, sample_use="fresh", init="power_method", starts=2, iterations=2, init_samples=4
    )
    assert touched(Problem(20, 24, 4, 2), options) == list(range(2 * 4 + 2 * 6))


@pytest.mark.parametrize("use", ["fresh", "reuse"])
def test_the_samples_of_a_round_are_disjoint(use, monkeypatch):
    """q for the head, q others for the gradient; in `fresh` also from those of all other rounds and of the power
    method."""
    taken = []
    plain = SampleDraws.take

    def spying(draws, *sizes):
        found = plain(draws, *sizes)
        assert [len(each) for each in found] == list(sizes)
        taken.append(np.concatenate(found))
        return found

    monkeypatch.setattr(SampleDraws, "take", spying)
    options = algorithm(
        batch_samples=4, sample_use=use, init="power_method", starts=2, iterations=3, init_samples=2, rounds=4
    )
    fit(options, make_task(Users(Problem(20, 40, 4, 2)), fixed_noise(0.1)))
    assert [len(each) for each in taken] == [2] * 3 + [8] * 4
    for each in taken:
        assert len(set(each)) == len(each)
    together = np.concatenate(taken)
    if use == "fresh":
        np.testing.assert_array_equal(together, np.arange(2 * 3 + 8 * 4))
    else:
        assert len(set(together)) < len(together)
        assert len({tuple(each) for each in taken[3:]}) == 4


def test_one_contribution_serves_one_round():
    """The samples are drawn when the contribution is made, not block by block."""
    draws = SampleDraws("fresh", 10, np.random.default_rng(0))
    users = recut(Users(Problem(20, 10, 4, 2)), 7)
    basis = random_subspace(4, 2, np.random.default_rng(1))
    one, other = (RepresentationGradients(basis, *draws.take(2, 2)) for _ in range(2))
    sums = [clipped_sums(users, each, 1.0)[0] for each in (one, one, other)]
    np.testing.assert_array_equal(sums[0], sums[1])
    assert not np.array_equal(sums[0], sums[2])
    with pytest.raises(ValueError, match=r"^samples is 10; sample_use 'fresh' needs at least 12"):
        draws.take(2, 2)


def rounds_of(server, users, basis, step, draws, q):
    """Subspaces after each round without noise, from `basis`."""
    release = handle(users)
    for _ in range(server.rounds):
        contribution = RepresentationGradients(basis, *draws.take(q, q))
        basis = orthonormalise(basis - step * server.mean("gradient", users, contribution, release))
        yield basis


# Laws

LAW = Problem(400, 64, 20, 2, head_law="sphere")


@dataclass(frozen=True)
class SteadyLaw:
    """distF in the steady state, and the standard error of its root mean square over some rounds, relative.

    An autoregression x of factor c has E x^2 = g^2 / (1 - c^2), and the squares of `rounds` successive x tell as much
    as rounds (1 - c^2) / (1 + c^2) independent ones.
    """

    value: float
    error: float

    @classmethod
    def of(cls, problem, step, sigma, zeta, rounds):
        eta = step / problem.head_condition**2
        factor = 1 - eta * problem.known.head_scales**2
        squares = (eta * sigma * zeta / problem.users) ** 2 / (1 - factor**2)
        free = problem.dim - problem.rank
        value = math.sqrt(free * squares.sum())
        variance = free * (2 * squares**2 * (1 + factor**2) / (1 - factor**2)).sum() / rounds
        return cls(value, math.sqrt(variance) / value**2 / 2)

    def fits(self, measured: float, factor: float = 1.0) -> bool:
        """Whether a measured distF may be `factor` times the law: within 5 standard errors."""
        return abs(measured / (factor * self.value) - 1) < 5 * self.error


def steady(problem, multiplier=0.05, rounds=1500, **options):
    """steady_distF of a run from the truth, with the law for it; sigma_g is twice the multiplier."""
    chosen = algorithm(rounds=rounds, clip=3.0, batch_samples=16, start_sine=0.0, **options)
    outcome = fit(chosen, make_task(Users(problem), fixed_noise(multiplier)))
    return outcome.scores["steady_distF"], SteadyLaw.of(problem, chosen.step, 2 * multiplier, 3.0, rounds // 2)


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, {}),
        ({"dim": 10, "rank": 1}, {}),
        ({}, {"step": 0.1}),
        ({"head_law": "aniso", "head_condition": 2.0}, {"rounds": 4000}),
    ],
    ids=str,
)
def test_the_steady_state_follows_its_law(change, options):
    """Within 5 standard errors, 4 to 8 %; a factor sqrt(2) is rejected each time."""
    problem = replace(LAW, **change)
    measured, law = steady(problem, **options)
    assert law.fits(measured)
    step, lam = options.get("step", 0.25), problem.known.head_scales**2
    noise = shen2023.centaur_noise(problem.users, 0.05, 3.0, step, lam[0])
    assert shen2023.centaur_frobenius(noise, problem.dim, lam / lam[0], step) == pytest.approx(law.value, rel=1e-12)
    for factor in (2**-0.5, 2**0.5):
        assert not law.fits(measured, factor)


def path(problem, step_sign=1.0, rounds=16, sine=0.1, step=0.25):
    """Subspaces after each round without noise."""
    users = Users(problem)
    draws = SampleDraws("reuse", problem.samples, np.random.default_rng(1))
    eta = step_sign * step / problem.head_condition**2
    start = planted_subspace(users.truth.basis, sine, np.random.default_rng(2))
    seen = rounds_of(Server(rounds, 1e3), users, start, eta, draws, 16)
    return users.truth.basis, list(seen)


@pytest.mark.parametrize("condition", [1.0, 2.0])
def test_each_direction_contracts_by_its_own_factor(condition):
    """||B_perp^T B w|| for head direction w_i falls by 1 - eta s_i^2 a round, within 0.015;
    half and twice that rate are rejected."""
    law = {"head_law": "aniso", "head_condition": condition} if condition > 1 else {}
    problem = replace(LAW, users=4000, **law)
    truth, seen = path(problem)
    for direction, scale in enumerate(problem.known.head_scales):
        # In the coordinates of U*, B_perp^T B Q^-1 with Q = U*^T B does not depend on the rotation of B.
        outside = [
            np.linalg.norm(((basis - truth @ (truth.T @ basis)) @ np.linalg.inv(truth.T @ basis))[:, direction])
            for basis in seen
        ]
        factor = (outside[-1] / outside[3]) ** (1 / (len(outside) - 4))
        rate = 0.25 * scale**2 / condition**2
        assert factor == pytest.approx(1 - rate, abs=0.015)
        assert factor != pytest.approx(1 - rate / 2, abs=0.015)
        assert factor != pytest.approx(1 - 2 * rate, abs=0.015)


def test_the_sign_of_equation_24_leads_away():
    """B + eta G moves away from the truth (E11); B - eta G comes closer in every round."""
    truth, seen = path(replace(LAW, users=1000), rounds=10)
    assert (np.diff([dist_frobenius(basis, truth) for basis in seen]) < 0).all()
    truth, seen = path(replace(LAW, users=1000), step_sign=-1.0, rounds=20)
    distances = [dist_frobenius(basis, truth) for basis in seen]
    assert (np.diff(distances[:8]) > 0).all()
    assert dist2(seen[-1], truth) > 0.9


# Scores


def test_excess_risk_is_that_of_heads_on_all_samples():
    """Mean ||theta_j - B w_j||^2 with w_j by lstsq on all m samples in the final B."""
    task = make_task(Users(PROBLEM), fixed_noise(0.5))
    outcome = fit(algorithm(), task)
    features, labels, heads = gather(task.users)
    thetas = heads @ task.users.truth.basis.T
    errors = []
    for j in range(60):
        head = np.linalg.lstsq(features[:, j] @ outcome.subspace, labels[:, j], rcond=None)[0]
        errors.append(((thetas[j] - outcome.subspace @ head) ** 2).sum())
    assert outcome.excess_risk == pytest.approx(np.mean(errors), rel=1e-4)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_scores_along_the_way(rounds):
    """Root mean square over the second half of the rounds; the largest over all.
    Shorter runs are the beginnings of longer ones."""
    options = algorithm(rounds=rounds)
    runs = [fit(replace(options, rounds=t), make_task(Users(PROBLEM), fixed_noise(3.0))) for t in range(1, rounds + 1)]
    truth = Users(PROBLEM).truth.basis
    spectral = [dist2(run.subspace, truth) for run in runs]
    frobenius = [dist_frobenius(run.subspace, truth) for run in runs]
    late = slice(rounds // 2, rounds)
    scores = runs[-1].scores
    assert scores["steady_dist2"] == pytest.approx(np.sqrt(np.mean(np.square(spectral[late]))), rel=1e-12)
    assert scores["steady_distF"] == pytest.approx(np.sqrt(np.mean(np.square(frobenius[late]))), rel=1e-12)
    assert scores["largest_dist2"] == max(spectral)


# Units


def scaled_users(unit: float) -> FakeUsers:
    """The users of PROBLEM with labels in another unit."""
    features, labels, heads = gather(Users(PROBLEM))
    truth = Truth(Users(PROBLEM).truth.basis, np.eye(PROBLEM.rank))
    return replace(fake_users(features, labels * unit, heads * unit, truth=truth), problem=PROBLEM)


@pytest.mark.parametrize("unit", [0.25, 4.0, 3.0])
@pytest.mark.parametrize("init", ["planted", "random", "power_method"])
def test_the_unit_of_the_labels_does_not_matter(unit, init):
    """Labels times c, clips times c^2, step over c^2: the same subspace, for powers of 2 to the last bit;
    risk times c^2."""
    options = {"init": init, "starts": 3, "iterations": 2, "init_samples": 4, "participation": 0.7}
    plain = fit(algorithm(**options), make_task(scaled_users(1.0), fixed_noise(0.8)))
    chosen = algorithm(**options, clip=0.8 * unit**2, init_clip=unit**2, step=0.25 / unit**2)
    scaled = fit(chosen, make_task(scaled_users(unit), fixed_noise(0.8)))
    if unit == 3.0:
        assert dist2(scaled.subspace, plain.subspace) < 1e-5
    else:
        np.testing.assert_array_equal(scaled.subspace, plain.subspace)
    assert scaled.excess_risk == pytest.approx(plain.excess_risk * unit**2, rel=1e-3)
    same_step = fit(replace(chosen, step=0.25), make_task(scaled_users(unit), fixed_noise(0.8)))
    assert dist2(same_step.subspace, plain.subspace) > 1e-3


@pytest.mark.parametrize("scale", ["practical", "prescribed"])
def test_the_scale_of_the_clips_is_a_unit(scale):
    """Both clips times their units in absolute terms give the same run; the log has zeta_g."""
    problem = replace(PROBLEM, head_law="sphere")
    n, d, k = problem.users, problem.dim, problem.rank
    log = math.log(n)
    units = {
        "practical": (d**0.5 * k**1.5, d**0.5 * k**1.5),
        "prescribed": (k * (d * k * log) ** 0.5, k**1.5 * d**0.5 * log * (log**0.5 + k**0.5)),
    }[scale]
    options = {"init": "power_method", "starts": 2, "iterations": 2}
    scaled = algorithm(clip=0.1, init_clip=0.2, clip_scale=scale, **options)
    plain = algorithm(clip=0.1 * units[0], init_clip=0.2 * units[1], **options)
    runs, tasks = [], []
    for chosen in (scaled, plain):
        tasks.append(make_task(Users(problem), fixed_noise(0.5)))
        runs.append(fit(chosen, tasks[-1]))
    assert dist2(runs[0].subspace, runs[1].subspace) < 1e-6
    assert runs[0].log["zeta"] == pytest.approx(0.1 * units[0], rel=1e-12)
    for one, other in zip(tasks[0].ledger.entries, tasks[1].ledger.entries, strict=True):
        assert one.noise_sd == pytest.approx(other.noise_sd, rel=1e-12)


# Privacy of the whole


def test_the_promise_is_that_of_theorem_5_2():
    """2 sqrt(T ln(1 / delta)) / sigma_g, with sigma_g twice the multiplier."""
    outcome = fit(algorithm(rounds=5), make_task(Users(PROBLEM), fixed_noise(3.0, DELTA)))
    assert outcome.epsilon_paper == pytest.approx(2 * math.sqrt(5 * math.log(1 / DELTA)) / 6, rel=1e-12)


def test_sampling_is_a_gain_over_the_budget():
    """The budget is met without counting on it: with p = 0.2 over p n the ledger has less, over |C_t| exactly the
    target."""
    spent = []
    for divide_by in ("expected", "realised"):
        task = make_task(Users(PROBLEM), Budget(3.0, DELTA, "exact"))
        fit(algorithm(participation=0.2, divide_by=divide_by), task)
        spent.append(task.ledger.epsilon(DELTA))
    assert 0 < spent[0] < 1.5
    assert spent[1] == pytest.approx(3.0, abs=1e-9)


def test_sampling_and_a_start_of_all_users_compose():
    """The start is charged in full, the rounds at their rate: more than the start alone, less than the target."""
    options = algorithm(init="power_method", starts=2, iterations=2, init_samples=4, participation=0.2)
    task = make_task(Users(PROBLEM), Budget(3.0, DELTA, "exact"))
    fit(options, task)
    start = math.sqrt(sum(entry.mu**2 for entry in task.ledger.entries if entry.name == "power_method"))
    assert {(entry.name, entry.rate) for entry in task.ledger.entries} == {("power_method", 1.0), ("gradient", 0.2)}
    assert gdp_epsilon(start, DELTA) < task.ledger.epsilon(DELTA) < 3.0


def test_the_start_is_the_candidate_that_was_selected():
    """One of the released candidates, by the rule of Algorithm 3; scores tell its distance and the median one."""
    options = algorithm(init="power_method", starts=5, iterations=4, init_samples=6, init_clip=30.0)
    task = make_task(Users(PROBLEM), fixed_noise(0.05))
    outcome = fit(options, task)
    own = SampleDraws("reuse", PROBLEM.samples, task.stream("samples"))
    candidates = power_method(
        task.users,
        uniform_starts(5, 7, 2, task.stream("init")),
        handle(task.users, 1 / task.ledger.entries[0].mu, task.stream("init_noise")),
        [own.take(6)[0] for _ in range(4)],
        30.0,
    )
    chosen = select(candidates, 0.01)
    truth = task.users.truth.basis
    distances = [dist2(candidate, truth) for candidate in candidates]
    assert outcome.log["selection_passed"] == float(chosen.passed)
    assert outcome.scores["start_dist2_median"] == pytest.approx(sorted(distances)[2], rel=1e-9)
    assert outcome.scores["start_dist2"] == pytest.approx(distances[chosen.index], rel=1e-9)
    assert len(set(distances)) == 5


@pytest.mark.parametrize("accuracy", [0.01, 0.3])
def test_the_selection_has_the_given_accuracy(accuracy, monkeypatch):
    asked = []

    def spying(candidates, at):
        asked.append((candidates.shape, at))
        return select(candidates, at)

    monkeypatch.setattr("privrep.methods.power_method.select", spying)
    options = algorithm(init="power_method", starts=3, iterations=2, init_samples=4, accuracy=accuracy)
    fit(options, make_task(Users(PROBLEM), fixed_noise(0.5)))
    assert asked == [((3, 7, 2), accuracy)]


@pytest.mark.parametrize("init", ["planted", "random"])
def test_starts_without_the_power_method_cost_nothing(init):
    """No release before the rounds."""
    task = make_task(Users(PROBLEM), fixed_noise(0.5))
    streams, truth = Streams(task.stream), task.users.truth
    method = algorithm(init=init, start_sine=0.3).build(PROBLEM.known)
    start = next(method.fit(task.users, Release(0.5, task.ledger, range(60), streams, UNLIMITED)))
    assert not task.ledger.entries
    assert not start.log
    assert start.candidates is None
    assert (dist2(start.subspace, truth.basis) == pytest.approx(0.3)) == (init == "planted")
    assert not {"start_dist2", "selection_passed"} & {**fit(algorithm(init=init), task).scores}.keys()


# Options


@pytest.mark.parametrize(
    ("options", "problem", "message"),
    [
        ({"batch_samples": 2}, Problem(9, 40, 8, 3), r"^batch_samples is 2; it must be at least the rank, 3"),
        ({"batch_samples": 6}, Problem(9, 11, 8, 2), r"^samples is 11; sample_use 'reuse' needs at least 12"),
        ({"sample_use": "fresh"}, Problem(9, 29, 8, 2), r"^samples is 29; sample_use 'fresh' needs at least 30"),
        (
            {"sample_use": "fresh", "init": "power_method", "iterations": 2, "init_samples": 3},
            Problem(9, 35, 8, 2),
            r"^samples is 35; sample_use 'fresh' needs at least 36",
        ),
        (
            {"init": "power_method", "init_samples": 13},
            Problem(9, 12, 8, 2),
            r"^samples is 12; sample_use 'reuse' needs at least 13",
        ),
        ({}, Problem(9, 40, 3, 2), r"^dim is 3; a planted start needs at least 2 rank = 4"),
    ],
)
def test_options_that_do_not_fit_the_problem_are_named(options, problem, message):
    """One sample, or one dimension, more is enough."""
    with pytest.raises(ValueError, match=message):
        algorithm(**options).build(problem.known)
    if message.startswith("^samples"):
        algorithm(**options).build(replace(problem, samples=problem.samples + 1).known)
    if message.startswith("^dim"):
        algorithm(**options).build(replace(problem, dim=4).known)
        algorithm(**options, init="random").build(problem.known)
