"""Figure of the study sample_complexity (jain2021, Remark 2)."""

from replication.drawing import LAW, DataFrame, Picture, PlotSettings, graded, sweep_panel

REMARK_2 = 2
"""Power of k in the number of samples per user required by Remark 2."""


def draw_samples_needed(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the error against the samples beyond the rank, and the least number of samples."""
    axes = figure.panels(7.6, 3.9, ncols=2, width_ratios=(3, 2))
    roots = (numbers.groupby(["rank", "spare"])["square"].mean() ** 0.5).reset_index()
    axes[0].groups(roots, "spare", "square", "rank", graded(roots["rank"], "$k$ = {}"))
    axes[0].level(study.thresholds["near"], "counts as near the law")
    axes[0].level(1, "law", colour=LAW, dash=":")
    axes[0].label("$m/4 - k$", "distF over the law F3", "Samples beyond the rank", "y")
    rows = numbers[numbers["fit"] == "samples k"]
    sweep_panel(axes[1], rows, REMARK_2, "least m")
    # The search has steps of 4, so the exponent has no interval.
    axes[1].set_title(f"Least $m$\n{rows['exponent'].iloc[0]:.2f} in steps of 4, claimed {REMARK_2}")
