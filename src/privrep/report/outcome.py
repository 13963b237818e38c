# ruff: noqa: RUF001  (typographic signs are meant)
"""All claims together: how many there are of each verdict, and what the scale leaves open."""

from __future__ import annotations

import html

import pandas as pd

from privrep.report.markup import command_line
from privrep.report.verdicts import VERDICTS, badge, by_mood
from privrep.report.wording import count, listing, plural, sentence

FULL_SCALES = ("default", "paper")
"""Scales at which every verdict can be reached."""


def tally(claims: pd.DataFrame) -> str:
    """How many quantities have each verdict, as labels."""
    counts = claims["verdict"].value_counts()
    labels = "".join(f"<span>{badge(word)} × {counts[word]}</span> " for word in by_mood(counts.index))
    return f'<p class="tally">{labels}</p>'


def summary(claims: pd.DataFrame, errata: pd.DataFrame) -> str:
    """One paragraph: how much was judged, with what outcome."""
    papers = claims["paper"].nunique()
    parts = [
        f"This report puts {plural(claims['id'].nunique(), 'claim')} of {plural(papers, 'paper')} next to what was "
        f"measured, in {plural(len(claims), 'quantity', 'quantities')}. Each verdict is computed from a measured "
        "number, its interval and a rule that was fixed beforehand."
    ]
    moods = claims["verdict"].map(lambda word: VERDICTS[word].mood).value_counts()
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
    if len(errata):
        confirmed = int((errata["confirmed"] == "yes").sum())
        every = "each of them" if confirmed == len(errata) else f"{count(confirmed)} of them"
        listed = f"{plural(len(errata), 'erratum is', 'errata are')} listed"
        parts.append(f"{sentence(listed)}; a demonstration confirms {every}.")
    return " ".join(parts)


def scale_note(scale: str, claims: pd.DataFrame) -> str:
    """A visible note when the run is smaller than the claims; nothing at full scale."""
    if scale in FULL_SCALES:
        return ""
    waiting = int((claims["verdict"] == "NOT-TESTED").sum())
    return (
        f'<aside class="note"><p><b>This is a run at scale “{html.escape(scale)}”</b>, smaller than the paper’s. '
        f"Verdicts that need the full size are not tested at this scale: {plural(waiting, 'row reads', 'rows read')} "
        f"{badge('NOT-TESTED')}. The numbers below describe this run alone. {command_line('snakemake -j8 all')} "
        "runs the full size.</p></aside>"
    )
