"""Figures of the study tradeoff: both papers' complete methods side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from replication.drawing.style import COLOURS, new_figure, plain_ticks, ticks_at, with_bars
from replication.drawing.sweeps import draw_point, exponent_text, power_line
from replication.run.settings import PlotSettings
from replication.studies.tradeoff.analysis import CLIPS, CONDITIONS

COLOUR = {"jain2021": COLOURS[3], "shen2023": COLOURS[0]}
SERIES = {
    "A dist2": ("jain2021", COLOURS[3]),
    "A-user dist2": ("jain2021, user-level clipping", COLOURS[1]),
    "B dist2": ("shen2023", COLOURS[0]),
    "B-random dist2": ("shen2023, random start", COLOURS[4]),
    "B-fixed dist2": ("shen2023, one clip for all d", COLOURS[2]),
}
FACTORS = {
    "chosen clips": COLOURS[0],
    "clips that cut nothing": COLOURS[3],
    "whole users clipped": COLOURS[1],
    "label noise 0.5": COLOURS[2],
    "label noise 1": COLOURS[4],
}
"""Factors drawn beside the band."""
USERS = {
    "A users": ("jain2021", COLOURS[3]),
    "B users": ("shen2023", COLOURS[0]),
    "A kept": ("jain2021, start kept", COLOURS[4]),
    "B kept": ("shen2023, start kept", COLOURS[1]),
}
PROMISES = {"A-uncut dist2": ("jain2021", 1.5), "B-uncut dist2": ("shen2023", 1.0)}
"""Sweeps in d of both methods at clips that cut nothing -> paper and the power of d that it states."""
KINDS = {"neither": "0.6", "A": COLOURS[3], "B": COLOURS[0], "both": COLOURS[2]}
PROMISE = {"textcoords": "offset points", "xytext": (7, -13), "fontsize": 8}
"""Where a promise is named: below its line."""


def lines(axis: Axes, numbers: pd.DataFrame, names: dict[str, tuple[str, str]]) -> None:
    """Draw sweeps in d, times epsilon n where given, with fitted exponents; points left out are hollow."""
    for name, (label, colour) in names.items():
        rows = numbers[numbers["fit"] == name]
        if "epsilon n" in rows:
            rows = rows.assign(**rows[["error", "ci_low", "ci_high"]].mul(rows["epsilon n"], axis=0))
        for _, point in rows.fillna({"left out": ""}).iterrows():
            draw_point(axis, point, colour)
        if text := exponent_text(rows):
            look = {"color": colour, "linewidth": 1.4, "label": f"{label}: {text}"}
            power_line(axis, rows, rows["exponent"].iloc[0], **look)
        else:
            axis.plot([], [], "o", color=colour, markersize=5, label=label)
    axis.set(xscale="log", yscale="log", xlabel="d")
    ticks_at(axis, numbers.loc[numbers["fit"] == next(iter(names)), "value"])
    plain_ticks(axis.yaxis)


def draw_settings(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw exponents of d by setting, and the factor between the methods against d as a band over clips."""
    figure, (left, right) = new_figure(9.4, 4.2, ncols=2, width_ratios=(5, 4))
    for value in (1, 1.5):
        left.axvline(value, color="0.6", linestyle="--", linewidth=1)
    for method, shift in (("jain2021", -0.13), ("shen2023", 0.13)):
        part = numbers[(numbers["method"] == method) & numbers["exponent"].notna()]
        ends = [part["exponent"] - part["ci_low"], part["ci_high"] - part["exponent"]]
        style = {"fmt": "o", "markersize": 5, "color": COLOUR[method], "elinewidth": 1.2, "label": method}
        left.errorbar(part["exponent"], part["row"] + shift, xerr=ends, **style)
        left.plot(part["law"], part["row"] + shift, "|", color="0.1", markersize=9, label="_")
    left.plot([], [], "|", color="0.1", markersize=9, label="law on the same grid")
    labels = [one.label.replace("kappa", "κ").replace("epsilon", "ε") for one in CLIPS + CONDITIONS]
    left.set_yticks(range(len(labels)), labels)
    left.axhline(len(CLIPS) - 0.5, color="0.85", linewidth=0.8)
    left.invert_yaxis()
    left.set_xlabel("exponent of d")
    left.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.45, 1.13), ncols=3)
    ends = numbers[numbers["panel"] == "band"]
    right.fill_between(ends["dim"], ends["min"], ends["max"], color="0.88", label="all pairs of clips")
    for label, colour in FACTORS.items():
        drawn = numbers[(numbers["panel"] == "factor") & (numbers["setting"] == label)]
        look = {"fmt": "o-", "color": colour, "markersize": 4, "label": label}
        with_bars(right, drawn, "dim", "factor", linewidth=2 if label == "chosen clips" else 1.1, **look)
    right.axhline(1, color="0.6", linestyle="--", linewidth=1)
    right.set(xscale="log", yscale="log", xlabel="d", ylabel="error of jain2021 over shen2023")
    ticks_at(right, np.unique(numbers["dim"].dropna()))
    plain_ticks(right.yaxis)
    right.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2)
    return figure


