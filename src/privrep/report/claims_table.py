"""Rows of claims: what is printed or claimed beside what was measured, in short for a chapter."""

from __future__ import annotations

import html
from math import isfinite

import pandas as pd

from privrep.evidence.verdicts import Verdict
from privrep.report.badges import badge, claim_anchor
from privrep.report.bars import bar
from privrep.report.html_pieces import scrolling
from privrep.report.spelling import interval, number, plural, sentence, typeset
from privrep.run.record import FROM_RECORD

SHOWN_SHIFT = 0.005
"""A finite grid's share in an exponent is shown from here on."""
TOO_SMALL = r"^needs scale |did not run at this scale$"
"""Reasons of rows for which a run is too small, see `privrep.evidence.claims`."""
COLUMNS = ("Claim", "Quantity", "Printed or claimed", "Measured [95\u00a0% interval]", "On one scale", "Verdict")


def by_scale(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows that this run decides or leaves open for another reason, and those for which its scale is too small."""
    small = (claims["verdict"] == Verdict.NOT_TESTED) & claims["reason"].str.contains(TOO_SMALL)
    return claims[~small], claims[small]


def brief_table(claims: pd.DataFrame) -> str:
    """Claims in short, one group of rows for each; those for which the scale is too small in one line."""
    rows, small = by_scale(claims)
    line = (
        f"<p>{sentence(plural(len(small), 'row is', 'rows are'))} not tested at this scale.</p>" if len(small) else ""
    )
    return (_grouped(rows) if len(rows) else "") + line


def _grouped(claims: pd.DataFrame) -> str:
    several = claims["id"].nunique() > 1
    groups = []
    for _, rows in claims.groupby(["paper", "id"], sort=False):
        body = "".join(f"<tr{row_attributes(row)}>{cells(row)}</tr>" for row in rows.to_dict("records"))
        groups.append(f'<tbody role="rowgroup">{_claimhead(rows.iloc[0]) if several else ""}{body}</tbody>')
    return scrolling(
        f'<table role="table" class="claims brief">{head(COLUMNS[1:])}{"".join(groups)}</table>', "Verdicts"
    )


def _claimhead(row: pd.Series) -> str:
    link = f'<a href="#{claim_anchor(row["id"])}" class="id">{html.escape(row["id"])}</a>'
    return (
        f'<tr role="row" class="claim"><th role="rowheader" scope="rowgroup" colspan="{len(COLUMNS) - 1}"><div>'
        f'{link} <span class="place">{typeset(row["place"])}</span></div></th></tr>'
    )


def head(columns: tuple[str, ...]) -> str:
    """The headings of a table of claims."""
    # Roles stand beside the elements, since the page lays the rows out as blocks on a phone.
    header = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in columns)
    return f'<thead role="rowgroup"><tr role="row">{header}</tr></thead>'


def row_attributes(row: dict) -> str:
    """Those of the element around a row's cells."""
    return f' role="row"{" class=whole" if row["rule"] == "all_hold" else ""}'


def cells(row: dict) -> str:
    """Quantity, claimed, measured, bar and verdict."""
    filled = {"claimed": _claimed(row), "measured": _measured(row), "": bar(row, Verdict(row["verdict"]).mood)}
    others = "".join(
        f'<td role="cell"{f" data-label={name}" if name else ""}>{text}</td>' for name, text in filled.items()
    )
    quantity = f'<th role="rowheader" scope="row">{typeset(row["quantity"])}{_origin(row)}</th>'
    return f'{quantity}{others}<td role="cell">{badge(row["verdict"])}</td>'


def _claimed(row: dict) -> str:
    tolerance = f' <span class="interval">± {typeset(row["tolerance"])}</span>' if row["tolerance"] else ""
    predicted = number(row["predicted"]) if row["rule"] == "rate" and row["predicted"] else typeset(row["predicted"])
    law = f' <span class="interval">law {predicted}</span>' if predicted else ""
    return typeset(row["claimed"]) + tolerance + law


def _measured(row: dict) -> str:
    measured = interval(row["measured"], row["ci_low"], row["ci_high"])
    if row["rule"] == "rate" and row["corrected"] and isfinite(float(row["corrected"])):
        shift = float(row["corrected"]) - float(row["measured"])
        if abs(shift) > SHOWN_SHIFT:
            measured += f', <span class="corrected">corrected {number(row["corrected"])}</span>'
    if row["rule"] == "all_hold":
        measured = "" if row["verdict"] == Verdict.NOT_TESTED else f"{measured} hold"
    return measured


def _origin(row: dict) -> str:
    """Whose statement a row tests and on what evidence, where that is not a measurement of the paper's own."""
    words = {"correction": "our correction", "ours": "ours", "computed": "computed", "definition": "by definition"}
    labels = [words[row[name]] for name in ("whose", "basis") if row[name] in words]
    labels += ["from the run of record"] if FROM_RECORD in row["reason"] else []
    return f' <span class="interval">({", ".join(labels)})</span>' if labels else ""
