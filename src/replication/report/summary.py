"""All claims together: their number by verdict, the agreement of exponents, and the statements that do not hold as
printed; the errata found in the papers; and numbers for the texts on the whole run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import get_args

import numpy as np
import pandas as pd
from markupsafe import Markup

from replication.evidence.catalogue import MENDED, Change
from replication.evidence.compare import interval_of
from replication.evidence.counts import by_outcome, own_statements
from replication.evidence.verdicts import NEGATIVE, SEVERITIES, Verdict
from replication.report.layout import PIECES, macros
from replication.report.run_tables import DOCS, Run

ERRATA = macros("errata.html.jinja")
LEVELS = ("good", "fair", "open", "bad", "none")
"""Levels of verdicts, from agreement to no test."""
NARROWER = (2 / 3, 1 / 3)
"""Fractions of the tolerance within which exponents that agree are counted again."""


def by_verdict(verdicts: Iterable[str]) -> dict[str, int]:
    """Count verdicts, in the order from agreement to no test."""
    counts = Counter(verdicts)
    return {word: counts[word] for word in sorted(Verdict, key=lambda kind: LEVELS.index(kind.level)) if word in counts}


def tally(claims: pd.DataFrame) -> Markup:
    """Return the number of the papers' own statements by verdict, measured and computed, as labels."""
    own = own_statements(claims)
    bases = {"Measured": "measured", "Computed from printed formulas": "computed"}
    return PIECES.tally({name: by_verdict(own.loc[own["basis"] == basis, "verdict"]) for name, basis in bases.items()})


def left_out(claims: pd.DataFrame) -> dict[str, int]:
    """Count the rows that the tally leaves out, by reason."""
    papers = claims["whose"] == "paper"
    counts = {
        "corrections": claims["whose"] == "correction",
        "ours": claims["whose"] == "ours",
        "definitions": papers & (claims["basis"] == "definition"),
        "stand_ins": papers & (claims["verdict"] == Verdict.SURROGATE),
    }
    return {why: int(rows.sum()) for why, rows in counts.items()}


def counted(claims: pd.DataFrame) -> dict[str, int]:
    """Count the papers with a tested statement of their own, and these statements by outcome."""
    rows = own_statements(claims)
    return {"papers": rows.loc[rows["verdict"] != Verdict.NOT_TESTED, "paper"].nunique()} | by_outcome(claims)


def exponents(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents that agree, with the distance of their corrected interval's far end from the claimed one.
    Exponents that follow from a definition are left out."""
    agrees = (claims["verdict"] == Verdict.RATE_AGREES) & (claims["basis"] != "definition")
    rows = claims[(claims["rule"] == "rate") & agrees]
    ends = np.array([interval_of(row)[1:] for row in rows.to_dict("records")]).reshape(-1, 2)
    farthest = np.abs(ends - pd.to_numeric(rows["claimed"]).to_numpy()[:, None]).max(axis=1)
    tolerance = pd.to_numeric(rows["tolerance"])
    return rows.assign(farthest=farthest, tolerance=tolerance, changed=rows["verdict"] != rows["raw_verdict"])


def agreement(claims: pd.DataFrame) -> dict[str, object]:
    """Count the exponents that agree, by tolerance and at narrower limits, and those that agree by the correction for
    the finite grid alone."""
    rows = exponents(claims)
    within = [
        {
            "tolerance": tolerance,
            "exponents": len(part),
            "narrower": {share * tolerance: int((part["farthest"] <= share * tolerance).sum()) for share in NARROWER},
        }
        for tolerance, part in ((float(part["tolerance"].iloc[0]), part) for _, part in rows.groupby("tolerance"))
    ]
    return {"within": within, "changed": int(rows["changed"].sum())}


def contradictions(claims: pd.DataFrame) -> Markup:
    """Return the table of statements that do not hold as printed: one line for an error, the most severe first."""
    rows = claims[claims["verdict"].isin(NEGATIVE)].to_dict("records")
    return ERRATA.contradictions(by_severity(rows))


def by_severity(rows: Iterable[dict]) -> list[dict]:
    """Sort rows of claims or errata, the most severe first."""
    return sorted(rows, key=lambda row: [*SEVERITIES, ""].index(row["severity"]))


def by_question(errata: list[dict]) -> list[dict]:
    """Return the first erratum on each question, with the others on it under `same`."""
    firsts = (row for row in errata if not row["same_as"])
    return [row | {"same": [other for other in errata if other["same_as"] == row["id"]]} for row in firsts]


def decided(errata: pd.DataFrame) -> pd.DataFrame:
    """Return the errata with a demonstration."""
    return errata[errata["confirmed"].isin(("yes", "no"))]


def by_change(errata: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return effect -> its errata, the most severe effect first, as they are counted:
    only one of several errata on the same question."""
    rows = decided(errata)
    rows = rows[rows["same_as"] == ""]
    return {change: part for change in get_args(Change) if len(part := rows[rows["changes"] == change])}


def claims_touched(errata: pd.DataFrame) -> dict[str, list[str]]:
    """Return id of a claim -> ids of the errata that its reader should know."""
    touched: dict[str, list[str]] = {}
    for row in decided(errata).to_dict("records"):
        for claim in filter(None, row["claims"].split("; ")):
            touched.setdefault(claim, []).append(row["id"])
    return touched


def errata_list(errata: pd.DataFrame) -> Markup:
    """Return the errata with printed text, correction, demonstration and effect, the most severe first;
    those on one question are together."""
    every = decided(errata).to_dict("records")
    changes = {change: [] for change in by_change(errata)}
    for row in by_severity(by_question(every)):
        changes[row["changes"]] += [row, *row["same"]]
    return ERRATA.errata(changes)


def candidates_table(errata: pd.DataFrame) -> Markup:
    """Return the suspicions that were set aside, with reasons."""
    return ERRATA.candidates(errata.drop(decided(errata).index).to_dict("records"))


def facts(run: Run) -> dict[str, object]:
    """Return numbers for the texts on the whole run, besides its quantities."""
    negative = run.claims[run.claims["verdict"].isin(NEGATIVE)]
    return {
        "scale": run.scale,
        "counted": counted(run.claims),
        "left_out": left_out(run.claims),
        "agreement": agreement(run.claims),
        "errata": {change: len(rows) for change, rows in by_change(run.errata).items()},
        "unconfirmed": int((decided(run.errata)["confirmed"] == "no").sum()),
        "mended": int((run.errata["confirmed"] == MENDED).sum()),
        "revisions": sum(entry["kind"].startswith("revised") for entry in run.deviations),
        "deviations": len(run.deviations),
        "negative": len(negative),
        "severities": [
            f"{rows} {letter}" for letter in SEVERITIES if (rows := int((negative["severity"] == letter).sum()))
        ],
        "record": (record := json.loads((DOCS / "record" / "provenance.json").read_text())),
        "record_hours": record["cell_cpu_seconds"] / 3600,
    }
