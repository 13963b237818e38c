"""Figures of the study exponential (jain2021, Section 5)."""

from replication.drawing import METHODS, DataFrame, Look, Picture, PlotSettings, distinct, graded, looks
from replication.studies.exponential.analysis import WORKS

EXPONENTS = {"printed": "as printed", "exact": r"largest safe $\beta$", "proved": "as proved"}
CHAIN = METHODS["exponential"].colour
LOOKS = looks("exponential", "series")
SAME = {"plane-chain": "mechanism", "plane-staged": "staged-B", "plane-altmin": "altmin", "plane-centaur": "centaur"}
LOOKS |= {name: LOOKS[other] for name, other in SAME.items()}
"""Series -> its look."""


def draw_exponential_privacy(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw privacy loss over epsilon against users for three exponents, and against the steps of a chain."""
    axes = figure.panels(7.6, 3.9, ncols=2)
    named_series = numbers.assign(exponent=numbers["series"].map(EXPONENTS))
    axes[0].groups(named_series, "users", "loss", "exponent", distinct(EXPONENTS.values()))
    users = sorted(named_series.loc[named_series["exponent"].notna(), "users"].unique())
    axes[0].label("$n$", r"loss over $\epsilon$", "The mechanism", "xy", users)
    for others, filled in (("agreeing", True), ("divided", False)):
        table = numbers[numbers["series"] == f"chain-{others}"]
        drawn, steps = table[table["chain_steps"] == 0], table[table["chain_steps"] > 0]
        axes[1].series(steps, "chain_steps", "loss", Look(f"chain, others {others}", CHAIN, "h", filled=filled))
        name = f"mechanism, others {others}"
        axes[1].level(drawn["loss"].iloc[0], name, colour=CHAIN, dash="-" if filled else ":")
    axes[1].label("steps of the chain", title="A chain in its place", log="xy", xticks=[10, 100, 1000, 10_000])
    for axis in axes:
        axis.level(1, "claimed")


def draw_exponential_sampler(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the mean score by chains and over nets."""
    axis = figure.panel(5.6, 3.8)
    numbers = numbers.assign(
        size=[f"$d$ = {d}, $k$ = {k}" for d, k in zip(numbers["dim"], numbers["rank"], strict=True)]
    )
    for size, shade in graded(numbers["size"], dash="").items():
        part = numbers[numbers["size"] == size]
        axis.series(part, "beta_n", "score_excess", shade)
        axis.curve(part["beta_n"], part["net_excess_uniform"], Look(f"{size}, over a net", shade.colour, ""))
    axis.label(r"$\beta n$", "score above the truth's, per user", log="xy")


def draw_exponential_methods(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw median risks of all methods, of other ways to run the mechanism, and for k = 2."""
    axes = figure.panels(8.6, 4.8, ncols=numbers["panel"].nunique())
    for axis, (title, table) in zip(axes, numbers.groupby("panel", sort=False), strict=True):
        axis.groups(table, "users", "risk", "series", LOOKS)
        axis.level(WORKS, "works")
        axis.label("$n$", title=str(title).capitalize(), log="xy", xticks=table["users"])
    axes[0].set_ylabel("risk over that of predicting zero")
