"""The audit of the mechanisms, audited: its tape, its game, its adversary, and the faults that it must find.

False alarms of the distributional tests here: FALSE_ALARM each; runs are few since faults are gross.
"""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import FALSE_ALARM, make_task
from scipy import stats

from privrep.algorithms.method import load_options, methods, options_class
from privrep.data.problem import Problem, Users
from privrep.instruments import audit
from privrep.instruments.audit import AUDITED, MUTANTS, SEVERAL, mechanism, noise_alarm
from privrep.instruments.canaries import Crowd, changed, structured_pair, worst_pair
from privrep.instruments.distinguishing import LEVEL, Game, attainable, play
from privrep.instruments.fitting import fit
from privrep.instruments.replay import apart, log_ratio, noises, scaled, streams, taped
from privrep.privacy.accounting import Budget
from privrep.privacy.mechanisms import isotropic_noise, symmetric_noise

PROBLEM = Problem(6, 16, 4, 1)
NOT_AUDITED = {
    "exponential": "pure: its law is computed in study exponential",
    "exponential_chain": "pure, approached by a chain: studied in exponential",
    "exponential_staged": "its first stage is audited under its own name, its second is pure",
    "federated_images": "its rounds are audited on tiny images",
    "noisy_power_method": "no users: a simulation of a theorem",
    "made_up_candidates": "no users: a simulation of a theorem",
    "exponential_neighbours": "no users of its own: an instrument of study exponential",
    "exponential_law": "no users of its own: an instrument of study exponential",
    "client_lemmas": "an instrument: the clipped gradients of centaur",
    "step_lemmas": "an instrument: the moments of altmin",
    "oracle_step": "an instrument: it is given the truth",
    "smallest_users": "a search over runs of other mechanisms",
    "smallest_users_centaur": "a search over runs of other mechanisms",
    "smallest_users_private_fedrep": "a search over runs of other mechanisms",
    "smallest_users_unit_steps": "a search over runs of other mechanisms",
}
"""Private, and why it is not audited here."""


def test_every_private_mechanism_is_audited_or_says_why_not():
    """A mechanism that is added is either in the audit or listed above."""
    audited = {algorithm for algorithm, _ in AUDITED.values()}
    private = set()
    for name in methods():
        module = __import__(options_class(name).__module__, fromlist=["x"])
        own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
        if name != "audit" and any(hasattr(one, "cost") for one in own):
            private.add(name)
    assert private <= audited | set(NOT_AUDITED)
    assert not audited & set(NOT_AUDITED)


# The tape


def worlds(seed=0):
    crowd = Crowd.drawn(PROBLEM, np.random.default_rng(seed))
    return [crowd.with_user(one) for one in structured_pair(PROBLEM, np.random.default_rng(seed + 1))]


@pytest.mark.parametrize("name", [name for name in AUDITED if name != "unit_steps"])
def test_the_tape_is_the_run(name):
    """On the same users with the same answers: the same statistics, no distance, and as many entries as releases."""
    users = worlds()[0]
    tape, ledger = taped(mechanism(name, PROBLEM), users, 1.3, streams(3, 0))
    again, _ = taped(mechanism(name, PROBLEM), users, 1.3, streams(9, 0), tape)
    assert len(tape.taken) == len(ledger.entries) > 0
    assert apart(tape, again) == 0 and log_ratio(tape, again) == 0
    assert [one.name for one in tape.taken] == [entry.name for entry in ledger.entries]
    other, _ = taped(mechanism(name, PROBLEM), users, 1.3, streams(4, 0))
    assert not np.array_equal(other.taken[0].noisy, tape.taken[0].noisy)
    assert not np.array_equal(noises(tape)[0], 0 * noises(tape)[0])


@pytest.mark.parametrize(("noise", "beside"), [(symmetric_noise, 1.0), (isotropic_noise, 0.5**0.5)])
def test_free_numbers_of_a_symmetric_release_are_standard_normal(noise, beside):
    """Every entry on and above the diagonal, in units of its own sd; with the other law they are not."""
    rng = np.random.default_rng(1)
    drawn = np.concatenate([scaled(noise(5, 0.7, rng), 0.7, beside, symmetric=True) for _ in range(2000)])
    assert len(drawn) == 2000 * 15
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    rng = np.random.default_rng(1)
    wrong = [scaled(noise(5, 0.7, rng), 0.7, 1.5 - beside, symmetric=True) for _ in range(2000)]
    assert stats.kstest(np.concatenate(wrong), "norm").pvalue < FALSE_ALARM


