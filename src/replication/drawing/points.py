"""Positions and numbers of a figure's points, read from matplotlib's artists, so that no study states them again.

Markers and lines that are labelled are read, with the intervals drawn at them.
Positions are in points from the upper left corner, as in the SVG.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, FillBetweenPolyCollection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

SVG_DPI = 72
MOST_ON_A_LINE = 40
"""A line without markers is a curve; it is shown at so many places at most."""
MOST_IN_A_FIGURE = 1500
"""Of a figure with more points every second, third, ... is kept."""
DIGITS = 4
CAPS = ("_", "|")
"""Markers with which matplotlib ends an interval."""
NEAR = 0.75
"""An interval goes through a point when they are no farther apart than this, in pixels."""


def drawn_points(figure: Figure) -> dict:
    """Return width, height and panels of a figure; a panel has a title, x and y as labels, and series, each with a
    name and points [left, top, x, y, low, high], where low and high are left out unless one interval is drawn
    through the point."""
    panels = []
    for axis in figure.axes:
        series = defaultdict(list)
        for name, points in _series(axis, _legend(figure, axis)):
            series[name] += points
        ordered = {name: sorted(points, key=lambda point: point[:2]) for name, points in series.items()}
        entries = [{"name": name, "points": points} for name, points in ordered.items() if points]
        if entries and axis.axison:
            labels = {name: plain(text) for name, text in zip("xy", _labels(figure, axis), strict=True)}
            title = next((text for place in ("left", "center", "right") if (text := axis.get_title(place))), "")
            panels.append({"title": plain(title.split("\n")[0]), **labels, "series": entries})
    width, height = (float(inches) * SVG_DPI for inches in figure.get_size_inches())
    entries = [entry for panel in panels for entry in panel["series"]]
    total = sum(len(entry["points"]) for entry in entries)
    for entry in entries:
        entry["points"] = entry["points"][:: math.ceil(total / MOST_IN_A_FIGURE)]
    return {"width": round(width, 1), "height": round(height, 1), "panels": panels}


def plain(label: str) -> str:
    r"""Strip the marks of mathematical text from a label.

    >>> plain(r"label noise $\sigma_F$")
    'label noise sigma_F'
    """
    return re.sub(r"[$\\{}]", "", label).replace("\n", " ").strip()


def _labels(figure: Figure, axis: Axes) -> tuple[str, str]:
    """Return the labels of both axes; a label that panels share stands at another panel of the row or column, or at
    the figure."""
    position = axis.get_subplotspec()

    def shared(name: str) -> str:
        own = getattr(axis, f"get_{name}label")()
        if own or position is None:
            return own
        span = "rowspan" if name == "y" else "colspan"
        for other in figure.axes:
            place = other.get_subplotspec()
            label = getattr(other, f"get_{name}label")()
            if label and place is not None and getattr(place, span) == getattr(position, span):
                return label
        return getattr(figure, f"get_sup{name}label")()

    return shared("x"), shared("y")


def _legend(figure: Figure, axis: Axes) -> dict[tuple[str, str], str]:
    """Map colour and marker to a label in a legend of the panel or of the figure."""
    legends = [axis.get_legend(), *figure.legends, *(other.get_legend() for other in figure.axes)]
    found: dict[tuple[str, str], str] = {}
    for legend in (legend for legend in legends if legend is not None):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if isinstance(handle, Line2D):
                found.setdefault((to_hex(handle.get_color()), str(handle.get_marker())), text.get_text())
    return found


def _series(axis: Axes, legend: dict[tuple[str, str], str]) -> Iterator[tuple[str, list]]:
    """Yield name and points of each line; an interval belongs to the line of its colour, that of an errorbar to its
    line."""
    axis.get_xlim()  # matplotlib scales a panel when it is asked
    errorbars = {
        container.lines[0]: container
        for container in axis.containers
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None
    }
    owned = {part for container in errorbars.values() for part in container.lines[2]}
    drawn = [one for one in axis.collections if one.get_transform() == axis.transData]
    free = [bar for one in drawn if one not in owned for bar in _bars(one)]
    for line in axis.get_lines():
        container, marker, colour = errorbars.get(line), str(line.get_marker()), to_hex(line.get_color())
        label = str((container or line).get_label())
        marked = marker not in ("None", "none", " ", "") and not (marker in CAPS and label.startswith("_"))
        if not line.get_visible() or line.get_transform() != axis.transData or (not marked and label.startswith("_")):
            continue
        where = np.column_stack([np.asarray(line.get_xdata(orig=False), float), line.get_ydata(orig=False)])
        if label.startswith("_"):
            label = legend.get((colour, marker), "")
        if not marked:
            where, bars = where[:: max(1, len(where) // MOST_ON_A_LINE)], []
        elif container is not None and container.lines[2]:
            bars = [ends for part in container.lines[2] for ends, _ in _bars(part)]
        else:
            bars = [ends for ends, own in free if own == colour]
        yield plain(label), _points(axis, where, bars)


def _bars(collection: Collection) -> list[tuple[np.ndarray, str]]:
    """Return ends, in data, and colour of upright and level pieces of line, and of pieces across a band."""
    if isinstance(collection, LineCollection):
        pieces, colours = collection.get_segments(), collection.get_colors()
    elif isinstance(collection, FillBetweenPolyCollection):
        pieces, colours = list(_across(collection)), collection.get_facecolor()
    else:
        return []
    found = []
    for number, piece in enumerate(map(np.asarray, pieces)):
        if len(piece) == 2 and np.isfinite(piece).all() and (piece[0] == piece[1]).any():
            found.append((piece, to_hex(colours[number % len(colours)])))
    return found


def _across(band: FillBetweenPolyCollection) -> Iterator[list[tuple[float, float]]]:
    """Yield the upright pieces of a band at each place where it was given."""
    corners = np.concatenate([np.empty((0, 2)), *(path.vertices for path in band.get_paths())])
    for x in np.unique(corners[:, 0]):
        here = corners[corners[:, 0] == x, 1]
        yield [(x, here.min()), (x, here.max())]


def _points(axis: Axes, where: np.ndarray, bars: list[np.ndarray]) -> list[list]:
    """Return position, numbers and interval of each place that lies in the panel."""
    found, (low, high) = [], axis.bbox.get_points()
    scale, height = SVG_DPI / axis.figure.dpi, float(axis.figure.get_size_inches()[1]) * SVG_DPI
    with np.errstate(all="ignore"):
        pixels, bars = axis.transData.transform(where), [(ends, axis.transData.transform(ends)) for ends in bars]
    for pixel, (x, y) in zip(pixels, where, strict=True):
        if np.isfinite(pixel).all() and (low - 1 <= pixel).all() and (pixel <= high + 1).all():
            left, top = round(float(pixel[0]) * scale, 1), round(height - float(pixel[1]) * scale, 1)
            found.append([left, top, _short(x), _short(y), *_interval(pixel, bars)])
    return found


def _interval(pixel: np.ndarray, bars: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Return the ends of the interval through a point, from ends in data and in pixels; of several none, since a wrong
    one would mislead."""
    through = set()
    for ends, (start, end) in bars:
        along = int(ends[0][0] == ends[1][0])  # 1 for an upright one
        low, high = sorted((start[along], end[along]))
        if abs(start[1 - along] - pixel[1 - along]) <= NEAR and low - NEAR <= pixel[along] <= high + NEAR:
            through.add(tuple(sorted(_short(float(one[along])) for one in ends)))
    return list(*through) if len(through) == 1 else []


def _short(value: float) -> float:
    """Round a number to `DIGITS` digits."""
    return float(f"{value:.{DIGITS}g}")
