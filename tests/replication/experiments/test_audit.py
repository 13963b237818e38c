"""The audit of the mechanisms, audited: its transcript, its game, its adversary, and the faults that it must find.

False alarms of the distributional tests here: FALSE_ALARM each; runs are few since faults are gross.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import FALSE_ALARM, make_task
from scipy import stats

from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget, gdp_epsilon, gdp_mu
from privrep.privacy.contributions import Outer
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease
from privrep.users.simulated import Problem, Users
from replication.experiments import audit
from replication.experiments.audit import AUDITED, NOT_BY_LIBRARY, OTHERS, Stage, mechanism, noise_alarm
from replication.experiments.audited_games import game
from replication.experiments.auditing.canaries import before_others, larger, structured_pair, worst_pair
from replication.experiments.auditing.distinguishing import LEVEL, Game, PrivacyClaim, play
from replication.experiments.auditing.mutants import MUTANTS
from replication.experiments.auditing.noise_check import POWER
from replication.experiments.auditing.replay import (
    ChoiceRecord,
    aligned,
    attained_mu,
    log_ratio,
    loss,
    noises,
    recorded,
    streams,
)
from replication.experiments.sensitivity_search import RELEASES
from replication.run.config import ROOT, read_yaml
from replication.run.registry import load_options, method_files, options_class

PROBLEM = Problem(20, 16, 4, 2)
"""At rank 1 the second moments of heads of length one are a constant, and so is their release."""
NOT_AUDITED = {
    "exponential_chain": "a finite chain promises nothing: its law is computed in study exponential",
    "unit_steps_ablations": "unit_steps with a part left out; replayed in test_replay.py",
}
"""Private methods, and why they are not audited here."""
SERIES = read_yaml(ROOT / "src/replication/studies/audits/settings.yaml")["series"].values()
NAMED = {name for series in SERIES for name in series["grid"].get("mechanism", [])}
"""What the study audits."""


def test_every_private_mechanism_is_audited_or_says_why_not():
    """A method that is added is in the audit, by a name in its study, or listed above."""
    modules = (type(options).__module__.removesuffix(".method") for options in AUDITED.values())
    audited = {module.rpartition(".")[2] for module in modules} | NAMED.intersection(OTHERS)
    private = set()
    for name in method_files():
        kind = options_class(name)
        module = __import__(kind.__module__, fromlist=["x"])
        own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
        if not hasattr(kind, "experiment") and any(hasattr(one, "cost") for one in own):
            private.add(name)
    assert private - audited == set(NOT_AUDITED)


# The transcript


def worlds(seed=0):
    pair = structured_pair(PROBLEM, np.random.default_rng(seed + 1))
    return before_others(pair, PROBLEM, np.random.default_rng(seed))


@pytest.mark.parametrize("name", [name for name in AUDITED if name != "unit_steps"])
def test_the_transcript_is_the_run(name):
    """On the same users with the same answers: the same statistics, no distance, and as many entries as releases."""
    users = worlds()[0]
    transcript, ledger = recorded(mechanism(name, PROBLEM), users, 1.3, streams(3, 0, own=lambda: 0.0))
    again, _ = recorded(mechanism(name, PROBLEM), users, 1.3, streams(9, 0, own=lambda: 0.0), transcript)
    assert len(transcript.records) == len(ledger.entries) > 0
    assert attained_mu(transcript, again) == loss(transcript, again) == log_ratio(transcript, again) == 0
    assert [one.name for one in transcript.records] == [entry.name for entry in ledger.entries]
    other, _ = recorded(mechanism(name, PROBLEM), users, 1.3, streams(4, 0))
    assert any(not np.array_equal(noises(other)[key], noise) for key, noise in noises(transcript).items())
    assert len(noises(transcript)) == len(transcript.records)
    assert all(np.any(one != 0) for one in noises(transcript).values())


# The adversary


PARTS = ("features", "labels")


def test_the_search_ends_at_the_best_pair_it_saw():
    """And no change that was rejected is left in it."""
    seen = []

    def score(pair):
        seen.append(sum(float(np.abs(getattr(pair[0], part) - getattr(pair[1], part)).sum()) for part in PARTS))
        return seen[-1]

    pair, best = worst_pair(score, PROBLEM, 20, 200, np.random.default_rng(0))
    assert best == max(seen) > max(seen[:20])
    assert score(pair) == best


def test_the_search_finds_nearly_all_that_is_charged():
    """Two users at right angles to the start of the power method, opposite; users on axes alone give half of it."""
    (_, best) = audit.worst("power_method", PROBLEM, 1.3, 300, 400, 5)
    assert 0.85 < best <= 1 + 1e-6


# The game


def quantile(hits: int, runs: int, alarm: float = 0.05) -> float:
    """The lower limit of a share, as a quantile of the beta law."""
    return stats.beta.ppf(alarm, hits, runs - hits + 1) if hits else 0.0


@pytest.mark.parametrize("mu", [0.0, 1.0, 8.0])
def test_limits_are_quantiles_of_the_beta_and_the_normal_law(mu, rng):
    """Of scores with ties: the accuracy and the AUC are held at 95 %, TPR and TNR at 97.5 % each, so that both hold;
    equal scores are no hit, and a run without a distance tells nothing."""
    drawn, distances = game(mu, 60, rng), np.resize([0.0, 1.0, 2.0], 60)
    drawn = replace(drawn, scores=drawn.scores.round())
    assert drawn.low() == pytest.approx(quantile(drawn.right.sum(), 60))
    assert drawn.low(0.9999) == pytest.approx(quantile(drawn.right.sum(), 60, 1e-4))
    assert Game(*np.array([[True], [-1], [False]])).low() == 0
    ones, others = drawn.scores[drawn.first], drawn.scores[~drawn.first]
    pairs = min(len(ones), len(others))
    auc = quantile(sum(map(np.greater, ones[:pairs], others)), pairs)
    assert drawn.by_order() == pytest.approx(max(0, 2**0.5 * stats.norm.ppf(auc)))
    for threshold, delta in ((0.0, 1e-6), (1.0, 0.2), (50.0, 0.0)):
        tpr = quantile((ones > threshold).sum(), len(ones), 0.025)
        tnr = quantile((others <= threshold).sum(), len(others), 0.025)
        expected = math.log(max(1, (tpr - delta) / (1 - tnr))) if tnr < 1 else 0
        assert drawn.by_rates(threshold, delta) == pytest.approx(expected)
    signed = np.where(drawn.first, 1, -1) * np.array([0.0, 1.0, 0.5] * 20) * drawn.scores
    assert drawn.by_score(distances) == pytest.approx(max(0, 2 * (signed.mean() - 1.644853627 / 60**0.5)))


def test_a_score_alone_decides_a_guess(rng):
    """A score of 0 is a coin in each world, within 0.06 of a half for 5 sds; any other is a guess of its sign."""
    blind = play(lambda first, run: 0.0, 4000, rng)
    shares = [blind.first.mean(), *(blind.right[world].mean() for world in (blind.first, ~blind.first))]
    assert np.abs(np.array(shares) - 0.5).max() < 0.06
    mixed = play(lambda first, run: (1 if first else -1) * (-1) ** run, 40, rng)
    assert mixed.right.tolist() == [True, False] * 20


def ledger_of(mu: float) -> Ledger:
    return Ledger([GaussianRelease("score", mu, 1.0, 0, 1)])


def runs_needed(epsilon: float, share: float) -> int:
    """Runs after which the median lower limit of epsilon is this share of it, by the normal approximation."""
    aim, most = (stats.norm.cdf(gdp_mu(part * epsilon, 1e-6) / 2) for part in (share, 1))
    return math.ceil(stats.norm.ppf(LEVEL) ** 2 * most * (1 - most) / (most - aim) ** 2)


@pytest.mark.parametrize(("kind", "epsilon"), [("blind", 4.0), ("calibrated", 4.0), ("calibrated", 8.0)])
def test_the_limit_is_near_and_seldom_above_for_normal_scores(kind, epsilon):
    """All limits are above the truth in at most 5 % of the games; on scores that tell something, the first is within
    [0.85, 1] of epsilon in most. The study counts the same."""
    task, mu = make_task(Users(PROBLEM), Budget(epsilon, 1e-6, "exact")), gdp_mu(epsilon, 1e-6)
    runs, rng = 2 * runs_needed(epsilon, 0.85), task.stream("scores")
    shown, true = (mu, epsilon) if kind == "calibrated" else (0, 0)
    games = [game(shown, runs, rng) for _ in range(200)]
    claim = PrivacyClaim(ledger_of(mu))
    limits = np.array([claim.epsilon_at(game.low(), 1e-6) for game in games])
    near = (limits >= 0.85 * true) & (limits <= true)
    log = fit(load_options("audited_games", {"kind": kind, "runs": runs, "repeats": 200}), task).log
    assert log == {"false_alarms": (limits > true).sum(), "near": near.sum(), "median_limit": np.median(limits)}
    scores = [gdp_epsilon(game.by_score(np.full(runs, mu)), 1e-6) for game in games]
    order = [gdp_epsilon(game.by_order(), 1e-6) for game in games]
    rates = [game.by_rates(shown**2 / 2, 1e-6) for game in games]
    for found in map(np.array, (limits, scores, order, rates)):
        assert stats.binom.sf((found > true).sum() - 1, 200, 0.05) > FALSE_ALARM
    if true:
        assert near.mean() > 0.5
        assert 0 < np.median(rates) < np.median(order) < np.median(limits) and np.median(scores) > 0


def test_what_a_ledger_allows_the_best_adversary():
    """Phi(mu/2) for Gaussian releases, 1 / (1 + e^-eps) for a pure one, less where users are sampled; and back."""
    gaussian, pure = PrivacyClaim(ledger_of(1.5)), PrivacyClaim(Ledger([PureRelease("choice", 1.2, 0, 1)]))
    assert gaussian.right() == pytest.approx(stats.norm.cdf(0.75))
    assert pure.right() == pytest.approx(1 / (1 + math.exp(-1.2)))
    assert gaussian.epsilon_at(gaussian.right(), 1e-6) == pytest.approx(gdp_epsilon(1.5, 1e-6))
    assert pure.epsilon_at(pure.right(), 1e-6) == pytest.approx(1.2, rel=0.02)
    assert gaussian.epsilon_at(0.5, 1e-6) == gaussian.epsilon_at(0.4, 1e-6) == 0
    half = PrivacyClaim(Ledger([GaussianRelease("round", 1.5, 1.0, 0, 1, 0.5)] * 2))
    assert 0.5 < half.right() < PrivacyClaim(ledger_of(1.5 * 2**0.5)).right()
    assert half.epsilon_at(half.right(), 1e-6) == pytest.approx(half.epsilon(1e-6), rel=0.05)
    both = PrivacyClaim(Ledger([*ledger_of(1.0).entries, PureRelease("choice", 0.5, 0, 1)]))
    assert both.right() > PrivacyClaim(ledger_of(1.0)).right()
    assert both.attained(0.5, 0.4) == pytest.approx(0.8) and both.attained(0.9, 0.1) == pytest.approx(0.9)


def test_the_rounds_of_networks_pass_and_their_faults_are_found():
    pytest.importorskip("jax", reason="the image experiments need JAX")
    log, ledger = audited(audit.NETWORKS)
    assert log["caught"] == 0 and 0.5 < log["attained"] <= 1 + audit.ROUNDING
    assert ledger.epsilon(1e-6) == pytest.approx(8, rel=1e-6)
    found = {mutant: audited(audit.NETWORKS, mutant)[0].get("caught") for mutant in MUTANTS if mutant != "none"}
    assert sum(one is None for one in found.values()) == 6
    assert set(found.values()) == {None, 1}


# Looks at the noise


def fresh(runs=200, seed=0, scale=1.0):
    """Noise of two releases, and of a third where the first has a large sum."""
    rng, sizes = np.random.default_rng(seed), {("a", 0): 6, ("b", 0): 4, ("a", 1): 6}
    drawn = [{key: scale * rng.standard_normal(size) for key, size in sizes.items()} for _ in range(runs)]
    return [run if run["a", 0].sum() > 0 else {key: run[key] for key in list(run)[:2]} for run in drawn]


def alarm_of(runs, seed=0):
    return noise_alarm(aligned(runs, np.random.default_rng([seed, 1])))


def test_honest_noise_does_not_alarm():
    """Also where the noise of one release decides on another."""
    alarms = sum(alarm_of(fresh(seed=seed), seed) < 0.05 for seed in range(100))
    assert stats.binom.sf(alarms - 1, 100, 0.05) > FALSE_ALARM


def test_a_release_that_was_not_made_is_filled():
    runs = fresh(50)
    table = aligned(runs, np.random.default_rng(0))
    made = np.array([("a", 1) in run for run in runs])
    assert table.shape == (50, 16) and 0 < made.sum() < 50
    np.testing.assert_array_equal(table[made, 10:], [run["a", 1] for run in runs if ("a", 1) in run])
    assert len(np.unique(table[~made, 10:])) == 6 * (~made).sum()


@pytest.mark.parametrize("fault", ["scale", "rounds", "runs"])
def test_faults_of_the_noise_alarm(fault):
    runs = fresh(scale=1.1 if fault == "scale" else 1.0)
    if fault == "rounds":
        runs = [run | {("b", 0): run["a", 0][:4]} for run in runs]
    if fault == "runs":
        runs = [runs[0] for _ in runs]
    assert alarm_of(runs) < audit.SURE


# Participation, and choices


def test_a_user_who_takes_part_at_random_is_a_mixture():
    """The ratio of likelihoods against densities, for a user who is in a round or not."""
    method = mechanism("dp_fedavg, half take part", PROBLEM)
    played = Stage(method, tuple(worlds()), 1.3, 0).run(0, 5)
    direct = 0.0
    for a, b, out in zip(*(transcript.records for transcript in (*played.both, played.without)), strict=True):
        laws = [stats.norm.logpdf(a.noisy, one.exact).sum() for one in (a, b, out)]
        direct += np.logaddexp(laws[0], laws[2]) - np.logaddexp(laws[1], laws[2])
    assert log_ratio(*played.both, played.without) == pytest.approx(direct, rel=1e-9) and direct != 0
    assert all(one.rate == 0.5 for one in played.transcript.records)


def test_the_canary_tosses_its_own_coin():
    """In secret, in each run anew, at the stated rate; everybody else's coins are public."""
    coins = np.array([streams(run, 0)["participants"].random(5) for run in range(400)])
    assert np.ptp(coins[:, 1:], axis=0).max() == 0 < np.ptp(coins[:, 0])
    assert stats.binomtest(int((coins[:, 0] < 0.5).sum()), 400).pvalue > FALSE_ALARM
    assert (streams(1, 0, everyone=True)["participants"].random(5) == 0).all()


