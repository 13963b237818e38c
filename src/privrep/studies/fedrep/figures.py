"""Figures of the study fedrep (snedeker2025)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import MANY_DECADES, draw_fits
from privrep.evidence.scaling import Fit, fit_all
from privrep.run.settings import PlotSettings
from privrep.studies.fedrep.analysis import FACTORS, METHODS, Factor, factors, own_risks, risks, with_predictions

STYLES = {
    "fedrep-code": (0, "o", "private FedRep as in the code"),
    "fedrep-wide": (0, "s", "private FedRep, spectral start"),
    "fedrep": (9, "s", "private FedRep, tuned"),
    "altmin": (3, "^", "alternating minimisation"),
    "altmin-user": (1, "^", "the same, users clipped"),
    "centaur": (5, "P", "CENTAUR"),
    "unit-steps": (2, "D", "unit steps"),
}
"""Series -> number of its colour, mark and label."""
HOLLOW = ("fedrep-code",)
RATES = {"fedrep d": "d", "fedrep n": "n", "fedrep Delta": "Δ"}
LABELS = {"altmin": ("alternating minimisation", COLOURS[3]), "fedrep": ("private FedRep", COLOURS[0])}
"""First word of a fit's name -> label and colour."""
CLAIMED = 1
"""Exponent of d and of k in the factor."""


def own_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Median risks by series and epsilon, with their intervals."""
    rows = [
        (series, float(one.quantity.rsplit("= ", 1)[1]), one.measured, one.ci_low, one.ci_high)
        for series in METHODS
        for one in own_risks(cells, series)
        if one.quantity.startswith("median")
    ]
    return pd.DataFrame(rows, columns=["series", "epsilon", "risk", "ci_low", "ci_high"])


def draw_own(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Median risks of all methods against epsilon, and the floor."""
    figure, axis = new_figure(7.2, 4.2)
    table, floor = own_table(cells), float(risks(cells, "floor").median().iloc[0])
    for place, (series, part) in enumerate(table.groupby("series", sort=False)):
        number, mark, label = STYLES[series]
        colour = COLOURS[number]
        shift = 1.018 ** (place - len(METHODS) // 2)
        ends = [part["risk"] - part["ci_low"], part["ci_high"] - part["risk"]]
        fill = "white" if series in HOLLOW else colour
        axis.errorbar(
            part["epsilon"] * shift,
            part["risk"],
            ends,
            fmt=f"{mark}-",
            color=colour,
            markersize=5,
            markerfacecolor=fill,
            linewidth=1.2,
            elinewidth=1,
            label=label,
        )
        table.loc[part.index, "x"] = part["epsilon"] * shift
    axis.axhline(floor, color="0.5", linewidth=1.2)
    axis.set(xscale="log", yscale="log", xlabel="ε", ylabel="risk over that of predicting zero")
    values = table["epsilon"].unique()
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)
    figure.legend(loc="outside right center")
    return figure, table.assign(floor=floor)


def draw_pair(axis: Axes, pair: tuple[Fit, Fit]) -> pd.DataFrame:
    """The risks of both methods along one parameter, with fitted lines and laws."""
    rows = []
    for one in pair:
        sweep, (low, high) = one.sweep, one.sweep.point_intervals()
        label, colour = LABELS[sweep.spec.name.split()[0]]
        means = sweep.means()
        half = (one.interval[1] - one.interval[0]) / 2
        if not math.isnan(one.slope):
            ends = np.array([sweep.values.min(), sweep.values.max()])
            axis.plot(ends, np.exp(one.intercept) * ends**one.slope, color=colour, linewidth=1.3)
            label += f": {one.slope:.2f}" + ("" if math.isnan(half) else f" ± {half:.2f}")
        axis.errorbar(
            sweep.values, means, [means - low, high - means], fmt="o", color=colour, markersize=5, label=label
        )
        axis.plot(sweep.values, sweep.predicted, color="0.25", linestyle=":", linewidth=1.3)
        columns = {"value": sweep.values, "risk": means, "ci_low": low, "ci_high": high, "law": sweep.predicted}
        rows.append(pd.DataFrame(columns).assign(shown=sweep.spec.name))
    axis.legend(fontsize=7.5)
    return pd.concat(rows, ignore_index=True)


def draw_ratio(axis: Axes, name: str, factor: Factor) -> pd.DataFrame:
    """The factor along one parameter, with the law and the claimed exponent."""
    points = factor.points(name)
    values, measured = factor.above.values, np.array([one.measured for one in points])
    low, high = (np.array([getattr(one, end) for one in points]) for end in ("ci_low", "ci_high"))
    axis.errorbar(values, measured, [measured - low, high - measured], fmt="o", color=COLOURS[2], markersize=5)
    axis.plot(values, factor.law, color="0.25", linestyle=":", linewidth=1.3)
    middle, height = (np.exp(np.log(array).mean()) for array in (values, measured))
    ends = np.array([values.min(), values.max()])
    axis.plot(ends, height * (ends / middle) ** CLAIMED, color="0.5", linestyle="--", linewidth=1.2)
    found = factor.exponent(name)
    half = (found.ci_high - found.ci_low) / 2
    if not math.isnan(found.measured):
        title = f"exponent {found.measured:.2f}" + ("" if math.isnan(half) else f" ± {half:.2f}")
        axis.set_title(f"{title}, claimed {CLAIMED:g}", fontsize=8.5)
    columns = {"value": values, "risk": measured, "ci_low": low, "ci_high": high, "law": factor.law}
    return pd.DataFrame(columns).assign(shown=f"factor, {name}")


def draw_factor(fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """Risks of both methods, and their ratio, along d and along k."""
    figure, axes = new_figure(7.4, 5.2, nrows=2, ncols=len(FACTORS), squeeze=False)
    rows = []
    for column, (name, factor) in zip(axes.T, factors(fits).items(), strict=True):
        rows.append(draw_pair(column[0], tuple(fits[fit] for fit in FACTORS[name])))
        rows.append(draw_ratio(column[1], name, factor))
        for axis in column:
            axis.set(xscale="log", yscale="log", xlabel=name)
            axis.set_xticks(factor.above.values, [f"{value:g}" for value in factor.above.values])
            axis.minorticks_off()
            bottom, top = axis.get_ylim()
            (few_ticks if top < MANY_DECADES * bottom else plain_ticks)(axis.yaxis)
    axes[0, 0].set_ylabel("excess risk")
    axes[1, 0].set_ylabel("alternating minimisation\nover private FedRep")
    return figure, pd.concat(rows, ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits = fit_all(study, cells)
    return {
        "snedeker2025/own_problem": draw_own(cells),
        "snedeker2025/factor": draw_factor(fits),
        "snedeker2025/rates": draw_fits(fits, RATES, study.claimed, "excess risk"),
    }
