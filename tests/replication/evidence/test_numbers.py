"""Numbers that a study's file defines: each kind against the same by hand, and what a wrong definition is told."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import clopper_pearson

from replication.evidence.intervals import bootstrap_measures, with_interval
from replication.evidence.measured import NOT_RUN
from replication.evidence.numbers import defined, measure
from replication.evidence.quantities import check_columns, numbers
from replication.run.config import read_config, read_study
from replication.run.models import ConfigError, checked
from replication.run.settings import MeasureSettings, Number, Study

SEEDS = 6


def table(series: str, **columns) -> pd.DataFrame:
    return pd.DataFrame({"series": series, "status": "ok", "seed": np.arange(SEEDS)} | columns)


@pytest.fixture
def cells(rng) -> pd.DataFrame:
    """Two series at two values of n, and one that has no n; rows in no order of their seeds."""
    parts = [table(series, n=n, risk=rng.lognormal(size=SEEDS)) for series in ("a", "b") for n in (1, 2)]
    rows = pd.concat([*parts, table("c", risk=rng.lognormal(size=SEEDS))], ignore_index=True)
    return rows.assign(law=4.0).sample(frac=1, random_state=1)


def risks(cells: pd.DataFrame, series: str, n: int | None = None) -> np.ndarray:
    rows = cells[(cells["series"] == series) & (n is None or cells["n"] == n)]
    return rows.sort_values("seed")["risk"].to_numpy()


AVERAGES = {"mean": np.mean, "median": np.median, "rms": lambda values: math.sqrt((values**2).mean())}


@pytest.mark.parametrize("kind", AVERAGES)
def test_an_average_has_the_interval_of_its_name(cells, kind):
    """Bit by bit that of `with_interval`, over the repetitions in the order of their seeds; `per` divides it."""
    values, average = risks(cells, "a", 1), AVERAGES[kind]
    number = Number(**{kind: "risk"}, series="a", where="n == 1")
    assert measure("x", number, cells) == with_interval("x", lambda indices: average(values[indices]), SEEDS)
    other = measure("x", number.model_copy(update={"per": "law", "stream": "y"}), cells)
    assert other == with_interval("x", lambda indices: average(values[indices]) / 4, SEEDS, name="y")


@pytest.mark.parametrize("kind", ["mean", "median"])
def test_a_ratio_of_averages_is_over_the_same_repetitions(cells, kind):
    """Those that both have; an expression of columns, and fewer draws."""
    above, below, average = risks(cells, "a", 1)[1:], risks(cells, "c")[1:], AVERAGES[kind]
    number = Number(**{kind: "sqrt(risk)"}, series="a", where="n == 1", over={"series": "c", "where": ""}, draws=50)

    def ratio(indices: np.ndarray) -> dict[str, float]:
        return {"x": average(np.sqrt(above[indices])) / average(np.sqrt(below[indices]))}

    found = measure("x", number, cells[(cells["series"] != "c") | (cells["seed"] > 0)])
    assert found == bootstrap_measures(ratio, SEEDS - 1, "x", 50, note="")[0]


def test_redraws_are_averaged_within_a_repetition(cells):
    again = pd.concat([cells, cells.assign(risk=3 * cells["risk"])])
    found = measure("x", Number(rms="risk", series="a", where="n == 1"), again)
    assert (found.measured, found.seeds) == (pytest.approx(AVERAGES["rms"](math.sqrt(5) * risks(cells, "a", 1))), SEEDS)


def test_the_largest_over_an_axis_has_no_interval(cells):
    """What has no such axis stands below at each of its values."""
    for other, place in (("b", (1, 2)), ("c", (None, None))):
        found = measure("x", Number(mean="risk", series="a", over={"series": other}, largest_at="n"), cells)
        expected = [
            risks(cells, "a", n).mean() / risks(cells, other, p).mean() for n, p in zip((1, 2), place, strict=True)
        ]
        assert found.measured == max(expected) and math.isnan(found.ci_low) and found.seeds == SEEDS


def test_a_share_counts_the_runs_that_have_a_value():
    rows = table("a", x=[0.5, 1.5, math.nan, 1.0, 2.5, 0.1])
    found = measure("x", Number(share="x", beyond=1, note="[runs] runs"), rows)
    assert (found.measured, found.seeds, found.note) == (2 / 5, 5, "5 runs")
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(clopper_pearson(2, 5)))
    assert measure("x", Number(share="x > 1"), rows).seeds == SEEDS  # no number is not beyond


@pytest.mark.parametrize(("kind", "value"), [("largest", 2.5), ("least", 0.1)])
def test_an_extreme_of_runs_has_no_interval(kind, value):
    cells = table("a", x=[0.5, 1.5, math.nan, 1.0, 2.5, 0.1])
    found = measure("x", Number(**{kind: "x"}), cells)
    assert (found.measured, found.seeds, found.note) == (value, 5, f"{kind} of 5 runs") and math.isnan(found.ci_low)
    assert measure("x", Number(**{kind: "x"}, note=""), cells).note == ""


def test_a_value_is_exact():
    found = measure("x", Number(value="x", where="series.str.startswith('a')"), table("a-b", x=0.25))
    assert (found.measured, found.ci_low, found.ci_high, found.seeds) == (0.25, 0.25, 0.25, 0)


def test_what_is_not_there_is_not_measured(cells):
    """Nothing at a scale that lacks the runs; the reason where they were not run."""
    wanted = {"x": Number(mean="risk", series="a", where="n == 3"), "y": Number(share="risk", series="d")}
    study = MeasureSettings(study="risk", figures=("a",), quantities=("x",), complete=True, numbers=wanted)
    assert defined(study, cells) == []
    absent = cells.assign(status="not run", reason="no package", risk=math.nan)
    found = measure("x", Number(mean="risk", series="a"), absent)
    assert found.note == f"{NOT_RUN}no package" and math.isnan(found.measured)


@pytest.fixture(scope="module")
def study() -> Study:
    return read_study(read_config(), "fedrep")


def with_number(study: Study, name: str, **content) -> Study:
    return study.model_copy(update={"numbers": {name: Number(**content)}})


def test_braces_of_a_name_stand_in_its_definition(study):
    found = numbers(
        with_number(
            study, "{fedrep|altmin} at {1|4}, {fedrep.epsilon}", mean="law", series="{1}", where="epsilon == {2}"
        )
    )
    assert found["altmin at 4, 1"] == Number(mean="law", series="altmin", where="epsilon == 4")
    assert len(found) == 4 * len(set(study.grids["own"]["epsilon"]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"mean": "excess_rsk / rank"}, "x.mean: 'excess_rsk' is no column of the results nor of this study; the near"),
        ({"mean": "rank", "where": "epsilom > 1"}, "x.where: 'epsilom' is no column"),
        ({"mean": "rank", "where": "epsilon >"}, "x.where: 'epsilon >' is no expression of columns"),
        ({"mean": "rank", "per": "rnak"}, "x.per: 'rnak' is no column"),
        ({"mean": "rank", "over": {"series": "fedrep"}, "largest_at": "rnak"}, "x.largest_at: 'rnak' is no column"),
        ({"mean": "rank", "series": "fedrp"}, "x.series: 'fedrp' is no series; the nearest is 'fedrep'"),
        ({"mean": "rank", "over": {"series": "fedrp"}}, "x.over.series: 'fedrp' is no series"),
        ({"mean": "rank", "over": {"mean": "rnak"}}, "x.over.mean: 'rnak' is no column"),
        *(({"mean": "rank", "series": f"{{{n}}}"}, f"x: {{{n}}} stands for nothing, its name has 0") for n in (0, 1)),
    ],
)
def test_a_number_of_nothing_is_named(study, content, words):
    """File, number, key, value and the nearest right name, before anything is run."""
    with pytest.raises(ConfigError) as caught:
        check_columns(with_number(study, "x", **content))
    assert str(caught.value).startswith(f"src/replication/studies/fedrep/settings.yaml: numbers.{words}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"series": "a"}, "nothing: one of mean, rms, median, share, largest, least, value says what the number is"),
        ({"mean": "x", "share": "x"}, "mean, share: one of mean, rms"),
        ({"share": "x", "over": {"series": "a"}}, "over: it belongs to mean, rms, median, this is 'share'"),
        ({"mean": "x", "over": {"seris": "a"}}, "over: 'seris' is not a known key; the nearest is 'series'"),
        ({"mean": "x", "over": {"median": "y"}}, "over: 'median' is not a known key"),
        ({"mean": "x", "beyond": 1}, "beyond: it belongs to share, this is 'mean'"),
        ({"mean": "x", "largest_at": "n"}, "largest_at: it needs 'over'"),
        ({"maen": "x"}, "'maen' is not a known key; the nearest is 'mean'"),
    ],
)
def test_a_number_is_of_one_kind(content, words):
    with pytest.raises(ConfigError) as caught:
        checked(Number, content, "file: numbers.x")
    assert str(caught.value).startswith("file: numbers.x: ") and words in str(caught.value)
