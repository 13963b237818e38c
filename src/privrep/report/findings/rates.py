"""What the studies of exponents have in common: how an exponent and a constant are put into words."""

from __future__ import annotations

import math

import pandas as pd

from privrep.report.run import Measures, Run
from privrep.report.verdicts import VERDICTS, badge, by_mood
from privrep.report.wording import listing, number, plural

FAIR = 0.1
"""A law whose constants are within this of 1 is said to hold with its constant."""


def known(measures: Measures, *quantities: str) -> bool:
    """Whether all quantities were measured and are numbers."""
    return all(name in measures and math.isfinite(measures.value(name)) for name in quantities)


def exponent(measures: Measures, fit: str) -> str:
    """A fitted exponent with its interval."""
    return measures.text(f"exponent {fit}")


def constants(measures: Measures, prefix: str) -> dict[str, float]:
    """Fit -> measured over predicted error, for the fits whose names start so and have a number."""
    names = [name for name in measures.rows.index if name.startswith(f"constant {prefix}")]
    return {name.removeprefix("constant "): measures.value(name) for name in names if known(measures, name)}


def law(measures: Measures, prefix: str, name: str, what: str) -> str:
    """Between which constants a law holds; nothing where none was measured."""
    found = constants(measures, prefix)
    if not found:
        return ""
    low, high = min(found.values()), max(found.values())
    fits = "with its constant" if max(high - 1, 1 - low) <= FAIR else "up to its constant"
    return (
        f"**The constant.** Over {plural(len(found), 'sweep')}, {what} is {number(low, 2)} to {number(high, 2)} times the law "
        f"{name}: the law holds {fits}."
    )


def tally(run: Run, study: str) -> str:
    """The verdicts of the study's quantities, counted."""
    claims: pd.DataFrame = run.claims[run.claims["study"] == study]
    counts = claims["verdict"].value_counts()
    return listing(f"{counts[word]} {badge(word)}" for word in by_mood(counts.index))


def broken(run: Run, study: str) -> list[str]:
    """The quantities of a study that contradict the paper, as claim and quantity."""
    claims = run.claims[run.claims["study"] == study]
    bad = claims[[VERDICTS[word].mood == "bad" for word in claims["verdict"]]]
    return [f"{row['id']} ({row['quantity']})" for row in bad.to_dict("records")]


def paragraphs(*texts: str) -> str:
    """Paragraphs of Markdown, empty ones left out."""
    return "\n\n".join(text for text in texts if text)
