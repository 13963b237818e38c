"""Series as they were drawn, and the position of each of their points in the picture."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SVG_DPI = 72
MOST_ON_A_LINE = 40
"""Approximate number of points that are kept of a curve, a line without markers."""
MOST_IN_A_FIGURE = 1500
"""A figure with more points keeps every second, third, ... point of each series."""
DIGITS = 4


@dataclass(frozen=True)
class Drawn:
    """A series of a panel: its name, and one row for each point, (x, y) or with an interval (x, y, low, high)."""

    name: str
    points: np.ndarray
    marked: bool


def drawn_points(figure: Figure) -> dict:
    """Return width, height and panels of a figure, in 1/72 inch from the upper left corner; a panel has a title, labels
    x and y, its frame [left, top, width, height], `own` if it has its own label of y, and series, each with a name and
    points [left, top, x, y, low, high], without low and high where there is no interval. rest : frames of the panels
    without series, and of the legend."""
    width, height = (float(inches) * SVG_DPI for inches in figure.get_size_inches())
    shown = [(axis, _panel(axis, height)) for axis in figure.axes if axis.axison]
    panels = [panel for _, panel in shown if panel["series"]]
    rest = [_frame(axis, figure, height) for axis, panel in shown if not panel["series"]]
    rest += [_frame(legend, figure, height) for legend in figure.legends]
    entries = [entry for panel in panels for entry in panel["series"]]
    every = max(1, math.ceil(sum(len(entry["points"]) for entry in entries) / MOST_IN_A_FIGURE))
    for entry in entries:
        entry["points"] = entry["points"][::every]
    return {"width": round(width, 1), "height": round(height, 1), "panels": panels, "rest": rest}


def plain(label: str) -> str:
    r"""Strip the LaTeX markup from a label.

    >>> plain(r"label noise $\sigma_F$"), plain("$d^{1.5}$")
    ('label noise sigma_F', 'd^1.5')
    """
    return re.sub(r"[$\\{}]", "", label.replace(r"\cdot", " ")).replace("\n", " ").strip()


def _panel(axis: Any, height: float) -> dict:
    axis.get_xlim()  # makes matplotlib set the scale of the panel
    places = {}
    for drawn in axis.recorded:
        places.setdefault(plain(drawn.name), []).extend(_points(axis, drawn, height))
    series = [{"name": name, "points": sorted(points)} for name, points in places.items() if points]
    labels = {name: plain(shared_label(axis, name)) for name in "xy"}
    labels |= {"frame": _frame(axis, axis.figure, height), "own": bool(axis.get_ylabel())}
    return {"title": plain(axis.get_title("left").split("\n")[0]), **labels, "series": series}


def _frame(artist: Artist, figure: Figure, height: float) -> list[float]:
    """Return left, top, width and height of a panel with its labels, or of a legend."""
    box, scale = artist.get_tightbbox(), SVG_DPI / figure.dpi
    assert box is not None
    edges = box.x0 * scale - 2, height - box.y1 * scale - 2, box.width * scale + 4, box.height * scale + 4
    return [round(edge, 1) for edge in edges]


def shared_label(axis: Axes, name: str) -> str:
    """Return the label of axis x or y of a panel; if it has none, that of the panel to its left (y) or below (x)."""
    span, along, sign = ("rowspan", "colspan", 1) if name == "y" else ("colspan", "rowspan", -1)

    def place(other: Axes, of: str) -> range:
        return getattr(other.get_subplotspec(), of)

    alike = [other for other in axis.figure.axes if place(other, span) == place(axis, span)]
    nearer = [other for other in alike if sign * place(other, along).start < sign * place(axis, along).start]
    return next((text for other in (axis, *nearer) if (text := getattr(other, f"get_{name}label")())), "")


def _points(axis: Axes, drawn: Drawn, height: float) -> list[list]:
    """Return [left, top, x, y] of each point of a series inside the panel, and low and high if it has an interval."""
    rows = drawn.points if drawn.marked else drawn.points[:: max(1, len(drawn.points) // MOST_ON_A_LINE)]
    scale, (low, high) = SVG_DPI / axis.figure.dpi, axis.bbox.get_points()
    with np.errstate(all="ignore"):
        pixels = axis.transData.transform(rows[:, :2])
    places = []
    for pixel, row in zip(pixels, rows, strict=True):
        if np.isfinite(pixel).all() and (low - 1 <= pixel).all() and (pixel <= high + 1).all():
            numbers = [float(f"{value:.{DIGITS}g}") for value in row if np.isfinite(value)]
            left, top = round(float(pixel[0]) * scale, 1), round(height - float(pixel[1]) * scale, 1)
            places.append([left, top, *(numbers if len(numbers) == len(row) else numbers[:2])])
    return places
