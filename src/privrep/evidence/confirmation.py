"""Confirmation: the frozen configuration run once more on a master seed never used, and how the two runs compare.

The comparison is a table, one row per claim and quantity, and the document docs/confirmation.md is a function of that
table alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from scipy.special import stdtr

from privrep.evidence.intervals import LEVEL, student
from privrep.evidence.verdicts import Verdict

USED_SEEDS = (20211206, 7, 20261122)
"""Master seeds on which results were seen: the default one, that of `make all SEED=7`, and that of a first
confirmation."""
ALONE = "The two runs differ in their master seed alone."
CODE = ("src", "workflow", "config", "Snakefile", "requirements.lock")
"""What decides a run: two commits that agree in these have the same code."""
NO_SAMPLING = ("computed", "definition")
"""Bases of a claim's number that know no chance."""
NUMBERS = ("verdict", "measured", "ci_low", "ci_high", "corrected")
COLUMNS = (
    "id",
    "quantity",
    "whose",
    "rule",
    "counted",
    "before",
    "chance",
    *NUMBERS,
    *(f"confirmed_{name}" for name in NUMBERS),
    "inside",
    "seeds",
    "seed",
    "confirmed_seed",
    "commit",
    "committed",
    "config",
)
"""`counted`: yes, or why a row cannot differ.
`before`: whether an earlier confirmation had the row.
`chance`: probability that another seed gives another verdict (`privrep.evidence.stability`).
`inside`: whether the second corrected exponent lies in the first one's interval.
`seeds`: repetitions. `seed`, `confirmed_seed`: master seeds. `committed`: day of the commit.
`config`: git's hash of the folder."""


class ConfirmationError(ValueError):
    """Two runs that cannot be compared, or a seed that cannot be taken; the message says why."""


def check_seed(seed: int, default: int, document: str = "") -> None:
    """Raise ConfirmationError if results were ever seen on a seed.

    Parameters
    ----------
    seed : a master seed.
    default : the master seed of the configuration.
    document : text of docs/confirmation.md.
    """
    listed = [int(found) for found in re.findall(r"[Mm]aster seed `(\d+)`", document)]
    if seed == default:
        raise ConfirmationError(f"seed {seed} is the default one; a confirmation needs a seed never used")
    if seed in (*USED_SEEDS, *listed):
        raise ConfirmationError(f"seed {seed} was used before; a confirmation needs a seed never used")


def check_record(record: dict, name: str) -> None:
    """Raise ConfirmationError unless a run is one of the default scale, from a clean tree.

    Parameters
    ----------
    record : provenance of the run.
    name : of the run, for the message.
    """
    if record["config"]["scale"] != "default":
        raise ConfirmationError(
            f"{name} has scale {record['config']['scale']}; a confirmation compares runs at the default scale"
        )
    if record["dirty"] or not record["commit"]:
        raise ConfirmationError(f"{name} was made with uncommitted changes; commit, run again, and confirm then")


def check_same(first: dict, second: dict, same_code: bool) -> None:
    """Raise ConfirmationError unless two runs differ in their master seed alone.

    Parameters
    ----------
    first : provenance of one run.
    second : provenance of the other.
    same_code : whether their commits agree in `CODE`.
    """
    check_record(first, "the first run")
    check_record(second, "the second run")
    one, two = ({**record["config"], "master_seed": None} for record in (first, second))
    differing = sorted(key for key in one.keys() | two.keys() if one.get(key) != two.get(key))
    if differing:
        raise ConfirmationError(f"the two runs differ in more than their seed: {', '.join(differing)}")
    if first["config"]["master_seed"] == second["config"]["master_seed"]:
        raise ConfirmationError("the two runs have the same master seed")
    if not same_code:
        raise ConfirmationError(
            f"the two runs have different code: commits {first['commit'][:10]} and {second['commit'][:10]}"
        )


def by_name(rows: list[dict]) -> dict[tuple[str, str], dict]:
    """Rows by claim id and quantity.

    Parameters
    ----------
    rows : of claims.csv or of the comparison.
    """
    return {(row["id"], row["quantity"]): row for row in rows}


def _number(text: str) -> float:
    return float(text) if text else math.nan


def shifted(row: dict, prefix: str = "") -> tuple[float, float, float]:
    """Number and ends of the interval of a row; of an exponent without what its finite grid adds.

    Parameters
    ----------
    row : of the comparison.
    prefix : `confirmed_` for the second run.
    """
    measured, low, high, corrected = (_number(row[f"{prefix}{name}"]) for name in NUMBERS[1:])
    shift = 0.0 if math.isnan(corrected) else corrected - measured
    return measured + shift, low + shift, high + shift


