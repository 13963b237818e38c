"""Selection among synthetic candidates (shen2023, Lemma F.3), and statistics of its study and of power_method's."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import clopper_pearson, make_task

from privrep.methods.running.runner import fit
from privrep.theory.shen2023 import TARGET
from privrep.users.simulated import Problem
from privrep.users.subspace import dist2, random_subspace
from replication.experiments.made_up_candidates import BAD, candidates, trials_needed
from replication.run.registry import load_options
from replication.studies.power_method import analysis as power_method
from replication.studies.selection import analysis


def test_trials_and_their_failure_probability(rng):
    """T_0 of the lemma, and the binomial law against draws: three standard errors."""
    assert trials_needed(0.99, 0.05) == math.ceil(8 * 0.99 * math.log(20))
    for probability, failure in ((0.55, 0.1), (0.7, 0.01), (0.55, 0.05)):
        count = trials_needed(probability, failure)
        good = rng.binomial(count, probability, 40_000)
        failed = (good < count / 2).mean() + (good == count / 2).mean() / 2
        assert analysis.expected_failure(probability, failure) == pytest.approx(failed, abs=3 * 0.5 / 200)


def test_synthetic_candidates_are_as_promised(rng):
    """Good ones within eps_i, bad ones just above eps_0; alike or scattered."""
    for bad in BAD:
        truth = random_subspace(12, 2, rng)
        some = candidates(truth, 200, 0.5, 0.01, 0.2, bad, rng)
        distances = np.array([dist2(one, truth) for one in some])
        good = distances <= 0.01
        assert 60 < good.sum() < 140
        assert distances[~good] == pytest.approx(1.001 * 0.2)
        first, second = some[~good][:2]
        assert (dist2(first, second) < 1e-9) == (bad == "alike")


@pytest.mark.parametrize(("good_share", "low", "high"), [(0.999, 0.0, 0.0), (0.05, 0.9, 1.0), (0.55, 0.1, 0.7)])
def test_selection_among_synthetic_candidates(good_share, low, high):
    """None fails among good candidates, all among bad ones; with p just over a half as the binomial law says."""
    options = {"good_share": good_share, "failure": 0.1, "bad": "alike", "selections": 60}
    problem = Problem(1, 1, 12, 2)
    task = make_task(SimpleNamespace(problem=problem, blocks=None, truth=None), None)
    found = fit(load_options("made_up_candidates", options), task).log
    assert not task.ledger.entries
    assert found["candidates"] == trials_needed(good_share, 0.1)
    assert low <= found["failed_share"] <= high


@pytest.mark.parametrize("wrong", [{"good_share": 0.0}, {"bad": "odd"}, {"selections": 0}])
def test_options_out_of_range(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        load_options("made_up_candidates", {"good_share": 0.5, "failure": 0.1, "bad": "alike"} | wrong)


def table(series: str, **columns) -> pd.DataFrame:
    """Rows of one series."""
    return pd.DataFrame({"series": series} | columns)


def test_failures_of_the_selection_have_exact_ends():
    """Of 15 trials, in three repetitions of five."""
    columns = {"selections": 5, "candidates": 3, "failure": 0.1, "bad": "alike", "seed": [0, 1, 2] * 2}
    columns |= {"good_share": [0.6] * 3 + [0.99] * 3, "failed_share": [0.2, 0.4, 0.6, 0, 0, 0]}
    points = analysis.failure_points(table("candidates", **columns))
    assert list(points["failed"]) == [0.4, 0]
    for _, point in points.iterrows():
        ends = clopper_pearson(round(point["failed"] * 15), 15)
        np.testing.assert_allclose([point["ci_low"], point["ci_high"]], ends, rtol=1e-9)
    names = [f"failure, p = {share}, asked 0.1, alike" for share in (0.6, 0.99)]
    assert [one.quantity for one in analysis.synthetic_measures(points)] == names


@pytest.mark.parametrize(("largest", "reached"), [(0.4, True), (0.1, False)])
def test_costs_are_not_carried_beyond_the_noise_that_was_run(largest, reached):
    """Errors in proportion to the noise, 80 at most: the target at 0.2 over a factor, or never."""
    noise = np.array([0.0, 20.0, 80.0])
    factors = {"start_dist2": 1.0, "average_dist2": 1.5, "dist2": 1.25, "steady_dist2": 0.75}
    errors = {name: factor * largest * noise / 80 for name, factor in factors.items()}
    common = {"noise_multiplier": noise, "seed": 0, "iterations": 10, "rounds": 20, "starts": 4} | errors
    found = analysis.costs(pd.concat([table("select", **common), table("main", **common)]))
    releases = {"start": 40, "averaged start": 40, "single run": 10, "main rounds": 20}
    for (name, count), factor in zip(releases.items(), factors.values(), strict=True):
        wanted = count * factor**2 / 1600 if reached else math.nan
        assert found[f"cost of the {name}"] == pytest.approx(wanted, nan_ok=True)


# The study power_method: interpolation, success and bounds, on stub tables


def runs(levels: list[float], shares: list[list[float]]) -> pd.DataFrame:
    """Success of 25 runs on each of several data sets, a row of shares for each noise; the law permits 1."""
    rows = [(level, seed, part) for level, some in zip(levels, shares, strict=True) for seed, part in enumerate(some)]
    multiplier, seed, within = zip(*rows, strict=True)
    columns = {"noise_multiplier": multiplier, "seed": seed, "runs_within": within}
    return table("noise", **columns, starts=25, privacy_2=TARGET * np.array(multiplier), accuracy=TARGET)


def test_noise_of_half():
    """Between 0.8 at level 1 and 0.4 at level 2 half succeed at 1.75; NaN where the share never falls so far."""
    indices = np.arange(2)
    for shares, level in (([[0.8, 0.8], [0.4, 0.4]], 1.75), ([[1, 1], [0.8, 0.8]], math.nan)):
        found = power_method.noise_of_half(runs([1.0, 2.0], shares), indices)
        assert found["noise at which half succeed"] == pytest.approx(level, nan_ok=True)


def test_iterations_needed():
    """The first number of iterations at which 99 % arrive; NaN where none does."""
    steps = table("steps", iterations=[4, 8, 12], seed=0, starts=25, privacy_2=0.1, accuracy=0.2)
    for within, needed in (([0.5, 1.0, 1.0], 8), (0.9, math.nan)):
        found = power_method.iterations_needed(steps.assign(runs_within=within), np.arange(1))
        assert found["iterations for 0.99"] == pytest.approx(needed, nan_ok=True)
