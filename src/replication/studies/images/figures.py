"""Figures of the image experiments (shen2023, Section 6)."""

from replication.drawing import ENDS, GREY, DataFrame, Look, Picture, PlotSettings, look
from replication.studies.images.analysis import LABELS, TOGETHER
from replication.studies.images.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look({"stand_alone": "own"}.get(name, name), LABELS[name]) for name in METHODS_SHOWN}
TOGETHER_LOOKS = {name: LOOKS[name] for name in TOGETHER}
COLUMNS = 4
"""Panels in a row of the figure."""


def draw_image_methods(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw accuracies, a panel for each row of a table, measured above printed."""
    names, last = dict(enumerate(LABELS.values())), numbers["row"].unique()[-COLUMNS:]
    for axis, row, part in figure.facets(numbers, "row", (9.4, 0), (0.7, 2.1), COLUMNS, sharey=True):
        for place, (method, style) in enumerate(LOOKS.items()):
            shown = part[part["method"] == method].assign(above=place - 0.14, below=place + 0.22)
            measured, printed = style.but("", dash=""), style.but("", marker="|", dash="")
            axis.series(shown, "accuracy", "above", measured, ends=ENDS, sideways=True)
            shown = shown.dropna(subset="printed")
            axis.series(shown, "printed", "below", printed, ends=("printed_low", "printed_high"), sideways=True)
        x = "test accuracy, %" if row in last else ""
        axis.label(x, title=row, yticks=names, ylim=(len(names) - 0.4, -0.6))
    for text, marker in (("measured", "o"), ("printed", "|")):
        axis.named(Look(text, GREY, marker, ""))


def draw_image_epsilon(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Figure 1: accuracy against epsilon."""
    axis, here = figure.panel(5.4, 4.1), numbers.sort_values("epsilon")
    alone = here[here["method"] == "stand_alone"]
    axis.groups(here.drop(alone.index), "epsilon", "accuracy", "method", TOGETHER_LOOKS, ends=ENDS)
    if len(alone):
        axis.level(alone["accuracy"].iloc[0], "clients alone", colour=LOOKS["stand_alone"].colour, dash=":")
    axis.label(r"$\epsilon$", "test accuracy, %", "CIFAR10, n = 500, S = 5", "x", here["epsilon"])


def draw_image_way(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Figure 3: accuracy against the epsilon spent; and lengths of updates over the rounds."""
    rows = list(numbers["row"].unique())
    axes = figure.panels(1.2 + 3.0 * len(rows), 5.6, nrows=2, ncols=len(rows), squeeze=False)
    for (top, bottom), row in zip(axes.T, rows, strict=True):
        here = numbers[numbers["row"] == row]
        top.groups(here, "epsilon", "accuracy", "method", TOGETHER_LOOKS)
        bottom.groups(here, "share", "length", "method", TOGETHER_LOOKS)
        bottom.level(1, "the clip", dash=":")
        top.label(r"$\epsilon$ spent", "test accuracy, %", row)
        bottom.label("share of the rounds done", "median update over the clip", log="y")
