"""How many verdicts another seed is expected to change, by the intervals of one run.

Given the number and the standard error of one run, those of another are drawn as for means of normal repetitions with
nothing known of mean and variance beforehand. The verdict on them is that of the claim's own rule. Intervals are
symmetric, some of them on the log scale; those of shares are treated alike, which is rough near 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple

import numpy as np
from scipy.special import chdtri, ndtri
from scipy.stats import qmc

from privrep.evidence.claim_rules import AnyQuantity, Interval, Rows
from privrep.evidence.claims import Claim, judge_quantity
from privrep.evidence.intervals import student

POINTS = qmc.Halton(3, scramble=False).random(600)[1:]
"""Other seeds: where they lie in the distributions of true error, error found and number, evenly spread."""


def other_seeds(repetitions: int) -> np.ndarray:
    """(seeds, 2): how far the number on another seed lies from this one, in half widths of this one's interval, and
    how many times as wide its own interval is.

    Parameters
    ----------
    repetitions : of each run, at least `privrep.evidence.intervals.FEWEST`.
    """
    free = repetitions - 1
    true = np.sqrt(free / chdtri(free, POINTS[:, 0]))
    wide = true * np.sqrt(chdtri(free, POINTS[:, 1]) / free)
    return np.column_stack([true * math.sqrt(2) * ndtri(POINTS[:, 2]) / student(repetitions), wide])


def elsewhere(measure: Mapping[str, str], steps: float, wide: float) -> dict[str, str]:
    """A measure with its number shifted and its interval widened, on the scale on which the interval is symmetric.

    Parameters
    ----------
    measure : row of measures.csv with an interval that has a width.
    steps : shift, in half widths of the interval.
    wide : width of the new interval over that of the old one.
    """
    found = Interval.read(measure)
    logarithmic = found.low > 0 and math.isclose(found.low * found.high, found.measured**2, rel_tol=1e-6)
    value, low, high = np.log(astuple(found)) if logarithmic else astuple(found)
    number = value + steps * (high - value if steps > 0 else value - low)
    moved = np.array([number, number - wide * (value - low), number + wide * (high - value)])
    ends = zip(("measured", "ci_low", "ci_high"), map(str, np.exp(moved) if logarithmic else moved), strict=True)
    return {**measure, **dict(ends), "standard_error": str(wide * float(measure["standard_error"]))}


def chance(claim: Claim, quantity: AnyQuantity, measures: Rows, scale: str, exponents: int) -> float:
    """Probability that another seed gives another verdict; 0 for a number without an interval, which has no error or
    none that is known.

    Parameters
    ----------
    claim : that has the quantity.
    quantity : with its rule.
    measures : rows of the study's measures.csv by quantity, numbers as text.
    scale : of the run.
    exponents : how many are judged in the run.
    """

    def verdict(rows: Rows) -> str:
        return judge_quantity(claim, quantity, rows, scale, exponents)["verdict"]

    measure = measures.get(quantity.measured)
    if measure is None or not Interval.read(measure).known or measure["ci_low"] == measure["ci_high"]:
        return 0.0
    here, others = verdict(measures), other_seeds(int(measure["seeds"]))
    other = [verdict({**measures, quantity.measured: elsewhere(measure, *seed)}) != here for seed in others]
    return float(np.mean(other))


def chances(
    claims: Iterable[Claim], measures: Mapping[str, Rows], scale: str, exponents: int
) -> dict[tuple[str, str], float]:
    """Claim id and quantity -> probability that another seed gives another verdict. For the row of a claim as a whole:
    that one of the paper's quantities does, were they independent.

    Parameters
    ----------
    claims : of all papers.
    measures : study -> quantity -> row of its measures.csv.
    scale : of the run.
    exponents : how many are judged in the run.
    """
    found = {}
    for claim in claims:
        rows = measures.get(claim.study, {})
        own = {one.quantity: chance(claim, one, rows, scale, exponents) for one in claim.quantities}
        found |= {(claim.id, name): value for name, value in own.items()}
        if claim.whole:
            papers = [own[one.quantity] for one in claim.quantities if claim.about(one)["whose"] == "paper"]
            found[claim.id, claim.whole.quantity] = 1 - math.prod(1 - value for value in papers)
    return found
