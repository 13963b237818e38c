"""Figures and their panels, which record all that they draw, so that picture, pointer texts and table agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from privrep.options import T
from replication.drawing.looks import Look
from replication.drawing.points import Drawn
from replication.drawing.style import GREY, LAW, log_ticks, short

CI, ENDS = ("ci_low", "ci_high"), ("low", "high")
"""Names of the columns with the ends of a confidence interval, and of any other interval."""
Size = tuple[float, float]
"""A width or height in inches: of all margins together, and of each panel."""
Ticks = Sequence[float] | np.ndarray | pd.Series | Mapping[int, str] | Mapping[float, str]
LINE, LETTER = 0.62, 0.068
"""Widths in inches in the legend: of the line before an entry, and of each letter of its label."""


class Panel(Axes):
    """A panel that records the series drawn in it, and their looks for the legend."""

    def __init__(self, *args, **words) -> None:
        self.recorded: list[Drawn] = []
        self.looks: dict[str, Look] = {}
        super().__init__(*args, **words)

    def series(
        self,
        rows: pd.DataFrame,
        x: str,
        y: str,
        look: Look,
        *,
        ends: Sequence[str] = (),
        band: bool = False,
        sideways: bool = False,
        hollow: pd.Series | None = None,
        size: float = 26,
    ) -> None:
        """Draw column y against column x, intervals between the columns `ends` as bars or a `band`;
        marks are hollow where the flags `hollow` are true.

        Without a marker it is a curve. sideways : draw intervals along x. size : area of a mark, in square points.
        """
        if rows.empty:
            return
        rows = rows.reset_index(drop=True)
        if look.dash:
            words = {"color": look.colour, "linestyle": look.dash, "linewidth": 1.3, "estimator": None, "sort": False}
            sns.lineplot(rows, x=x, y=y, ax=self, legend=False, **words)
        if ends and band:
            self.fill_between(rows[x], rows[ends[0]], rows[ends[1]], color=look.colour, alpha=0.15, linewidth=0)
        elif ends:
            middle, (low, high) = rows[x if sideways else y], ends
            reach = np.maximum(np.nan_to_num([middle - rows[low], rows[high] - middle]), 0)
            x_reach, y_reach = (reach, None) if sideways else (None, reach)
            self.errorbar(rows[x], rows[y], y_reach, x_reach, fmt="none", ecolor=look.colour, elinewidth=1)
        if look.marker:
            empty = np.full(len(rows), not look.filled) if hollow is None else hollow.to_numpy(bool)
            for part, fill in ((rows[~empty], look.colour), (rows[empty], "white")):
                words = {"s": size, "facecolor": fill, "edgecolor": look.colour, "linewidth": 1.1}
                if look.marker in "x|+":
                    words = {"s": 40, "color": look.colour, "linewidth": 1.4}
                if len(part):
                    sns.scatterplot(part, x=x, y=y, ax=self, marker=look.marker, legend=False, zorder=3, **words)
        if look.marker or len(rows) > 2:  # two points without markers are the ends of a straight line, not data
            points = rows[[x, y, *(() if sideways else ends)]].to_numpy(float)
            self.recorded.append(Drawn(look.label, points, bool(look.marker)))
        self.named(look)

    def groups(
        self, rows: pd.DataFrame, x: str, y: str, by: str, looks: Mapping[T, Look], apart: float = 1, **more
    ) -> None:
        """Draw a series for each value of the column `by`, in the order of the looks; raise ValueError for a value
        without a look, whose rows would otherwise be dropped silently.

        apart : factor in x from each series to the next, so that none hides another. more : options of `series`.
        """
        unknown = set(rows[by].dropna()) - set(looks)
        if unknown:
            raise ValueError(f"{by} is {min(unknown)!r}; it has no look, and {', '.join(map(repr, looks))} have one")
        for place, (value, look) in enumerate(looks.items()):
            own = rows[rows[by] == value]
            own = own if apart == 1 else own.assign(**{x: own[x] * apart ** (place - (len(looks) - 1) / 2)})
            self.series(own, x, y, look, **more)

    def law(self, rows: pd.DataFrame, x: str, y: str, label: str = "law") -> None:
        """Draw the prediction of a law, column y against column x, as a dotted line."""
        self.series(rows, x, y, Look(label, LAW, "", ":"))

    def level(self, value: float, label: str, *, along: str = "x", colour: str = GREY, dash: str = "--") -> None:
        """Draw a horizontal line at y = `value`, or a vertical one if `along` is "y", and name it in the legend."""
        (self.axhline if along == "x" else self.axvline)(value, color=colour, linestyle=dash, linewidth=1, zorder=1)
        self.named(Look(label, colour, "", dash))

    def curve(self, x: ArrayLike, y: ArrayLike, look: Look) -> None:
        """Draw a line through given points."""
        self.series(pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float)}), "x", "y", look)

    def fit(self, rows: pd.DataFrame, look: Look) -> None:
        """Draw the points of a `fit_table` and the fitted power law; points left out of the fit are hollow."""
        rows = rows[(rows["value"] > 0) & (rows["error"] > 0)]
        self.series(used(rows), "value", "error", look, ends=CI)
        left_out = look.but("left out of the fit", filled=False)
        self.series(rows.drop(used(rows).index), "value", "error", left_out, ends=CI)
        if rows["exponent"].head(1).notna().any():
            self.power(rows, rows["exponent"].iloc[0], Look("fitted power", look.colour, "", "-"))

    def power(self, rows: pd.DataFrame, exponent: float, look: Look) -> None:
        """Draw a power law through the geometric mean of the points that are in the fit."""
        middle, height = np.exp(np.log(used(rows)[["value", "error"]]).mean())
        ends = np.array([rows["value"].min(), rows["value"].max()])
        self.curve(ends, height * (ends / middle) ** exponent, look)

    def named(self, look: Look) -> None:
        """Add a look to the legend, unless its label is empty."""
        if look.label:
            enter(look, self.looks)

    def label(
        self, x: str = "", y: str = "", title: str = "", log: str = "", xticks: Ticks = (), yticks: Ticks = (), **more
    ) -> None:
        """Name the panel and its axes. log : its logarithmic axes, "x", "y" or "xy". xticks, yticks : positions of all
        ticks, or position -> text. more : keyword arguments of `Axes.set`."""
        self.set(**{f"{name}scale": "log" for name in log}, **more)
        # seaborn names an axis after its column
        self.set(xlabel=x, ylabel=y, title=title)
        for name in log:
            log_ticks(getattr(self, f"{name}axis"))
        for axis, ticks in ((self.xaxis, xticks), (self.yaxis, yticks)):
            if len(ticks):
                if not isinstance(ticks, Mapping):
                    ticks = {value: short(value) for value in np.unique(pd.Series(ticks).dropna())}
                axis.set_ticks(list(ticks), list(ticks.values()))
                axis.set_minor_locator(NullLocator())


def enter(look: Look, looks: dict[str, Look]) -> None:
    """Add a look to `looks` under its label; a label with several colours is grey in the legend."""
    known = looks.setdefault(look.label, look)
    if look.colour != known.colour:
        looks[look.label] = known.but(colour=GREY)


def used(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `fit_table` that are not left out of the fit."""
    return rows[rows["left out"].fillna("") == ""]


