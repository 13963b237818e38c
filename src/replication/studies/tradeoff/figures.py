"""Figures of the study tradeoff: jain2021 and shen2023 against each other."""

import numpy as np
import seaborn as sns
from matplotlib.colors import ListedColormap

from replication.drawing import (
    CI,
    GREY,
    DataFrame,
    Look,
    Panel,
    Picture,
    PlotSettings,
    exponent_text,
    looks,
    short,
)
from replication.studies.tradeoff.analysis import CLIPS, CONDITIONS
from replication.studies.tradeoff.choice import CHOICES, OWN

PAPERS = looks("tradeoff", "papers")
PROMISES = {"A-uncut dist2": ("jain2021", 1.5), "B-uncut dist2": ("shen2023", 1.0)}
"""Sweeps in d of both methods at generous clips -> paper and the power of d that it states."""
WIDE = 100
"""Largest ratio of the ends of an interval that is drawn."""


def by_dimension(axis: Panel, numbers: DataFrame, looks: dict[str, Look], y: str) -> None:
    """Draw sweeps in d, times epsilon n where given, with fitted exponents in the legend. An interval that is longer
    than the factor `WIDE` is not drawn, and its sweep has no exponent."""
    for name, style in looks.items():
        rows = numbers[numbers["fit"] == name].copy()
        if "epsilon n" in rows:
            rows = rows.assign(**{name: rows[name] * rows["epsilon n"] for name in ("error", *CI)})
        wide = rows["ci_high"] > WIDE * rows["ci_low"]
        rows.loc[wide, [*CI]] = np.nan
        if wide.any():
            rows = rows.assign(exponent=np.nan)
        text = "no exponent, runs differ by decades" if wide.any() else exponent_text(rows)
        axis.fit(rows, style.but(f"{style.label}: {text}" if text else style.label))
    ticks = numbers.loc[numbers["fit"] == next(iter(looks)), "value"]
    axis.label("$d$", y, log="xy", xticks=sorted(ticks))


