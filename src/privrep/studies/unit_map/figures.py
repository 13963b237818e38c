"""Figures of the study unit_map."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, new_figure, plain_ticks
from privrep.evidence.intervals import bootstrap_interval
from privrep.run.settings import PlotSettings
from privrep.studies.unit_map.analysis import METHODS, SWEEPS

STYLES = {"unit": ("o-", 3), "centaur": ("P-", 5), "fedrep": ("D-", 4), "altmin": ("s-", 2)}


def median(values: np.ndarray, pick: np.ndarray) -> float:
    """Median over the picked repetitions that have a number."""
    known = values[pick][~np.isnan(values[pick])]
    return float(np.median(known)) if len(known) else np.nan


def points(cells: pd.DataFrame, name: str, axis: str, column: str) -> pd.DataFrame:
    """Medians of a series with their intervals against a column."""
    found = []
    for x, rows in cells.groupby(axis):
        values = rows.sort_values("seed")[column].to_numpy(float)
        seeds, statistic = len(values), partial(median, values)
        low, high = bootstrap_interval(statistic, seeds, f"{name} {column} {x}", draws=200)
        found.append((name, x, statistic(np.arange(seeds)), low, high, seeds))
    return pd.DataFrame(found, columns=["method", axis, column, "ci_low", "ci_high", "seeds"])


def draw_line(axis: Axes, table: pd.DataFrame, name: str) -> None:
    """One method: medians and intervals."""
    style, colour = STYLES[name]
    x, y = table.columns[1:3]
    axis.plot(table[x], table[y], style, color=COLOURS[colour], markersize=5, linewidth=1.3, label=METHODS[name])
    axis.vlines(table[x], table["ci_low"], table["ci_high"], color=COLOURS[colour], linewidth=1.2)
    axis.set(xscale="log", yscale="log")
    axis.set_xticks(table[x], [f"{value:g}" for value in table[x]])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)


def draw_map(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Risk against epsilon, a panel for each number of users."""
    rows = cells[cells["series"].isin(METHODS)]
    sizes = sorted(rows["users"].unique())
    figure, axes = new_figure(8.6, 3.9, ncols=len(sizes), sharey=True, squeeze=False)
    tables = []
    for axis, users in zip(axes[0], sizes, strict=True):
        for name in METHODS:
            here = rows[(rows["series"] == name) & (rows["users"] == users)]
            table = points(here, name, "epsilon", "excess_risk")
            draw_line(axis, table, name)
            tables.append(table.assign(users=users))
        row = rows.iloc[0]
        floor = row["label_noise_sd"] ** 2 * row["rank"] / (row["samples"] - row["rank"] - 1)
        axis.axhline(floor, color="0.3", linewidth=1, linestyle=":")
        axis.axhline(row["rank"], color="0.7", linewidth=1)
        axis.set(xlabel="ε", title=f"n = {users:,}")
    axes[0][0].set(ylabel="excess risk")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, pd.concat(tables, ignore_index=True)


def draw_sweeps(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Risk against samples and label noise, a row of panels for each epsilon."""
    sweeps = {"by samples": "samples of a user, m", "by label noise": r"label noise $\sigma_F$"}
    series = [SWEEPS[sweep][0] + name for sweep in sweeps for name in METHODS]
    cells = cells[cells["series"].isin(series)].assign(share=cells["excess_risk"] / cells["rank"])
    budgets = sorted(cells["epsilon"].unique())
    figure, axes = new_figure(8.0, 6.2, nrows=len(budgets), ncols=2, sharey=True, squeeze=False)
    tables = []
    for row, epsilon in zip(axes, budgets, strict=True):
        for axis, (sweep, label) in zip(row, sweeps.items(), strict=True):
            prefix, column = SWEEPS[sweep]
            for name in METHODS:
                here = cells[(cells["series"] == prefix + name) & (cells["epsilon"] == epsilon)]
                table = points(here, name, column, "share")
                draw_line(axis, table, name)
                tables.append(table.rename(columns={column: "x"}).assign(sweep=sweep, epsilon=epsilon))
            settings = here.drop_duplicates(column).sort_values(column)
            floor = settings["label_noise_sd"] ** 2 / (settings["samples"] - settings["rank"] - 1)
            axis.plot(settings[column], floor, color="0.3", linewidth=1, linestyle=":")
            axis.axhline(1, color="0.7", linewidth=1)
            axis.set(xlabel=label, title=f"ε = {epsilon:g}")
        row[0].set(ylabel="risk over that of predicting zero")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, pd.concat(tables, ignore_index=True)


def draw_users(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Users needed against the dimension."""
    figure, axis = new_figure(5.8, 4.0)
    tables = []
    for name in METHODS:
        table = points(cells[cells["series"] == f"users-{name}"], name, "dim", "smallest_users").dropna(
            subset=["smallest_users"]
        )
        draw_line(axis, table, name)
        tables.append(table)
    ticks = sorted({dim for table in tables for dim in table["dim"]})
    axis.set_xticks(ticks, [f"{dim:g}" for dim in ticks])
    axis.set(xlabel="d", ylabel="users")
    figure.legend(loc="outside lower center", ncols=2)
    return figure, pd.concat(tables, ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    return {
        "beyond/map": draw_map(cells),
        "beyond/map_samples": draw_sweeps(cells),
        "beyond/users_methods": draw_users(cells),
    }
