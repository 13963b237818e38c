"""The study tradeoff: what users send, paired factors, the band over clips, exponents of ratios, who works where."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import fixed_noise, make_task

from privrep.methods import altmin, centaur
from privrep.methods.running.runner import fit
from privrep.privacy.mechanisms import Release
from privrep.theory import jain2021
from privrep.users.simulated import Problem, Users
from replication.run.config import read_config, read_study
from replication.studies.tradeoff import analysis as tradeoff

PROBLEM = Problem(80, 32, 6, 2, head_law="sphere")


def counted(monkeypatch, algorithm) -> int:
    """Numbers that pass a mechanism in one run: vectors whole, symmetric matrices without the copied triangle."""
    seen, released = [], Release._gaussian

    def counting(self, name, exact, law):
        for array, noise in zip(exact, law.noises, strict=True):
            assert noise.form == "independent" or np.array_equal(array, array.T)
            seen.append(array.size if noise.form == "independent" else math.comb(len(array) + 1, 2))
        return released(self, name, exact, law)

    monkeypatch.setattr(Release, "_gaussian", counting)
    fit(algorithm, make_task(Users(PROBLEM), fixed_noise(0.1)))
    return sum(seen)


def test_what_a_user_sends_is_what_is_released(monkeypatch):
    """The counts of the figure against the sizes of all releases."""
    first = altmin.AltminOptions(init="spectral", split="text", clip_feature=1.0, clip_label=1.0)
    run = {"samples": 32, "rank": PROBLEM.rank}
    assert counted(monkeypatch, first) == tradeoff.work_of_moments(run, PROBLEM.dim)["numbers sent"]
    sizes = {"starts": 3, "iterations": 2, "rounds": 4, "batch_samples": 8, "init_samples": 4}
    second = centaur.CentaurOptions(**sizes, clip=0.5)
    run |= sizes | {"init": "power_method"}
    assert counted(monkeypatch, second) == tradeoff.work_of_rounds(run, PROBLEM.dim)["numbers sent"]


def errors_table(slope_a: float, slope_b: float, spread: float = 0.0) -> pd.DataFrame:
    """Errors that are powers of d, with a scatter that both series share."""
    rng = np.random.default_rng(4)
    rows = []
    for seed, dim in itertools.product(range(5), (10, 20, 40, 80)):
        shared = np.exp(spread * rng.standard_normal())
        for series, law in (("A", 8e-3 * dim**slope_a), ("B", 1e-3 * dim**slope_b)):
            row = {"series": series, "dim": dim, "seed": seed, "noise_multiplier": np.nan}
            rows.append(row | {"dist2": law * shared, "law_2": law})
    return pd.DataFrame(rows)


def test_factors_use_common_repetitions_alone():
    """A series with fewer repetitions is compared on those; below five there is no interval."""
    table = errors_table(1.5, 1.0, spread=0.5)
    found = tradeoff.factors(table[(table["series"] == "A") | (table["seed"] < 3)], "A", "B", "x")
    assert {measure.seeds for measure in found} == {3}
    assert all(np.isnan(measure.ci_low) and np.isnan(measure.ci_high) for measure in found)


def test_a_failed_fit_is_not_averaged_away():
    """Neither in a ratio nor on the map."""
    table = errors_table(1.5, 1.0)
    table.loc[(table["series"] == "B") & (table["dim"] == 20) & (table["seed"] == 1), "dist2"] = np.nan
    found = {measure.quantity: measure.measured for measure in tradeoff.factors(table, "A", "B", "x")}
    assert np.isnan(found["x at d = 20"]) and not np.isnan(found["x at d = 40"])
    rows = [
        {"series": series, "dim": 10, "rank": 2, "users": 1000, "epsilon": 1.0} for series in ("map-A", "map-B") * 2
    ]
    risks = [0.01, 0.01, np.nan, 0.01]
    table = pd.DataFrame(rows).assign(excess_risk=risks)
    assert tradeoff.regions(table)["works"].tolist() == ["B"]


@pytest.mark.parametrize("series", ["A", "B"])
def test_a_run_that_learns_nothing_does_not_decide_a_factor(series):
    """Of either method: the factor and its exponent are medians over repetitions, while the mean square is decided."""
    table = errors_table(1.5, 1.0)
    before = [measure.measured for measure in tradeoff.factors(table, "A", "B", "x")]
    means = tradeoff.squares(table, series).mean(axis=1)
    table.loc[(table["series"] == series) & (table["dim"] == 80) & (table["seed"] == 1), "dist2"] = 100.0
    assert [measure.measured for measure in tradeoff.factors(table, "A", "B", "x")] == pytest.approx(before, rel=1e-9)
    assert tradeoff.factor_exponent(table, "A", "B", "x").measured == pytest.approx(0.5, rel=1e-9)
    assert tradeoff.squares(table, series).mean(axis=1)[80] > 10 * means[80]


def test_exponent_of_the_factor():
    """The slope of the ratio with a Student interval, and the slope that the laws have on the same grid."""
    rng = np.random.default_rng(3)
    table = errors_table(1.5, 1.0)
    table["dist2"] *= np.exp(0.05 * rng.standard_normal(len(table)))
    found = tradeoff.factor_exponent(table, "A", "B", "x")
    assert found.formula == pytest.approx(0.5)
    assert found.measured == pytest.approx(0.5, abs=0.1)
    assert found.ci_low < found.measured < found.ci_high
    assert found.standard_error > 0


def test_regions_name_who_works():
    """At most 5 % of the risk of the zero model, which is the rank."""
    cases = {(1000, 1.0): (2.0, 0.5, "neither"), (2000, 1.0): (2.0, 0.05, "B"), (4000, 1.0): (0.09, 0.01, "both")}
    cases[8000, 1.0] = (0.01, 0.2, "A")
    rows = [
        {"series": series, "dim": 10, "rank": 2, "users": users, "epsilon": epsilon, "excess_risk": risk}
        for (users, epsilon), (a, b, _) in cases.items()
        for series, risk in (("map-A", a), ("map-B", b))
    ]
    table = tradeoff.regions(pd.DataFrame(rows)).set_index(["users", "epsilon"])["works"]
    assert {key: table[key] for key in cases} == {key: value[2] for key, value in cases.items()}


def test_x_of_heads_of_several_lengths_is_that_of_the_shortest():
    """Uncut, x = 4 sqrt(dk) eta^2 Delta / (n lam_k) with lam_k = 1, whatever the longest head."""
    row = {"users": 50_000, "samples": 32, "dim": 40, "rank": 2, "noise_multiplier": 0.8, "eta": 200.0, "zeta": 60.0}
    row |= {"head_condition": 3.0, "label_noise_sd": 0.0, "clip_unit": "sample", "split": "text"}
    expected = jain2021.noise_ratio(50_000, 40, 2, 0.8, 200.0)
    assert tradeoff.first_step(pd.Series(row))[1] == pytest.approx(expected, rel=1e-3)


def test_every_series_of_a_setting_has_a_fit_and_runs():
    """Names of the settings are those of the study's file, and each exponent that the figure asks for is fitted."""
    study = read_study(read_config(), "tradeoff")
    for one in tradeoff.CLIPS + tradeoff.CONDITIONS:
        for series in filter(None, (one.first, one.second)):
            assert study.fits[f"{series} dist2"].series == series