def test_the_place_of_a_choice_is_standard_normal():
    """For choices by their law, whatever it is; not for those of a sharper law."""
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(6)))
    sharper = np.exp(3 * logs) / np.exp(3 * logs).sum()
    for chances, alike in ((np.exp(logs), True), (sharper, False)):
        chosen = rng.choice(6, 4000, p=chances)
        shown = [ChoiceRecord("choice", "noise", logs, (int(one),), rng.random()).noise[0] for one in chosen]
        assert (stats.kstest(shown, "norm").pvalue > FALSE_ALARM) == alike


# The whole


QUICK = {"runs": 200, "draws": 30, "changes": 30}
EVERY = [name for name in AUDITED if name != "unit_steps"]


def audited(name, mutant="none", epsilon=8.0, **options):
    task = make_task(Users(PROBLEM), Budget(epsilon, 1e-6, "exact"))
    chosen = load_options("audit", QUICK | {"mechanism": name, "mutant": mutant} | options)
    return fit(chosen, task).log, task.ledger


@pytest.mark.parametrize("name", EVERY)
def test_mechanisms_pass(name):
    """No pair beyond the ledger, the noise as claimed, and at most the budget spent."""
    log, ledger = audited(name)
    assert log["caught"] == 0 and 0.3 < log["attained"] <= 1 + audit.ROUNDING
    spent = ledger.epsilon(1e-6)
    exact = name not in ("dp_fedavg, half take part", "exponential", "exponential_staged")
    assert spent == pytest.approx(8, rel=1e-6) if exact else 3 < spent <= 8
    assert log["epsilon_expected"] == pytest.approx(spent, rel=1e-3)


