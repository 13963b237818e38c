"""Figure of the study real_tables."""

from replication.drawing import GREY, DataFrame, Look, Picture, PlotSettings, graded

RIVAL = Look(r"rival, $\epsilon$ = 1", GREY, "x", "")
SHRUNK = Look("shrunk mean, where better than own data", "black", "+", "")
TITLES = {"developed": "Developed on", "former": "Judged earlier forms", "judged": "Judge the present form"}


def draw_real_tables(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw errors less those of own data, a line of marks for each table."""
    looks = graded(numbers["epsilon"], r"$\epsilon$ = {}", dash="")
    tall = numbers.groupby("kind")["table"].nunique().max()
    for axis, kind, part in figure.facets(numbers, "kind", (0.3, 3.4), (0.8, 0.17 * tall)):
        axis.series(part[part["epsilon"] == 1], "rival", "place", RIVAL)
        axis.series(part[(part["epsilon"] == 1) & (part["shrunk"] < 0)], "shrunk", "place", SHRUNK)
        axis.groups(part, "error", "place", "epsilon", looks)
        axis.level(0, "own data", along="y")
        axis.label(
            "error above own data", "", TITLES[kind], yticks=dict(zip(part["place"], part["table"], strict=True))
        )
        axis.locator_params("x", nbins=5)
