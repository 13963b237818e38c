"""The style of all figures, and how they are written: SVG and PDF that are the same bytes on every run.

The only module that sets up matplotlib; no simulation imports it.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from privrep.users.whole_files import in_one_move
from replication.drawing.points import drawn_points

matplotlib.use("Agg")
matplotlib.rcParams.update(
    {
        # What seaborn's theme for papers sets, without the second that it takes to import.
        "axes.axisbelow": True,
        "axes.labelcolor": "0.15",
        "font.size": 9.6,
        "lines.linewidth": 1.2,
        "lines.markersize": 4.8,
        "lines.solid_capstyle": "round",
        "patch.edgecolor": "white",
        "patch.force_edgecolor": True,
        "patch.linewidth": 0.8,
        "text.color": "0.15",
        "legend.title_fontsize": 9.6,
        "svg.hashsalt": "privrep",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "font.family": "sans-serif",
        # DejaVu Sans comes with matplotlib and sets the layout; the others are for readers of the SVG who lack it.
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica Neue", "Arial"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.edgecolor": "0.35",
        "xtick.color": "0.35",
        "ytick.color": "0.35",
        "xtick.labelcolor": "0.15",
        "ytick.labelcolor": "0.15",
        "xtick.minor.width": 0.5,
        "ytick.minor.width": 0.5,
        "grid.color": "0.92",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "legend.handlelength": 2.6,
        "axes.labelsize": 9.5,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titlepad": 8,
        "savefig.facecolor": "white",
    }
)

COLOURS = ["#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"]
"""Seaborn's palette for colour-blind readers."""
NOTE = {"fontsize": 8.5, "color": "0.35", "textcoords": "offset points"}
"""Keywords of an annotation."""

POINTS = "points"
"""Id of the metadata with the numbers that an SVG shows."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(value: float) -> str:
    """Write a power of ten as text for a label.

    >>> power_of_ten(1e-6)
    '10⁻⁶'
    """
    return f"10{str(round(math.log10(value))).translate(SUPERSCRIPTS)}"


def plain_ticks(axis: Axis) -> None:
    """Write the ticks of a log axis as decimal numbers, powers of ten alone."""
    axis.set_major_locator(LogLocator(numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1e-4 else power_of_ten(value)))
    axis.set_minor_formatter(NullFormatter())


def few_ticks(axis: Axis) -> None:
    """Put decimal ticks at 1, 2 and 5 times powers of ten, for log axes that span about a decade."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1e-4 else f"{value:.0e}"))
    axis.set_minor_formatter(NullFormatter())


def ticks_at(axis: Axes, values: Sequence[float]) -> None:
    """Put a tick at each of these values of x and none between."""
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()


def with_bars(
    axis: Axes, rows: pd.DataFrame, x: str, y: str, low: str = "ci_low", high: str = "ci_high", **look
) -> None:
    """Plot one column against another, with the interval between two more as error bars."""
    axis.errorbar(rows[x], rows[y], [rows[y] - rows[low], rows[high] - rows[y]], **look)


def new_figure(width: float, height: float, **subplots) -> tuple[Figure, Axes]:
    """Make a figure with a constrained layout, in inches; keyword arguments go to `Figure.subplots`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**subplots)


def with_points(svg: str, figure: Figure) -> str:
    """Add to an SVG file, as metadata, which numbers it shows where."""
    points = json.dumps(drawn_points(figure), separators=(",", ":"), ensure_ascii=False)
    head, end = svg.rsplit("</svg>", 1)
    return f'{head}<metadata id="{POINTS}">{escape(points, quote=False)}</metadata>\n</svg>{end}'


def save(figure: Figure, path: Path) -> None:
    """Write `path`.svg, which holds where it shows which numbers (`replication.drawing.points`)."""
    _fix_layout(figure)
    picture = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(picture, metadata={"Date": None})
    with in_one_move(path.with_suffix(".svg")) as temporary:
        temporary.write_text(with_points(picture.getvalue().decode("utf-8"), figure), encoding="utf-8")


def save_pdf(figure: Figure, path: Path) -> None:
    """Write `path`.pdf: the same picture for print."""
    # This import reads fonts, which takes as long as all others.
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    _fix_layout(figure)
    with in_one_move(path.with_suffix(".pdf")) as temporary:
        FigureCanvasPdf(figure).print_pdf(temporary, metadata={"CreationDate": None})


def _fix_layout(figure: Figure) -> None:
    """Make the layout once and keep it: savefig would draw each picture twice, the first time for the layout."""
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
