"""Figures of the study local_convergence (jain2021, Lemma 4.4)."""

from replication.drawing import CI, ENDS, METHODS, DataFrame, Look, Picture, PlotSettings, around, distinct, graded
from replication.studies.local_convergence.analysis import ASKED

FALLBACKS = {"solve": "as printed", "ridge": "all eigenvalues raised", "eigclip": "small eigenvalues raised"}
"""Rule where no minimum exists -> label."""


def draw_local_start(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the distance after one round by start, and the distance over rounds."""
    rounds, starts = numbers[numbers["rounds"].notna()], numbers[numbers["start_sine"].notna()]
    left, right = figure.panels(7.6, 3.9, ncols=2, width_ratios=(3, 2))
    for noise, style in graded(starts["noise_multiplier"]).items():
        part = starts[starts["noise_multiplier"] == noise]
        text = "one round, no noise" if noise == 0 else f"one round, $x$ = {part['noise_ratio'].iloc[0]:.2g}"
        left.series(part, "start_sine", "ratio", style.but(text), ends=CI, band=True)
    left.level(0.5, "half the distance", dash="-")
    left.level(ASKED, "start asked for", along="y", colour=METHODS["altmin"].colour)
    left.label("sine of the start", "distF after over before", "One round", "xy")
    right.series(rounds, "rounds", "ratio", Look("many rounds", METHODS["centaur"].colour, "s"))
    right.law(rounds, "rounds", "predicted")
    right.label("rounds", "distF over that of the start", "Many rounds", "y", xticks=rounds["rounds"])


def draw_local_breakdown(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw error and positive definiteness over the whole range of x."""
    axes = figure.panels(7.6, 4.2, ncols=2)
    marks = dict(zip(sorted(numbers["dim"].unique()), "os^", strict=False))
    root = numbers["square"] ** 0.5
    numbers = around(numbers.assign(root=root, expected=numbers["predicted"] ** 0.5), "root", numbers["spread"] / root)
    laws = numbers["fallback"] == "law"
    for name, plain in distinct(numbers[~laws]["fallback"].unique()).items():
        for dim, points in numbers[numbers["fallback"] == name].groupby("dim"):
            style = Look(f"{FALLBACKS[str(name)]}, $d$ = {dim}", plain.colour, marks[dim])
            axes[0].series(points, "noise_ratio", "root", style, ends=ENDS)
            if name == "solve":
                axes[1].series(points, "noise_ratio", "definite", style)
    for _, part in numbers[laws].groupby("dim"):
        axes[0].law(part, "noise_ratio", "expected")
    x = r"$x$ = 4 √($dk$) $\eta^2 \Delta / n$"
    axes[0].label(x, "distF / √$k$", "Error", "y")
    axes[1].label(x, "share positive definite", "Matrix to be inverted", ylim=(-0.03, 1.05))
    for axis in axes:
        axis.level(1, "$x$ = 1", along="y", dash="-")
