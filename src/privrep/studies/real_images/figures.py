"""The figure of the real image sets."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, new_figure
from privrep.run.settings import PlotSettings
from privrep.studies.images.analysis import METHODS, scores
from privrep.studies.images.figures import NAMES, bars, empty, point
from privrep.studies.real_images.analysis import MNIST, ROWS, missing, row_scores


def row_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Measured and printed accuracies of all rows that were run."""
    points = []
    for row, printed in ROWS.items():
        for method in METHODS if not missing(cells, row) else ():
            found = row_scores(cells, row, method)
            points.append(point(found, row=row, method=method, printed=printed[method]))
    for ending, series in MNIST.items():
        for method in METHODS if not missing(cells, "mnist") else ():
            found = scores(cells, "mnist-alone" if method == "stand_alone" else series, method)
            points.append(point(found, row=f"mnist{ending}", method=method, printed=math.nan))
    return pd.DataFrame(points)


def draw_rows(numbers: pd.DataFrame) -> Figure:
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


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """The figure of the study."""
    numbers = row_table(cells)
    return {"shen2023/real_images": (draw_rows(numbers), numbers) if len(numbers) else empty()}
