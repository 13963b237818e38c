"""Comparison of two runs: the rows of their claims.csv in pairs, and the verdicts that changed.

With other random numbers the verdict of a row may change if its interval contains its limit: in one of the two runs
the verdict is then INCONCLUSIVE.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from replication.evidence.verdicts import Verdict

SHOWN = ("verdict", "measured", "ci_low", "ci_high", "corrected")
"""Columns of a row that a comparison shows."""
ABOUT = ("seed", "confirmed_seed", "commit")
CONFIRMATION_COLUMNS = ("id", "quantity", *SHOWN, *(f"confirmed_{name}" for name in SHOWN), *ABOUT)
"""Columns of docs/confirmation.csv, which pairs each row of the default run with that of a confirmation, a run on
another master seed: the newest confirmation first, then earlier ones, each by the code of its time."""
Pair = tuple[dict, dict]


def by_name(rows: Iterable[dict]) -> dict[tuple[str, str], dict]:
    """Return (claim id, quantity) -> row."""
    return {(row["id"], row["quantity"]): row for row in rows}


def paired(first: Iterable[dict], second: Iterable[dict]) -> list[Pair]:
    """Return pairs of the rows that two runs share, in the order of the first."""
    others = by_name(second)
    return [(row, others[name]) for name, row in by_name(first).items() if name in others]


def confirmation_pairs(rows: Iterable[dict]) -> list[Pair]:
    """Return the pairs of rows in docs/confirmation.csv of the newest confirmation, which comes first."""
    rows = list(rows)
    return _pairs(row for row in rows if row["confirmed_seed"] == rows[0]["confirmed_seed"])


def _pairs(rows: Iterable[dict]) -> list[Pair]:
    return [(row, row | {name: row[f"confirmed_{name}"] for name in SHOWN}) for row in rows]


def unrepeated(rows: Iterable[dict]) -> dict[tuple[str, str], str]:
    """Return claim and quantity -> text: the number of confirmation seeds with another verdict than the default run."""
    outcomes: dict[tuple[str, str], list[str]] = {}
    for row, other in both_tested(_pairs(rows)):
        verdict = "" if row["verdict"] == other["verdict"] else other["verdict"]
        outcomes.setdefault((row["id"], row["quantity"]), []).append(verdict)
    return {
        name: f"{'undecided' if {*verdicts} <= {'', Verdict.INCONCLUSIVE} else 'another verdict'} on "
        f"{sum(map(bool, verdicts))} of {len(verdicts)} other seed{'s' * (len(verdicts) > 1)}"
        for name, verdicts in outcomes.items()
        if any(verdicts)
    }


def every_seed(rows: Iterable[dict]) -> tuple[list[str], list[list[str]]]:
    """Return all seeds of docs/confirmation.csv, and a row for each quantity with another verdict on one of them:
    claim, quantity, results of the newest default run and each confirmation, and for an exponent the pooled one."""
    rows = list(rows)
    seeds = list(dict.fromkeys(row["confirmed_seed"] for row in rows))
    first, table = by_name(row for row, _ in confirmation_pairs(rows)), []
    for name in unrepeated(rows):
        of = {row["confirmed_seed"]: other for row, other in _pairs(rows) if (row["id"], row["quantity"]) == name}
        if name in first:
            runs = [first[name], *(of.get(seed) for seed in seeds)]
            cells = [f"{number_text(row)}, {row['verdict']}" if row else "not run" for row in runs]
            table.append([*name, *cells, pooled([row for row in runs if row and row["corrected"]])])
    return seeds, table


def pooled(rows: list[dict]) -> str:
    """Return the mean exponent of runs, with weights interval width^-2, as text; empty without intervals."""
    numbers, low, high = np.array(
        [interval for row in rows if np.isfinite(interval := interval_of(row)).all()] or [[0.0] * 3]
    ).T
    if not (low < high).all():
        return ""
    weights = ((high - low) / 2) ** -2
    middle, half = np.average(numbers, weights=weights), weights.sum() ** -0.5
    return f"{middle:.3g} [{middle - half:.3g}, {middle + half:.3g}]"


def both_tested(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs whose quantity both runs tested."""
    return [pair for pair in pairs if all(row["verdict"] != Verdict.NOT_TESTED for row in pair)]


def changed(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with two different verdicts."""
    return [(row, other) for row, other in pairs if row["verdict"] != other["verdict"]]


def interval_of(row: dict) -> tuple[float, float, float]:
    """Return the number of a row and the ends of its interval, NaN if missing; exponents are corrected for the grid."""
    measured, low, high, corrected = (float(row[name] or "nan") for name in SHOWN[1:])
    shift = 0.0 if math.isnan(corrected) else corrected - measured
    return measured + shift, low + shift, high + shift


def number_text(row: dict) -> str:
    """Return number and interval of a row as text."""
    number, low, high = interval_of(row)
    if math.isnan(number):
        return "none"
    return f"{number:.3g}" + (f" [{low:.3g}, {high:.3g}]" if low < high else "")


def summary(pairs: Iterable[Pair]) -> str:
    """Return one or two sentences: number of equal verdicts, of different ones, and of these with one INCONCLUSIVE."""
    both = both_tested(pairs)
    differ = changed(both)
    text = f"Of {len(both)} rows that both runs tested {len(both) - len(differ)} have the same verdict."
    if differ:
        undecided = sum(Verdict.INCONCLUSIVE in (row["verdict"], other["verdict"]) for row, other in differ)
        text += f" {len(differ)} have another one, {undecided} of them to or from INCONCLUSIVE."
    return text


def coverage(pairs: Iterable[Pair]) -> str:
    """Return a sentence: number of exponents of the second run that lie in the interval of the first run.

    The difference of two numbers with equal errors, over the standard error of one, is sqrt(2) times a Student
    variable. It lies within the 95 % interval with probability 88 % for five repetitions and 83 % for very many.
    """
    exponents = [(interval_of(row), interval_of(other)) for row, other in both_tested(pairs) if row["corrected"]]
    inside = [low <= number <= high for (_, low, high), (number, _, _) in exponents if low < high]
    return (
        f"Of {len(inside)} exponents {sum(inside)} of the second run lie in the 95 % interval of the first "
        f"({sum(inside) / max(len(inside), 1) * 100:.0f} %); 83 to 88 % are expected, since both numbers err."
    )


def table(pairs: Iterable[Pair]) -> list[list[str]]:
    """Return claim, quantity, and number, interval and verdict of each of the two runs."""
    named = [(pair, pair[0]["id"], pair[0]["quantity"]) for pair in pairs]
    return [[*name, *(f"{number_text(row)}, {row['verdict']}" for row in pair)] for pair, *name in named]


def confirmed(row: dict, pairs: Iterable[Pair]) -> str:
    """Return whether another master seed gave the verdict of a row: "yes", "no", or "not run" where the confirmation
    did not test the row, or its default run had another verdict, under a rule that was revised since."""
    for pair in pairs:
        if all(pair[0][name] == row[name] for name in ("id", "quantity", "verdict")) and both_tested([pair]):
            return "no" if changed([pair]) else "yes"
    return "not run"
