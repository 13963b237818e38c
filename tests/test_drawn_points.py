"""Every point, interval and band that a figure draws stands in the table that is saved beside it.

The cells are those of one run at scale quick, which tests/test_reference.py needs anyway. Only what is drawn differs
from scale to scale, not how it comes from the table. A point is looked for as a pair: some row has its x in one column
of numbers and its y in another. Lines of two points without marks are guides (fits, claimed slopes, limits). Sizes in
titles, labels and captions are those of what is drawn.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from workflow_helpers import ROOT

from privrep.evidence.cells import read_cells
from privrep.evidence.findings import read_numbers
from privrep.report.captions import PLACEHOLDER, Caption, read_captions
from privrep.report.stub_run import planned_cells
from privrep.run.settings import MeasureSettings, PlotSettings, Sweeps, read_settings
from privrep.studies.drawn import drawn

CAPTIONS = {path.stem: read_captions(path) for path in sorted((ROOT / "config" / "studies").glob("*.yaml"))}


# What a figure computes from its table, restated here: tables whose rows hold what is drawn


def _ends(middle: pd.Series, half: pd.Series) -> dict[str, pd.Series]:
    return {"middle": middle, "low": middle - half, "high": middle + half}


def _scaled_interval(numbers: pd.DataFrame) -> pd.DataFrame:
    scale = numbers["times epsilon n"] / numbers["error"]
    return pd.DataFrame({"x": numbers["value"], **{end: numbers[end] * scale for end in ("ci_low", "ci_high")}})


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
    return (numbers.groupby(["rank", "spare"])["square"].mean() ** 0.5).reset_index()


def _known(numbers: pd.DataFrame) -> pd.DataFrame:
    means = numbers.groupby("users")[["known", "fitted"]].agg(["mean", "sem"])
    parts = [_ends(means[name]["mean"], 2 * means[name]["sem"]) for name in ("known", "fitted")]
    return pd.concat(
        [pd.DataFrame({"x": means.index, **{key: part[key].to_numpy() for key in part}}) for part in parts]
    )


RESTATED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "beyond/audits": lambda t: pd.DataFrame({"x": range(len(t.columns))}),  # a place for each fault
    "comparison/d_exponent": _scaled_interval,  # error times epsilon and n
    "jain2021/figure2_fallbacks": _fallbacks,  # marks side by side
    "jain2021/init_collapse": _collapse,  # squares, cut at the lower edge
    "jain2021/init_norms": lambda t: pd.DataFrame({"x": t["rank"], **_ends(t["ratio"], 2 * t["standard_error"])}),
    "jain2021/local_breakdown": _breakdown,  # root of the mean square
    "jain2021/risk_heads": lambda t: pd.DataFrame(
        {"x": t["samples"], **{name: t["measured"] / t[name] for name in ("exact", "printed")}}
    ),
    "jain2021/risk_known_heads": _known,  # mean over repetitions with twice its standard error
    "jain2021/samples_needed": _samples,  # root mean square over repetitions
    "shen2023/noisy_power_method": lambda t: pd.DataFrame({"x": t["log_term"], **_ends(t["iterations"], t["half"])}),
    "shen2023/participation": lambda t: pd.DataFrame({"x": t["participation"], **_ends(t["distF"], 2 * t["spread"])}),
    "shen2023/selection": _selection,  # marks side by side, shares cut at the lower edge
}

PLACES = {
    ("beyond/audits", 2): 1,
    ("beyond/departures", 0): 1,
    ("beyond/ladder", 0): 1,
    ("beyond/ladder", 1): 1,
    ("jain2021/figure2_readings", 0): 1,
    **{("shen2023/image_methods", panel): 1 for panel in range(16)},
    ("shen2023/noise_cap", 0): 0,
    ("shen2023/start_cost", 0): 1,
}
"""Figure, number of its panel -> the coordinate that is a place on an axis of names;
the other one is looked for alone."""

CURVES = {
    "jain2021/init_collapse",
    "jain2021/local_breakdown",
    "shen2023/centaur_rate",
    "shen2023/noisy_power_method",
}
"""Figures with curves of laws on grids of their own: their lines without marks are guides, of whatever length."""


UNSEEN = {
    ("beyond/rates", "n-base"): "a cell of the sizes that all panels share",
    **{("comparison/cost", series): "arithmetic of sizes" for series in ("A-uncut", "B-uncut", "B-random")},
    **{("comparison/settings", series): "no exponent at scale quick" for series in ("A-rank", "A-condition")},
}
"""Figure, series in its caption -> why other numbers in the series do not change the figure."""


def series_of(caption: Caption) -> set[str]:
    """The series of which a caption says sizes."""
    return {name.rpartition(".")[0] for name in PLACEHOLDER.findall(caption.text)} - {""}


def data_lines(axis: Axes, curves: bool) -> list[Line2D]:
    """Lines that are no guides."""
    marked = [str(line.get_marker()) not in ("None", "none", "", " ") for line in axis.lines]
    return [
        line
        for line, mark in zip(axis.lines, marked, strict=True)
        if mark or (len(line.get_xdata()) > 2 and not curves)
    ]


def data_of(axis: Axes, curves: bool) -> Iterator[tuple[np.ndarray, str]]:
    """What a panel draws as data: marks, lines of more than two points, ends of intervals, edges of bands and bars;
    (p, 2) each, with its label.

    Parameters
    ----------
    curves : lines without marks are guides.
    """
    labels = {bars.lines[0]: bars.get_label() for bars in axis.containers if isinstance(bars, ErrorbarContainer)}
    for line in data_lines(axis, curves):
        points = np.column_stack([line.get_xdata(orig=True), line.get_ydata(orig=True)])
        yield points, str(labels.get(line, line.get_label()))
    for collection in axis.collections:
        if isinstance(collection, PathCollection):
            yield np.asarray(collection.get_offsets()), ""
        elif isinstance(collection, LineCollection):
            yield from ((np.asarray(segment), "") for segment in collection.get_segments())
        elif isinstance(collection, PolyCollection):
            yield from ((path.vertices, "") for path in collection.get_paths())
        elif not isinstance(collection, QuadMesh):  # colours of fields, whose numbers are written into them
            raise TypeError(f"{type(collection).__name__} is drawn: say here where its numbers are")
    for container in axis.containers:
        bars = [patch for patch in container if isinstance(patch, Rectangle)]
        yield from ((np.array([[bar.get_x() + bar.get_width() / 2, bar.get_height()]]), "") for bar in bars)


SIZES = {"n": "users", "m": "samples", "d": "dim", "k": "rank", "ε": "epsilon", "κ": "kappa"}


def of_sizes(table: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows of the sizes that a title and a label name, as far as the table has these columns."""
    for sign, value in re.findall(r"\b([nmdkεκ]) = ([\d.,]*\d)", words):
        if SIZES[sign] in table:
            table = table[np.isclose(table[SIZES[sign]], float(value.replace(",", "")))]
    return table


