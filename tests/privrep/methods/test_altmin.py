"""Algorithm 1 of jain2021, against a plain float64 version, with its splits, batches, budget and ledger."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import fixed_noise, gather, handle, make_task

from privrep.methods import nonprivate_altmin
from privrep.methods.altmin import AltminOptions
from privrep.methods.running.runner import fit
from privrep.methods.spectral_init import SpectralInit
from privrep.methods.steps.clip_units import USER_SCALES
from privrep.privacy.accounting import Budget, Theorem
from privrep.users.rng import Streams
from privrep.users.simulated import Problem, Users
from privrep.users.splits import PRESETS, split_samples
from privrep.users.subspace import dist2, orthonormalise, random_subspace
from replication.experiments.altmin_ablations import AltminAblationsOptions

PROBLEM = Problem(60, 20, 5, 2, label_noise_sd=0.1)
TEXT = Problem(60, 16, 5, 2, label_noise_sd=0.1)
DELTA = 1e-6


def problem_for(preset: str) -> Problem:
    return TEXT if TEXT.samples % PRESETS[preset][1] == 0 else PROBLEM


def algorithm(kind=AltminOptions, **options) -> AltminOptions:
    defaults = {"init": "random", "split": "all-samples-reused", "clip_feature": 1e3, "clip_label": 1e3}
    return kind(**{**defaults, **options})


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
    task = make_task(users, fixed_noise())
    outcome = fit(algorithm(split=preset, epochs=epochs, batches=batches), task)
    start = random_subspace(5, 2, task.stream("init"))
    basis, risk = plain_altmin(users, start, split_samples(preset, users.known.samples), epochs, batches)
    assert dist2(outcome.subspace, basis) < 1e-3
    assert outcome.excess_risk == pytest.approx(risk, rel=1e-2)
    other, _ = plain_altmin(users, start, split_samples(preset, users.known.samples), epochs, batches + 1)
    assert dist2(outcome.subspace, other) > 1e-3


@pytest.mark.parametrize("preset", PRESETS)
def test_the_start_reads_its_own_samples(preset):
    """The subspace that Algorithm 3 finds in its range of the split."""
    users = Users(problem_for(preset))
    method = algorithm(init="spectral", split=preset).build(users.problem.known)
    samples = split_samples(preset, users.known.samples).init
    first = next(method.fit(users, handle(users, 0.01)))
    alone = SpectralInit(samples, method.init_label_clip).subspace(users, handle(users, 0.01))
    np.testing.assert_array_equal(first.subspace, alone)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.9])
@pytest.mark.parametrize(("unit", "epochs"), [("sample", 1), ("user", 2)])
def test_a_share_of_the_budget_for_the_start(share, unit, epochs):
    """Algorithm 3 takes its share of mu^2, the steps the rest, and the whole spends the target."""
    chosen = algorithm(init="spectral", epochs=epochs, clip_unit=unit, init_share=share)
    for budget in (Budget(2.0, DELTA, "exact"), fixed_noise(0.7)):
        task = make_task(Users(PROBLEM), budget)
        fit(chosen, task)
        spent = {}
        for entry in task.ledger.entries:
            spent[entry.name] = spent.get(entry.name, 0) + entry.mu**2
        assert spent["spectral_init"] / sum(spent.values()) == pytest.approx(share, rel=1e-12)
        if isinstance(budget, Budget):
            assert task.ledger.epsilon(DELTA) == pytest.approx(2.0, abs=1e-9)


def test_whole_users_in_units_of_the_data():
    """Both bounds are factors of the typical norms of A_j and b_j, from the samples of the subspace step."""
    chosen = algorithm(clip_unit="user", clip_scale="data", split="halves-then-all", clip_feature=0.5, clip_label=2.0)
    second, first = USER_SCALES["data"](PROBLEM.known, PROBLEM.samples // 2)
    assert chosen.build(PROBLEM.known).clip.bounds(PROBLEM.samples // 2) == (0.5 * second, 2.0 * first)


def test_theorems():
    """Theorem 4.2 for the stated algorithm; otherwise Lemma 4.3 for the summed cost, as Section 6 composes epochs."""

    def theorem(**options):
        return algorithm(**options).build(PROBLEM.known).theorem

    assert theorem(init="spectral", batches=2) == Theorem("A-T4.2", 16)
    assert theorem(epochs=5).constant == 8 * 5
    assert theorem(init="spectral", epochs=2, batches=2).constant == 8 * 2.5
    assert theorem(init="spectral").constant == 8 * 1.5
    assert theorem(batches=3).constant == 8


def test_without_privacy_it_converges_to_the_noise_floor():
    """nonprivate_altmin: sF^2 k/(m-k-1) per user, stops by its tolerance, and by the ledger nothing is protected."""
    users = Users(Problem(300, 16, 6, 2, label_noise_sd=0.1))
    task = make_task(users)
    outcome = fit(nonprivate_altmin.NonprivateAltminOptions(), task)
    floor = 0.1**2 * 2 / (16 - 2 - 1)
    assert 0.8 * floor < outcome.excess_risk < 1.6 * floor
    assert 1 < outcome.log["epochs_run"] < 60
    assert task.ledger.epsilon(DELTA) == math.inf
    assert len(task.ledger.entries) == outcome.log["epochs_run"]
    assert outcome.epsilon_paper == math.inf


WIDE = Problem(60, 16, 6, 2, label_noise_sd=0.1)


def test_the_reported_eigenvalue_is_the_smallest_of_all_steps():
    """A row shows whether any of its steps had no minimum: by batches it falls and stays, never rises."""
    users = Users(PROBLEM)
    release = replace(handle(users, 0.0), streams=Streams(make_task(users, fixed_noise()).stream))
    _, *steps = algorithm(epochs=3, batches=2).build(PROBLEM.known).fit(users, release)
    reported = [step.log["min_eigenvalue"] for step in steps]
    assert reported == sorted(reported, reverse=True) and len(reported) == 6


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("preset", ["text", "all-samples-reused"])
def test_with_true_heads_it_is_one_regression(preset, epochs):
    """lstsq of y on vec(x v_j*^T) over the samples of the subspace step, whatever the start; fitted heads differ."""
    users = Users(WIDE)
    features, labels, heads = gather(users)
    used = split_samples(preset, 16).subspace
    rows = np.concatenate([np.kron(heads[j], features[used, j]) for j in range(60)])
    targets = np.concatenate([labels[used, j] for j in range(60)])
    expected = orthonormalise(np.linalg.lstsq(rows, targets, rcond=None)[0].reshape(2, 6).T)
    for noise_seed in (0, 1):
        task = make_task(users, fixed_noise(), noise_seed)
        outcome = fit(algorithm(AltminAblationsOptions, heads="true", split=preset, epochs=epochs), task)
        assert dist2(outcome.subspace, expected) < 1e-5
        fitted = fit(algorithm(split=preset, epochs=epochs), make_task(users, fixed_noise(), noise_seed))
        assert dist2(fitted.subspace, expected) > 1e-2