def draw_promise(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what both papers promise, dashed, and what was measured, of the error and of epsilon."""
    figure, (left, right) = new_figure(7.4, 3.3, ncols=2)
    for name, (paper, power) in PROMISES.items():
        rows = numbers[numbers["fit"] == name]
        values, means = rows["value"].to_numpy(), rows["error"].to_numpy()
        with_bars(left, rows, "value", "error", fmt="o", markersize=5, color=COLOUR[paper], label=paper)
        # Through the middle of the points, so that the slopes are compared.
        used = (rows["left out"].fillna("") == "").to_numpy()
        middle = np.exp(np.mean(np.log(means[used]) - power * np.log(values[used])))
        left.plot(values, middle * values**power, "--", color=COLOUR[paper], linewidth=1.2)
        left.annotate(f"promised: $d^{{{power:g}}}$", (values[1], middle * values[1] ** power), **PROMISE)
    left.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="error of the subspace", title="Rate")
    ticks_at(left, np.unique(numbers["value"].dropna()))
    left.legend(loc="upper left")
    spent = numbers[numbers["stated"].notna()]
    stated = spent["stated"].to_numpy()
    right.plot(stated, stated, "--", color="0.35", linewidth=1.2)
    right.annotate("promised", (stated[2], stated[2]), **PROMISE)
    for paper, what in (("jain2021", "Lemma 4.3"), ("shen2023", "Theorem 5.2, rounds")):
        right.plot(stated, spent[paper], "o-", color=COLOUR[paper], markersize=5, label=f"{paper}, {what}")
    right.set(xscale="log", yscale="log", xlabel="ε stated", ylabel="ε spent, a user replaced", title="Privacy")
    for one in (right.xaxis, right.yaxis):
        one.set_ticks(stated, [f"{epsilon:g}" for epsilon in stated])
    right.minorticks_off()
    right.legend(loc="lower right")
    return figure


def draw_d_exponent(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw error times epsilon and n against d."""
    figure, axis = new_figure(5.2, 4.2)
    lines(axis, numbers, SERIES)
    axis.set_ylabel("dist2 · ε · n")
    axis.legend(fontsize=7.5, loc="upper left")
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom, top * 10)  # room for the legend
    return figure


def draw_users_needed(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the smallest number of users that reaches the target."""
    figure, axis = new_figure(4.8, 3.5)
    lines(axis, numbers, USERS)
    axis.set_ylabel("users needed")
    axis.legend()
    return figure


def draw_regions(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw which method works over n and epsilon, with both risks over k in each field."""
    dims = sorted(numbers["dim"].unique())
    figure, axes = new_figure(4.2 * len(dims) + 0.4, 3.7, ncols=len(dims), squeeze=False)
    order, palette = list(KINDS), ListedColormap(list(KINDS.values()))
    for axis, dim in zip(axes[0], dims, strict=True):
        part = numbers[numbers["dim"] == dim]
        codes = part.assign(code=part["works"].map(order.index)).pivot(index="users", columns="epsilon", values="code")
        axis.pcolormesh(codes.to_numpy(), cmap=palette, vmin=-0.5, vmax=len(order) - 0.5, alpha=0.55, edgecolor="white")
        for row in part.itertuples():
            x, y = codes.columns.get_loc(row.epsilon) + 0.5, codes.index.get_loc(row.users) + 0.5
            axis.text(x, y, f"{row.A:.2g}\n{row.B:.2g}", ha="center", va="center", fontsize=7, color="0.1")
        axis.set_xticks(np.arange(codes.shape[1]) + 0.5, [f"{value:g}" for value in codes.columns])
        axis.set_yticks(np.arange(codes.shape[0]) + 0.5, [f"{value / 1000:g}k" for value in codes.index])
        axis.set(xlabel="ε", ylabel="n", title=f"d = {dim}")
        axis.grid(False)
    names = {"neither": "neither", "A": "jain2021 alone", "B": "shen2023 alone", "both": "both"}
    there = [kind for kind in order if (numbers["works"] == kind).any()]
    patches = [Patch(color=KINDS[kind], alpha=0.55, label=names[kind]) for kind in there]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure


def draw_cost(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what one user sends and computes, against d."""
    methods = {"jain2021": COLOURS[3], "shen2023": COLOURS[0], "shen2023, random start": COLOURS[4]}
    figure, axes = new_figure(7.6, 3.3, ncols=2)
    for axis, count in zip(axes, ("numbers sent", "multiplications"), strict=True):
        for method, colour in methods.items():
            axis.plot(numbers["dim"], numbers[f"{count}, {method}"], color=colour, label=method)
        axis.set(xscale="log", yscale="log", xlabel="d", ylabel=f"{count} per user")
        ticks_at(axis, [10, 30, 100, 300, 1000])
    axes[0].legend()
    return figure
