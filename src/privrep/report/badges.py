# ruff: noqa: RUF001  (typographic signs are meant)
"""The words of the verdicts: what they mean, how they look, and which one a claim as a whole has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Word:
    """A verdict: its mood (for colour), a sign that needs no colour, and what it means."""

    mood: str
    sign: str
    meaning: str


VERDICTS = {
    "RATE-EXACT": Word(
        "good",
        "✓",
        "The interval of the exponent lies within the tolerance of the claimed one: ± 0.15, for risks ± 0.30.",
    ),
    "LOOSE": Word("fair", "↓", "The error grows more slowly than the upper bound allows."),
    "VIOLATED": Word("bad", "✗", "The error grows faster than the upper bound allows."),
    "INCONCLUSIVE": Word("open", "?", "The interval lies on both sides of the limit, or there is none."),
    "HOLDS": Word("good", "✓", "The identity, inequality or arithmetic is right as printed."),
    "FALSE-AS-PRINTED": Word("bad", "✗", "It is wrong as printed; a corrected statement is given."),
    "PROOF-GAP": Word("open", "∅", "A step does not follow as printed; the statement may hold."),
    "REPRODUCED": Word("good", "✓", "The experiment gives what the paper says."),
    "PARTIAL": Word("fair", "~", "Some of it, or only in another reading of the set-up."),
    "NOT-REPRODUCED": Word("bad", "✗", "The result differs, in every reading that was tried."),
    "SURROGATE": Word("none", "≈", "A stand-in for the paper's experiment: it decides nothing about that."),
    "LIMIT": Word("none", "⊣", "Beyond what the paper states: there it ends. No fault of the paper."),
    "NOT-TESTED": Word("none", "–", "Not run, at too small a scale, or without its data; the reason is given."),
}
"""All verdicts. A result that has another one is an error."""

KINDS = {
    "Rates": ("RATE-EXACT", "LOOSE", "VIOLATED", "INCONCLUSIVE"),
    "Statements": ("HOLDS", "FALSE-AS-PRINTED", "PROOF-GAP"),
    "Experiments": ("REPRODUCED", "PARTIAL", "NOT-REPRODUCED", "SURROGATE"),
    "Any claim": ("LIMIT", "NOT-TESTED"),
}

MOODS = ("good", "fair", "open", "bad", "none")


def by_mood(words: Iterable[str]) -> list[str]:
    """Verdicts from agreement to no test."""
    return sorted(words, key=lambda word: (MOODS.index(VERDICTS[word].mood), list(VERDICTS).index(word)))


def badge(verdict: str) -> str:
    """A verdict as a small label.

    Raises
    ------
    ValueError
        If the word is not in `VERDICTS`.
    """
    if verdict not in VERDICTS:
        raise ValueError(f"{verdict!r} is not a verdict; it must be one of {', '.join(VERDICTS)}")
    word = VERDICTS[verdict]
    return f'<span class="badge {word.mood}"><span aria-hidden="true">{word.sign}</span> {verdict}</span>'


def tally_line(verdicts: Iterable[str]) -> str:
    """How many there are of each verdict, as labels."""
    counts = Counter(verdicts)
    return " ".join(f'<span class="tally">{badge(word)} × {counts[word]}</span>' for word in by_mood(counts))


def verdict_guide() -> str:
    """What each verdict means, by kind of claim."""
    groups = []
    for kind, words in KINDS.items():
        entries = "".join(f"<dt>{badge(word)}</dt><dd>{VERDICTS[word].meaning}</dd>" for word in words)
        groups.append(f"<div><p>{kind}</p><dl>{entries}</dl></div>")
    return f'<div class="guide">{"".join(groups)}</div>'


def verdict_of(claims: pd.DataFrame, claim: str) -> str:
    """The verdict of a claim: of its whole where it has one, else the worst of its quantities that are the paper's own."""
    rows = claims[claims["id"] == claim]
    own = rows[rows["whose"] == "paper"]
    rows = own if len(own) else rows
    whole = rows[rows["rule"] == "all_hold"]
    if len(whole):
        return whole["verdict"].iloc[0]
    order = ["bad", "open", "none", "fair", "good"]
    return min(rows["verdict"], key=lambda word: order.index(VERDICTS[word].mood))


def claim_anchor(claim: str) -> str:
    """Name of a claim within the page."""
    return "claim-" + re.sub(r"[^\w.]+", "-", claim).strip("-")


def verdict_line(claims: pd.DataFrame, claim: str) -> str:
    """The verdict of a claim as a sentence that ends in a label; nothing for a claim that was not judged."""
    if claim not in set(claims["id"]):
        return ""
    return f'Verdict of <a href="#{claim_anchor(claim)}">{claim}</a>: {badge(verdict_of(claims, claim))}'
