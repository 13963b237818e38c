"""Figures of the image experiments on glyphs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, new_figure, ticks_at
from privrep.run.settings import PlotSettings
from privrep.studies.images.analysis import CHANGES, METHODS, TUNED

NAMES = {
    "centaur": ("CENTAUR", "o-", 0),
    "ppsgd": ("PPSGD", "s-", 2),
    "pmtl": ("PMTL", "v-", 4),
    "fedavg": ("DP-FedAvg", "^-", 3),
    "stand_alone": ("alone", "D-", 7),
}
"""Method -> label, style, colour."""


def bars(points: pd.DataFrame | pd.Series) -> list:
    """Lengths of the bars of points, to both sides."""
    both = [points["accuracy"] - points["low"], points["high"] - points["accuracy"]]
    return both if isinstance(points, pd.DataFrame) else [[one] for one in both]


def draw_table(axis: Axes, points: pd.DataFrame) -> None:
    """Measured beside printed, method by method."""
    sizes = sorted(points["users"].unique())
    for shift, users in zip((0.0, 0.28), sizes, strict=False):
        part = points[points["users"] == users].set_index("method")
        for place, method in enumerate(METHODS):
            row, (_, style, colour) = part.loc[method], NAMES[method]
            at = place + shift
            axis.errorbar(
                row["accuracy"], at, xerr=bars(row), fmt=style[0], color=COLOURS[colour], markersize=5, elinewidth=1
            )
            axis.plot(row["printed"], at, "|", color="0.2", markersize=12, markeredgewidth=1.4)
    axis.set_yticks(range(len(METHODS)), [NAMES[method][0] for method in METHODS])
    axis.invert_yaxis()
    title = " and ".join(f"{int(users)}" for users in sizes)
    axis.set(xlabel="test accuracy, %", title=f"n = {title}; upright: Table 1")


def draw_way(axis: Axes, points: pd.DataFrame, level: float) -> None:
    """Accuracy against epsilon spent."""
    for method, part in points.groupby("method", sort=False):
        label, style, colour = NAMES[method]
        axis.plot(part["epsilon"], part["accuracy"], style, color=COLOURS[colour], markersize=4, label=label)
    axis.axhline(level, color="0.45", linewidth=0.9, linestyle=":")
    axis.annotate("alone", (points["epsilon"].min(), level), xytext=(0, 3), **NOTE)
    axis.set(xlabel="ε spent", ylabel="test accuracy, %", title="During training")
    axis.legend(loc="lower right")


def draw_image_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Table 1 and Figure 3."""
    figure, axes = new_figure(8.6, 3.5, ncols=2)
    rows = numbers[numbers["panel"] == "table"]
    draw_table(axes[0], rows)
    alone = rows[(rows["method"] == "stand_alone") & (rows["users"] == rows["users"].min())]
    draw_way(axes[1], numbers[numbers["panel"] == "way"], alone["accuracy"].iloc[0])
    return figure