def _why_left_out(first: dict, second: dict) -> str:
    """Why a row is the same on every seed, or was not tested in both runs; empty where it could differ."""
    if Verdict.NOT_TESTED in (first["verdict"], second["verdict"]):
        return "not tested"
    exact = not int(first["seeds"] or 0) or first.get("basis") in NO_SAMPLING
    return "arithmetic" if exact and all(first[name] == second[name] for name in ("measured", "verdict")) else ""


def known_before(earlier: list[dict], seed: int) -> set[tuple[str, str]]:
    """Claim and quantity of the rows that a confirmation had before the one on this seed.

    Parameters
    ----------
    earlier : rows of docs/confirmation.csv as it stands, perhaps of the same seed.
    seed : master seed of the confirmation.
    """
    here = [row for row in earlier if row["confirmed_seed"] != str(seed) or row["before"] == "yes"]
    return by_name(here).keys()


def compared(
    first: list[dict],
    second: list[dict],
    facts: dict[str, object],
    chances: Mapping[tuple[str, str], float],
    before: Collection[tuple[str, str]] = (),
) -> list[dict]:
    """The comparison of two claims.csv.

    Parameters
    ----------
    first : rows of the first run.
    second : rows of the second run.
    facts : on the runs, column -> value in every row.
    chances : claim and quantity -> probability of another verdict; 0 where it is not there.
    before : claim and quantity of the rows that an earlier confirmation had.

    Raises
    ------
    ConfirmationError
        If the tables do not have the same rows.
    """
    others = by_name(second)
    alone = others.keys() ^ by_name(first).keys()
    if alone:
        raise ConfirmationError(f"{len(alone)} rows stand in one run only, the first is {' '.join(sorted(alone)[0])}")
    rows = []
    for one in first:
        key = one["id"], one["quantity"]
        two = others[key]
        row = {name: one.get(name, "") for name in ("id", "quantity", "whose", "rule", *NUMBERS, "seeds")}
        row |= {f"confirmed_{name}": two[name] for name in NUMBERS}
        row |= {"counted": _why_left_out(one, two) or "yes", "inside": ""}
        row |= {"before": "yes" if key in before else "no", "chance": f"{chances.get(key, 0):.3f}"}
        number, (_, low, high) = shifted(row, "confirmed_")[0], shifted(row)
        sampled = one["rule"] == "rate" and int(one["seeds"] or 0) > 1 and low < high
        if sampled and not math.isnan(number):
            row["inside"] = "yes" if low <= number <= high else "no"
        rows.append(row | {name: str(value) for name, value in facts.items()})
    return rows


def confirmed(row: dict, comparison: list[dict]) -> str:
    """Whether a verdict came out on another master seed: "yes", "no", or "not run" where the comparison has not the
    row or did not test it, or had another verdict in its first run, under rules that were revised since.

    Parameters
    ----------
    row : of claims.csv.
    comparison : rows of docs/confirmation.csv, none before the first confirmation.
    """
    same = ("id", "quantity", "verdict")
    for known in comparison:
        if all(known[name] == row[name] for name in same) and known["counted"] != "not tested":
            return "yes" if known["confirmed_verdict"] == row["verdict"] else "no"
    return "not run"


def expected_inside(repetitions: int) -> float:
    """Probability that the second of two independent numbers lies in the Student interval of the first, both with the
    same number of repetitions: their difference over the first one's standard error is sqrt(2) times a Student
    variable.

    >>> round(expected_inside(10_000), 3), round(expected_inside(8), 3)
    (0.834, 0.862)

    Parameters
    ----------
    repetitions : of each; the probability is NaN below `privrep.evidence.intervals.FEWEST`.
    """
    return float(1 - 2 * stdtr(repetitions - 1, -student(repetitions, LEVEL) / math.sqrt(2)))


def counted(rows: list[dict]) -> list[dict]:
    """The rows that could have come out otherwise.

    Parameters
    ----------
    rows : of the comparison.
    """
    return [row for row in rows if row["counted"] == "yes"]


def changed(rows: list[dict]) -> list[dict]:
    """The rows that could have come out otherwise, and did.

    Parameters
    ----------
    rows : of the comparison.
    """
    return [row for row in counted(rows) if row["verdict"] != row["confirmed_verdict"]]


def revised_since(rows: list[dict], claims: list[dict]) -> str:
    """Which claims have another verdict now than in the confirmation's first run, as a sentence; empty where none has.

    Parameters
    ----------
    rows : of the comparison.
    claims : rows of the present default claims.csv.
    """
    verdicts = {name: row["verdict"] for name, row in by_name(claims).items()}
    moved = Counter(row["id"] for name, row in by_name(rows).items() if verdicts.get(name) != row["verdict"])
    if not moved:
        return ""
    names = ", ".join(f"{name} ({count})" for name, count in moved.items())
    return f"Quantities revised since, with this comparison known: {names}; the reasons stand among the revisions."


