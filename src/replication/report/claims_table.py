"""Rows of claims: what is printed or claimed beside what was measured, in short for a chapter, and all with what stands
behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite

import pandas as pd
from markupsafe import Markup

from replication.evidence.verdicts import Verdict
from replication.report.anchors import claim_anchor, unused
from replication.report.bars import drawn
from replication.report.layout import macros

CLAIMS = macros("claims.html.jinja")
SHOWN_SHIFT = 0.005
"""A finite grid's share in an exponent is shown from here on."""
TOO_SMALL = r"^needs scale |did not run at this scale$"
"""Reasons of rows for which a run is too small, see `replication.evidence.claims`."""
ORIGINS = {"correction": "our correction", "ours": "ours", "computed": "computed", "definition": "by definition"}
"""Whose statement a row tests and on what evidence, where that is not a measurement of the paper's own."""
RULES = {
    "rate": (
        "The 95\u00a0% interval of the exponent, less what the finite grid adds, lies within {tolerance} of {claimed}."
    ),
    "at_most": "The 95\u00a0% interval lies at or below {limit}.",
    "at_least": "The 95\u00a0% interval lies at or above {limit}.",
    "equals": "The 95\u00a0% interval lies within {tolerance} of {claimed}.",
    "all_hold": "All other quantities of the claim hold.",
    "": "",
}
"""What the verdict of agreement asks, by rule."""


def by_scale(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows that this run decides or leaves open for another reason, and those for which its scale is too small."""
    small = (claims["verdict"] == Verdict.NOT_TESTED) & claims["reason"].str.contains(TOO_SMALL)
    return claims[~small], claims[small]


def brief_table(claims: pd.DataFrame) -> Markup:
    """Claims in short, one group of rows for each; those for which the scale is too small in one line."""
    rows, small = by_scale(claims)
    groups = [[*map(_shown, part.to_dict("records"))] for _, part in rows.groupby(["paper", "id"], sort=False)]
    return CLAIMS.brief(groups, len(small))


def all_rows(
    claims: pd.DataFrame, figures: list[str], errata: Mapping[str, list[str]], grid: Callable[[dict], str]
) -> Markup:
    """Every row with what stands behind it, and the same rows as data for the page's script.
    Rows that the scale does not test come last.

    Parameters
    ----------
    claims : rows of claims.csv, as text. figures : ids of the figures in the page.
    errata : id of a claim -> ids of the errata that touch it.
    grid : what a row's study ran, in words.
    """
    claims = pd.concat(by_scale(claims))
    taken: set[str] = set()
    rows = [
        _shown(row)
        | {
            "name": unused(row_anchor(row), taken),
            "first": first,
            "asked": _asked(row),
            "errata": errata.get(row["id"], []),
            "shown": row["figure"] in figures,
            "grid": grid(row),
        }
        for row, first in zip(claims.to_dict("records"), ~claims["id"].duplicated(), strict=True)
    ]
    return CLAIMS.every(rows, [list(claims.columns), *claims.to_numpy().tolist()])


def row_anchor(row: dict) -> str:
    """Where the row of a claim and quantity stands."""
    words = re.sub(r"[^\w.]+", "-", row["quantity"]).strip("-").lower()
    return f"row-{claim_anchor(row['id']).removeprefix('claim-')}-{words}"


def _shown(row: dict) -> dict:
    """A row of claims.csv with what its cells show beside the columns: where it comes from and whether another seed
    denied it, its bar, and whether the grid's share counts."""
    origin = [ORIGINS[row[name]] for name in ("whose", "basis") if row[name] in ORIGINS]
    origin += ["another verdict on another seed"] if row["confirmed"] == "no" else []
    shift = float(row["corrected"] or "nan") - float(row["measured"] or "nan")
    shifted = row["rule"] == "rate" and isfinite(shift) and abs(shift) > SHOWN_SHIFT
    return row | {"origin": origin, "marks": drawn(row), "shifted": shifted}


def _asked(row: dict) -> str:
    """What agreement asks of a row, in a sentence."""
    limit = row["claimed"].split(" ")[-1] + (f", up to {row['tolerance']}" if row["tolerance"] else "")
    return RULES[row["rule"]].format(tolerance=row["tolerance"], claimed=row["claimed"], limit=limit)
