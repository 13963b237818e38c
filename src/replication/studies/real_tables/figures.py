"""Figure of the study real_tables."""

from replication.drawing import ENDS, GREY, METHODS, DataFrame, Look, Picture, PlotSettings, look

LEVELS = {"own data": look("own", dash="--"), "single model": Look("single model", GREY, "", ":")}
LEVELS |= {"mixed model": Look("mixed model", METHODS["mixed"].colour, "", "-.")}
"""What needs no privacy -> its look."""


def draw_real_tables(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the errors of each table against epsilon."""
    for axis, table, part in figure.facets(numbers, "table", (0, 2.3), (0.4, 2.3), columns=4):
        axis.series(part, "epsilon", "error", look("mixed", "released prior"), ends=ENDS)
        for name, one in LEVELS.items():
            axis.level(part[name].iloc[0], f"{name}, no privacy", colour=one.colour, dash=one.dash)
        axis.label(r"$\epsilon$", "error over variance", table, "x", part["epsilon"])