def exponents(rows: list[dict]) -> tuple[int, int, float]:
    """How many exponents both runs have, how many of the second lie in the first one's interval, and the share
    expected.

    Parameters
    ----------
    rows : of the comparison.
    """
    judged = [row for row in rows if row["inside"]]
    shares = [expected_inside(int(row["seeds"])) for row in judged]
    return len(judged), sum(row["inside"] == "yes" for row in judged), sum(shares) / len(shares) if shares else math.nan


def expected_changes(rows: list[dict]) -> float:
    """How many of these rows the intervals of the first run expect to change on another seed.

    Parameters
    ----------
    rows : of the comparison.
    """
    return sum(float(row["chance"]) for row in rows)


def agreement(rows: list[dict]) -> str:
    """One paragraph: how many verdicts agree and how many exponents, and how many were expected to.

    Parameters
    ----------
    rows : of the comparison.
    """
    could, differ = counted(rows), changed(rows)
    share = 100 * (1 - len(differ) / len(could)) if could else math.nan
    text = (
        f"Of {len(could)} quantities that could have come out otherwise {len(could) - len(differ)} have the same "
        f"verdict in both runs ({share:.1f} %), {len(differ)} another one; the intervals of the first run let "
        f"{expected_changes(could):.1f} be expected. {len(rows) - len(could)} more are not "
        "counted: arithmetic, and what was not tested."
    )
    parts = (
        ("", rows),
        (" that an earlier confirmation had", [row for row in rows if row["before"] == "yes"]),
        (" that none had", [row for row in rows if row["before"] != "yes"]),
    )
    for which, part in parts:
        judged, inside, expected = exponents(part)
        if judged and len(part) < len(rows) + (not which):
            text += (
                f" Of {judged} exponents{which} {inside} of the second run lie in the 95 % interval of the first "
                f"({100 * inside / judged:.0f} %); with these repetitions {100 * expected:.0f} % are expected."
            )
    return text


def verdict_counts(rows: list[dict]) -> list[tuple[str, int, int]]:
    """Verdict, how often in the first run, how often in the second.

    Parameters
    ----------
    rows : of the comparison.
    """
    first, second = (Counter(row[name] for row in rows) for name in ("verdict", "confirmed_verdict"))
    return [(word, first[word], second[word]) for word in sorted(first.keys() | second.keys())]


def with_interval(row: dict, prefix: str = "") -> str:
    """Number and interval of a row as text.

    Parameters
    ----------
    row : of the comparison.
    prefix : `confirmed_` for the second run.
    """
    number, low, high = shifted(row, prefix)
    if math.isnan(number):
        return "none"
    return f"{number:.3g}" + (f" [{low:.3g}, {high:.3g}]" if low < high else "")


def _markdown(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def document(rows: list[dict]) -> str:
    """docs/confirmation.md, from the comparison alone.

    Parameters
    ----------
    rows : of the comparison, at least one.
    """
    fact = rows[0]
    differ = [
        (
            row["id"],
            row["quantity"],
            with_interval(row),
            row["verdict"],
            with_interval(row, "confirmed_"),
            row["confirmed_verdict"],
            f"{100 * float(row['chance']):.0f} %",
        )
        for row in changed(rows)
    ]
    arithmetic = Counter(row["id"] for row in rows if row["counted"] == "arithmetic")
    whose = sorted({row["whose"] for row in rows if row["whose"]})
    header = ("verdict", "first run", "second run")
    parts = [
        "# Confirmation",
        "Written by `make confirmation` from `docs/confirmation.csv`; not edited by hand.",
        f"The configuration was frozen at commit `{fact['commit']}` of {fact['committed']} (folder `config`: "
        f"`{fact['config']}`) and run once more, with master seed `{fact['confirmed_seed']}`, on which nothing had "
        f"been run before. The first run has the default master seed `{fact['seed']}`, which was used throughout "
        f"development. {ALONE}",
        agreement(rows),
        "## Verdicts",
        _markdown(header, verdict_counts(rows)),
    ]
    for name in whose:
        parts += [
            f"Whose statement: {name}.",
            _markdown(header, verdict_counts([row for row in rows if row["whose"] == name])),
        ]
    parts += [
        "## Quantities whose verdict differs",
        "Expected: the probability of another verdict on another seed, from the interval of the first run.",
        _markdown(("claim", "quantity", "first run", "verdict", "second run", "verdict", "expected"), differ)
        if differ
        else "None.",
        "## Not counted: arithmetic",
        ", ".join(f"{name} ({count})" for name, count in arithmetic.items()) + "." if arithmetic else "None.",
    ]
    return "\n\n".join(parts) + "\n"
