"""Figures of the image experiments (shen2023, Section 6)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, legend, level, named, series
from replication.drawing.style import (
    GREY,
    Look,
    label,
    look,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.images.analysis import LABELS, TOGETHER
from replication.studies.images.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look({"stand_alone": "own"}.get(name, name), LABELS[name]) for name in METHODS_SHOWN}
COLUMNS = 4
"""Panels beside each other."""


def draw_image_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw a panel for each row, measured above printed."""
    rows = list(numbers["row"].unique())
    lines = -(-len(rows) // COLUMNS)
    figure, axes = new_figure(9.4, 0.7 + 2.1 * lines, nrows=lines, ncols=min(COLUMNS, len(rows)), squeeze=False)
    for axis in axes.flat[len(rows) :]:
        axis.set_axis_off()
    places = {method: place for place, method in enumerate(METHODS_SHOWN)}
    for axis, row in zip(axes.flat, rows, strict=False):
        part = numbers[numbers["row"] == row]
        for method, one in LOOKS.items():
            shown = part[part["method"] == method].assign(above=places[method] - 0.14, below=places[method] + 0.22)
            found, printed = (
                Look(**vars(one) | {"label": "", "dash": "", "filled": filled}) for filled in (True, False)
            )
            series(axis, shown, "accuracy", "above", found, low="low", high="high", sideways=True)
            printed_ends = {"low": "printed_low", "high": "printed_high"}
            series(axis, shown.dropna(subset="printed"), "printed", "below", printed, sideways=True, **printed_ends)
        label(axis, title=row, ylim=(len(places) - 0.4, -0.6))
        axis.set_yticks(range(len(places)), LABELS.values() if axis in axes[:, 0] else [""] * len(places))
    for last in axes[-1]:
        last.set_xlabel("test accuracy, %")
    for text, filled in (("measured", True), ("printed", False)):
        named(axes[0, 0], Look(text, GREY, dash="", filled=filled))
    legend(figure)
    return figure


def draw_image_epsilon(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 1."""
    panels = list(numbers["panel"].unique())
    figure, axes = new_figure(1.2 + 4.2 * len(panels), 4.1, ncols=len(panels), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        here = numbers[numbers["panel"] == panel].sort_values("epsilon")
        together = {method: LOOKS[method] for method in TOGETHER}
        alone = here["method"] == "stand_alone"
        groups(axis, here[~alone], "epsilon", "accuracy", "method", together, low="low", high="high")
        alone = here[alone]
        if len(alone):
            level(axis, alone["accuracy"].iloc[0], "clients alone", colour=LOOKS["stand_alone"].colour, dash=":")
        ticks = sorted(here["epsilon"].unique())
        label(axis, r"$\epsilon$", "test accuracy, %" if axis is axes[0, 0] else "", panel, "x", ticks)
    legend(figure)
    return figure


def draw_image_way(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 3, and who is clipped when."""
    rows = list(numbers["row"].unique())
    figure, axes = new_figure(1.2 + 3.0 * len(rows), 5.6, nrows=2, ncols=len(rows), squeeze=False)
    together = {method: LOOKS[method] for method in TOGETHER}
    for (top, bottom), row in zip(axes.T, rows, strict=True):
        here, first = numbers[numbers["row"] == row], top is axes[0, 0]
        groups(top, here, "epsilon", "accuracy", "method", together)
        groups(bottom, here, "share", "length", "method", together)
        level(bottom, 1, "the clip", dash=":")
        label(top, r"$\epsilon$ spent", "test accuracy, %" if first else "", row)
        label(bottom, "share of the rounds done", "median update over the clip" if first else "", log="y")
    legend(figure)
    return figure
