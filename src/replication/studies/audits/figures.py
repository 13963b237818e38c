"""The figure of the audits."""

from replication.drawing import DataFrame, Look, Picture, PlotSettings

FOUND = {
    2: Look("found by the game", "#009E73", dash=""),
    1: Look("found by another check", "#009E73", dash="", filled=False),
    0: Look("found by none", "#D55E00", "X", dash=""),
}
"""Kind of check that found a mutant -> look; there is no mark where the fault does not apply to the mechanism."""


def draw_audits(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw attained distances, lower limits of epsilon, and the mutants that were found."""
    mechanisms, faults = list(numbers["mechanism"]), list(numbers.columns[5:])
    axes = figure.panels(10.6, 0.27 * len(mechanisms) + 2.6, ncols=3, width_ratios=(2.2, 2.2, 4), sharey=True)
    measured = Look("correct code", "#0072B2", dash="")
    for axis, column, limit, title, x in (
        (axes[0], "attained", 1.0, "Worst pair of users", "distance over the ledger's"),
        (axes[1], "epsilon_low", numbers["epsilon"].iloc[0], "Game", r"lower limit of $\epsilon$"),
    ):
        axis.series(numbers, column, "place", measured)
        axis.level(limit, "what the ledger says", along="y", dash=":")
        axis.label(x, title=title, xlim=(0, 1.1 * limit))
    cells = numbers.reset_index(names="row").melt(["row"], faults, "fault", "found").dropna()
    axes[2].groups(cells.assign(place=cells["fault"].map(faults.index)), "place", "row", "found", FOUND)
    ends = {"xlim": (-0.6, len(faults) - 0.4), "ylim": (len(mechanisms) - 0.5, -0.5)}
    axes[2].label(title="Faults put in", yticks=dict(enumerate(mechanisms)), **ends)
    axes[2].set_xticks(range(len(faults)), faults, rotation=40, ha="right", fontsize="small")
