"""Figures of the study power_method (shen2023, Algorithm 3)."""

from privrep.theory.shen2023 import TARGET
from replication.drawing import CI, MEASURED, METHODS, DataFrame, Picture, PlotSettings


def draw_power_clip(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the noise that a target permits, and the share of clipped products, against zeta_0."""
    prescribed = numbers["prescribed"].iloc[0]
    axes = figure.panels(7.4, 3.7, ncols=2)
    axes[0].series(numbers, "zeta", "permitted", MEASURED)
    axes[0].law(numbers, "zeta", "predicted")
    axes[1].series(numbers, "zeta", "clipped_share", MEASURED)
    for axis in axes:
        axis.level(prescribed, "prescribed clip", along="y", colour=METHODS["altmin"].colour)
    x, ends = r"clip $\zeta_0$", (1, 2 * prescribed)
    axes[0].label(x, rf"$\Delta$ at which dist2 by noise is {TARGET:g}", "Noise permitted", "xy", xlim=ends)
    axes[1].label(x, "share of users clipped", "Clipping", "x", xlim=ends, ylim=(-0.03, 1.03))


def draw_power_success(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the share of successful random starts against iterations and noise."""
    axes = figure.panels(7.4, 3.7, ncols=2, sharey=True)
    for axis, panel, column in zip(axes, ("iterations", "noise"), ("iterations", "level"), strict=True):
        points = numbers[numbers["panel"] == panel].sort_values(column)
        axis.series(points, column, "share", MEASURED.but(dash="-"), ends=CI)
        axis.level(0.99, "share claimed", colour=METHODS["altmin"].colour)
    axes[1].level(1, "noise that the law permits", along="y", dash=":")
    axes[0].label("iterations $L$", rf"share of runs with dist2 $\leq$ {TARGET:g}", "Iterations", ylim=(-0.03, 1.05))
    axes[1].label("noise over what the law permits", title="Noise")
