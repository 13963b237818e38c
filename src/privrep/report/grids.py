"""What a study ran, in a line: the sizes that its cells have."""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from privrep.report.sizes import spelled
from privrep.report.spelling import plural, typeset

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


def grid_line(cells: pd.DataFrame | None, series: str = "") -> Markup:
    """Sizes and repetitions of the cells of a series, or of all.

    cells : the study's results table; None for a study of arithmetic.
    """
    if cells is None:
        return Markup("arithmetic, nothing is drawn")
    if series:
        cells = cells[cells["series"] == series]
    found = {
        sign: pd.to_numeric(cells[column], errors="coerce").dropna()
        for column, sign in SIGNS.items()
        if column in cells
    }
    parts = [
        typeset(f"{sign} = {spelled([_short(value) for value in values])}")
        for sign, values in found.items()
        if len(values)
    ]
    if "seed" in cells and len(cells):
        parts.append(plural(int(cells["seed"].nunique()), "repetition"))
    return Markup("; ").join(parts)


def _short(value: float) -> float:
    """A count with all its digits, another number with three."""
    return value if value == int(value) else float(f"{value:.3g}")
