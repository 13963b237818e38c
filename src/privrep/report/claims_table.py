"""The table of claims with their quantities, and the buttons that filter it."""

from __future__ import annotations

import html
from collections.abc import Iterable
from math import isfinite

import pandas as pd

from privrep.evidence.verdicts import Verdict
from privrep.report.badges import badge, by_mood, claim_anchor
from privrep.report.html_pieces import command_line, scrolling
from privrep.report.pictures import anchor
from privrep.report.spelling import interval, number, plural, sentence, typeset

SHOWN_SHIFT = 0.005
"""A finite grid's share in an exponent is shown from here on."""
LONG_REASON = 24
"""Reasons of more characters get a line of their own."""
TOO_SMALL = r"^needs scale |did not run at this scale$"
"""Reasons of rows for which a run is too small, see `privrep.evidence.claims`."""


def by_scale(claims: pd.DataFrame, whole: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows that this run decides or leaves open for another reason, and those for which its scale is too small.

    whole : rows of one claim stay together; with the first where one of them does.
    """
    small = (claims["verdict"] == Verdict.NOT_TESTED) & claims["reason"].str.contains(TOO_SMALL)
    if whole:
        small &= ~claims["id"].isin(claims.loc[~small, "id"])
    return claims[~small], claims[small]


def brief_table(claims: pd.DataFrame) -> str:
    """Claims in short; those for which the scale is too small in one line."""
    rows, small = by_scale(claims)
    line = (
        f"<p>{sentence(plural(len(small), 'row is', 'rows are'))} not tested at this scale.</p>" if len(small) else ""
    )
    return (claims_table(rows, brief=True) if len(rows) else "") + line


def claims_table(claims: pd.DataFrame, figures: Iterable[str] = (), brief: bool = False) -> str:
    """Claims with their quantities, verdicts, reasons and commands, one group of rows per claim.

    Parameters
    ----------
    claims : rows of claims.csv, as text.
    figures : ids of the figures in the page, for links.
    brief : leave out statements, reasons and commands.
    """
    columns = ["Quantity", "Claimed", "Predicted", "Measured [95\u00a0% interval]", "Verdict", "Reason"]
    columns = columns[:-1] if brief else columns
    groups, several = [], claims["id"].nunique() > 1
    for (paper, claim), rows in claims.groupby(["paper", "id"], sort=False):
        first = rows.iloc[0]
        head = _claim_head(first, paper, claim, set(figures), len(columns), brief) if several or not brief else ""
        body = "".join(_quantity_row(row, brief) for row in rows.to_dict("records"))
        name = "" if brief else f' id="{claim_anchor(claim)}"'
        groups.append(f'<tbody role="rowgroup"{name} data-paper="{html.escape(paper)}">{head}{body}</tbody>')
    # Roles stand beside the elements, since the page lays the rows out as blocks on a phone.
    header = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in columns)
    head = f'<thead role="rowgroup"><tr role="row">{header}</tr></thead>'
    kind = "claims brief" if brief else "claims"
    return scrolling(f'<table role="table" class="{kind}">{head}{"".join(groups)}</table>', "Verdicts")


def _claim_head(row: pd.Series, paper: str, claim: str, figures: set[str], width: int, brief: bool) -> str:
    link = f' · <a href="#{anchor(row["figure"])}">figure</a>' if row["figure"] in figures else ""
    again = f'<span class="again">Draw again: {command_line(row["command"])}</span>' if row["command"] else ""
    opening = f'<tr role="row" class="claim"><th role="rowheader" scope="rowgroup" colspan="{width}"><div>'
    if brief:
        link = f'<a href="#{claim_anchor(claim)}" class="id">{html.escape(claim)}</a>'
        return f'{opening}{link} <span class="place">{typeset(row["place"])}</span></div></th></tr>'
    return (
        f"{opening}"
        f'<span class="id">{html.escape(claim)}</span> '
        f'<span class="place">{html.escape(paper)}, {typeset(row["place"])}{link}</span>'
        f"<p>{typeset(row['statement'])}</p>{again}</div></th></tr>"
    )


def _origin(row: dict) -> str:
    """Whose statement a row tests and on what evidence, where that is not a measurement of the paper's own."""
    words = {"correction": "our correction", "ours": "ours", "computed": "computed", "definition": "by construction"}
    labels = [words[row[name]] for name in ("whose", "basis") if row[name] in words]
    return f' <span class="interval">({", ".join(labels)})</span>' if labels else ""


def _reason(row: dict) -> str:
    """Why the verdict is what it is; without the grid's correction where that differs; what is printed and what to do where it is negative."""
    parts = [typeset(row["reason"])]
    if row["raw_verdict"] not in ("", row["verdict"]):
        parts.append(f"Without the correction for the grid: {row['raw_verdict']}.")
    if row["printed"]:
        parts.append(
            f"<b>Printed:</b> {typeset(row['printed'])}. <b>Severity {row['severity']}.</b> {typeset(row['advice'])}"
        )
    return " ".join(parts)


def _quantity_row(row: dict, brief: bool) -> str:
    tolerance = f' <span class="interval">± {typeset(row["tolerance"])}</span>' if row["tolerance"] else ""
    measured = interval(row["measured"], row["ci_low"], row["ci_high"])
    predicted = typeset(row["predicted"])
    if row["rule"] == "rate" and row["corrected"] and isfinite(float(row["corrected"])):
        predicted = number(row["predicted"]) if row["predicted"] else ""
        shift = float(row["corrected"]) - float(row["measured"])
        measured += (
            f', <span class="corrected">corrected {number(row["corrected"])}</span>' if abs(shift) > SHOWN_SHIFT else ""
        )
    if row["rule"] == "all_hold":
        measured = "" if row["verdict"] == Verdict.NOT_TESTED else f"{measured} hold"
    reason = _reason(row)
    own_line = not brief and len(reason) > LONG_REASON
    cells = {
        "claimed": typeset(row["claimed"]) + tolerance,
        "predicted": predicted,
        "measured": measured,
    }
    filled = "".join(f'<td role="cell" data-label="{name}">{text}</td>' for name, text in cells.items())
    filled += f'<td role="cell">{badge(row["verdict"])}</td>'
    if not brief:
        filled += f'<td role="cell" class="reason">{"" if own_line else reason}</td>'
    kind = ' class="whole"' if row["rule"] == "all_hold" else ""
    line = (
        f'<tr role="row" data-verdict="{row["verdict"]}"{kind}>'
        f'<th role="rowheader" scope="row">{typeset(row["quantity"])}{_origin(row)}</th>{filled}</tr>'
    )
    if own_line:
        cell = f'<td role="cell" colspan="6" class="reason">{reason}</td>'
        line += f'<tr role="row" class="more" data-verdict="{row["verdict"]}">{cell}</tr>'
    return line


def claims_filter(claims: pd.DataFrame) -> str:
    """Buttons that show the rows of one verdict or paper; hidden unless the page's script runs."""

    def buttons(key: str, values: Iterable[str]) -> str:
        return "".join(
            f'<button type="button" aria-pressed="false" data-key="{key}" data-value="{value}">{value} {count}</button>'
            for value, count in values
        )

    verdicts = [(word, (claims["verdict"] == word).sum()) for word in by_mood(claims["verdict"].unique())]
    papers = [(paper, (claims["paper"] == paper).sum()) for paper in claims["paper"].unique()]
    groups = buttons("verdict", verdicts) + (buttons("paper", papers) if len(papers) > 1 else "")
    return f'<div class="filter" role="group" aria-label="Show only" hidden>{groups}</div>'
