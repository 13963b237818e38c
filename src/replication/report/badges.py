"""Verdicts as labels, in the order of what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from replication.evidence.verdicts import Verdict

LEVELS = ("good", "fair", "open", "bad", "none")


def counted(verdicts: Iterable[str]) -> dict[str, int]:
    """How many there are of each verdict, from agreement to no test."""
    counts = Counter(verdicts)
    return {word: counts[word] for word in sorted(Verdict, key=lambda one: LEVELS.index(one.level)) if word in counts}
