"""Figures of the study tradeoff: both papers' complete methods side by side."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from privrep.drawing.style import COLOURS, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits, fit_table
from privrep.evidence.measured import Measured
from privrep.evidence.scaling import Fit, fit_all
from privrep.privacy.accounting import gdp_epsilon
from privrep.run.settings import PlotSettings
from privrep.studies.accounting.analysis import SECTION6_DELTA, achieved_exactly
from privrep.studies.accounting_shen2023.analysis import DELTA, EPSILONS, ROUNDS, exact_mu
from privrep.studies.tradeoff.analysis import (
    CLIPS,
    CONDITIONS,
    METHODS,
    band,
    factors,
    pairs,
    plans,
    regions,
    with_predictions,
)

COLOUR = {"jain2021": COLOURS[3], "shen2023": COLOURS[0]}
SERIES = {
    "A dist2": ("jain2021", COLOURS[3]),
    "A-user dist2": ("jain2021, whole users clipped", COLOURS[1]),
    "B dist2": ("shen2023", COLOURS[0]),
    "B-random dist2": ("shen2023, random start", COLOURS[4]),
    "B-fixed dist2": ("shen2023, one clip for all d", COLOURS[2]),
}
FACTORS = {
    "chosen clips": ("A", "B", COLOURS[0]),
    "clips that cut nothing": ("A-uncut", "B-uncut", COLOURS[3]),
    "whole users clipped": ("A-user", "B", COLOURS[1]),
    "label noise 0.5": ("A-half", "B-half", COLOURS[2]),
    "label noise 1": ("A-noisy", "B-noisy", COLOURS[4]),
}
"""Factors drawn beside the band: label -> series of both methods, colour."""
BUDGET = {"epsilon dist2": "ε, dist2", "kappa distF": "κ, T ~ κ², distF"}
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
WIDEST = 1000
"""Largest dimension of the counts, which are arithmetic."""


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
        text = f"{label}: {one.slope:.2f}" + ("" if math.isnan(half) else f" ± {half:.2f}")
        axis.plot(ends, scale * np.exp(one.intercept) * ends**one.slope, color=colour, linewidth=1.4, label=text)
    axis.set(xscale="log", yscale="log", xlabel="d")
    values = fits[next(iter(names))].sweep.values
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)


def numbered(measures: list[Measured]) -> pd.DataFrame:
    """Measures whose names end in a dimension, as a table."""
    return pd.DataFrame(
        [(int(m.quantity.rsplit("= ", 1)[1]), m.measured, m.ci_low, m.ci_high) for m in measures],
        columns=["dim", "factor", "ci_low", "ci_high"],
    )


def exponents(fits: dict[str, Fit]) -> pd.DataFrame:
    """Exponent of d of both methods in each setting, with its interval and the law's slope on the same points."""
    rows = []
    for place, one in enumerate(CLIPS + CONDITIONS):
        for method, series in zip(METHODS.values(), (one.first, one.second), strict=True):
            if series:
                found = fits[f"{series} dist2"]
                out = found.sweep.too_few
                rows.append((place, one.label, method, found.slope, *found.interval, found.local, out))
    return pd.DataFrame(rows, columns=["row", "setting", "method", "exponent", "ci_low", "ci_high", "law", "left out"])


def draw_settings(cells: pd.DataFrame, fits: dict[str, Fit], limit: float) -> tuple[Figure, pd.DataFrame]:
    """Exponents of d by setting, and the factor between the methods against d as a band over clips."""
    figure, axes = new_figure(9.4, 4.2, ncols=2, width_ratios=(5, 4))
    table = exponents(fits)
    axis = axes[0]
    for value in (1, 1.5):
        axis.axvline(value, color="0.6", linestyle="--", linewidth=1)
    for method, shift in (("jain2021", -0.13), ("shen2023", 0.13)):
        part = table[(table["method"] == method) & table["exponent"].notna()]
        ends = [part["exponent"] - part["ci_low"], part["ci_high"] - part["exponent"]]
        style = {"fmt": "o", "markersize": 5, "color": COLOUR[method], "elinewidth": 1.2}
        axis.errorbar(part["exponent"], part["row"] + shift, xerr=ends, label=method, **style)
        axis.plot(part["law"], part["row"] + shift, "|", color="0.1", markersize=9, label="_")
    axis.plot([], [], "|", color="0.1", markersize=9, label="law on the same grid")
    labels = [one.label.replace("kappa", "κ").replace("epsilon", "ε") for one in CLIPS + CONDITIONS]
    axis.set_yticks(range(len(labels)), labels)
    axis.axhline(len(CLIPS) - 0.5, color="0.85", linewidth=0.8)
    axis.invert_yaxis()
    axis.set_xlabel("exponent of d")
    axis.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.45, 1.13), ncols=3)
    clips = pairs(cells, limit)
    ends = band(clips)
    axis = axes[1]
    axis.fill_between(ends["dim"], ends["min"], ends["max"], color="0.88", label="all pairs of clips")
    parts = [table.assign(panel="exponent"), clips.assign(panel="pair of clips"), ends.assign(panel="band")]
    for label, (series, other, colour) in FACTORS.items():
        drawn = numbered(factors(cells, series, other, label))
        arms = [drawn["factor"] - drawn["ci_low"], drawn["ci_high"] - drawn["factor"]]
        width = 2 if label == "chosen clips" else 1.1
        axis.errorbar(
            drawn["dim"], drawn["factor"], arms, fmt="o-", color=colour, markersize=4, linewidth=width, label=label
        )
        parts.append(drawn.assign(panel="factor", setting=label))
    axis.axhline(1, color="0.6", linestyle="--", linewidth=1)
    axis.set(xscale="log", yscale="log", xlabel="d", ylabel="error of jain2021 over shen2023")
    ticks = sorted({*clips["dim"], *parts[-1]["dim"]})
    axis.set_xticks(ticks, [f"{tick}" for tick in ticks])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)
    axis.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=2)
    return figure, pd.concat(parts, ignore_index=True)


