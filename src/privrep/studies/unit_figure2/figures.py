"""Figures of the study unit_figure2 (unit steps, a method of this project)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, few_ticks, new_figure, plain_ticks, power_of_ten
from privrep.evidence.intervals import BOOTSTRAP, bootstrap_interval
from privrep.run.settings import PlotSettings
from privrep.studies.unit_figure2.analysis import FLOORS, LADDER_EPSILON, RANKS, WITHOUT, Risks

CURVES = {
    "Algorithm 1, Figure 2's deciding reading": (("deciding",), "o--", 0),
    "Algorithm 1, clip of the whole user": (("altmin",), "s-", 2),
    "private FedRep": (("fedrep",), "D-", 4),
    "CENTAUR": (("centaur",), "P-", 5),
    "unit steps": (("unit", "unit-more"), "o-", 3),
    "one step at the truth": (("oracle", "oracle-more"), "x", 7),
}
"""Label -> (series, style, colour)."""
STEPS = {
    "jain2021, printed noise": "deciding",
    "exact accounting, A and b apart": "ladder-apart",
    "A and b jointly": "ladder-joint",
    "noise averaged with its transpose": "ladder-averaged",
    "clip of the whole user": "ladder-user",
    "start charged, clip of the data's size": "ladder-start",
    "all samples in each step": "ladder-samples",
    "all pairs in the start": "ladder-pairs",
    "gradient in place of the Gram": "fedrep",
    "clip that follows the known error": "ladder-annealed",
    "unit steps": "unit-more",
    "shen2023, printed clip": "ladder-printed",
    "clip of the data's size": "ladder-data",
    "clip, rounds, step and start tuned": "centaur",
    "unit steps ": "unit-more",
}
"""The ladders from jain2021 and from shen2023 down to unit steps."""
DEPARTURES = {
    "Student features": "tail",
    "features of several scales": "correlated",
    "unequal numbers of samples": "unequal",
    "hostile users": "hostile",
    "noise guess too high": "noise-high",
    "noise guess too low": "noise-low",
    "scale guess too high": "scale-high",
    "scale guess too low": "scale-low",
    "heads of several scales": "heads-3",
    "heads of more scales": "heads-5",
}


def point(label: str, x: float, repetitions: int, statistic: Callable[[np.ndarray], float]) -> dict:
    """A number with its interval over repetitions. statistic : picked repetitions -> number."""
    low, high = bootstrap_interval(statistic, repetitions, f"{label} {x}", BOOTSTRAP)
    value = statistic(np.arange(repetitions))
    return {"curve": label, "x": x, "y": value, "ci_low": low, "ci_high": high, "seeds": repetitions}


def curve(risks: Risks, label: str, series: tuple[str, ...], unit: float = 1.0) -> pd.DataFrame:
    """Medians of series over a unit against epsilon."""
    rows = [
        point(
            label, eps, risks.repetitions(name), lambda pick, name=name, eps=eps: risks.median(pick, name, eps) / unit
        )
        for name in series
        for eps in risks.epsilons(name)
    ]
    return pd.DataFrame(rows).sort_values("x")


def draw_line(axis: Axes, table: pd.DataFrame, style: str, colour: str, label: str) -> None:
    """Points with their intervals."""
    dashed = "--" in style
    axis.plot(
        table["x"],
        table["y"],
        style,
        color=colour,
        markersize=5,
        linewidth=1.3,
        markerfacecolor="white" if dashed else colour,
        label=label,
    )
    axis.vlines(table["x"], table["ci_low"], table["ci_high"], color=colour, linewidth=1.2)


def draw_figure2(risks: Risks) -> tuple[Figure, pd.DataFrame]:
    """Figure 2 of jain2021 with unit steps in it."""
    figure, axis = new_figure(7.4, 4.8)
    tables = []
    for label, (names, style, colour) in CURVES.items():
        table = curve(risks, label, names)
        draw_line(axis, table, style, COLOURS[colour], label)
        tables.append(table)
    floor = point("non-private", 0.0, risks.repetitions("floor"), lambda pick: risks.median(pick, "floor"))
    axis.axhline(floor["y"], color="0.3", linewidth=1, linestyle=":")
    axis.annotate(
        "heads in the true subspace, non-private",
        (axis.get_xlim()[1], floor["y"]),
        xytext=(-4, -11),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color="0.35",
    )
    ticks = sorted({x for table in tables for x in table["x"]})
    delta = risks.rows["unit"]["delta"]
    axis.set(xscale="log", yscale="log", xlabel=f"user-level ε (δ = {power_of_ten(delta)})", ylabel="excess risk")
    axis.set_ylim(floor["y"] / 3)
    axis.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)
    figure.legend(loc="outside lower center", ncols=3)
    return figure, pd.concat([*tables, pd.DataFrame([floor])], ignore_index=True)


def draw_marks(axis: Axes, table: pd.DataFrame, colour: str, spelled: str = ".3g") -> None:
    """One mark a row, from top to bottom, with the number beside it. spelled : format of the numbers."""
    places = np.arange(len(table))[::-1]
    axis.hlines(places, table["ci_low"], table["ci_high"], color=colour, linewidth=1.4)
    axis.plot(table["y"], places, "o", color=colour, markersize=5)
    for place, value in zip(places, table["y"], strict=True):
        text = f"{value:{spelled}}"
        text = f"{float(text):,.0f}" if "e" in text else text
        axis.annotate(text, (value, place), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=8)
    axis.set(
        xscale="log",
        ylim=(-0.6, len(table) - 0.3),
        yticks=places,
        yticklabels=[str(one).strip() for one in table["curve"]],
    )
    axis.axvline(1, color="0.4", linewidth=1, linestyle=":")
    axis.grid(axis="y", visible=False)
    plain_ticks(axis.xaxis)


def over(risks: Risks, label: str, group: int, series: str, floor: str, epsilon: float | None = None) -> dict:
    """A mark: risk of a series over that of its floor, on the repetitions of both."""

    def ratio(pick: np.ndarray) -> float:
        return risks.median(pick, series, epsilon) / risks.median(pick, floor)

    return point(label, group, risks.repetitions(series, floor), ratio)


def draw_ladder(risks: Risks) -> tuple[Figure, pd.DataFrame]:
    """The ladders from the published methods, and unit steps without one ingredient."""
    rungs = [
        over(risks, label, 0, name, "floor", None if name == "ladder-apart" else LADDER_EPSILON)
        for label, name in STEPS.items()
    ]
    shown = {"fourth": "all ingredients"} | {name: f"without {part}" for name, part in WITHOUT.items()}
    parts = [
        point(label, 1, risks.repetitions(name), lambda pick, name=name: risks.median(pick, name) / risks.formula(name))
        for name, label in shown.items()
    ]
    figure, (left, right) = new_figure(9.4, 5.4, ncols=2)
    draw_marks(left, pd.DataFrame(rungs), COLOURS[0])
    draw_marks(right, pd.DataFrame(parts), COLOURS[3])
    for axis in (left, right):
        axis.set(xlabel="excess risk over the non-private one")
    return figure, pd.DataFrame(rungs + parts)


def draw_departures(risks: Risks) -> tuple[Figure, pd.DataFrame]:
    """Departures from the model, and wrong guesses."""
    table = pd.DataFrame([over(risks, label, 0, name, FLOORS[name]) for label, name in DEPARTURES.items()])
    figure, axis = new_figure(6.4, 3.9)
    draw_marks(axis, table, COLOURS[3], ".3f")
    axis.set(xscale="linear", xlabel="excess risk over the non-private one on the same users")
    return figure, table


def draw_prior(risks: Risks) -> tuple[Figure, pd.DataFrame]:
    """Heads of full rank: a prior, two subspaces, and each user alone."""
    figure, axis = new_figure(5.8, 3.8)
    zero = risks.zero("prior")
    labels = {"prior": ("full prior", "o-", 3)} | {
        name: (f"subspace of {name.rsplit('-', 1)[1]} dimensions", style, 0)
        for name, style in zip(RANKS, ("s-", "^-"), strict=True)
    }
    tables = []
    for name, (label, style, colour) in labels.items():
        table = curve(risks, label, (name,), zero)
        draw_line(axis, table, style, COLOURS[colour], label)
        tables.append(table)
    own = point(
        "each user alone", 0.0, risks.repetitions("prior-own"), lambda pick: risks.median(pick, "prior-own") / zero
    )
    axis.axhline(own["y"], color=COLOURS[1], linewidth=1.3, label="each user alone")
    ticks = sorted({x for table in tables for x in table["x"]})
    axis.set(xscale="log", yscale="log", xlabel="user-level ε", ylabel="risk over that of predicting zero")
    axis.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axis.minorticks_off()
    few_ticks(axis.yaxis)
    figure.legend(loc="outside lower center", ncols=2)
    return figure, pd.concat([*tables, pd.DataFrame([own])], ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    risks = Risks.read(cells)
    return {
        "beyond/figure2": draw_figure2(risks),
        "beyond/ladder": draw_ladder(risks),
        "beyond/departures": draw_departures(risks),
        "beyond/full_prior": draw_prior(risks),
    }
