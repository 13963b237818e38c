# ruff: noqa: RUF001  (typographic signs are meant)
"""Verdicts as labels, and which one a claim as a whole has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from privrep.evidence.verdicts import GROUPS, Verdict

MOODS = ("good", "fair", "open", "bad", "none")


def by_mood(words: Iterable[str]) -> list[str]:
    """Verdicts from agreement to no test."""
    order = list(Verdict)
    return sorted(words, key=lambda word: (MOODS.index(Verdict(word).mood), order.index(word)))


def badge(verdict: str) -> str:
    """A verdict as a small label.

    Raises
    ------
    ValueError
        If there is no such verdict.
    """
    verdict = Verdict(verdict)
    return f'<span class="badge {verdict.mood}"><span aria-hidden="true">{verdict.sign}</span> {verdict}</span>'


def tally_line(verdicts: Iterable[str]) -> str:
    """How many there are of each verdict, as labels."""
    counts = Counter(verdicts)
    return " ".join(f'<span class="tally">{badge(word)} × {counts[word]}</span>' for word in by_mood(counts))


def verdict_guide() -> str:
    """What each verdict means, by kind of claim."""
    groups = []
    for kind, words in GROUPS.items():
        entries = "".join(f"<dt>{badge(word)}</dt><dd>{word.meaning}</dd>" for word in words)
        groups.append(f"<div><p>{kind}</p><dl>{entries}</dl></div>")
    return f'<div class="guide">{"".join(groups)}</div>'


def claim_anchor(claim: str) -> str:
    """Name of a claim within the page."""
    return "claim-" + re.sub(r"[^\w.]+", "-", claim.replace("'", " prime")).strip("-")


def erratum_anchor(erratum: str) -> str:
    """Name of an erratum within the page."""
    return f"erratum-{erratum}"