def spent() -> pd.DataFrame:
    """Epsilon of the printed noise when a user is replaced, by exact accounting, at each epsilon of shen2023's Figure 1: Lemma 4.3 of jain2021 and
    the rounds of Theorem 5.2 of shen2023."""
    return pd.DataFrame(
        {
            "stated": EPSILONS,
            "jain2021": [achieved_exactly("A-L4.3", epsilon, SECTION6_DELTA) for epsilon in EPSILONS],
            "shen2023": [gdp_epsilon(exact_mu(ROUNDS, epsilon, DELTA), DELTA) for epsilon in EPSILONS],
        }
    )


def draw_promise(fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """What both papers promise, dashed, and what was measured: the error against d, and the epsilon spent against the one that is stated."""
    figure, axes = new_figure(7.4, 3.3, ncols=2)
    axis = axes[0]
    for name, (paper, power) in PROMISES.items():
        sweep = fits[name].sweep
        means, (low, high) = sweep.means(), sweep.point_intervals()
        style = {"fmt": "o", "markersize": 5, "color": COLOUR[paper], "label": paper}
        axis.errorbar(sweep.values, means, [means - low, high - means], **style)
        # Through the middle of the points, so that the slopes are compared.
        middle = np.exp(np.mean(np.log(means[sweep.used]) - power * np.log(sweep.values[sweep.used])))
        axis.plot(sweep.values, middle * sweep.values**power, "--", color=COLOUR[paper], linewidth=1.2)
        axis.annotate(f"promised: $d^{{{power:g}}}$", (sweep.values[1], middle * sweep.values[1] ** power), **PROMISE)
    axis.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="error of the subspace", title="Rate")
    dims = sorted({value for name in PROMISES for value in fits[name].sweep.values})
    axis.set_xticks(dims, [f"{value:g}" for value in dims])
    axis.minorticks_off()
    axis.legend(loc="upper left")
    numbers, axis = spent(), axes[1]
    axis.plot(EPSILONS, EPSILONS, "--", color="0.35", linewidth=1.2)
    axis.annotate("promised", (EPSILONS[2], EPSILONS[2]), **PROMISE)
    for paper, what in (("jain2021", "Lemma 4.3"), ("shen2023", "Theorem 5.2, rounds")):
        axis.plot(numbers["stated"], numbers[paper], "o-", color=COLOUR[paper], markersize=5, label=f"{paper}, {what}")
    axis.set(xscale="log", yscale="log", xlabel="ε stated", ylabel="ε spent, a user replaced", title="Privacy")
    for one in (axis.xaxis, axis.yaxis):
        one.set_ticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axis.minorticks_off()
    axis.legend(loc="lower right")
    return figure, pd.concat([fit_table(fits, PROMISES), numbers], ignore_index=True)


def draw_exponents(cells: pd.DataFrame, fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """Error times epsilon and n against d."""
    first = cells[cells["epsilon"].notna()].groupby("series")[["epsilon", "users"]].first()
    scales = {name: float(first.loc[fits[name].sweep.spec.series].prod()) for name in SERIES}
    figure, axis = new_figure(5.2, 4.2)
    lines(axis, fits, SERIES, scales)
    axis.set_ylabel("dist2 · ε · n")
    axis.legend(fontsize=7.5, loc="upper left")
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom, top * 10)  # room for the legend
    numbers = fit_table(fits, SERIES)
    numbers["times epsilon n"] = numbers["error"] * numbers["fit"].map(scales)
    return figure, numbers


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
    rank = int(cells.loc[cells["series"] == "B-uncut", "rank"].iloc[0])
    names = {"A": "jain2021", "B": "shen2023", "B from a random start": "shen2023, random start"}
    numbers = pd.DataFrame({"dim": dims})
    figure, axes = new_figure(7.6, 3.3, ncols=2)
    for axis, count in zip(axes, ("numbers_sent", "multiplications"), strict=True):
        ylabel = count.replace("_", " ")
        for (who, one), colour in zip(plans(cells).items(), (COLOURS[3], COLOURS[0], COLOURS[4]), strict=True):
            numbers[f"{ylabel}, {names[who]}"] = getattr(one, count)(dims, rank)
            axis.plot(dims, numbers[f"{ylabel}, {names[who]}"], color=colour, label=names[who])
        axis.set(xscale="log", yscale="log", xlabel="d", ylabel=f"{ylabel} per user")
        axis.set_xticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1000"])
        axis.minorticks_off()
    axes[0].legend()
    return figure, numbers


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits = fit_all(study, cells)
    return {
        "comparison/promise": draw_promise(fits),
        "comparison/settings": draw_settings(cells, fits, study.window.noise_ratio),
        "comparison/d_exponent": draw_exponents(cells, fits),
        "comparison/budget": draw_fits(fits, BUDGET, study.claimed, "error"),
        "comparison/users_needed": draw_users(fits),
        "comparison/regions": draw_regions(cells),
        "comparison/cost": draw_cost(cells),
    }
