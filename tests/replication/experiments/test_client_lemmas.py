"""One round of CENTAUR step by step (Lemmas C.1 to D.7 of shen2023), against loops and the matrices of the proof."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import fixed_noise, gather, make_task
from made_up_cells import made_up
from pieces import vec

from privrep.methods.running.runner import fit
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist2, orthonormalise, planted_subspace, random_subspace
from replication.experiments.client_lemmas import client_lemmas, clients
from replication.studies.client_lemmas import analysis as study

PROBLEM = Problem(24, 20, 7, 2, head_law="sphere")
UNEQUAL = Problem(24, 20, 7, 3, head_law="aniso", head_condition=2.0)


def algorithm(**options) -> client_lemmas:
    defaults = {"clip": 1.0, "batch_samples": 9, "clip_scale": "absolute", "start_sine": 0.4}
    return client_lemmas(**defaults | options)


def by_hand(users, task, options):
    """All numbers of a round by their definitions in Appendices C and D, with the streams of the task.

    The suprema of Lemmas C.2 to C.4 are taken over all n x k matrices V, as printed, by the matrix of the quadratic
    form.
    """
    features, labels, true = gather(users)
    _, n, _ = features.shape
    k, q = true.shape[1], options.batch_samples
    truth = users.truth.basis
    start = planted_subspace(truth, options.start_sine, task.stream("init"))
    order = task.stream("samples").permutation(users.known.samples)
    first, second = order[:q], order[q : 2 * q]
    inner, cross = np.zeros((n * k, n * k)), np.zeros((n * k, n * k))
    fitted, norms, clipped = np.zeros((n, k)), [], np.zeros(start.shape)
    for i in range(n):
        unit = np.eye(n)[i]
        rows = features[first, i]
        for x in rows:
            here, there = vec(np.outer(unit, x) @ start), vec(np.outer(unit, x) @ truth)
            inner += np.outer(here, here) / q
            cross += np.outer(here, there) / q
        fitted[i] = np.linalg.lstsq(rows @ start, labels[first, i], rcond=None)[0]
    heads, targets = fitted / math.sqrt(n), true / math.sqrt(n)
    target = start @ heads.T - truth @ targets.T
    gradient = np.zeros(start.shape)
    for i in range(n):
        own = np.zeros(start.shape)
        for x in features[second, i]:
            sensed = math.sqrt(n) * np.outer(x, np.eye(n)[i])
            own += np.sum(sensed * target) * sensed @ heads / q
        norms.append(np.linalg.norm(own))
        gradient += own / n
        clipped += own * min(1.0, options.clip / norms[-1])
    turn = np.kron(start.T @ truth, np.eye(n))
    gap = inner @ turn - cross
    shift = np.linalg.solve(inner, gap @ vec(targets))
    method = options.experiment(task.simulated.problem)
    noise = 2 * task.budget.noise_multiplier(method.cost, method.theorem) * options.clip
    step = options.step / users.problem.head_condition**2
    iterate = start - step * (clipped + noise * task.stream("noise").standard_normal(start.shape)) / n
    singular = np.linalg.svd(targets, compute_uv=False)
    numbers = {
        "noise_multiplier": task.budget.multiplier,
        "zeta": options.clip,
        "gradient_median": np.median(norms),
        "gradient_max": max(norms),
        "clipped_share": np.mean(np.array(norms) > options.clip),
        "gradient_2": np.linalg.norm(gradient, 2),
        "isometry_2": np.linalg.norm(inner - np.eye(n * k), 2),
        "gram_least": np.linalg.eigvalsh(inner)[0],
        "heads_F": np.linalg.norm(heads),
        "descent_2": np.linalg.norm(np.eye(k) - step * heads.T @ heads, 2),
        "inverse_2": np.linalg.norm(np.linalg.inv(np.linalg.qr(iterate)[1]), 2),
        "cross_2": np.linalg.norm(gap, 2),
        "deviation_2": np.linalg.norm(gradient - target @ heads, 2),
        "head_errors_F": np.linalg.norm(shift),
        "signal_max": singular[0],
        "signal_min": singular[-1],
        "true_head_max": np.linalg.norm(true, axis=1).max(),
    }
    identity = vec(heads) - (np.kron(start.T @ truth, np.eye(n)) @ vec(targets) - shift)
    return numbers, orthonormalise(iterate), np.abs(identity).max()


def both(problem, multiplier=0.0, **options):
    chosen = algorithm(**options)
    task = make_task(Users(problem), fixed_noise(multiplier))
    return fit(chosen, task), by_hand(task.users, task, chosen)


@pytest.mark.parametrize("problem", [PROBLEM, UNEQUAL, Problem(24, 20, 7, 1)], ids=str)
@pytest.mark.parametrize(("clip", "multiplier"), [(1.0, 0.0), (1.0, 0.5), (50.0, 0.02)])
def test_the_numbers_of_a_round(problem, clip, multiplier):
    """Log, scores and iterate are those of the definitions; Lemma D.1 holds up to the rounding of labels."""
    outcome, (numbers, iterate, identity) = both(problem, multiplier, clip=clip)
    assert set(outcome.log) == set(numbers)
    assert outcome.log == pytest.approx(numbers, rel=1e-3, abs=1e-9)
    assert dist2(outcome.subspace, iterate) < 1e-4
    assert identity < 1e-6
    assert (outcome.log["clipped_share"] > 0) == (clip == 1.0)


def test_clients_from_a_turned_start(rng):
    """A planted start has B^T B* = cos I, which hides a transpose; here B is turned. Users and Lemma D.1 by loops."""
    users, q = Users(UNEQUAL), 9
    features, labels, true = gather(users)
    truth = users.truth.basis
    basis = planted_subspace(truth, 0.4, rng) @ random_subspace(3, 3, rng)
    first, second = np.arange(q), np.arange(q, 2 * q)
    found = clients(users, basis, first, second)
    for i in range(24):
        moment = features[first, i].T @ features[first, i] / q
        head = np.linalg.lstsq(features[first, i] @ basis, labels[first, i], rcond=None)[0]
        rows = features[second, i]
        np.testing.assert_allclose(found.grams[i], basis.T @ moment @ basis, atol=1e-5)
        np.testing.assert_allclose(found.crosses[i], basis.T @ moment @ (basis @ basis.T @ truth - truth), atol=1e-5)
        np.testing.assert_allclose(found.heads[i], head, atol=1e-4)
        np.testing.assert_allclose(found.left[i], rows.T @ (rows @ basis @ head - labels[second, i]) / q, atol=1e-4)
    np.testing.assert_array_equal(found.true, true)
    np.testing.assert_allclose(found.heads, true @ truth.T @ basis - found.head_errors, atol=1e-4)
    assert np.abs(found.heads - (true @ basis.T @ truth - found.head_errors)).max() > 0.1


# The study


def table(*problems, multiplier=0.0, **options) -> pd.DataFrame:
    """Rows as in cells.csv, one per problem."""
    chosen = algorithm(**options)
    rows = []
    for problem in problems:
        outcome = fit(chosen, make_task(Users(problem), fixed_noise(multiplier)))
        about = {"algorithm": "client_lemmas", "series": "kappa"}
        about["dist2"] = dist2(outcome.subspace, Users(problem).truth.basis)
        rows.append(vars(problem) | vars(chosen) | outcome.log | about)
    return study.with_predictions(pd.DataFrame(rows))


LARGE = Problem(30, 1600, 8, 2, head_law="aniso", head_condition=1.5)


def test_ratios_are_those_of_the_paper():
    """Every inequality by hand, from the numbers of one run whose delta_1 is below 1."""
    cells = table(LARGE, batch_samples=800, start_sine=0.1, clip=100.0, multiplier=0.01)
    (row,), (found,) = cells.to_dict("records"), study.ratios(cells).to_dict("records")
    n, d, k, q, dist, kappa = 30, 8, 2, 800, 0.1, row["signal_max"] / row["signal_min"]
    s1, sk, long = row["signal_max"], row["signal_min"], row["true_head_max"]
    mu = long / (math.sqrt(k) * sk)
    delta1, delta2 = row["isometry_2"], row["cross_2"] / dist
    delta3 = 4 * (math.sqrt(d) + math.sqrt(k * math.log(n))) / math.sqrt(q * n * kappa**2)
    a = (math.sqrt(k) + 2 * math.sqrt(math.log(n))) / math.sqrt(q)
    eta, ball = 0.25 / 1.5**2, 0.96
    bound = delta2 * s1 * math.sqrt(k) * dist / (1 - delta1)
    assert delta1 < 1
    expected = {
        "C.1": row["gradient_max"] / (mu**2 * k * sk**2 * math.sqrt(d * k * math.log(n))),
        "C.2": delta1 / math.sqrt(k * math.log(n) / q),
        "C.2 corrected": delta1 / ((1 + a) ** 2 - 1),
        "C.3": delta2 / math.sqrt(k * math.log(n) / q),
        "C.3 corrected": delta2 / ((1 + a) * (2 * math.sqrt(k) + 2 * math.sqrt(math.log(n))) / math.sqrt(q)),
        "C.4": row["gradient_2"] / (delta3 * s1**2 * k * dist),
        "D.2 printed": (1 - delta1) / (row["gram_least"] / n),
        "D.4 F": row["head_errors_F"] / bound,
        "D.4 V": row["heads_F"] / (math.sqrt(k) * s1 + bound),
        "D.5": row["descent_2"] / (1 - eta * (ball * sk**2 - 2 * delta2 * s1**2 * math.sqrt(k) * dist / (1 - delta1))),
        "D.6": row["deviation_2"] / (delta3 * s1**2 * k * dist),
        "D.6 corrected": row["deviation_2"] / (mu**2 * kappa * delta3 / kappa**2 * s1**2 * k * dist),
        "D.7": row["inverse_2"] * math.sqrt(1 - eta * sk**2 * ball / 2),
    }
    heads = delta2 * math.sqrt(k) / (1 - delta1)
    expected["condition"] = max(heads, heads**2, row["deviation_2"] / (s1**2 * dist)) / (sk**2 * ball / (36 * s1**2))
    assert found == pytest.approx(expected, rel=1e-9)
    assert {name for name in found if found[name] > 1} == {"C.2", "C.3", "C.4", "D.2 printed", "condition"}


def test_without_a_right_side_there_is_no_ratio():
    """delta_1 >= 1: the lemmas that divide by 1 - delta_1 say nothing."""
    found = study.ratios(study.with_predictions(made_up("client_lemmas").assign(isometry_2=1.5)))
    assert set(found.columns[found.isna().all()]) == {"D.2 printed", "D.4 F", "D.4 V", "D.5", "condition"}