PAIRS = {"altmin", "altmin, users clipped", "altmin, all pairs", "single_model"}
FEDREP = {"private_fedrep", "private_fedrep, clips fall"}
STARTED = PAIRS - {"single_model"} | FEDREP | {"unit_steps", "exponential_staged"}
ONE_RELEASE = {"spectral_init", "power_method", "single_model", "exponential"}
SINGLE = ONE_RELEASE - PAIRS | {"exponential_staged"}
SAMPLED = {"dp_fedavg, half take part"}
SKIPPED = {
    "one of two statistics uncharged": ("no two statistics have one entry", set(AUDITED) - PAIRS),
    "noise repeated over rounds": ("no stream of noise is drawn from twice", SINGLE),
    "a release uncharged": ("there would be nothing in the ledger", ONE_RELEASE),
    "start uncharged": ("there is no private start", set(AUDITED) - STARTED),
    "a round too few": ("there is one release; or epsilon does not follow from a sum of mu^2", ONE_RELEASE | SAMPLED),
    "one user unclipped": ("it normalises or cuts by itself", {"full_prior", "unit_steps", "exponential"}),
    "participation not drawn": ("everybody takes part", set(AUDITED) - SAMPLED),
}
SKIPPED |= dict.fromkeys(("clip after the sum", "clip taken from the data"), SKIPPED["one user unclipped"])
"""Mutant -> why it makes no sense, and for which mechanisms."""


