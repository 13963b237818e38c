"""The figure of the real image sets."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, new_figure
from privrep.run.settings import PlotSettings
from privrep.studies.images.analysis import METHODS
from privrep.studies.images.figures import NAMES, bars


def draw_real_images(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """A panel for each row."""
    rows = list(numbers["row"].unique())
    figure, axes = new_figure(2.2 * len(rows) + 1.4, 2.8, ncols=len(rows), squeeze=False)
    for axis, row in zip(axes[0], rows, strict=True):
        part = numbers[numbers["row"] == row].set_index("method")
        for place, method in enumerate(METHODS):
            shown, (_, style, colour) = part.loc[method], NAMES[method]
            axis.errorbar(shown["accuracy"], place, xerr=bars(shown), fmt=style[0], color=COLOURS[colour], markersize=5)
            axis.plot(shown["printed"], place, "|", color="0.2", markersize=12, markeredgewidth=1.4)
        axis.set_yticks(range(len(METHODS)), [""] * len(METHODS))
        axis.invert_yaxis()
        axis.set(xlabel="accuracy, %", title=row)
    axes[0, 0].set_yticks(range(len(METHODS)), [NAMES[method][0] for method in METHODS])
    return figure
