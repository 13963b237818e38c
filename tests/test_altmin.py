"""Algorithm 1 of jain2021, against a plain float64 version, with its splits, batches, budget and ledger."""

import itertools
import math

import numpy as np
import pytest
from conftest import FixedNoise, Recorder, fake_users, gather, make_task

from privrep.algorithms import nonprivate_altmin
from privrep.algorithms.altmin import THEOREM_4_2, Algorithm
from privrep.privacy.accounting import Budget, Cost
from privrep.problem import Problem, Users
from privrep.splits import PRESETS, count, split_samples
from privrep.subspace import dist2, orthonormalise, random_subspace

PROBLEM = Problem(60, 20, 5, 2, label_noise_sd=0.1)
TEXT = Problem(60, 16, 5, 2, label_noise_sd=0.1)
DELTA = 1e-6


def problem_for(preset: str) -> Problem:
    return TEXT if TEXT.samples % PRESETS[preset][1] == 0 else PROBLEM


def algorithm(**options) -> Algorithm:
    defaults = {"init": "random", "split": "all-samples-reused", "clip_feature": 1e3, "clip_label": 1e3}
    return Algorithm(**{**defaults, **options})


def heads_of(features, labels, samples, basis, j):
    return np.linalg.lstsq(features[samples, j] @ basis, labels[samples, j], rcond=None)[0]