def draw_settings(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw exponents of d by setting, and the factor between the methods against d as a band over clips."""
    left, right = figure.panels(9.4, 5.0, ncols=2, width_ratios=(5, 4))
    rows = numbers[numbers["exponent"].notna()]
    for (paper, style), shift in zip(PAPERS.items(), (-0.13, 0.13), strict=True):
        part = rows[rows["method"] == paper].assign(place=lambda table, shift=shift: table["row"] + shift)
        left.series(part, "exponent", "place", style, ends=CI, sideways=True)
        left.series(part, "law", "place", Look("law on the same grid", "0.1", "|", ""))
    for value, paper in ((1, "shen2023"), (1.5, "jain2021")):
        left.level(value, f"claimed by {paper}", along="y", colour=PAPERS[paper].colour)
    labels = [case.label.replace("kappa", r"$\kappa$").replace("epsilon", r"$\epsilon$") for case in CLIPS + CONDITIONS]
    left.label("exponent of $d$", title="Rates by setting")
    left.set_yticks(range(len(labels)), labels)
    left.axhline(len(CLIPS) - 0.5, color="0.85", linewidth=0.8)
    left.invert_yaxis()
    ends = numbers[numbers["panel"] == "band"]
    right.fill_between(ends["dim"], ends["min"], ends["max"], color="0.88")
    right.named(Look("all pairs of clips", "0.8", "", "-"))
    factors = numbers[numbers["panel"] == "factor"]
    right.groups(factors, "dim", "factor", "setting", looks("tradeoff", "factors"), ends=CI)
    right.level(1, "equal errors")
    ticks = np.unique(numbers["dim"].dropna())
    right.label("$d$", "error of jain2021 over shen2023", "Which is better", "xy", ticks)


def draw_promise(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the measured error and epsilon of both papers, and what the papers promise."""
    left, right = figure.panels(7.8, 4.2, ncols=2)
    for name, (paper, power) in PROMISES.items():
        rows = numbers[numbers["fit"] == name]
        left.series(rows, "value", "error", PAPERS[paper], ends=CI)
        text = f"{paper}, promised $d^{{{power:g}}}$"
        left.power(rows, power, Look(text, PAPERS[paper].colour, "", "--"))
    ticks = np.unique(numbers["value"].dropna())
    left.label("dimension $d$", "error of the subspace", "Rate", "xy", ticks)
    spent = numbers[numbers["stated"].notna()]
    for paper, what in (("jain2021", "Lemma 4.3"), ("shen2023", "Theorem 5.2, rounds")):
        right.series(spent, "stated", paper, PAPERS[paper].but(f"{paper}, {what}", dash="-"))
    right.curve(spent["stated"], spent["stated"], Look("spent as stated", GREY, "", ":"))
    stated = spent["stated"].to_list()
    right.label(r"$\epsilon$ stated", r"$\epsilon$ spent, a user replaced", "Privacy", "xy", stated)
    right.set_yticks(stated, [short(value) for value in stated])
    right.minorticks_off()


def draw_d_exponent(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw error times epsilon and n against d."""
    axis = figure.panel(5.4, 4.8)
    by_dimension(axis, numbers, looks("tradeoff", "errors"), r"dist2 $\cdot\ \epsilon\ \cdot\ n$")


def draw_users_needed(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the smallest number of users that reaches the target."""
    axis = figure.panel(5.2, 4.4)
    by_dimension(axis, numbers, looks("tradeoff", "users"), "users needed")


def draw_regions(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw a map over n and epsilon of the methods that work, with both methods' risks over k in each field."""
    dims = sorted(numbers["dim"].unique())
    axes = figure.panels(4.6 * len(dims) + 0.4, 4.6, ncols=len(dims), squeeze=False)
    kinds = looks("tradeoff", "works")
    order = list(kinds)
    for axis, dim in zip(axes[0], dims, strict=True):
        part = numbers[numbers["dim"] == dim]
        codes = part.assign(code=part["works"].map(order.index)).pivot(index="users", columns="epsilon", values="code")
        risks = part.assign(risks=[f"J {row.A:.2g}\nS {row.B:.2g}" for row in part.itertuples()])
        words = risks.pivot(index="users", columns="epsilon", values="risks")
        palette = ListedColormap([style.colour for style in kinds.values()])
        look_of = {"vmin": -0.5, "vmax": len(order) - 0.5, "alpha": 0.45, "linewidths": 1, "cbar": False}
        sns.heatmap(
            codes, annot=words, fmt="", cmap=palette, ax=axis, annot_kws={"fontsize": 8.5, "color": "0.1"}, **look_of
        )
        axis.label(r"$\epsilon$", "$n$" if axis is axes[0, 0] else "", f"$d$ = {dim}")
        axis.set_xticklabels([short(value) for value in codes.columns])
        axis.set_yticklabels([short(value) for value in codes.index], rotation=0)
        axis.invert_yaxis()
        axis.grid(False)
    for kind in order:
        if (numbers["works"] == kind).any():
            axes[0, 0].named(kinds[kind])
    axes[0, 0].named(Look("J, S: risk of jain2021 and of shen2023, over that of predicting zero", "none", "", ""))


def draw_cost(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw numbers sent and multiplications per user against d."""
    axes = figure.panels(7.6, 3.8, ncols=2)
    for axis, count in zip(axes, ("numbers sent", "multiplications"), strict=True):
        for method, style in looks("tradeoff", "cost").items():
            axis.curve(numbers["dim"], numbers[f"{count}, {method}"], style)
        axis.label("$d$", f"{count} per user", log="xy", xticks=[10, 30, 100, 300, 1000])


def draw_clip_choice(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the error of both methods against their clips."""
    axis = figure.panel(5.4, 4.6)
    for name, style in looks("tradeoff", "clips").items():
        part = numbers[numbers["series"].isin(CHOICES[name])]
        sized = part[part["size"].notna()].sort_values("size")
        axis.curve(sized["size"], sized["dist2"], Look("", style.colour, "", style.dash))
        axis.series(part, "drawn", "dist2", style.but(dash=""), hollow=~part["chosen"])
    axis.label("clip over the typical size (filled: chosen)", "dist2, geometric mean", log="xy")
    ticks = sorted(numbers["drawn"].unique())
    axis.set_xticks(ticks, [short(1e-4) if tick == OWN else f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