def draw_image_epsilon(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Figure 1."""
    figure, axis = new_figure(6.4, 3.9)
    sweep = numbers[numbers["panel"] == "added or removed"]
    end = 2 * sweep["epsilon"].max()
    for method, part in sweep.groupby("method", sort=False):
        label, style, colour = NAMES[method]
        axis.errorbar(
            part["epsilon"],
            part["accuracy"],
            bars(part),
            fmt=style,
            color=COLOURS[colour],
            markersize=4.5,
            label=label,
            elinewidth=0.8,
        )
        other = numbers[(numbers["method"] == method) & (numbers["panel"] == "replaced")]
        axis.plot(
            other["epsilon"], other["accuracy"], style[0], color=COLOURS[colour], markerfacecolor="white", markersize=6
        )
        quiet = numbers[(numbers["method"] == method) & (numbers["panel"] == "no noise")]
        axis.errorbar(
            quiet["epsilon"],
            quiet["accuracy"],
            bars(quiet),
            fmt=style[0],
            color=COLOURS[colour],
            markersize=4.5,
            elinewidth=0.8,
        )
    level = numbers[numbers["panel"] == "alone"].iloc[0]
    axis.axhspan(level["low"], level["high"], color="0.5", alpha=0.2, linewidth=0)
    axis.axhline(level["accuracy"], color="0.45", linewidth=0.9, linestyle=":")
    axis.annotate("alone", (sweep["epsilon"].min(), level["accuracy"]), xytext=(0, 5), **NOTE)
    epsilons = sorted(sweep["epsilon"].unique())
    axis.set_xscale("log")
    axis.set_xticks([*epsilons, end], [*(f"{e:g}" for e in epsilons), "no noise"])
    axis.minorticks_off()
    axis.set(xlabel="ε", ylabel="test accuracy, %")
    axis.legend(loc="center right")
    return figure


def draw_image_clips(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Table 2, and Table 3 with the other changes."""
    clips = numbers[numbers["panel"] == "clips"]
    epsilons = sorted(clips["epsilon"].unique())
    figure, axes = new_figure(10.4, 3.6, ncols=len(epsilons) + 1, width_ratios=(*(2 for _ in epsilons), 3.6))
    low, high = clips["accuracy"].min() - 2, clips["accuracy"].max() + 2
    for axis, epsilon in zip(axes, epsilons, strict=False):
        for method, part in clips[clips["epsilon"] == epsilon].groupby("method", sort=False):
            label, style, colour = NAMES[method]
            part = part.sort_values("clip")
            axis.plot(
                part["clip"], part["accuracy"], style, color=COLOURS[colour], markerfacecolor="white", markersize=5
            )
            best = part[part["chosen"] == 1]
            axis.plot(best["clip"], best["accuracy"], style[0], color=COLOURS[colour], markersize=6, label=label)
        axis.set_xscale("log")
        ticks_at(axis, sorted(clips["clip"].unique()))
        axis.set(xlabel="clip", ylim=(low, high), title=f"ε = {epsilon:g}")
    axes[0].set(ylabel="test accuracy, %")
    axes[0].legend(loc="lower left")
    last = axes[-1]
    for place, series in enumerate(CHANGES):
        for shift, method in enumerate(TUNED):
            row = numbers[(numbers["panel"] == series) & (numbers["method"] == method)]
            label, style, colour = NAMES[method]
            last.errorbar(
                row["accuracy"],
                [place + 0.2 * (shift - 1)] * len(row),
                xerr=bars(row),
                fmt=style[0],
                color=COLOURS[colour],
                markersize=4.5,
                elinewidth=0.9,
            )
    last.axvline(0, color="0.45", linewidth=0.9, linestyle=":")
    last.set_yticks(range(len(CHANGES)), list(CHANGES.values()))
    last.invert_yaxis()
    last.set(xlabel="points gained", title="One thing changed")
    return figure


def draw_image_updates(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Remark 3.1 on a network."""
    figure, axes = new_figure(9.4, 3.2, ncols=3)
    titles = {
        "length": "median update over the clip",
        "noise_over_mean": "noise over mean update",
        "directions": "directions",
    }
    methods = [method for method in NAMES if method in set(numbers["method"])]
    for axis, (column, title) in zip(axes, titles.items(), strict=True):
        for place, method in enumerate(methods):
            part = numbers[numbers["method"] == method].set_index("round")[column]
            colour = COLOURS[NAMES[method][2]]
            axis.plot([part["first"], part["last"]], [place, place], color=colour, linewidth=1)
            axis.plot(part["first"], place, "o", color=colour, markerfacecolor="white", markersize=6)
            axis.plot(part["last"], place, "o", color=colour, markersize=6)
        axis.set_yticks(range(len(methods)), [""] * len(methods))
        axis.invert_yaxis()
        axis.set(xlabel=title, ylim=(len(methods) - 0.5, -0.5))
    cut = numbers.drop_duplicates("method").set_index("method")["cut"]
    axes[0].set_yticks(range(len(methods)), [f"{NAMES[method][0]} ({cut[method]:.1%} cut)" for method in methods])
    axes[0].axvline(1, color="0.45", linewidth=0.9, linestyle=":")
    axes[0].set_title("Open: first round, filled: last")
    axes[0].set_xlim(0, None)
    axes[1].set_xlim(0, None)
    axes[2].set_xlim(0, None)
    return figure
