"""Verdicts as labels, in the order of what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from privrep.evidence.verdicts import Verdict

LEVELS = ("good", "fair", "open", "bad", "none")


def by_level(words: Iterable[str]) -> list[str]:
    """Verdicts from agreement to no test."""
    order = list(Verdict)
    return sorted(words, key=lambda word: (LEVELS.index(Verdict(word).level), order.index(word)))


def counted(verdicts: Iterable[str]) -> dict[str, int]:
    """How many there are of each verdict, from agreement to no test."""
    counts = Counter(verdicts)
    return {word: counts[word] for word in by_level(counts)}
