"""Every point that a figure says it shows, with its interval, stands in the table that is saved beside it.

The cells are those of one run at scale quick, which other tests need anyway. Only what is drawn differs from scale to
scale, not how it comes from the table. Points are read as for the page (`replication.drawing.points`), to
four digits: some row has x, y and both ends of the interval. Sizes in titles and labels are those of what is drawn.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from replication.drawing.points import drawn_points, plain
from replication.evidence.cells import read_cells
from replication.report.sizes import PLACEHOLDER
from replication.report.stub_run import planned_cells
from replication.run.config import ROOT, read_yaml, study_names
from replication.run.settings import MeasureSettings, PlotSettings, Sweeps, read_settings, settings_of
from replication.studies.drawn import draw

CAPTIONS = {study: read_yaml(ROOT / settings_of(study))["figures"] for study in study_names()}


# What a figure computes from its table, restated here: tables whose rows hold what is drawn


def _ends(middle: pd.Series, half: pd.Series) -> dict[str, pd.Series]:
    return {"middle": middle, "low": middle - half, "high": middle + half}


def _collapse(numbers: pd.DataFrame) -> pd.DataFrame:
    shown = {name: numbers[name].clip(lower=1e-5) for name in ("largest", "without_floor")}
    return pd.DataFrame({"x": numbers["u"] ** 2, **shown})


def _breakdown(numbers: pd.DataFrame) -> pd.DataFrame:
    root = numbers["square"] ** 0.5
    return pd.DataFrame({"x": numbers["noise_ratio"], **_ends(root, numbers["spread"] / root)})


def _selection(numbers: pd.DataFrame) -> pd.DataFrame:
    shown = {name: numbers[name].clip(lower=1e-3) for name in ("failed", "ci_low", "ci_high")}
    return pd.concat([pd.DataFrame({"x": numbers["failure"] * shift, **shown}) for shift in (0.93, 1.07)])


def _fallbacks(numbers: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([numbers.assign(x=numbers["x"] * 1.03**place) for place in (-1, 0, 1)])


def _samples(numbers: pd.DataFrame) -> pd.DataFrame:
    means = (numbers.groupby(["rank", "spare"])["square"].mean() ** 0.5).reset_index()
    return pd.concat([means, numbers])  # marks of the fit have the colour of k = 1 and are of all ranks


def _known_heads(numbers: pd.DataFrame) -> pd.DataFrame:
    means = [numbers.groupby("users")[name].agg(["mean", "sem"]) for name in ("known", "fitted")]
    return pd.concat([pd.DataFrame({"x": one.index, **_ends(one["mean"], 2 * one["sem"])}) for one in means])


RESTATED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "beyond/audits": lambda t: pd.DataFrame({"x": range(len(t.columns))}),  # a place for each fault
    "jain2021/figure2_fallbacks": _fallbacks,  # marks side by side
    "comparison/d_exponent": lambda t: t.assign(**t[["error", "ci_low", "ci_high"]].mul(t["epsilon n"], axis=0)),
    "jain2021/init_norms": lambda t: t.assign(**_ends(t["ratio"], 2 * t["standard_error"])),
    "jain2021/risk_known_heads": _known_heads,
    "shen2023/noisy_power_method": lambda t: t.assign(**_ends(t["iterations"], t["half"])),
    "shen2023/participation": lambda t: t.assign(**_ends(t["distF"], 2 * t["spread"])),
    "jain2021/init_collapse": _collapse,  # squares, cut at the lower edge
    "jain2021/local_breakdown": _breakdown,  # root of the mean square
    "jain2021/risk_heads": lambda t: t.assign(**{name: t["measured"] / t[name] for name in ("exact", "printed")}),
    "jain2021/samples_needed": _samples,  # root mean square over repetitions
    "shen2023/selection": _selection,  # marks side by side, shares cut at the lower edge
}

_FIRST = (
    "beyond/ablation",
    "beyond/departures",
    "comparison/settings",
    "jain2021/figure2_readings",
    "shen2023/start_cost",
)
PLACES = {(name, 0): 1 for name in _FIRST} | {("shen2023/image_methods", panel): 1 for panel in range(16)}
PLACES |= {("beyond/audits", 2): 1, ("shen2023/noise_cap", 0): 0}
"""Figure, number of its panel -> the coordinate that is a place on an axis of names;
the other one is looked for alone."""

UNSEEN = {
    ("beyond/rates", "n-base"): "a cell of the sizes that all panels share",
    **{("comparison/cost", series): "arithmetic of sizes" for series in ("A-uncut", "B-uncut", "B-random")},
    **{("comparison/settings", series): "no exponent at scale quick" for series in ("A-rank", "A-condition")},
}
"""Figure, series in its caption -> why other numbers in the series do not change the figure."""


def series_of(caption: dict[str, str]) -> set[str]:
    """The series of which a caption says sizes."""
    return {name.rpartition(".")[0] for name in PLACEHOLDER.findall(caption["caption"])} - {""}


SIZES = {"n": "users", "m": "samples", "d": "dim", "k": "rank", "ε": "epsilon", "κ": "kappa"}


def of_sizes(table: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows of the sizes that a title and a label name, as far as the table has these columns."""
    for sign, value in re.findall(r"\b([nmdkεκ]) = ([\d.,]*\d)", words):
        if SIZES[sign] in table:
            table = table[np.isclose(table[SIZES[sign]], float(value.replace(",", "")))]
    return table


