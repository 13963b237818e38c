"""Figures of the study unit_map: unit steps beside published methods over many settings."""

from replication.drawing import CI, GREY, DataFrame, Look, Panel, Picture, PlotSettings, look, thinned
from replication.studies.unit_map.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look(name, METHODS_SHOWN[name]) for name in ("unit", "centaur", "fedrep", "altmin")}


def methods(axis: Panel, numbers: DataFrame, x: str, y: str) -> None:
    """Draw medians and intervals of every method."""
    axis.groups(numbers, x, y, "method", LOOKS, ends=CI)


def draw_map(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risk against epsilon, a panel for each number of users."""
    axes = figure.panels(8.8, 4.3, ncols=numbers["users"].nunique(), sharey=True, squeeze=False)
    for axis, (users, part) in zip(axes[0], numbers.groupby("users"), strict=True):
        methods(axis, part, "epsilon", "excess_risk")
        axis.level(part["floor"].iloc[0], "heads in the true subspace, non-private", dash=":")
        axis.level(part["zero"].iloc[0], "predicting zero", colour="0.6", dash="-")
        ticks = thinned(part["epsilon"])
        axis.label(r"$\epsilon$", "excess risk" if axis is axes[0, 0] else "", f"$n$ = {users:,}", "xy", ticks)


def draw_map_samples(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risk against samples and label noise, a row of panels for each epsilon."""
    sweeps = {"by samples": "samples of a user, $m$", "by label noise": r"label noise $\sigma_F$"}
    axes = figure.panels(8.0, 6.6, nrows=numbers["epsilon"].nunique(), ncols=2, sharey=True, squeeze=False)
    for row, (epsilon, part) in zip(axes, numbers.groupby("epsilon"), strict=True):
        for axis, (sweep, x) in zip(row, sweeps.items(), strict=True):
            here = part[part["sweep"] == sweep]
            methods(axis, here, "x", "share")
            floor = here.drop_duplicates("x").sort_values("x")
            axis.curve(floor["x"], floor["floor"], Look("heads in the true subspace, non-private", GREY, "", ":"))
            axis.level(1, "predicting zero", colour="0.6", dash="-")
            y = "risk over that of predicting zero" if axis is row[0] else ""
            axis.label(x, y, rf"$\epsilon$ = {epsilon:g}", "xy", here["x"])


def draw_users_methods(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the users needed against the dimension."""
    axis = figure.panels(5.8, 4.4)
    methods(axis, numbers, "dim", "smallest_users")
    axis.label("$d$", "users", log="xy", xticks=numbers["dim"])