def test_the_ratio_of_likelihoods_is_that_of_normal_laws():
    """Against densities, release by release."""
    first, second = worlds()
    method = mechanism("altmin", PROBLEM)
    tape, _ = taped(method, first, 1.3, streams(3, 0))
    other, _ = taped(method, second, 1.3, streams(3, 0), tape)
    direct = sum(
        stats.norm.logpdf(a.noisy, a.exact).sum() - stats.norm.logpdf(a.noisy, b.exact).sum()
        for a, b in zip(tape.taken, other.taken, strict=True)
    )
    assert log_ratio(tape, other) == pytest.approx(direct, rel=1e-9) and direct != 0


# The adversary


def test_the_search_ends_at_the_best_pair_it_saw():
    seen = []

    def score(pair):
        seen.append(float(np.abs(pair[0].labels - pair[1].labels).sum()))
        return seen[-1]

    pair, best = worst_pair(score, PROBLEM, 20, 30, np.random.default_rng(0))
    assert best == max(seen) == pytest.approx(np.abs(pair[0].labels - pair[1].labels).sum())


def test_a_change_leaves_the_pair_as_it_was():
    rng = np.random.default_rng(0)
    pair = structured_pair(PROBLEM, rng)
    before = [(one.features.copy(), one.labels.copy()) for one in pair]
    for _ in range(50):
        new = changed(pair, rng)
        kept = [
            np.array_equal(a.features, b.features) and np.array_equal(a.labels, b.labels)
            for a, b in zip(pair, new, strict=True)
        ]
        assert sum(kept) >= 1
    for one, (features, labels) in zip(pair, before, strict=True):
        np.testing.assert_array_equal(one.features, features)
        np.testing.assert_array_equal(one.labels, labels)


def test_the_power_method_is_moved_by_two_clips():
    """Two users at right angles to the start on opposite sides: found by the search, though users on axes alone give half of it."""
    (_, best) = audit.worst("power_method", PROBLEM, 1.3, 300, 400, 5)
    assert 0.9 < best <= 1 + 1e-6


# The game


def test_guesses_of_null_scores_alarm_as_rarely_as_stated():
    """Scores that know nothing: the limit of mu is above 0 in at most 5 % of 200 games."""
    rng = np.random.default_rng(3)
    alarms = sum(play(lambda first, run: rng.standard_normal(), 400, rng).mu() > 0 for _ in range(200))
    assert stats.binom.sf(alarms - 1, 200, 0.05) > FALSE_ALARM


def runs_needed(mu: float, share: float) -> int:
    """Runs after which the median lower limit of mu is this share of it, by the normal approximation."""
    aim, most = attainable(share * mu), attainable(mu)
    return math.ceil(stats.norm.ppf(LEVEL) ** 2 * most * (1 - most) / (most - aim) ** 2)


@pytest.mark.parametrize("mu", [1.0, 1.53])
def test_the_limit_is_near_and_seldom_above_for_normal_scores(mu):
    """Calibrated positives at the number of runs that is needed for 85 %: in most games within [0.85, 1], above in at most 5 %."""
    rng = np.random.default_rng(4)
    runs = 2 * runs_needed(mu, 0.85)

    def score(first, run):
        return mu * ((mu / 2 if first else -mu / 2) + rng.standard_normal())

    limits = np.array([play(score, runs, rng).mu() for _ in range(200)])
    assert stats.binom.sf((limits > mu).sum() - 1, 200, 0.05) > FALSE_ALARM
    assert np.mean((limits >= 0.85 * mu) & (limits <= mu)) > 0.5
    assert np.median(limits) > 0.85 * mu


def test_a_game_that_is_always_right_has_a_large_limit():
    assert Game(1000, 1000).mu() > 5 and Game(500, 1000).mu() == 0
    assert attainable(0) == 0.5 and attainable(2 * stats.norm.ppf(0.9)) == pytest.approx(0.9)
    assert Game(900, 1000).mu(0.9999) < Game(900, 1000).mu()


def test_the_rounds_of_networks_pass_and_their_wrong_doors_are_found():
    pytest.importorskip("jax", reason="the neural part needs JAX")
    log, ledger = audited(audit.NETWORKS)
    assert log["caught"] == 0 and 0.5 < log["attained"] <= 1 + audit.ROUNDING
    assert ledger.epsilon(1e-6) == pytest.approx(8, rel=1e-6)
    for mutant in MUTANTS:
        if mutant != "none":
            assert audited(audit.NETWORKS, mutant)[0]["caught"] == 1, mutant


# Looks at the noise


def fresh(runs=200, seed=0):
    rng = np.random.default_rng(seed)
    return [[rng.standard_normal(6), rng.standard_normal(4)] for _ in range(runs)]


def test_honest_noise_does_not_alarm():
    alarms = sum(noise_alarm(fresh(seed=seed)) < 0.05 for seed in range(100))
    assert stats.binom.sf(alarms - 1, 100, 0.05) > FALSE_ALARM