def plain_altmin(users, basis, split, epochs, batches):
    """Algorithms 1 and 2 without clips and noise, by loops; returns the subspace and the risk after personalisation."""
    features, labels, heads = gather(users)
    n, d = features.shape[1:]
    k = basis.shape[1]
    bounds = [t * n // batches for t in range(batches + 1)]
    for _, (start, stop) in itertools.product(range(epochs), itertools.pairwise(bounds)):
        rows, targets = [], []
        for j in range(start, stop):
            v = heads_of(features, labels, split.heads, basis, j)
            rows.append(np.kron(v, features[split.subspace, j]))
            targets.append(labels[split.subspace, j])
        z = np.linalg.lstsq(np.concatenate(rows), np.concatenate(targets), rcond=None)[0]
        basis = orthonormalise(z.reshape(k, d).T)
    errors = [
        users.truth.basis @ heads[j] - basis @ heads_of(features, labels, split.final, basis, j) for j in range(n)
    ]
    return basis, float(np.mean(np.square(errors).sum(axis=1)))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("epochs", "batches"), [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_without_noise_it_is_plain_alternation(preset, epochs, batches):
    """Each step reads its own range of samples and its own batch of users, in the printed order."""
    users = Users(problem_for(preset))
    task = make_task(users, FixedNoise())
    outcome = algorithm(split=preset, epochs=epochs, batches=batches).fit(task)
    start = random_subspace(5, 2, task.stream("init"))
    basis, risk = plain_altmin(users, start, split_samples(preset, users.problem.samples), epochs, batches)
    assert dist2(outcome.subspace, basis) < 1e-3
    assert outcome.excess_risk == pytest.approx(risk, rel=1e-2)
    other, _ = plain_altmin(users, start, split_samples(preset, users.problem.samples), epochs, batches + 1)
    assert dist2(outcome.subspace, other) > 1e-3


@pytest.mark.parametrize("preset", PRESETS)
def test_each_step_reads_its_own_samples(preset):
    """Disturbing one range moves the subspace exactly if the initialisation, the heads or the subspace step reads it."""
    problem = problem_for(preset)
    split = split_samples(preset, problem.samples)
    arrays = gather(Users(problem))
    truth = Users(problem).truth

    def fit(labels):
        users = fake_users(arrays[0], labels, arrays[2], truth=truth)
        return algorithm(init="spectral", split=preset).fit(make_task(users, FixedNoise(0.01)))

    before = fit(arrays[1])
    for i in range(problem.samples):
        labels = arrays[1].copy()
        labels[i] += 1.0
        after = fit(labels)
        training = any(i in range(part.start, part.stop) for part in (split.init, split.heads, split.subspace))
        assert np.array_equal(after.subspace, before.subspace) != training
        assert (after.excess_risk != before.excess_risk) == (
            training or i in range(split.final.start, split.final.stop)
        )


@pytest.mark.parametrize("batches", [1, 2, 7, 60])
def test_batches_partition_the_users(batches):
    """Contiguous, disjoint, of sizes that differ by one at most; the ledger lists them."""
    task = make_task(Users(PROBLEM), FixedNoise(1.0))
    algorithm(batches=batches, epochs=2).fit(task)
    spans = [(entry.start, entry.stop) for entry in task.ledger.entries]
    assert spans[:batches] == spans[batches:]
    assert [user for start, stop in spans[:batches] for user in range(start, stop)] == list(range(60))
    sizes = {stop - start for start, stop in spans}
    assert max(sizes) - min(sizes) <= 1


GRID = list(itertools.product(["random", "spectral"], [1, 2, 5], [1, 3], ["sample", "user"]))


@pytest.mark.parametrize(("init", "epochs", "batches", "unit"), GRID)
def test_budgets(init, epochs, batches, unit):
    """`exact` spends the target to 1e-9; `paper` spends less and promises the target; batches cost nothing extra."""
    chosen = algorithm(init=init, epochs=epochs, batches=batches, clip_unit=unit)
    joint = 9 / 8 if unit == "sample" else 3 / 2
    assert chosen.cost == Cost(epochs * joint + (init == "spectral"), epochs + 0.5 * (init == "spectral"))
    users = Users(PROBLEM)
    for epsilon in (0.5, 4.0):
        task = make_task(users, Budget(epsilon, DELTA, "exact"))
        chosen.fit(task)
        assert task.ledger.epsilon(DELTA) == pytest.approx(epsilon, abs=1e-9)
        task = make_task(users, Budget(epsilon, DELTA, "paper"))
        outcome = chosen.fit(task)
        assert task.ledger.epsilon(DELTA) < epsilon
        assert outcome.epsilon_paper == pytest.approx(epsilon, rel=1e-12)
        assert outcome.theorem == chosen.theorem.id
        assert task.ledger.mu == pytest.approx(math.sqrt(chosen.cost.mu_squared) / outcome.log["noise_multiplier"])


def test_theorems():
    """Theorem 4.2 for the stated algorithm; otherwise Lemma 4.3 for the summed cost, as Section 6 composes epochs."""
    assert algorithm(init="spectral", batches=2).theorem == THEOREM_4_2
    assert THEOREM_4_2.constant == 16
    assert algorithm(epochs=5).theorem.constant == 8 * 5
    assert algorithm(init="spectral", epochs=2, batches=2).theorem.constant == 8 * 2.5
    assert algorithm(init="spectral").theorem.constant == 8 * 1.5
    assert algorithm(batches=3).theorem.constant == 8


def test_noise_of_both_parts_is_sized_by_the_split_in_use():
    """One multiplier for all releases; the initialisation has P pairs and its own clip, the step q samples."""
    streams = {}

    def recording(role):
        return streams.setdefault(role, Recorder(np.random.default_rng(len(streams))))

    task = make_task(Users(TEXT), FixedNoise(0.5))
    task = type(task)(task.users, task.budget, recording, task.ledger)
    algorithm(init="spectral", split="text", clip_feature=3.0, clip_label=1.5, init_label_clip=2.5, epochs=2).fit(task)
    q = count(split_samples("text", 16).subspace)
    assert [sd for sd, _ in streams["init_noise"].calls] == pytest.approx([2 * (8 // 2) * 2.5**2 * 0.5])
    expected = [2 * q * 3.0**2 * 0.5, 2 * q * 3.0 * 1.5 * 0.5] * 2
    assert [sd for sd, _ in streams["noise"].calls] == pytest.approx(expected)
    assert [entry.name for entry in task.ledger.entries] == ["spectral_init", "moment_step", "moment_step"]


def test_streams_serve_one_purpose_each():
    """The random start comes from `init`, the noise of the steps from `noise`, that of the start from `init_noise`."""
    for init, roles in (("random", {"init", "noise"}), ("spectral", {"init_noise", "noise"})):
        asked = []
        task = make_task(Users(PROBLEM), FixedNoise(0.5))

        def spying(role, asked=asked):
            asked.append(role)
            return np.random.default_rng(0)

        algorithm(init=init).fit(type(task)(task.users, task.budget, spying, task.ledger))
        assert sorted(asked) == sorted(roles)


def test_the_reported_eigenvalue_is_the_smallest_of_all_steps():
    """A row shows whether any of its steps had no minimum."""
    outcome = algorithm(epochs=3, batches=2).fit(make_task(Users(PROBLEM), FixedNoise()))
    assert 0 < outcome.log["min_eigenvalue"] < 1


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"init": "zero"}, "init"),
        ({"clip_unit": "batch"}, "clip_unit"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": 1.5}, "epochs"),
        ({"batches": 0}, "batches"),
        ({"clip_feature": 0.0}, "clip_feature"),
        ({"clip_label": -1.0}, "clip_label"),
        ({"init_label_clip": 0.0}, "init_label_clip"),
    ],
)
def test_bad_options_are_named(options, name):
    with pytest.raises(ValueError, match=rf"^{name} is "):
        algorithm(**options)


def test_options_that_do_not_fit_the_problem_are_named():
    """Too many batches, an unknown split, or too few samples for the rank."""
    with pytest.raises(ValueError, match=r"^batches is 61; it must not exceed users"):
        algorithm(batches=61).check(PROBLEM)
    with pytest.raises(ValueError, match=r"^split is 'none'"):
        algorithm(split="none").check(PROBLEM)
    with pytest.raises(ValueError, match=r"leaves 2 for heads, which need at least rank = 3"):
        algorithm(split="text").check(Problem(60, 8, 5, 3))
    algorithm(split="text").check(Problem(60, 16, 5, 3))


def test_without_privacy_it_converges_to_the_noise_floor():
    """nonprivate_altmin: sF^2 k/(m-k-1) per user, stops by its tolerance, and the ledger says that nothing is protected."""
    users = Users(Problem(300, 16, 6, 2, label_noise_sd=0.1))
    task = make_task(users)
    outcome = nonprivate_altmin.Algorithm().fit(task)
    floor = 0.1**2 * 2 / (16 - 2 - 1)
    assert 0.8 * floor < outcome.excess_risk < 1.6 * floor
    assert 1 < outcome.log["epochs_run"] < 60
    assert task.ledger.epsilon(DELTA) == math.inf
    assert len(task.ledger.entries) == outcome.log["epochs_run"]
    assert outcome.epsilon_paper == math.inf


def test_without_privacy_it_is_altmin_without_noise():
    """The same subspace as `altmin` with as many epochs, no noise and no clip."""
    users = Users(PROBLEM)
    outcome = nonprivate_altmin.Algorithm(max_epochs=3, tolerance=0.0).fit(make_task(users))
    same = algorithm(epochs=3).fit(make_task(users, FixedNoise()))
    assert dist2(outcome.subspace, same.subspace) < 1e-4
    assert outcome.log["epochs_run"] == 3


def test_with_a_large_budget_it_comes_close_to_no_privacy():
    """At epsilon = 10^6 the noise is negligible; at epsilon = 0.1 with 300 users it is not."""
    users = Users(Problem(300, 16, 6, 2, label_noise_sd=0.1))
    best = nonprivate_altmin.Algorithm().fit(make_task(users)).excess_risk
    risks = [
        algorithm(clip_feature=15.0, clip_label=6.0, epochs=8)
        .fit(make_task(users, Budget(epsilon, DELTA, "exact")))
        .excess_risk
        for epsilon in (1e6, 0.1)
    ]
    assert risks[0] < 2 * best
    assert risks[1] > 50 * best
