"""What a study ran, in a line: its sizes."""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from replication.report.sizes import enumerated
from replication.report.spelling import plural, typeset

SIGNS = {
    "users": "n",
    "samples": "m",
    "dim": "d",
    "rank": "k",
    "epsilon": "epsilon",
    "noise_multiplier": "Delta",
    "label_noise_sd": "sigma_F",
    "head_condition": "kappa",
}
"""Column -> its sign. Others are options of one algorithm, which stand in the study's file."""


def grid_line(table: pd.DataFrame | None, series: str = "") -> Markup:
    """Sizes and repetitions of a series, or of all.

    table : the study's sizes; None for a study of arithmetic.
    """
    if table is None:
        return Markup("arithmetic, nothing is drawn")
    if series:
        table = table[table["series"] == series]
    found = dict(list(table.groupby("column")["value"]))
    parts = [
        typeset(f"{sign} = {enumerated([_short(value) for value in found[column]])}")
        for column, sign in SIGNS.items()
        if column in found
    ]
    if "seed" in found:
        parts.append(plural(found["seed"].nunique(), "repetition"))
    return Markup("; ").join(parts)


def _short(value: float) -> float:
    """A count with all its digits, another number with three."""
    return value if value == int(value) else float(f"{value:.3g}")