def found(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Which rows of a table hold each value in some column: (p, rows)."""
    return np.isclose(values[:, None, None], table[None], rtol=1e-9, atol=1e-12).any(axis=2)


def missing(figure: Figure, numbers: pd.DataFrame, name: str) -> list[str]:
    """The drawn points that the figure's table lacks, one line each."""
    lines = []
    for number, axis in enumerate(figure.axes):
        place = PLACES.get((name, number))
        for points, label in data_of(axis, name in CURVES):
            points = np.asarray(points, dtype=float).reshape(-1, 2)
            points = points[np.isfinite(points).all(axis=1)]
            held = np.zeros(len(points), dtype=bool)
            rows = of_sizes(numbers, f"{axis.get_title('left')}; {label}")
            for table in (rows, RESTATED[name](rows)) if name in RESTATED else (rows,):
                table = table.select_dtypes("number").to_numpy(float)
                x, y = (True if place == side else found(points[:, side], table) for side in (0, 1))
                held |= np.logical_and(x, y).any(axis=1)
            lines += [f"panel {number}: ({x:.6g}, {y:.6g})" for x, y in points[~held]]
    return lines


def check_panels(figure: Figure, numbers: pd.DataFrame, sweeps: Sweeps, claimed: dict[str, float]) -> None:
    """Each panel of a figure of fits has the label, the exponents and the points of one of them."""
    for axis, (fit, label) in zip(figure.axes, sweeps.panels.items(), strict=False):
        rows = numbers[numbers["fit"] == fit]
        title, exponents = axis.get_title("left").split("\n")
        exponents = exponents.replace("\N{MINUS SIGN}", "-")
        slope = rows["exponent"].iloc[0]
        assert title == label and exponents.startswith("no exponent" if np.isnan(slope) else f"{slope:.2f} ± "), fit
        assert np.isnan(slope) or exponents.partition(", claimed ")[2] == (
            f"{claimed[fit]:g}" if fit in claimed else ""
        ), fit
        marks = [
            point for line in axis.lines if line.get_marker() == "o" for point in zip(*line.get_data(), strict=True)
        ]
        assert set(marks) <= set(zip(rows["value"], rows["error"], strict=True)), fit


def movable(figure: Figure, name: str) -> list[Line2D]:
    """The lines in panels that are looked at."""
    axes = [axis for number, axis in enumerate(figure.axes) if (name, number) not in PLACES]
    lines = [line for axis in axes for line in data_lines(axis, name in CURVES)]
    return [line for line in lines if len(line.get_xdata()) and np.isfinite(line.get_ydata()[0])]


@pytest.mark.parametrize("study", CAPTIONS)
def test_drawn_points_stand_in_the_table(quick_run: Path, study: str):
    """Each figure of the study as it is, and with one point moved by a thousandth, which must be found."""
    folder = quick_run / "results" / "quick"
    settings = read_settings(PlotSettings, folder / study / "plot.json")
    tables = {name: read_numbers(folder / "figures" / f"{name}.csv") for name in settings.figures}
    figures = drawn(tables, settings)
    assert set(figures) == set(CAPTIONS[study])
    moved = 0
    for name, figure in figures.items():
        numbers = tables[name]
        assert missing(figure, numbers, name) == [], name
        if name in settings.sweeps:
            check_panels(figure, numbers, settings.sweeps[name], settings.claimed)
        for line in movable(figure, name)[:1]:
            heights = np.array(line.get_ydata(orig=True), dtype=float)
            heights[0] = heights[0] * 1.001 + 1e-6
            line.set_ydata(heights)
            assert len(missing(figure, numbers, name)) == 1, name
            moved += 1
    assert moved


@pytest.mark.parametrize(
    "study",
    [study for study in CAPTIONS if any(map(series_of, CAPTIONS[study].values()))],
)
def test_captions_name_series_that_are_drawn(quick_run: Path, study: str):
    """Other numbers measured in a series change each figure whose caption has a size of it;
    the same cells change nothing."""
    folder = quick_run / "results" / "quick" / study
    settings, cells = read_settings(MeasureSettings, folder / "measure.json"), read_cells(folder / "cells.csv")
    analyse = importlib.import_module(f"privrep.studies.{study}.analysis").analyse
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
