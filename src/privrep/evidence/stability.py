"""How many verdicts another seed is expected to change, by the intervals of one run.

Given the number and the standard error of one run, those of another are drawn as for means of normal repetitions with
nothing known of mean and variance beforehand; given the hits of a share, those of another run as for a share with
Jeffreys' prior. The verdict on them is that of the claim's own rule. Intervals are symmetric, some of them on the log
scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple

import numpy as np
from scipy.special import chdtri, ndtri
from scipy.stats import betabinom, qmc

from privrep.evidence.claim_rules import AnyQuantity, Interval, Rows
from privrep.evidence.claims import Claim, judge_quantity
from privrep.evidence.intervals import student
from privrep.evidence.measured import share, share_ends

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


def hits_of(measure: Mapping[str, str]) -> int | None:
    """Hits of a share, None for another number: a share has the interval of Clopper and Pearson.

    Parameters
    ----------
    measure : row of measures.csv with an interval that has a width.
    """
    found, runs = Interval.read(measure), int(measure["seeds"])
    hits = round(found.measured * runs) if 0 <= found.measured <= 1 else 0
    ends = share_ends(hits, runs)
    return hits if np.allclose(ends, (found.low, found.high), rtol=1e-9, atol=1e-12) else None


def other_shares(hits: int, runs: int) -> list[dict[str, str]]:
    """What a share may be on other seeds, evenly spread: columns of measures.csv.

    Parameters
    ----------
    hits : of this run, from 0 to `runs`.
    runs : of each run.
    """
    found = betabinom.ppf(POINTS[:, 0], runs, hits + 0.5, runs - hits + 0.5).astype(int)
    known = {other: share("", other, runs) for other in set(found.tolist())}
    return [_columns(known[other].measured, known[other].ci_low, known[other].ci_high) for other in found.tolist()]


def elsewhere(measure: Mapping[str, str], steps: float, wide: float) -> dict[str, str]:
    """A number shifted and its interval widened, on the scale on which the interval is symmetric: columns of
    measures.csv.

    Parameters
    ----------
    measure : row of measures.csv with an interval that has a width.
    steps : shift, in half widths of the interval.
    wide : width of the new interval over that of the old one.
    """
    found = Interval.read(measure)
    logarithmic = found.low > 0 and math.isclose(found.low * found.high, found.measured**2, rel_tol=1e-6)
    value, low, high = np.log(astuple(found)) if logarithmic else astuple(found)
    number = value + steps * (high - low) / 2
    moved = np.array([number, number - wide * (value - low), number + wide * (high - value)])
    error = str(wide * float(measure["standard_error"]))
    return _columns(*(np.exp(moved) if logarithmic else moved)) | {"standard_error": error}


def _columns(*numbers: float) -> dict[str, str]:
    return dict(zip(("measured", "ci_low", "ci_high"), map(str, numbers), strict=True))


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
    here, hits, seeds = verdict(measures), hits_of(measure), int(measure["seeds"])
    others = [elsewhere(measure, *seed) for seed in other_seeds(seeds)] if hits is None else other_shares(hits, seeds)
    return float(np.mean([verdict({**measures, quantity.measured: {**measure, **other}}) != here for other in others]))


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