@pytest.mark.parametrize("name", AUDITED)
def test_mutants_are_left_out_for_a_reason(name):
    """And for no other: what is not tried cannot be missed."""
    transcript = Stage(mechanism(name, PROBLEM), tuple(worlds()), 1.3, 0).run(0, 0).transcript
    clips = name not in NOT_BY_LIBRARY
    tried = {fault for fault, wrong in MUTANTS.items() if wrong.applicable(transcript, 1.3, clips=clips)}
    assert set(MUTANTS) - tried == {fault for fault, (_, mechanisms) in SKIPPED.items() if name in mechanisms}


@pytest.mark.parametrize(
    ("mutant", "runs", "plays"), [("none", 320, 320), ("half the noise", 320, 100), ("half the noise", 1500, 150)]
)
def test_the_game_is_played_as_often_as_is_said(monkeypatch, mutant, runs, plays):
    """And the looks at the noise have a row for each play."""
    seen = []
    real = audit.noise_alarm
    monkeypatch.setattr(audit, "noise_alarm", lambda table: seen.append(len(table)) or real(table))
    monkeypatch.setattr(audit, "play", lambda score, count, rng: seen.append(count) or play(score, count, rng))
    audited("single_model", mutant, runs=runs)
    assert seen == [plays, plays]


@pytest.mark.parametrize("shape", [(300, 1), (100, 12), (400, 60)])
def test_the_smallest_fault_of_the_noise_is_found_as_often_as_is_said(shape):
    """Where the fault is smaller still, it is found less often."""
    least, rng = audit.noise_found(np.empty(shape)), np.random.default_rng(1)
    assert 0 < least < 1

    def found(scale):
        return sum(noise_alarm(scale * rng.standard_normal(shape)) < audit.SURE for _ in range(400))

    assert stats.binomtest(found(least), 400, POWER).pvalue > FALSE_ALARM
    assert found(least**0.5) < 240


