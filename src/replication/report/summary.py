"""All claims together: how many there are of each verdict, what counts as agreement, and what does not hold as
printed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
from markupsafe import Markup

from replication.evidence.catalogue import MENDED
from replication.evidence.compare import interval_of
from replication.evidence.verdicts import NEGATIVE, SEVERITIES, Verdict
from replication.report import badges
from replication.report.layout import PIECES, macros
from replication.report.papers import by_change, by_severity, decided
from replication.report.run_tables import Run

FULL_SCALES = ("default", "record")
"""Scales at which every verdict can be reached."""
NARROWER = (2 / 3, 1 / 3)
"""Shares of the tolerance at which agreement of exponents is counted again."""


def evidence(claims: pd.DataFrame) -> pd.DataFrame:
    """The rows that say something about a paper: its own statements, but for what holds by definition and what sums
    others up."""
    own = (claims["whose"] == "paper") & (claims["basis"] != "definition") & (claims["rule"] != "all_hold")
    return claims[own & (claims["verdict"] != Verdict.SURROGATE)]


def tally(claims: pd.DataFrame) -> Markup:
    """How many of the papers' own statements have each verdict, measured and computed, as labels."""
    rows = evidence(claims)
    bases = {"Measured": "measured", "Computed from printed formulas": "computed"}
    return PIECES.tally(
        {words: badges.counted(rows.loc[rows["basis"] == basis, "verdict"]) for words, basis in bases.items()}
    )


def left_out(claims: pd.DataFrame) -> dict[str, int]:
    """How many rows the tally leaves out, by why."""
    papers = claims["whose"] == "paper"
    counts = {
        "corrections": claims["whose"] == "correction",
        "ours": claims["whose"] == "ours",
        "definitions": papers & (claims["basis"] == "definition"),
        "stand_ins": papers & (claims["verdict"] == Verdict.SURROGATE),
    }
    return {why: int(rows.sum()) for why, rows in counts.items()}


def counted(claims: pd.DataFrame) -> dict[str, int]:
    """The papers' own statements: how many claims, papers and quantities, and how many quantities of each level."""
    rows = evidence(claims)
    levels = Counter(Verdict(word).level for word in rows["verdict"])
    sizes = {"claims": rows["id"].nunique(), "papers": rows["paper"].nunique(), "quantities": len(rows)}
    return sizes | {level: levels[level] for level in badges.LEVELS}


def exponents(claims: pd.DataFrame) -> pd.DataFrame:
    """The exponents that agree, with the distance of the far end of their corrected interval from the claimed exponent.
    None of those that follow from a definition."""
    agrees = (claims["verdict"] == Verdict.RATE_EXACT) & (claims["basis"] != "definition")
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
        for tolerance, part in rows.groupby("tolerance")
    ]
    return {"within": within, "changed": int(rows["changed"].sum())}


def contradictions(claims: pd.DataFrame) -> Markup:
    """What does not hold as printed: one line for an error, the most severe first."""
    rows = claims[claims["verdict"].isin(NEGATIVE)].to_dict("records")
    return macros("errata.html.jinja").contradictions(by_severity(rows))


def facts(run: Run) -> dict[str, object]:
    """What the texts on the whole run need beside its quantities."""
    negative = run.claims[run.claims["verdict"].isin(NEGATIVE)]
    return {
        "scale": run.scale,
        "counted": counted(run.claims),
        "left_out": left_out(run.claims),
        "agreement": agreement(run.claims),
        "waiting": int((run.claims["verdict"] == Verdict.NOT_TESTED).sum()),
        "errata": {change: len(rows) for change, rows in by_change(run.errata).items()},
        "unconfirmed": int((decided(run.errata)["confirmed"] == "no").sum()),
        "mended": int((run.errata["confirmed"] == MENDED).sum()),
        "revisions": sum(entry["kind"].startswith("revised") for entry in run.deviations),
        "deviations": len(run.deviations),
        "negative": len(negative),
        "severities": [
            f"{rows} {letter}" for letter in SEVERITIES if (rows := int((negative["severity"] == letter).sum()))
        ],
        "badge": PIECES.badge,
    }
