"""Figures of the study risk (jain2021, Theorems 1.1 and 4.2)."""

from typing import Any

from replication.drawing import ENDS, METHODS, DataFrame, Picture, PlotSettings, around, distinct, graded, sweep_panel
from replication.studies.risk.analysis import LEARNED


def draw_risk_heads(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the measured over the exact risk and over eq. (22) against the samples per user."""
    axes = figure.panels(7.4, 3.8, ncols=2)
    looks = graded(numbers["start_sine"], "sine {}", dash="")
    for axis, column, title in zip(axes, ("exact", "printed"), ("Over the law F6", "Over eq. (22)"), strict=True):
        relative = numbers.assign(relative=numbers["measured"] / numbers[column])
        axis.groups(relative, "samples", "relative", "start_sine", looks)
        axis.level(1, "equal")
        axis.label("$m$", "measured risk, relative", title, "xy", numbers["samples"])
    axes[0].set_ylim(0.9, 1.1)


def draw_risk_known_heads(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the one regression of Remark 1 beside the last round of alternation."""
    axes = figure.panels(7.4, 3.8, ncols=2)
    looks: dict[Any, Any] = distinct(("known", "fitted"), "heads {}")
    for name, style in looks.items():
        means = numbers.groupby("users")[name].agg(["mean", "sem"]).reset_index()
        axes[0].series(around(means, "mean", 2 * means["sem"]), "users", "mean", style, ends=ENDS)
    axes[0].label("$n$", "risk by privacy", "One regression or alternation", "xy", numbers["users"])
    sweep_panel(axes[1], numbers[numbers["fit"] == "known k"], study.claimed.get("known k"), "$k$, heads known")


def draw_risk_premise(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the share of the zero model's risk against n over the premise of Theorem 1.1."""
    axis = figure.panel(5.6, 4.2)
    looks = graded(numbers["rank"], "$k$ = {}")
    axis.groups(numbers, "premise", "share", "rank", looks, ends=ENDS, band=True)
    axis.level(1, "premise", along="y", colour=METHODS["altmin"].colour)
    axis.level(1, "zero model", dash="-")
    axis.level(LEARNED, "counts as learnt", dash=":")
    axis.label(r"$n / ((d k)^{1.5} \Delta)$", "risk over that of the zero model", log="xy")