EXPECTED = dict.fromkeys(("half the noise", "noise repeated over rounds", "noise of one seed"), "noise")
EXPECTED |= dict.fromkeys(("half the sensitivity", "a user charged as a sample", "one user unclipped"), "replay")
EXPECTED |= dict.fromkeys(("clip after the sum", "clip taken from the data"), "replay")
EXPECTED |= {"a release uncharged": "ledger", "start uncharged": "ledger", "a round too few": "budget"}
"""The check that each fault is about."""


@pytest.mark.parametrize("mutant", EXPECTED)
@pytest.mark.parametrize("name", ["altmin", "centaur", "power_method", "dp_fedavg"])
def test_mutants_are_found(name, mutant):
    """By the check that the fault is about; where it makes no sense, nothing is said."""
    log, _ = audited(name, mutant, **({"draws": 300, "changes": 200} if name == "power_method" else {}))
    several = mutant in ("noise repeated over rounds", "a release uncharged", "a round too few")
    if (several and name == "power_method") or (mutant == "start uncharged" and name != "altmin"):
        assert "caught" not in log
        return
    assert log[f"caught_{EXPECTED[mutant]}"] == 1 == log["caught"]
    assert log["epsilon_expected"] >= 8 - 1e-6


@pytest.mark.parametrize("name", ["altmin", "altmin, users clipped"])
def test_a_statistic_that_is_not_charged_is_found(name):
    assert audited(name, "one of two statistics uncharged", draws=200, changes=200)[0]["caught_replay"] == 1
    assert "caught" not in audited("centaur", "one of two statistics uncharged")[0]


