"""What the studies of exponents have in common: how an exponent and a constant are put into words."""

from __future__ import annotations

import math

from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import number, plural

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
    names = measures.named(f"constant {prefix}")
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


def other_laws(measures: Measures, what: str, names: dict[str, str]) -> str:
    """Constants of single fits, each with what is special about it; nothing unless all were measured.

    Parameters
    ----------
    what : the error and its law. names : fit -> label.
    """
    if not known(measures, *(f"constant {name}" for name in names)):
        return ""
    found = ", ".join(f"{measures.text(f'constant {name}')} ({label})" for name, label in names.items())
    return f"**Other heads.** {what}: {found}."


def judged(run: Run, claim: str, word: str, *quantities: str) -> bool:
    """`Run.judged`, with the run in front as in the rest of this module."""
    return run.judged(claim, word, *quantities)


def heading(strong: str, plain: str, holds: bool) -> str:
    """The first words of a paragraph: a conclusion where the verdicts carry it, the topic otherwise."""
    return f"**{strong if holds else plain}.**"


def paragraphs(*texts: str) -> str:
    """Paragraphs of Markdown, empty ones left out."""
    return "\n\n".join(text for text in texts if text)
