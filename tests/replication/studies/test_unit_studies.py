"""The studies of unit steps beside what made-up cells hold: choices, floors, laws; numbers typed in the settings."""

import math

import numpy as np
import pandas as pd
import pytest

from replication.evidence.intervals import BOOTSTRAP
from replication.evidence.measured import Measured
from replication.evidence.quantities import numbers
from replication.run.config import ROOT, read_config, read_study, read_yaml
from replication.run.settings import MeasureSettings, settings_of
from replication.studies.unit_map import analysis as unit_map
from replication.studies.unit_map import figure2

read = figure2.Risks.read


def rows(series: str, risks, epsilon: float = math.nan, **columns) -> pd.DataFrame:
    """Rows of a series for the repetitions 0, 1, ..., one risk each."""
    columns = {"epsilon": epsilon, "epochs": math.nan, "penalty": math.nan} | columns
    return pd.DataFrame({"series": series, "seed": range(len(risks)), "excess_risk": risks} | columns)


def table(*parts: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)


def by_kind(cells: pd.DataFrame) -> list[Measured]:
    """What the file of unit_map defines."""
    wanted = numbers(read_study(read_config(), "unit_map"))
    study = MeasureSettings(study="unit_map", figures=("a",), quantities=("x",), complete=False, numbers=wanted)
    columns = cells.columns.union(["dim", "rank", "samples", "label_noise_sd", "smallest_users"])
    return unit_map.by_kind(cells.reindex(columns=columns).assign(status="ok"), study)


def measured(cells: pd.DataFrame) -> dict[str, float]:
    """The same by name."""
    return {one.quantity: one.measured for one in by_kind(cells)}


# Risks


def published_cells() -> pd.DataFrame:
    """Three published methods at two epsilons, with another best one at each."""
    medians = dict(zip(figure2.PUBLISHED, ((9, 30), (6, 40), (70, 20)), strict=True))
    parts = [
        rows(name, [0.01, median, 1000.0], epsilon)
        for name, pair in medians.items()
        for epsilon, median in zip((0.25, 1.0), pair, strict=True)
    ]
    unit = [rows("unit-more", [3.0, 3.5, 5.0], 0.25), rows("unit-more", [1.5, 2.5, 2.0], 1.0)]
    return table(*parts, *unit, rows("floor", [1.0, 2.0, 2.5, 90.0]))


def test_a_run_that_failed_or_ends_near_zero_has_found_nothing():
    """By method and epsilon, out of all of its runs; no other series counts."""
    cells = table(rows("fedrep", [0.19, 0.21, math.nan, 0.1], 0.25), rows("unit", [5, 5], 0.25), rows("floor", [1, 1]))
    found = {name: value for name, value in measured(cells.assign(rank=2)).items() if "nothing" in name}
    assert found == {"runs of fedrep that found nothing at 0.25": 0.5}


def test_the_best_is_chosen_anew_in_each_draw():
    """Of the repetitions that are picked, some twice, so that the choice belongs to the interval."""
    cells = published_cells()
    cells.loc[(cells["series"] == "fedrep") & (cells["seed"] == 0), "excess_risk"] = 0.001
    found = figure2.published(read(cells), np.array([0, 0, 0]))
    assert found["best rival over floor at 1"] == pytest.approx(0.001)
    assert found["best rival over unit steps, risk above the floor, at 1"] == pytest.approx((0.001 - 1) / 0.5)


# Floors


def test_numbers_of_the_file_have_the_streams_that_are_drawn():
    """A series is drawn with the interval of its number."""
    defined = numbers(read_study(read_config(), "unit_map")).values()
    for one in defined:
        if one.stream in figure2.DEFINED:
            assert figure2.STREAMS[one.series] == one.stream and one.draws == BOOTSTRAP
    assert {one.stream for one in defined} >= set(figure2.DEFINED)


# Numbers typed in the settings


def settings(study: str) -> dict:
    return read_yaml(ROOT / settings_of(study))


def test_targets_are_twice_the_floor():
    """2 sigma_F^2 k/(m - k - 1) to 3 digits, in grids at each scale and in options; of m - k they are not."""
    quick, study = (read_study(read_config(of), "unit_rates") for of in ([ROOT / "config/scales/quick.yaml"], []))
    noise2 = study.series["users-k"].problem["label_noise_sd"] ** 2
    sizes = [one for scale in (quick, study) for one in scale.grid_of("users-k")["together"]]
    assert len(sizes) >= 4
    across = study.series["users-d"]
    assert across.problem["label_noise_sd"] ** 2 == noise2
    rank, samples = study.problem["rank"], across.problem["samples"]
    sizes.append({"rank": rank, "samples": samples, "target": across.options["target"]})
    for one in sizes:
        rank, freedom, target = one["rank"], one["samples"] - one["rank"], float(one["target"])
        assert target == pytest.approx(2 * noise2 * rank / (freedom - 1), rel=5e-4)
        assert target != pytest.approx(2 * noise2 * rank / freedom, rel=5e-3)


# Departures, all methods


def test_every_departure_has_its_series():
    """Each with a floor and all methods on one problem, but for a wrong rank, which published methods cannot be told,
    and the size of features, which they are told: over it the label noise is another, and the floor of their users."""
    series = settings("unit_map")["series"]
    for departure in unit_map.MISSPECIFICATIONS:
        published = [name for name in unit_map.METHODS if name != "unit"]
        ours, theirs = ["unit", "floor"], [] if departure == "rank" else published
        problem = dict(series[f"{departure}-unit"].get("problem", {}))
        told = dict(problem)
        if departure in ("small", "large"):
            told["label_noise_sd"] = pytest.approx(0.01 / told.pop("feature_scale"))
            theirs.append("told")
        theirs += ["whitened"] * (departure in ("scales", "mixed"))
        there = {name for name in series if name.startswith(f"{departure}-")}
        assert there == {f"{departure}-{name}" for name in ours + theirs}
        for names, one in ((ours, problem), (theirs, told)):
            assert all(series[f"{departure}-{name}"].get("problem", {}) == one for name in names)
        assert all(series[f"{departure}-{name}"].get("tuned") for name in theirs if name != "told")