def test_participation_that_is_not_drawn_is_found():
    """By the game alone: no other check looks at who takes part."""
    log, _ = audited("dp_fedavg, half take part", "participation not drawn", runs=600, draws=150, changes=150)
    assert log["caught"] == log["caught_game"] == 1
    assert sum(log[f"caught_{check}"] for check in ("replay", "ledger", "budget", "noise")) == 0
    assert log["epsilon_expected"] == pytest.approx(8, rel=1e-3)
    assert "caught" not in audited("dp_fedavg", "participation not drawn")[0]


def test_a_variance_for_an_sd_is_found_where_they_differ():
    log, _ = audited("centaur", "variance for sd", epsilon=1.0)
    assert log["caught_noise"] == 1 and log["epsilon_expected"] > 2


def test_what_is_said_not_to_rest_on_the_clips_of_the_library_does_not():
    """A mechanism is excused where users far beyond any bound tell no more under a wrong clip, and only there."""
    drawn = [structured_pair(PROBLEM, np.random.default_rng(one)) for one in range(40)]
    long = [larger(pair, factor, factor) for pair in drawn for factor in audit.LARGER]
    for name in EVERY:
        found = []
        for pair in long:
            ends = before_others(pair, PROBLEM, np.random.default_rng(0))
            stage = Stage(mechanism(name, PROBLEM), ends, 1.3, 0, MUTANTS["one user unclipped"])
            found.append(audit.attained(stage.run(0, 0)))
        assert (max(found) <= 1 + audit.ROUNDING) == (name in NOT_BY_LIBRARY), name


def test_a_clip_that_lets_through_too_much_is_found(monkeypatch):
    """Twice the clip in the code of what users add, not at the release handle."""
    real = Outer.clipped
    monkeypatch.setattr(Outer, "clipped", lambda self, clip, there=None: real(self, 2 * clip, there))
    audit.worst.cache_clear()
    log, _ = audited("centaur", draws=200, changes=200)
    audit.worst.cache_clear()
    assert log["attained"] > 1.2 and log["caught_replay"] == 1


# Sensitivities


@pytest.mark.parametrize("release", RELEASES)
def test_sensitivities_are_attained_and_not_passed(release):
    samples = 8 if "pair of" in release else 4
    task = make_task(Users(Problem(2, samples, 4, 1)), Budget(8.0, 1e-6, "exact"))
    search = load_options("sensitivity_search", {"release": release, "draws": 150, "changes": 250})
    assert 0.9 < fit(search, task).log["attained"] <= 1 + audit.ROUNDING
