"""Rows of claims: what is printed or claimed beside what was measured. In short for a chapter, and all of them with their details."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from math import isfinite

import pandas as pd

from privrep.evidence.verdicts import SEVERITIES, Verdict
from privrep.report.badges import badge, claim_anchor, erratum_anchor
from privrep.report.bars import bar
from privrep.report.html_pieces import command_line, scrolling
from privrep.report.pictures import anchor
from privrep.report.spelling import interval, number, plural, sentence, typeset

SHOWN_SHIFT = 0.005
"""A finite grid's share in an exponent is shown from here on."""
TOO_SMALL = r"^needs scale |did not run at this scale$"
"""Reasons of rows for which a run is too small, see `privrep.evidence.claims`."""
COLUMNS = ("Claim", "Quantity", "Printed or claimed", "Measured [95\u00a0% interval]", "On one scale", "Verdict")
RULES = {
    "rate": "The 95\u00a0% interval of the exponent, less what the finite grid adds, lies within {tolerance} of {claimed}.",
    "at_most": "The 95\u00a0% interval lies at or below {limit}.",
    "at_least": "The 95\u00a0% interval lies at or above {limit}.",
    "equals": "The 95\u00a0% interval lies within {tolerance} of {claimed}.",
    "digits": "Rounded as printed, the number is {claimed}.",
    "all_hold": "All other quantities of the claim hold.",
}
"""What the verdict of agreement asks, by rule."""


def by_scale(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows that this run decides or leaves open for another reason, and those for which its scale is too small."""
    small = (claims["verdict"] == Verdict.NOT_TESTED) & claims["reason"].str.contains(TOO_SMALL)
    return claims[~small], claims[small]


# In short


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
        body = "".join(f"<tr{_row_attributes(row)}>{_cells(row)}</tr>" for row in rows.to_dict("records"))
        groups.append(f'<tbody role="rowgroup">{_claim_head(rows.iloc[0]) if several else ""}{body}</tbody>')
    return scrolling(
        f'<table role="table" class="claims brief">{_head(COLUMNS[1:])}{"".join(groups)}</table>', "Verdicts"
    )


def _claim_head(row: pd.Series) -> str:
    link = f'<a href="#{claim_anchor(row["id"])}" class="id">{html.escape(row["id"])}</a>'
    return (
        f'<tr role="row" class="claim"><th role="rowheader" scope="rowgroup" colspan="{len(COLUMNS) - 1}"><div>'
        f'{link} <span class="place">{typeset(row["place"])}</span></div></th></tr>'
    )


def _head(columns: tuple[str, ...]) -> str:
    # Roles stand beside the elements, since the page lays the rows out as blocks on a phone.
    header = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in columns)
    return f'<thead role="rowgroup"><tr role="row">{header}</tr></thead>'


def _row_attributes(row: dict) -> str:
    return f' role="row"{" class=whole" if row["rule"] == "all_hold" else ""}'


def _cells(row: dict) -> str:
    """Quantity, claimed, measured, bar and verdict."""
    filled = {"claimed": _claimed(row), "measured": _measured(row), "": bar(row, Verdict(row["verdict"]).mood)}
    cells = "".join(
        f'<td role="cell"{f" data-label={name}" if name else ""}>{text}</td>' for name, text in filled.items()
    )
    quantity = f'<th role="rowheader" scope="row">{typeset(row["quantity"])}{_origin(row)}</th>'
    return f'{quantity}{cells}<td role="cell">{badge(row["verdict"])}</td>'


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
    words = {"correction": "our correction", "ours": "ours", "computed": "computed", "definition": "by construction"}
    labels = [words[row[name]] for name in ("whose", "basis") if row[name] in words]
    return f' <span class="interval">({", ".join(labels)})</span>' if labels else ""


# All of them


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
            f'<tbody role="rowgroup" id="{name}"><tr{_row_attributes(row)}><td role="cell">{claim}</td>{_cells(row)}</tr>'
            f'<tr role="row" class="more"><td role="cell" colspan="{len(COLUMNS)}">{details}</td></tr></tbody>'
        )
    table = f'<table role="table" class="claims every">{_head(COLUMNS)}{"".join(bodies)}</table>'
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
