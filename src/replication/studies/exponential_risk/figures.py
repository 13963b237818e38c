"""Figures of the study exponential_risk (jain2021, Theorem 5.2)."""

from replication.drawing import METHODS, DataFrame, Look, Picture, PlotSettings, look
from replication.studies.exponential_risk.analysis import WORKS

CHAIN = METHODS["exponential"].colour
LOOKS = {
    "mechanism": look("exponential", filled=False),
    "plane-chain": look("exponential", filled=False),
    "smooth": Look("the same, pseudo-Huber loss", CHAIN, "o", "--", filled=False),
    "proved": Look(r"the same, $\beta$ of the proof", "#0072B2", "v", "--", filled=False),
    "as-printed": Look(r"the same, $\beta$ of the proof, printed clip", "#7F7F7F", "v", ":", filled=False),
    "staged-B": Look("candidates of CENTAUR", CHAIN, "s"),
    "plane-staged": Look("candidates of CENTAUR", CHAIN, "s"),
    "staged-A": Look("candidates of Algorithm 3", CHAIN, "P", "--"),
    "random": Look("random candidates", CHAIN, "X", ":"),
    "altmin": look("altmin"),
    "plane-altmin": look("altmin"),
    "centaur": look("centaur"),
    "plane-centaur": look("centaur"),
    "random-start": look("centaur", "CENTAUR, random start", marker="s", dash="--"),
}
"""Series -> its look; a hollow mark is private in the limit alone."""


def draw_exponential_methods(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw median risks of all methods, of other ways to run the mechanism, and for k = 2."""
    axes = figure.panels(8.6, 4.8, ncols=numbers["panel"].nunique())
    for axis, (title, table) in zip(axes, numbers.groupby("panel", sort=False), strict=True):
        axis.groups(table, "users", "risk", "series", LOOKS)
        axis.level(WORKS, "works")
        axis.label("$n$", title=title.capitalize(), log="xy", xticks=table["users"])
    axes[0].set_ylabel("risk over that of predicting zero")
