"""Statistics of the study power_method: resampling, interpolation and success, on made-up tables."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from privrep.studies.power_method.measures import (
    TARGET,
    beyond,
    costs,
    failure_points,
    interpolate,
    iterations_needed,
    largest,
    log_points,
    log_ratio,
    noise_of_half,
    noisy_laws,
    picked,
    selection_measures,
    shared_points,
    success_points,
    successes_left,
    tau_points,
    with_predictions,
)


def table(series: str, **columns) -> pd.DataFrame:
    """Rows of one series."""
    return pd.DataFrame({"series": series} | columns)


def test_a_repetition_counts_as_often_as_it_is_picked():
    """Twice the first and once the last of three; a set of picks would forget the second time."""
    cells = table("shared", users=250, seed=[0, 1, 2], start_dist2=[0.1, 0.5, 0.4], selection_passed=1.0)
    assert shared_points(cells, np.array([0, 0, 2]))["selected"].item() == pytest.approx(0.2)
    assert shared_points(cells)["selected"].item() == pytest.approx(1 / 3)
    assert list(picked(cells, np.array([2, 2, 1]))["seed"]) == [2, 2, 1]


def test_outside_the_points_there_is_no_number():
    """Linear between the points, NaN beyond them on either side."""
    known, wanted = np.array([1.0, 2.0]), np.array([10.0, 30.0])
    assert interpolate(1.5, known, wanted) == pytest.approx(20)
    assert math.isnan(interpolate(0.9, known, wanted)) and math.isnan(interpolate(2.1, known, wanted))


def runs(levels: list[float], shares: list[list[float]]) -> pd.DataFrame:
    """Success of 25 runs on each of several data sets, one row of shares for each noise; the law permits a multiplier of 1."""
    rows = [(level, seed, part) for level, some in zip(levels, shares, strict=True) for seed, part in enumerate(some)]
    multiplier, seed, within = zip(*rows, strict=True)
    noise = np.array(multiplier)
    return table(
        "noise",
        noise_multiplier=noise,
        seed=seed,
        runs_within=within,
        starts=25,
        privacy_2=TARGET * noise,
        accuracy=TARGET,
    )


def test_success_counts_runs_and_data_sets():
    """100 runs on four data sets, 75 of them good; the interval is the binomial one of 100 runs."""
    points = success_points(runs([1.0], [[1.0, 1.0, 0.4, 0.6]]), "noise", "noise_multiplier").iloc[0]
    assert (points["runs"], points["draws"], points["share"]) == (100, 4, 0.75)
    assert points["ci_low"] == pytest.approx(0.6534, abs=1e-3) and points["ci_high"] == pytest.approx(0.8312, abs=1e-3)


def clopper_pearson(hits: int, runs: int) -> list[float]:
    """Both ends of the exact interval, by quantiles of the beta law."""
    low = stats.beta.ppf(0.025, hits, runs - hits + 1) if hits else 0.0
    return [low, stats.beta.isf(0.025, hits + 1, runs - hits) if hits < runs else 1.0]


@pytest.mark.parametrize("good", [0, 1, 10, 19, 20])
def test_success_has_exact_ends(good):
    points = success_points(runs([1.0], [[good / 20]]).assign(starts=20), "noise", "noise_multiplier")
    np.testing.assert_allclose(points[["ci_low", "ci_high"]].iloc[0], clopper_pearson(good, 20), rtol=1e-9)


def test_failures_against_tau_have_exact_ends():
    """Few runs fail, so that a normal interval would end below 0, or have no width where none fails. Two repetitions of 50 runs."""
    shares, taus = [0, 0.02, 0.06, 1], [2, 4, 8, 16]
    cells = table("noisy-tau", tau=np.repeat(taus, 2), seed=[0, 1] * 4, starts=50, runs_within=1 - np.repeat(shares, 2))
    points = tau_points(cells)
    assert list(points["failed"]) == shares
    expected = [clopper_pearson(round(100 * share), 100) for share in shares]
    np.testing.assert_allclose(points[["ci_low", "ci_high"]], expected, rtol=1e-9)
    assert points["ci_low"].min() == 0


def made_up(**columns) -> pd.DataFrame:
    return table("candidates", selections=5, candidates=3, failure=0.1, bad="alike", **columns)


def test_failures_of_the_selection_have_exact_ends():
    """Of 15 trials, in three repetitions of five."""
    cells = made_up(good_share=[0.6] * 3 + [0.99] * 3, seed=[0, 1, 2] * 2, failed_share=[0.2, 0.4, 0.6, 0, 0, 0])
    points = failure_points(cells)
    assert list(points["failed"]) == [0.4, 0]
    for _, point in points.iterrows():
        ends = clopper_pearson(round(point["failed"] * 15), 15)
        np.testing.assert_allclose([point["ci_low"], point["ci_high"]], ends, rtol=1e-9)


def test_starts_that_pass_have_exact_ends():
    """All eight pass: the lower end is 0.025^(1/8). Runs without noise do not count."""
    noise = np.array([0.0, 0.0, *[3.0] * 8])
    cells = pd.concat(
        [
            table("select", noise_multiplier=noise, seed=range(10), selection_passed=(noise > 0).astype(float)),
            table("noisy-tau", tau=[2], seed=[0], starts=10, runs_within=[0.9]),
            made_up(good_share=[0.9], seed=[0], failed_share=[0.2]),
        ]
    )
    found = {one.quantity: one for one in selection_measures(cells)}
    real = found["real starts that pass"]
    assert real.measured == 1
    assert [real.ci_low, real.ci_high] == pytest.approx(clopper_pearson(8, 8))
    assert found["failures times tau"].measured == pytest.approx(0.2)
    assert found["failure, p = 0.9, asked 0.1, alike"].measured == pytest.approx(0.2)


def test_noise_of_half():
    """Between 0.8 at level 1 and 0.4 at level 2 half succeed at 1.75; NaN where the share never falls so far."""
    pick = np.arange(2)
    assert noise_of_half(runs([1.0, 2.0], [[0.8, 0.8], [0.4, 0.4]]), pick)[
        "noise at which half succeed"
    ] == pytest.approx(1.75)
    assert math.isnan(noise_of_half(runs([1.0, 2.0], [[1, 1], [0.8, 0.8]]), pick)["noise at which half succeed"])


def test_iterations_needed():
    """The first number of iterations at which 99 % arrive; NaN where none does."""
    steps = table(
        "steps", iterations=[4, 8, 12], seed=0, runs_within=[0.5, 1.0, 1.0], starts=25, privacy_2=0.1, accuracy=0.2
    )
    assert iterations_needed(steps, np.arange(1))["iterations for 0.99"] == 8
    assert math.isnan(iterations_needed(steps.assign(runs_within=0.9), np.arange(1))["iterations for 0.99"])


@pytest.mark.parametrize(("largest", "reached"), [(0.4, True), (0.1, False)])
def test_costs_are_not_carried_beyond_the_noise_that_was_run(largest, reached):
    """Errors in proportion to the noise, 80 at most: the target at 0.2, or never."""
    noise = np.array([0.0, 20.0, 80.0])
    errors = {name: largest * noise / 80 for name in ("start_dist2", "average_dist2", "dist2", "steady_dist2")}
    common = {"noise_multiplier": noise, "seed": 0, "iterations": 10, "rounds": 20, "starts": 4} | errors
    found = costs(pd.concat([table("select", **common), table("main", **common)]))
    wanted = {"start": 40 / 1600, "single run": 10 / 1600, "main rounds": 20 / 1600}
    for name, value in wanted.items():
        assert found[f"cost of the {name}"] == pytest.approx(value if reached else math.nan, nan_ok=True)


def test_iterations_grow_at_most_as_the_logarithm():
    """The ratio of Theorem G.1 and its interval agree with the points."""
    dims, spread = [10, 270], np.array([-1, -0.5, 0, 0.5, 1])
    needed = np.concatenate([10.5 + spread, 13.5 + spread])
    cells = table("noisy-d", dim=np.repeat(dims, 5), seed=[*range(5)] * 2, iterations_needed=needed)
    cells = cells.assign(log_term=np.log(2 * cells["dim"] / 0.1), iterations_law=np.repeat([9.0, 12.0], 5))
    points, ratio = log_points(cells), log_ratio(cells)
    assert list(points["dim"]) == dims
    assert list(points["predicted"]) == [9, 12]
    assert points["half"].iloc[0] == pytest.approx(stats.t.ppf(0.975, 4) * spread.std(ddof=1) / math.sqrt(5))
    shapes = points["iterations"] / points["log_term"]
    assert ratio.measured == pytest.approx(shapes.iloc[-1] / shapes.iloc[0])
    assert ratio.ci_low < ratio.measured < ratio.ci_high < 1


def test_the_law_of_the_iterations():
    """ln(tan / eps) over -ln(1 - gap), which at a gap of a half is not the gap."""
    rows = pd.DataFrame(
        {"gap": [0.5], "rank": [2], "dim": [20], "accuracy": [0.1], "start_log_tangent": [math.log(6.4)]}
    )
    (law,) = noisy_laws(rows).to_dict("records")
    assert law == {
        "inverse_gap": pytest.approx(2),
        "log_term": pytest.approx(math.log(400)),
        "iterations_law": pytest.approx(6),
    }


def test_what_the_tail_bound_leaves():
    """p T_0 - T_0 / 2 successes of the T_0 / 2 that the proof concludes: 0.98 at p = 0.99."""
    assert successes_left(0.99)[0] == pytest.approx(0.98)
    assert successes_left(1.0)[0] == 1


def test_runs_beyond_a_bound():
    """Counted with its interval; cells of other series have no value and do not count."""
    found = beyond("x", pd.Series([0.0, 0.2, math.nan]), 0.0)
    assert (found.quantity, found.measured, found.seeds) == ("x, share of runs beyond", 0.5, 2)
    assert math.isnan(largest("x", pd.Series([1.0, 2.0])).ci_low)


def laws(**columns) -> pd.DataFrame:
    common = {"algorithm": "power_method", "users": 4000, "dim": 10, "rank": 2, "init_samples": 8, "zeta": 18.0}
    common |= dict.fromkeys(("gap", "accuracy", "start_log_tangent"), math.nan)  # of the noisy power method
    common |= {"noise_multiplier": 1.0, "iterations": 6, "runs_dist2": 0.1, "runs_distF": 0.12, "product_norm_max": 9.0}
    return with_predictions(pd.DataFrame([common | columns])).iloc[0]


def test_combined_columns():
    """Logarithms of the prescribed clip, k times the mean sine, and the length of a run in units of (k + 1) / k."""
    row, log = laws(), math.log(4000)
    assert row["over_logs"] == pytest.approx(0.1 / (log * (math.sqrt(log) + math.sqrt(2))))
    assert row["privacy_over_logs"] / row["over_logs"] == pytest.approx(row["privacy_2"] / 0.1)
    assert row["times_rank"] == pytest.approx(2 * 0.12 / math.sqrt(2))
    assert row["run_mu"] == pytest.approx(math.sqrt(6 * 2 / 3) * 2 * 0.12 / math.sqrt(2))
    assert row["run_mu_law"] / row["run_mu"] == pytest.approx(row["privacy_F"] / 0.12)
