"""Every row of the claims with what stands behind it: the table that the page searches."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping

import pandas as pd

from privrep.evidence.verdicts import SEVERITIES
from privrep.report.badges import badge, claim_anchor, erratum_anchor
from privrep.report.claims_table import COLUMNS, by_scale, cells, head, row_attributes
from privrep.report.html_pieces import command_line, scrolling
from privrep.report.pictures import anchor
from privrep.report.spelling import typeset

RULES = {
    "rate": "The 95\u00a0% interval of the exponent, less what the finite grid adds, lies within {tolerance} of {claimed}.",
    "at_most": "The 95\u00a0% interval lies at or below {limit}.",
    "at_least": "The 95\u00a0% interval lies at or above {limit}.",
    "equals": "The 95\u00a0% interval lies within {tolerance} of {claimed}.",
    "all_hold": "All other quantities of the claim hold.",
}
"""What the verdict of agreement asks, by rule."""


CONFIRMED = {"yes": "The same verdict.", "no": "Another verdict.", "not run": "Not run, or not under this rule."}
"""What the confirmation says of a verdict."""


def all_rows(
    claims: pd.DataFrame, figures: list[str], errata: Mapping[str, list[str]], grid: Callable[[dict], str]
) -> str:
    """Every row with what stands behind it, and the same rows as data for the page's script. Rows that the scale does not test come last.

    Parameters
    ----------
    claims : rows of claims.csv, as text. figures : ids of the figures in the page. errata : id of a claim -> ids of the errata that touch it.
    grid : what a row's study ran, in words.
    """
    claims = pd.concat(by_scale(claims))
    names: set[str] = set()
    seen: set[str] = set()
    bodies = []
    for row in claims.to_dict("records"):
        name = _row_name(row, names)
        names.add(name)
        first = "" if row["id"] in seen else f'<span id="{claim_anchor(row["id"])}"></span>'
        seen.add(row["id"])
        claim = (
            f'{first}<a class="id" href="#{name}">{html.escape(row["id"])}</a> <span class="place">{_place(row)}</span>'
        )
        details = _details(row, row["figure"] if row["figure"] in figures else "", errata.get(row["id"], []), grid(row))
        bodies.append(
            f'<tbody role="rowgroup" id="{name}"><tr{row_attributes(row)}><td role="cell">{claim}</td>{cells(row)}</tr>'
            f'<tr role="row" class="more"><td role="cell" colspan="{len(COLUMNS)}">{details}</td></tr></tbody>'
        )
    table = f'<table role="table" class="claims every">{head(COLUMNS)}{"".join(bodies)}</table>'
    return f'<div id="find" hidden></div>{scrolling(table, "All verdicts")}{_data(claims)}'


def _row_name(row: dict, taken: set[str]) -> str:
    """Name of a row within the page: of its claim and quantity."""
    words = re.sub(r"[^\w.]+", "-", row["quantity"]).strip("-").lower()
    name = base = f"row-{claim_anchor(row['id']).removeprefix('claim-')}-{words}"
    count = 1
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    return name


def _place(row: dict) -> str:
    return f"{html.escape(row['paper'])}, {typeset(row['place'])}"


def _details(row: dict, figure: str, errata: list[str], grid: str) -> str:
    """The reason, and behind it what is stated, printed and asked, and how to make the number again."""
    entries = {"Statement": typeset(row["statement"])}
    if row["printed"]:
        entries["Printed"] = (
            f"{typeset(row['printed'])}. Severity {row['severity']}: {SEVERITIES.get(row['severity'], '')}."
        )
        entries["What to do"] = typeset(row["advice"])
    if row["rule"]:
        limit = row["claimed"].split(" ")[-1] + (f", up to {row['tolerance']}" if row["tolerance"] else "")
        rule = RULES[row["rule"]].format(tolerance=row["tolerance"], claimed=row["claimed"], limit=limit)
        entries["Rule"] = typeset(rule)
    if row["raw_verdict"] not in ("", row["verdict"]):
        entries["Without the correction for the grid"] = badge(row["raw_verdict"])
    if row["confirmed"]:
        entries["On another master seed"] = CONFIRMED[row["confirmed"]]
    if errata:
        entries["Errata"] = ", ".join(f'<a href="#{erratum_anchor(name)}">{name}</a>' for name in errata)
    if figure:
        entries["Figure"] = f'<a href="#{anchor(figure)}">{html.escape(figure)}</a>'
    if row["command"]:
        entries["Draw again"] = command_line(row["command"])
    if row["study"]:
        entries["Study"] = f"<code>config/studies/{row['study']}.yaml</code>{f': {grid}' if grid else ''}"
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in entries.items())
    return f"<details><summary>{typeset(row['reason']) or 'Details'}</summary><dl>{listed}</dl></details>"


def _data(claims: pd.DataFrame) -> str:
    """The rows as JSON, in the order of the table."""
    told = json.dumps([list(claims.columns), *claims.to_numpy().tolist()], separators=(",", ":"), ensure_ascii=False)
    told = told.replace("</", r"<\/").replace("$", r"\u0024")
    return f'<script type="application/json" id="rows">{told}</script>'
