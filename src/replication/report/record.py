# ruff: noqa: RUF001  (typographic signs are meant)
"""The run itself and others, for the page: provenance, agreement with the run of record in docs/record, and the default
run with its confirmation on another master seed in docs/confirmation.csv."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from replication.evidence import compare
from replication.evidence.compare import Pair, both_tested, by_name, changed, paired
from replication.report.claims_table import NONE, Names
from replication.report.layout import macros
from replication.report.run_tables import DOCS, Run
from replication.report.spelling import number, share
from replication.run.config import read_yaml
from replication.run.csv_tables import read_rows

RECORD = macros("record.html.jinja")


def confirmation_of(docs: Path = DOCS) -> list[Pair]:
    """Return the rows of the default run, each with the same row of the newest confirmation."""
    return compare.confirmation_pairs(read_rows(docs / "confirmation.csv"))


def reasons(docs: Path = DOCS) -> Names:
    """Return claim and quantity -> reason why the default run has another verdict than the run of record."""
    entries = read_yaml(docs / "record" / "differences.yaml")["differences"]
    return {(entry["id"], entry["quantity"]): entry["why"] for entry in entries}


def _shown(pairs: list[Pair], anchors: Names = NONE, why: Names = NONE) -> list[dict]:
    return [
        {
            "id": row["id"],
            "quantity": row["quantity"],
            "anchor": anchors.get((row["id"], row["quantity"]), ""),
            "both": [(each["verdict"], compare.number_text(each)) for each in (row, other)],
            "why": why.get((row["id"], row["quantity"]), ""),
        }
        for row, other in pairs
    ]


def with_record(run: Run, docs: Path = DOCS) -> Markup:
    """Return the line at the top of a page: this is the run of record, or all rows agree with it, or which rows differ.
    A differing row with the default run's verdict has the reason why the default run differs from the record."""
    about = json.loads((docs / "record" / "provenance.json").read_text())
    pairs = both_tested(paired(run.claims.to_dict("records"), read_rows(docs / "record" / "claims.csv")))
    differ = changed(pairs)
    default = paired((row for row, _ in differ), (row for row, _ in confirmation_of(docs)))
    alike = by_name(row for row, known in default if row["verdict"] == known["verdict"])
    why = {name: text for name, text in reasons(docs).items() if name in alike}
    hours = about.get("cell_cpu_seconds", 0) / 3600
    return RECORD.agreement(about == run.provenance, about, hours, len(pairs), _shown(differ, run.rows, why), run.small)


def confirmation(claims: pd.DataFrame, docs: Path = DOCS) -> Markup:
    """Return the section on the run on another master seed, for the rows of claims.csv that the page shows."""
    pairs = confirmation_of(docs)
    now = claims["confirmed"].value_counts().to_dict()
    text = f"{compare.summary(pairs)} {compare.coverage(pairs)}"
    return RECORD.confirmation(pairs[0][0], len(claims), now, text, _shown(changed(both_tested(pairs))))


def provenance_table(record: dict) -> Markup:
    """Return software, machine and times of the run; every entry named ..._seconds or share_... is shown."""
    packages = ", ".join(f"{name} {version}" for name, version in record["packages"].items())
    blas = " ".join(str(value) for value in (record.get("blas") or {}).values())
    words = {name: name.removesuffix("_seconds").replace("_", " ").replace("cpu", "CPU") for name in record}
    times = [f"{words[name]} {duration(value)}" for name, value in record.items() if name.endswith("_seconds")]
    parts = {words[name]: value for name, value in record.items() if name.startswith("share_")}
    shares = {name: "–" if value is None else share(value) for name, value in parts.items()}
    return RECORD.provenance(record, packages, blas, times, shares)


def duration(seconds: float) -> str:
    """Write seconds in a fitting unit.

    >>> duration(119), duration(120), duration(7199), duration(7200)
    ('119 s', '2 min', '120 min', '2 h')
    """
    if seconds < 120:
        return f"{number(seconds)} s"
    return f"{number(seconds / 60)} min" if seconds < 7200 else f"{number(seconds / 3600)} h"
