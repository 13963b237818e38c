# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study tradeoff: both papers' complete methods side by side."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from privrep.figures.sweeps import claimed_exponents, draw_fits, fit_table
from privrep.measure import Measure
from privrep.plotting import COLOURS, few_ticks, new_figure, plain_ticks
from privrep.scaling import Fit, fit_all
from privrep.studies.tradeoff import (
    ASKED,
    STUDY,
    continued,
    factors,
    plans,
    regions,
    with_predictions,
)

SERIES = {
    "A dist2": ("jain2021", COLOURS[3]),
    "B dist2": ("shen2023", COLOURS[0]),
    "B fixed dist2": ("shen2023, one clip for all d", COLOURS[2]),
    "B random dist2": ("shen2023, random start", COLOURS[4]),
}
BUDGET = {"epsilon dist2": "ε, dist2", "kappa distF": "κ, T = 24 κ², distF"}
USERS = {"A users": ("jain2021", COLOURS[3]), "B users": ("shen2023", COLOURS[0])}
KINDS = {"neither": "0.6", "A": COLOURS[3], "B": COLOURS[0], "both": COLOURS[2]}
WIDEST = 1000


def lines(axis: Axes, fits: dict[str, Fit], names: dict[str, tuple[str, str]], scales: dict[str, float]) -> None:
    """Sweeps in d, each times its scale, on one pair of logarithmic axes, with fitted exponents in the legend; points left out are hollow."""
    for name, (label, colour) in names.items():
        one, scale = fits[name], scales.get(name, 1.0)
        sweep, (low, high) = one.sweep, one.sweep.point_intervals()
        means = sweep.means()
        for value, mean, bottom, top, used in zip(sweep.values, means, low, high, sweep.used, strict=True):
            ends = [[scale * (mean - bottom)], [scale * (top - mean)]]
            face = colour if used else "white"
            axis.errorbar(value, scale * mean, ends, fmt="o", color=colour, markersize=5, markerfacecolor=face)
        if math.isnan(one.slope):
            axis.plot([], [], "o", color=colour, markersize=5, label=label)
            continue
        ends = np.array([sweep.values.min(), sweep.values.max()])
        half = (one.interval[1] - one.interval[0]) / 2
        text = f"{label}: {one.slope:.2f} ± {half:.2f}"
        axis.plot(ends, scale * np.exp(one.intercept) * ends**one.slope, color=colour, linewidth=1.4, label=text)
    axis.set(xscale="log", yscale="log", xlabel="d")
    values = fits[next(iter(names))].sweep.values
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)


def numbered(measures: list[Measure]) -> pd.DataFrame:
    """Measures whose names end in a dimension, as a table."""
    return pd.DataFrame(
        [(int(m.quantity.split("= ")[1]), m.measured, m.ci_low, m.ci_high) for m in measures if "= " in m.quantity],
        columns=["dim", "factor", "ci_low", "ci_high"],
    )


def draw_exponents(cells: pd.DataFrame, fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """Error times epsilon and n against d, and the factor between the methods, continued beyond what was run."""
    first = cells.groupby("series")[["epsilon", "users"]].first()
    scales = {name: float(first.loc[fits[name].sweep.spec.series].prod()) for name in SERIES}
    figure, axes = new_figure(8.2, 3.9, ncols=2, width_ratios=(5, 4))
    lines(axes[0], fits, SERIES, scales)
    axes[0].set_ylabel("dist2 · ε · n")
    axes[0].legend(fontsize=7.5, loc="upper left")
    bottom, top = axes[0].get_ylim()
    axes[0].set_ylim(bottom, top * 8)  # room for the legend
    measured = numbered(factors(cells, "A", "B", "A over B"))
    further = numbered(continued(cells))
    axis = axes[1]
    for table, colour, face in ((measured, COLOURS[0], COLOURS[0]), (further, "0.35", "white")):
        ends = [table["factor"] - table["ci_low"], table["ci_high"] - table["factor"]]
        axis.errorbar(table["dim"], table["factor"], ends, fmt="o", color=colour, markerfacecolor=face, markersize=5)
    for row in further.itertuples():
        place = {"textcoords": "offset points", "xytext": (-6, 8), "ha": "right", "fontsize": 8.5, "color": "0.35"}
        axis.annotate(f"{row.factor:.0f}×", (row.dim, row.factor), **place)
    slope, height = np.polyfit(np.log(further["dim"]), np.log(further["factor"]), 1)
    dims = np.array([measured["dim"].min(), WIDEST])
    axis.plot(dims, np.exp(height) * dims**slope, color="0.35", linestyle=":", linewidth=1.2)
    axis.set(xscale="log", yscale="log", xlabel="d", ylabel="error of jain2021 over shen2023")
    ticks = [*measured["dim"], *[dim for dim in ASKED if dim > measured["dim"].max()]]
    axis.set_xticks(ticks, [f"{tick}" for tick in ticks])
    axis.minorticks_off()
    few_ticks(axis.yaxis)
    numbers = fit_table(fits, SERIES)
    numbers["times epsilon n"] = numbers["error"] * numbers["fit"].map(scales)
    extra = pd.concat([measured.assign(fit="A over B, measured"), further.assign(fit="A over B, continued")])
    extra = extra.rename(columns={"dim": "value", "factor": "error"}).assign(parameter="dim", response="factor")
    return figure, pd.concat([numbers, extra], ignore_index=True)


def draw_users(fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """Smallest number of users that reaches the target."""
    figure, axis = new_figure(4.8, 3.5)
    lines(axis, fits, USERS, {})
    axis.set_ylabel("users needed")
    axis.legend()
    return figure, fit_table(fits, USERS)


def draw_regions(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Which method works, over n and epsilon; each field shows both risks over k."""
    numbers = regions(cells)
    dims = sorted(numbers["dim"].unique())
    figure, axes = new_figure(4.2 * len(dims) + 0.4, 3.7, ncols=len(dims), squeeze=False)
    order = list(KINDS)
    palette = ListedColormap([KINDS[kind] for kind in order])
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
    patches = [
        Patch(color=KINDS[kind], alpha=0.55, label=names[kind]) for kind in order if (numbers["works"] == kind).any()
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure, numbers


def draw_cost(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """What one user sends and computes, against d."""
    dims = np.unique(np.geomspace(10, WIDEST, 60).round())
    names = {"A": "jain2021", "B": "shen2023", "B from a random start": "shen2023, random start"}
    numbers = pd.DataFrame({"dim": dims})
    figure, axes = new_figure(7.6, 3.3, ncols=2)
    for axis, count in zip(axes, ("numbers_sent", "multiplications"), strict=True):
        ylabel = count.replace("_", " ")
        for (who, one), colour in zip(plans(cells).items(), (COLOURS[3], COLOURS[0], COLOURS[4]), strict=True):
            numbers[f"{ylabel}, {names[who]}"] = getattr(one, count)(dims, 2)
            axis.plot(dims, numbers[f"{ylabel}, {names[who]}"], color=colour, label=names[who])
        axis.set(xscale="log", yscale="log", xlabel="d", ylabel=f"{ylabel} per user")
        axis.set_xticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1000"])
        axis.minorticks_off()
    axes[0].legend()
    return figure, numbers


def draw(cells: pd.DataFrame) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits = fit_all(STUDY, cells)
    return {
        "comparison/d_exponent": draw_exponents(cells, fits),
        "comparison/budget": draw_fits(fits, BUDGET, claimed_exponents("shen2023", STUDY), "error"),
        "comparison/users_needed": draw_users(fits),
        "comparison/regions": draw_regions(cells),
        "comparison/cost": draw_cost(cells),
    }
