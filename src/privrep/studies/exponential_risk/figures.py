"""Figures of the study exponential_risk (jain2021, Theorem 5.2 and the comparison after it)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, few_ticks, new_figure
from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.run.settings import PlotSettings
from privrep.studies.exponential_risk.analysis import PLANE, WORKS, risks, with_predictions

CLIPS = {"d printed": "L of order √d ln(nm)", "d short": "L of order √(k ln nm)"}
OTHERS = {"n": "n", "epsilon": "Δ = 1/ε", "k printed": "k", "m": "m", "plain m": "m, label noise"}
CHAINS = ("mechanism", "proved", "as-printed", "smooth", "plane-chain")
"""Private in the limit alone."""
STYLES = {
    "mechanism": (0, "o", "exponential mechanism"),
    "plane-chain": (0, "o", "exponential mechanism"),
    "staged-B": (3, "s", "candidates of CENTAUR"),
    "plane-staged": (3, "s", "candidates of CENTAUR"),
    "altmin": (2, "^", "alternating minimisation"),
    "plane-altmin": (2, "^", "alternating minimisation"),
    "centaur": (5, "P", "CENTAUR"),
    "plane-centaur": (5, "P", "CENTAUR"),
    "random-start": (1, "P", "CENTAUR, random start"),
    "smooth": (4, "o", "pseudo-Huber loss"),
    "staged-A": (6, "s", "candidates of Algorithm 3"),
    "random": (7, "D", "random subspaces"),
    "proved": (1, "v", "β of the proof"),
    "as-printed": (8, "v", "β of the proof, printed clip"),
}
"""Series -> number of its colour, mark and label."""
PANELS = {
    "methods": ("mechanism", "staged-B", "altmin", "centaur", "random-start"),
    "ways to run the mechanism": ("mechanism", "smooth", "staged-A", "random", "proved", "as-printed"),
    "methods, larger k": PLANE,
}


def draw_risks(axis: Axes, table: pd.DataFrame) -> None:
    """Median risks of several methods against n."""
    for name in table:
        number, mark, label = STYLES[name]
        colour = COLOURS[number % len(COLOURS)]
        fill = "white" if name in CHAINS else colour
        part = table[name].dropna()
        axis.plot(
            part.index, part, f"{mark}-", color=colour, markersize=5, markerfacecolor=fill, linewidth=1.2, label=label
        )
    axis.axhline(WORKS, color="0.6", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="n")
    axis.set_xticks(table.index, [f"{users:g}" for users in table.index])
    axis.minorticks_off()
    few_ticks(axis.yaxis)


def draw_methods(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Risks of all methods at one epsilon, of other ways to run the mechanism, and for k = 2."""
    figure, axes = new_figure(7.9, 4.4, ncols=len(PANELS))
    labels, rows = {}, []
    for axis, (title, series) in zip(axes, PANELS.items(), strict=True):
        table = risks(cells, series)
        draw_risks(axis, table)
        axis.set(title=title)
        labels |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        rows.append(table.rename_axis(columns="series").stack().rename("risk").reset_index().assign(panel=title))
    axes[0].set(ylabel="risk over that of predicting zero")
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=3)
    return figure, pd.concat(rows, ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits = fit_all(study, cells)
    return {
        "comparison/exponential_methods": draw_methods(cells),
        "jain2021/exponential_clip": draw_fits(fits, CLIPS, study.claimed, "excess loss"),
        "jain2021/exponential_rates": draw_fits(fits, OTHERS, study.claimed, "excess loss"),
    }