def missing(figure: Figure, numbers: pd.DataFrame, name: str) -> list[str]:
    """The drawn marks that the figure's table lacks, one line each; curves are computed for drawing."""
    lines = []
    marked = {plain(one.name) for axis in figure.axes for one in axis.recorded if one.marked}
    for number, panel in enumerate(drawn_points(figure)["panels"]):
        place = PLACES.get((name, number))
        for series in (one for one in panel["series"] if one["name"] in marked):
            rows = of_sizes(numbers, f"{panel['title']}; {series['name']}")
            tables = (rows, RESTATED[name](numbers)) if name in RESTATED else (rows,)
            tables = [table.select_dtypes("number").to_numpy(float) for table in tables]
            for point in series["points"]:
                wanted = [value for side, value in enumerate(point[2:]) if side != place]
                near = ([np.isclose(table, value, rtol=6e-4).any(axis=1) for value in wanted] for table in tables)
                if not any(np.logical_and.reduce(rows).any() for rows in near):
                    lines.append(f"panel {number}, {series['name']}: {wanted}")
    return lines


def check_panels(figure: Figure, numbers: pd.DataFrame, sweeps: Sweeps, claimed: dict[str, float]) -> None:
    """Each panel of a figure of fits has the label, the exponents and the points of one of them."""
    for axis, (fit, label) in zip(figure.axes, sweeps.panels.items(), strict=False):
        rows = numbers[numbers["fit"] == fit]
        title, _, exponents = axis.get_title("left").rpartition("\n")
        exponents = exponents.replace("\N{MINUS SIGN}", "-")
        slope = rows["exponent"].iloc[0]
        assert title.replace("\n", " ") == label.replace("\n", " "), fit
        assert exponents.startswith("no exponent" if np.isnan(slope) else f"{slope:.2f}"), fit
        said = f"{claimed[fit]:g}" if fit in claimed else ""
        assert np.isnan(slope) or exponents.partition(", claimed ")[2] == said, fit
        marks = {tuple(point[:2]) for one in axis.recorded if one.marked for point in one.points}
        assert marks and marks <= set(zip(rows["value"], rows["error"], strict=True)), fit


def unseen(figure: Figure) -> list[str]:
    """The names of marked series of which no point lies within its panel."""
    return [
        one.name
        for axis in figure.axes
        for one in (one for one in axis.recorded if one.marked and np.isfinite(one.points[:, :2]).all(axis=1).any())
        if not any(axis.viewLim.contains(*point[:2]) for point in one.points)
    ]


@pytest.mark.parametrize("study", CAPTIONS)
def test_drawn_points_stand_in_the_table(quick_run: Path, study: str):
    """Each figure of the study as it is; a table whose numbers are a hundredth larger is not its own."""
    folder = quick_run / "results" / "quick"
    settings = read_settings(PlotSettings, folder / study / "plot.json")
    tables = {name: pd.read_csv(folder / "figures" / f"{name}.csv") for name in settings.figures}
    figures = {name: draw(name, table, settings) for name, table in tables.items()}
    assert set(figures) == set(CAPTIONS[study])
    for name, figure in figures.items():
        assert missing(figure, tables[name], name) == [], name
        assert unseen(figure) == [], name
        if name in settings.sweeps:
            check_panels(figure, tables[name], settings.sweeps[name], settings.claimed)
        others = tables[name].assign(**tables[name].select_dtypes("number") * 1.01)
        marked = any(one.marked for axis in figure.axes for one in axis.recorded)
        assert missing(figure, others, name) or not marked, name


@pytest.mark.parametrize("study", [study for study, said in CAPTIONS.items() if any(map(series_of, said.values()))])
def test_captions_name_series_that_are_drawn(quick_run: Path, study: str):
    """Other numbers in a series change each figure whose caption has a size of it; the same cells change nothing."""
    folder = quick_run / "results" / "quick" / study
    settings, cells = read_settings(MeasureSettings, folder / "measure.json"), read_cells(folder / "cells.csv")
    analyse = importlib.import_module(f"replication.studies.{study}.analysis").analyse
    measured = [name for name in cells.select_dtypes("number") if name not in planned_cells(study)]
    factors = np.random.default_rng(0).lognormal(size=(len(cells), len(measured)))

    def numbers(series: str) -> dict[str, pd.DataFrame]:
        others = (cells["series"] != series).to_numpy()[:, None]
        return analyse(cells.assign(**cells[measured] * np.where(others, 1.0, factors)), settings).numbers(settings)

    named = {(figure, series) for figure, caption in CAPTIONS[study].items() for series in series_of(caption)}
    drawn, again = numbers(""), numbers("")
    changed = {series: numbers(series) for _, series in named}
    unchanged = {(figure, series) for figure, series in named if drawn[figure].equals(changed[series][figure])}
    assert unchanged == named & UNSEEN.keys() and all(drawn[name].equals(table) for name, table in again.items())