@pytest.mark.parametrize("fault", ["scale", "rounds", "runs"])
def test_faults_of_the_noise_alarm(fault):
    runs = fresh()
    if fault == "scale":
        runs = [[1.1 * one for one in run] for run in runs]
    if fault == "rounds":
        runs = [[run[0], run[0][:4]] for run in runs]
    if fault == "runs":
        runs = [runs[0] for _ in runs]
    assert noise_alarm(runs) < audit.SURE


# The whole


QUICK = {"runs": 120, "draws": 60, "changes": 60}


def audited(name, mutant="none", **options):
    task = make_task(Users(PROBLEM), Budget(8.0, 1e-6, "exact"))
    chosen = load_options("audit", QUICK | {"mechanism": name, "mutant": mutant} | options)
    return fit(chosen, task).log, task.ledger


@pytest.mark.parametrize("name", [name for name in AUDITED if name != "unit_steps"])
def test_mechanisms_pass(name):
    """No pair beyond the ledger, the noise as claimed, and the budget spent in full."""
    log, ledger = audited(name)
    assert log["caught"] == 0 and 0.3 < log["attained"] <= 1 + audit.ROUNDING
    assert ledger.epsilon(1e-6) == pytest.approx(8, rel=1e-6)
    assert log["mu_low"] < ledger.mu


@pytest.mark.parametrize("mutant", [name for name in MUTANTS if name != "none"])
@pytest.mark.parametrize("name", ["altmin", "centaur", "power_method", "dp_fedavg"])
def test_wrong_doors_are_found(name, mutant):
    """By the check that it is about; where a mechanism has one release, faults of several do not apply."""
    log, _ = audited(name, mutant)
    if mutant in SEVERAL and name == "power_method":
        assert "caught" not in log
        return
    assert log["caught"] == 1
    check = {"half the sensitivity": "replay", "a release uncharged": "ledger"}.get(mutant, "noise")
    assert log[f"caught_{check}"] == 1 or (check == "replay" and log["attained"] > 0.99)


def test_a_clip_that_lets_through_too_much_is_found(monkeypatch):
    """Twice the clip in the code of the mechanism itself, not at the door."""
    from privrep.algorithms import centaur

    real = centaur.clip_outer
    monkeypatch.setattr(centaur, "clip_outer", lambda left, right, bound, who: real(left, right, 2 * bound, who))
    audit.worst.cache_clear()
    log, _ = audited("centaur", draws=200, changes=200)
    audit.worst.cache_clear()
    assert log["attained"] > 1.2 and log["caught_replay"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mechanism": "altmni"}, "mechanism is 'altmni'; it must be one of altmin,"),
        ({"mechanism": "altmin", "mutant": "x"}, "mutant is 'x'; it must be one of none,"),
        ({"mechanism": "altmin", "runs": 0}, "runs is 0; it must be an integer of at least 1"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        load_options("audit", options)


# The epsilons of all studies, counted by other code


def epsilon_by_halving(mu: float, delta: float) -> float:
    """The least epsilon of mu-GDP at this delta, from delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)."""

    def spent(epsilon: float) -> float:
        return stats.norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu))

    low, high = 0.0, mu**2 / 2 + mu * 40 + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


def test_epsilons_of_all_studies_are_those_of_their_mu(quick_run):
    """Every private row of the run at scale quick, but those with random participation or pure releases; and no run spends more than its budget."""
    seen = set()
    for path in sorted((quick_run / "results" / "quick").glob("*/cells.csv")):
        table = pd.read_csv(path)
        if "mu" not in table or "epsilon_exact" not in table:
            continue
        rows = table[np.isfinite(table["mu"]) & np.isfinite(table["epsilon_exact"])]
        rows = rows[~rows["algorithm"].str.startswith("exponential")]
        rows = rows[rows["participation"].fillna(1) == 1] if "participation" in rows else rows
        for mu, delta, epsilon in rows[["mu", "delta", "epsilon_exact"]].drop_duplicates().to_numpy():
            assert epsilon_by_halving(mu, delta) == pytest.approx(epsilon, rel=1e-8), path.parent.name
        if "calibration" in rows and len(rows):
            # A search spends the budget of each of its runs; the budget of the image experiments is for adding or removing a user.
            many = rows["algorithm"].str.startswith("smallest_users") | (rows["algorithm"] == "federated_images")
            whole = rows[(rows["calibration"] == "exact") & ~many]
            np.testing.assert_array_less(whole["epsilon_exact"], whole["epsilon"] * (1 + 1e-6))
        seen |= {path.parent.name} if len(rows) else set()
    assert len(seen) > 12
