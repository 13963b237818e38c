"""Figure of the study clip_choice: error of both methods against their clips, in the public simulation."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.plotting import COLOURS, new_figure, plain_ticks
from privrep.studies.clip_choice import CHOICES, CONDITIONS, is_chosen, settings

METHODS = {
    "A": ("jain2021, samples clipped", COLOURS[3]),
    "A-user": ("jain2021, whole users clipped", COLOURS[1]),
    "B": ("shen2023", COLOURS[0]),
    "B-random": ("shen2023, random start", COLOURS[4]),
}
STYLES = {"noisy": "-", "rank": "--", "condition": ":", "tight": "-."}
WORDS = {"noisy": "label noise 1, ε = 2", "rank": "k = 4", "condition": "κ = 3", "tight": "ε = 1"}
CIRCLE = {"marker": "o", "linestyle": "", "markersize": 10, "fillstyle": "none"}
OWN = 1 / 16
"""Where the clip 1e-4, which has no size in typical units, is drawn."""


def draw(cells: pd.DataFrame) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    table = settings(cells)
    table = table.assign(drawn=table["size"].fillna(OWN), chosen=False)
    figure, axes = new_figure(9.6, 4.2, ncols=2, width_ratios=(5, 3), sharey=True)
    axis = axes[0]
    for series, (label, colour) in METHODS.items():
        part = table[table["series"].isin(CHOICES[series])]
        shares = sorted(part["init_share"].unique())
        for share, line in zip(shares, ("-", "--", ":"), strict=False):
            here = part[(part["init_share"] == share) & part["size"].notna()].sort_values("size")
            name = label if series == "B-random" else f"{label}, {share:g} for the start"
            axis.plot(here["size"], here["dist2"], line, color=colour, linewidth=1.2, label=name)
        axis.plot(part["drawn"], part["dist2"], "o", color=colour, markersize=4)
        picked = is_chosen(table, series)
        table.loc[picked, "chosen"] = True
        axis.plot(table.loc[picked, "drawn"], table.loc[picked, "dist2"], **CIRCLE, color=colour)
    for series in CONDITIONS:
        part = table[table["series"] == series].sort_values("size")
        method, name = series.split("-")
        axes[1].plot(part["size"], part["dist2"], STYLES[name], color=METHODS[method][1], linewidth=1.2)
        picked = is_chosen(table, series)
        table.loc[picked, "chosen"] = True
        axes[1].plot(table.loc[picked, "drawn"], table.loc[picked, "dist2"], **CIRCLE, color=METHODS[method][1])
    for name, style in STYLES.items():
        axes[1].plot([], [], style, color="0.25", label=WORDS[name])
    for axis in axes:
        axis.set(xscale="log", yscale="log", xlabel="clip over the typical size")
        ticks = sorted(table["drawn"].unique()) if axis is axes[0] else sorted(table["size"].dropna().unique())
        axis.set_xticks(ticks, ["1e-4" if tick == OWN else f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    axes[0].set_ylabel("dist2, geometric mean")
    plain_ticks(axes[0].yaxis)
    return {"comparison/clip_choice": (figure, table)}
