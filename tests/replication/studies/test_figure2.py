"""The study figure2 on stub scores with known answers."""

import itertools

import numpy as np
import pandas as pd
import pytest

from replication.studies.figure2 import analysis
from replication.studies.figure2.analysis import judge_readings, passes

EPSILONS, SEEDS = (1.0, 2.0, 5.0, 10.0), 6


def rows(series, algorithm, mse, epsilons=(np.nan,), **columns):
    """Rows of one series with MSE mse(epsilon) in every repetition."""
    base = {"epochs": np.nan, "step": np.nan, "penalty": np.nan, "min_eigenvalue": 1.0, "status": "ok", "delta": 1e-6}
    if algorithm == "altmin":
        base |= {"fallback": "solve", "clip_unit": "sample"}
    base |= {"series": series, "algorithm": algorithm} | columns
    pairs = itertools.product(epsilons, range(SEEDS))
    return [base | {"epsilon": epsilon, "seed": seed, "mse": mse(epsilon)} for epsilon, seed in pairs]


def table(curve, other=lambda epsilon: 3.0, single=lambda epsilon: 2.0):
    """Cells of a study: the deciding reading, one other, and the baselines."""
    made = []
    for epochs, factor in ((1, 1.0), (2, 3.0)):
        for series, mse in (("random-s2-a", curve), ("random-s2-a-exact", other)):
            scaled = lambda epsilon, mse=mse, factor=factor: factor * mse(epsilon)  # noqa: E731
            made += rows(series, "altmin", scaled, EPSILONS, epochs=epochs)
    for series in ("single-moments", "single-gradient"):
        made += rows(series, "single_model", single, EPSILONS)
    made += rows("random-model", "reference_model", lambda _: 4.0)
    made += rows("zero-model", "reference_model", lambda _: 2.0)
    made += rows("own-minimum-norm", "own_data", lambda _: 1.6, penalty=0.0)
    made += rows("own-ridge", "own_data", lambda _: 1.7, penalty=1.0)
    made += rows("nonprivate", "nonprivate_altmin", lambda _: 1e-4)
    return pd.DataFrame(made).assign(label_noise_sd=0.005)


def found(cells):
    """Measured value by quantity."""
    return {one.quantity: one for one in analysis.measures(cells, judge_readings(cells))}


def good(epsilon):
    """Falls with epsilon, 0.2 at epsilon 5."""
    return 1.0 / epsilon


@pytest.mark.parametrize(
    ("criterion", "cells"),
    [
        ("i", table(lambda epsilon: 0.6)),
        ("ii", table(lambda epsilon: 0.2 + 0.01 * (epsilon == 10))),
        ("iii", table(lambda epsilon: 4.0 / epsilon)),
        ("iii", table(good, single=lambda epsilon: 0.4)),
    ],
)
def test_each_criterion_can_fail(criterion, cells):
    """A curve that breaks one criterion is seen to break it."""
    assert not passes(criterion, found(cells)[criterion].measured)


def test_a_failed_fit_is_no_gap():
    """A choice with a failed repetition is never the best, and does not vanish from the mean."""
    cells = table(good)
    failed = cells.query("series == 'random-s2-a' and epochs == 1 and seed == 0 and epsilon == 5").index
    cells.loc[failed, ["status", "mse"]] = ["failed", np.nan]
    method = analysis.read_method(cells, "random-s2-a")
    assert method.at(5, np.arange(SEEDS)) == pytest.approx(3 * good(5))


def test_other_readings_are_counted_without_the_deciding_one():
    """One other reading, passing or not."""
    assert found(table(good))["other readings that pass"].measured == 0
    assert found(table(good, other=good))["other readings that pass"].measured == 1
    assert list(judge_readings(table(good))["passes"]) == [True, False]


def with_fallback(curve, rule="eigclip"):
    """Cells of a study in which the deciding reading runs with another rule too, on fewer repetitions."""
    made = []
    for epochs, factor in ((1, 3.0), (2, 1.0)):
        scaled = lambda epsilon, factor=factor: factor * curve(epsilon)  # noqa: E731
        about = {"epochs": epochs, "fallback": rule, "min_eigenvalue": -1.0}
        made += rows(f"random-s2-a-{rule}", "altmin", scaled, EPSILONS, **about)
    return pd.concat([table(good), pd.DataFrame(made).query("seed < 5")], ignore_index=True)


def test_a_rule_of_ours_is_no_reading_of_the_paper():
    """It passes all criteria and is not counted; its MSE is held against the deciding reading's, each at its best."""
    cells = with_fallback(lambda epsilon: 0.3 / epsilon)
    judged = judge_readings(cells).set_index("reading")
    assert judged.loc["random-s2-a-eigclip", ["ours", "passes"]].all()
    assert not judged.loc[["random-s2-a", "random-s2-a-exact"], "ours"].any()
    assert analysis.fallback_series(cells) == {"solve": "random-s2-a", "eigclip": "random-s2-a-eigclip"}
    values = found(cells)
    assert (values["other readings that pass"].measured, values["other readings that pass"].note) == (0, "none")
    assert values["eigclip at 5"].measured == pytest.approx(0.06)
    assert values["eigclip over solve at 5"].measured == pytest.approx(0.3)
    assert values["eigclip over solve at 5"].seeds == 5
