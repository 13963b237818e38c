"""Statistics of the study power_method: interpolation, success and bounds, on stub tables."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import clopper_pearson

from privrep.theory.shen2023 import TARGET
from replication.studies.power_method import analysis


def table(series: str, **columns) -> pd.DataFrame:
    """Rows of one series."""
    return pd.DataFrame({"series": series} | columns)


def runs(levels: list[float], shares: list[list[float]]) -> pd.DataFrame:
    """Success of 25 runs on each of several data sets, a row of shares for each noise; the law permits 1."""
    rows = [(level, seed, part) for level, some in zip(levels, shares, strict=True) for seed, part in enumerate(some)]
    multiplier, seed, within = zip(*rows, strict=True)
    columns = {"noise_multiplier": multiplier, "seed": seed, "runs_within": within}
    return table("noise", **columns, starts=25, privacy_2=TARGET * np.array(multiplier), accuracy=TARGET)


def test_success_counts_runs_and_data_sets():
    """100 runs on four data sets, 75 of them good; the interval is the binomial one of 100 runs."""
    shares = analysis.shares(runs([1.0], [[1.0, 1.0, 0.4, 0.6]]), "noise", "noise_multiplier")
    points = analysis.with_ends(shares, "good", "runs").iloc[0]
    assert (points["runs"], points["draws"], points["share"]) == (100, 4, 0.75)
    assert [points["ci_low"], points["ci_high"]] == pytest.approx(clopper_pearson(75, 100))


def test_noise_of_half():
    """Between 0.8 at level 1 and 0.4 at level 2 half succeed at 1.75; NaN where the share never falls so far."""
    indices = np.arange(2)
    for shares, level in (([[0.8, 0.8], [0.4, 0.4]], 1.75), ([[1, 1], [0.8, 0.8]], math.nan)):
        found = analysis.noise_of_half(runs([1.0, 2.0], shares), indices)
        assert found["noise at which half succeed"] == pytest.approx(level, nan_ok=True)


def test_iterations_needed():
    """The first number of iterations at which 99 % arrive; NaN where none does."""
    steps = table("steps", iterations=[4, 8, 12], seed=0, starts=25, privacy_2=0.1, accuracy=0.2)
    for within, needed in (([0.5, 1.0, 1.0], 8), (0.9, math.nan)):
        found = analysis.iterations_needed(steps.assign(runs_within=within), np.arange(1))
        assert found["iterations for 0.99"] == pytest.approx(needed, nan_ok=True)


def test_combined_columns():
    """Logarithms of the prescribed clip, k times the mean sine, and the length of a run in units of (k + 1) / k."""
    common = {"users": 4000, "dim": 10, "rank": 2, "init_samples": 8, "zeta": 18.0}
    common |= {"noise_multiplier": 1.0, "iterations": 6, "runs_dist2": 0.1, "runs_distF": 0.12, "product_norm_max": 9.0}
    row, log = analysis.with_predictions(pd.DataFrame([common])).iloc[0], math.log(4000)
    assert row["over_logs"] == pytest.approx(0.1 / (log * (math.sqrt(log) + math.sqrt(2))))
    assert row["privacy_over_logs"] / row["over_logs"] == pytest.approx(row["privacy_2"] / 0.1)
    assert row["times_rank"] == pytest.approx(2 * 0.12 / math.sqrt(2))
    assert row["run_mu"] == pytest.approx(math.sqrt(6 * 2 / 3) * 2 * 0.12 / math.sqrt(2))
    assert row["run_mu_law"] / row["run_mu"] == pytest.approx(row["privacy_F"] / 0.12)
