# ruff: noqa: RUF001  (typographic signs are meant)
"""All claims together: how many there are of each verdict, what counts as agreement, and what does not hold as printed."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd

from privrep.evidence.verdicts import ACCUSING, SEVERITIES, Verdict
from privrep.report.badges import badge, by_mood, claim_anchor
from privrep.report.html_pieces import command_line, table
from privrep.report.spelling import count, interval, listing, plural, sentence, typeset

FULL_SCALES = ("default", "paper")
"""Scales at which every verdict can be reached."""
NARROWER = (2 / 3, 1 / 3)
"""Shares of the tolerance at which agreement of exponents is counted again."""


def evidence(claims: pd.DataFrame) -> pd.DataFrame:
    """The rows that say something about a paper: its own statements, but for what holds by construction and what sums others up."""
    own = (claims["whose"] == "paper") & (claims["basis"] != "definition") & (claims["rule"] != "all_hold")
    return claims[own & (claims["verdict"] != Verdict.SURROGATE)]


def tally(claims: pd.DataFrame) -> str:
    """How many of the papers' own statements have each verdict, measured and computed, as labels."""
    lines = []
    rows = evidence(claims)
    for basis, words in (("measured", "Measured"), ("computed", "Computed from printed formulas")):
        counts = rows.loc[rows["basis"] == basis, "verdict"].value_counts()
        labels = "".join(f"<span>{badge(word)} × {counts[word]}</span> " for word in by_mood(counts.index))
        if labels:
            lines.append(f'<p class="tally">{words}: {labels}</p>')
    return "".join(lines)


def not_counted(claims: pd.DataFrame) -> str:
    """What the tally leaves out, in one sentence."""
    left = {
        "corrections of ours": (claims["whose"] == "correction").sum(),
        "laws and limits of ours": (claims["whose"] == "ours").sum(),
        "what holds by construction": ((claims["whose"] == "paper") & (claims["basis"] == "definition")).sum(),
        "what rests on a stand-in": ((claims["whose"] == "paper") & (claims["verdict"] == Verdict.SURROGATE)).sum(),
    }
    parts = [f"{words} ({count(int(rows))})" for words, rows in left.items() if rows]
    return f"Not counted here: {listing(parts)}." if parts else ""


def summary(claims: pd.DataFrame, errata: pd.DataFrame) -> str:
    """One paragraph: how much was judged, with what outcome, the papers' own statements alone."""
    rows = evidence(claims)
    papers = rows["paper"].nunique()
    parts = [
        f"This report puts {plural(rows['id'].nunique(), 'claim')} of {plural(papers, 'paper')} next to what was "
        f"measured, in {plural(len(rows), 'quantity', 'quantities')}. Each verdict is computed from a measured "
        "number, its interval and a rule in the configuration; rules were revised during development, see below."
    ]
    moods = rows["verdict"].map(lambda word: Verdict(word).mood).value_counts()
    phrases = {
        "good": ("agrees with the paper", "agree with the paper"),
        "fair": ("agrees in part", "agree in part"),
        "open": ("stays open", "stay open"),
        "bad": ("contradicts it", "contradict it"),
        "none": ("was not tested", "were not tested"),
    }
    counts = [
        f"{count(moods[mood])} {one if moods[mood] == 1 else many}"
        for mood, (one, many) in phrases.items()
        if mood in moods
    ]
    parts.append(f"Of the quantities, {listing(counts)}.")
    parts.append(not_counted(claims))
    if len(errata):
        confirmed = int((errata["confirmed"] == "yes").sum())
        every = "each of them" if confirmed == len(errata) else f"{count(confirmed)} of them"
        listed = f"{plural(len(errata), 'erratum is', 'errata are')} listed"
        parts.append(f"{sentence(listed)}; a demonstration confirms {every}.")
    return " ".join(part for part in parts if part)


def exponents(claims: pd.DataFrame) -> pd.DataFrame:
    """The exponents that agree, with the distance of the far end of their corrected interval from the claimed exponent."""
    rows = claims[(claims["rule"] == "rate") & (claims["verdict"] == Verdict.RATE_EXACT)]
    names = ("measured", "corrected", "ci_low", "ci_high", "claimed", "tolerance")
    measured, corrected, low, high, claimed, tolerance = (pd.to_numeric(rows[name]) for name in names)
    shift = corrected - measured
    farthest = np.maximum((low + shift - claimed).abs(), (high + shift - claimed).abs())
    return rows.assign(farthest=farthest, tolerance=tolerance, changed=rows["verdict"] != rows["raw_verdict"])


def equivalence(claims: pd.DataFrame) -> str:
    """How sharp the agreement of the exponents is; nothing where none agrees."""
    rows = exponents(claims)
    if not len(rows):
        return ""
    parts = []
    for tolerance, part in rows.groupby("tolerance"):
        risks = " for risks" if tolerance > rows["tolerance"].min() else ""
        narrower = listing(
            f"{count(int((part['farthest'] <= share * tolerance).sum()))} within {share * tolerance:.3g}"
            for share in NARROWER
        )
        parts.append(f"Within {tolerance:g} lie {plural(len(part), 'exponent')}{risks}, {narrower}.")
    changed = int(rows["changed"].sum())
    parts.append(
        f"{sentence(count(changed)) if changed else 'None'} of them would not agree without the correction for the finite grid, which may be a third of the tolerance."
    )
    return f"**Agreement of an exponent** means that its whole interval lies near the claimed one. {' '.join(parts)}"


def accusations(claims: pd.DataFrame) -> str:
    """What does not hold as printed: one line for an error, the gravest first."""
    rows = claims[claims["verdict"].isin(ACCUSING)]
    order = {letter: rank for rank, letter in enumerate(SEVERITIES)}
    rows = rows.assign(rank=rows["severity"].map(order).fillna(len(order))).sort_values("rank", kind="stable")
    lines = [
        [
            f'<a href="#{claim_anchor(row["id"])}" class="id">{html.escape(row["id"])}</a>'
            f'<span class="place">{html.escape(row["paper"])}</span>',
            f"<b>{html.escape(row['severity'])}</b> {SEVERITIES.get(row['severity'], '')}",
            typeset(row["printed"]),
            f"{typeset(row['quantity'])}: {interval(row['measured'], row['ci_low'], row['ci_high'])}, claimed {typeset(row['claimed'])}. "
            f"{badge(row['verdict'])}",
            typeset(row["advice"]),
        ]
        for row in rows.to_dict("records")
    ]
    return (
        table(["Claim", "Severity", "Printed", "Measured", "What to do"], lines, kind="errata accused") if lines else ""
    )


def scale_note(scale: str, claims: pd.DataFrame) -> str:
    """A visible note when the run is smaller than the claims; nothing at full scale."""
    if scale in FULL_SCALES:
        return ""
    waiting = int((claims["verdict"] == Verdict.NOT_TESTED).sum())
    return (
        f'<aside class="note"><p><b>This is a run at scale “{html.escape(scale)}”</b>, smaller than the paper’s. '
        f"Verdicts that need the full size are not tested at this scale: {plural(waiting, 'row reads', 'rows read')} "
        f"{badge(Verdict.NOT_TESTED)}. The numbers below describe this run alone. {command_line('snakemake -j8 all')} "
        "runs the full size.</p></aside>"
    )