def around(rows: pd.DataFrame, y: str, half: pd.Series) -> pd.DataFrame:
    """Add columns `low` and `high`: column y minus and plus `half`."""
    return rows.assign(low=rows[y] - half, high=rows[y] + half)


class Picture(Figure):
    """A figure of panels with one legend below them."""

    def __init__(self) -> None:
        super().__init__(layout="constrained")

    def panels(self, width: float, height: float, **subplots) -> np.ndarray:
        """Set the figure's size in inches and divide it into panels; keyword arguments go to `Figure.subplots`."""
        self.set_size_inches(width, height)
        return self.subplots(**subplots, subplot_kw={"axes_class": Panel})

    def panel(self, width: float, height: float) -> Panel:
        """Set the figure's size in inches and return one panel that fills it."""
        return self.panels(width, height, squeeze=False)[0, 0]

    def facets(
        self, rows: pd.DataFrame, by: str, width: Size, height: Size, columns: int = 9, **subplots
    ) -> Iterator[tuple[Panel, str, pd.DataFrame]]:
        """Yield a panel for each value of the column `by`, in order of appearance, with the value and its rows.
        columns : largest number of panels in a row."""
        values = list(rows[by].unique())
        columns = min(columns, len(values))
        lines = -(-len(values) // columns)
        size = width[0] + width[1] * columns, height[0] + height[1] * lines
        panels = self.panels(*size, nrows=lines, ncols=columns, squeeze=False, **subplots).flat
        for panel in panels[len(values) :]:
            panel.set_axis_off()
        for panel, value in zip(panels, values, strict=False):
            yield panel, value, rows[rows[by] == value]

    def finish(self) -> None:
        """Remove a label of y that repeats the label to its left, and draw the legend below all panels, each look once,
        in as many columns as fit; the legend covers no point."""
        panels: list[Any] = self.axes  # each is a Panel with a place in the grid of subplots
        for left, right in reversed(list(pairwise(panels))):
            if right.get_ylabel() == left.get_ylabel() and not right.get_subplotspec().is_first_col():
                right.set_ylabel("")
        looks: dict[str, Look] = {}
        for look in (look for panel in panels for look in panel.looks.values()):
            enter(look, looks)
        if not looks:
            return
        handles = []
        for look in looks.values():
            marks = {"marker": look.marker, "markersize": 5, "markerfacecolor": look.colour if look.filled else "white"}
            line = {"color": look.colour, "linestyle": look.dash or "none", "linewidth": 1.3}
            handles.append(Line2D([], [], label=look.label, **line, **marks))
        widest = max(len(label.replace("$", "").replace("\\", "")) for label in looks)
        fit = int(self.get_figwidth() / (LINE + LETTER * widest))
        self.legend(handles=handles, loc="outside lower center", ncols=max(1, min(fit, len(looks))))
