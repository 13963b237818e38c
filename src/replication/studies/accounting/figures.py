"""Figure of the study accounting (jain2021, privacy statements)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, new_figure, plain_ticks, power_of_ten
from replication.run.settings import PlotSettings
from replication.studies.accounting.analysis import NAMES, SECTION6_DELTA


def draw_privacy_accounting(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the epsilon that each statement achieves over the one that it claims."""
    least, most = numbers["epsilon"].min(), numbers["epsilon"].max()
    figure, axis = new_figure(6.4, 4.0)
    log_term = math.log(1 / SECTION6_DELTA)
    axis.axvspan(log_term, most, color="0.96", zorder=0)
    axis.axvline(log_term, color="0.45", linewidth=0.8, linestyle=":")
    axis.annotate("stated up to ε = ln(1/δ)", (log_term, 0.27), xytext=(-5, 0), ha="right", **NOTE)
    axis.axhline(1, color="0.45", linewidth=0.8)
    axis.annotate("claimed", (least, 1), xytext=(2, 4), **NOTE)
    chains, exact = [], []
    for colour, (claim, part) in zip(COLOURS, numbers.groupby("statement", sort=False), strict=False):
        style = {"color": colour, "linewidth": 1.6}
        chains += axis.plot(part["epsilon"], part["printed chain"], label=NAMES[claim], **style)
        exact += axis.plot(part["epsilon"], part["exact"], linestyle="--", label=NAMES[claim], **style)
    axis.set(
        xscale="log",
        xlim=(least, most),
        xlabel=f"claimed ε (δ = {power_of_ten(SECTION6_DELTA)})",
        ylabel="achieved over claimed ε",
        ylim=(0.25, 1.08),
    )
    plain_ticks(axis.xaxis)
    place = {"loc": "upper left", "alignment": "left", "title_fontsize": 8.5}
    axis.add_artist(axis.legend(handles=chains, title="printed chain", bbox_to_anchor=(0.01, 0.9), **place))
    axis.legend(handles=exact, title="exact accounting", bbox_to_anchor=(0.33, 0.9), **place)
    return figure
