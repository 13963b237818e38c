# ruff: noqa: RUF001  (typographic signs are meant)
"""What the chapter of tradeoff needs beside its quantities."""

from __future__ import annotations

from privrep.report.chapters import Words
from privrep.report.html_pieces import table
from privrep.report.run_tables import NotMeasured, Run
from privrep.report.spelling import typeset

STUDY = "tradeoff"
CLIPS = {
    "cut nothing": "A over B, uncut",
    "chosen for both": "A over B",
    "1e-4 for jain2021, as in its experiments": "A over B, clip 1e-4",
    "whole users clipped for jain2021, as in neither paper": "A over B, whole users clipped",
    "least of all pairs": "least factor over clips",
    "largest of all pairs": "largest factor over clips",
}
CONDITIONS = {
    "label noise 0.5": "A over B, label noise 0.5",
    "label noise 0.5, its own floor removed": "A over B, label noise 0.5, floor removed",
    "label noise 1": "A over B, label noise 1",
    "label noise 1, its own floor removed": "A over B, label noise 1, floor removed",
    "epsilon = 1": "A over B, epsilon = 1",
}
"""Row of a table -> how the names of its quantities begin."""


def factor_by_clips(run: Run) -> str:
    """Error of jain2021 over that of shen2023 by dimension, a row for each pair of clips."""
    return _by_dimension(run, "Clips", CLIPS)


def factor_by_condition(run: Run) -> str:
    """The same under other conditions, and without what label noise alone leaves."""
    return _by_dimension(run, "Condition", CONDITIONS)


def dims(run: Run, quantity: str) -> list[float]:
    """Dimensions at which a quantity `... at d = ...` was measured, ascending."""
    found = list(Words(run, STUDY).numbered(f"{quantity} at d ="))
    if not found:
        raise NotMeasured(quantity)
    return found


def band(run: Run) -> tuple[float, float]:
    """Least and largest factor over all dimensions and pairs of clips."""
    words = Words(run, STUDY)
    least, largest = (words.numbered(f"{word} factor over clips at d =") for word in ("least", "largest"))
    if not (least and largest):
        raise NotMeasured("factor over clips")
    return min(least.values()), max(largest.values())


def _by_dimension(run: Run, head: str, quantities: dict[str, str]) -> str:
    """Quantities named `... at d = ...` as a table, a column for each dimension at which one of them was measured."""
    words = Words(run, STUDY)
    found = {label: words.numbered(f"{name} at d =") for label, name in quantities.items()}
    columns = sorted({dim for row in found.values() for dim in row})
    if not columns:
        raise NotMeasured(head)
    rows = [
        [typeset(label), *(words.q(f"{quantities[label]} at d = {dim:g}") if dim in row else "–" for dim in columns)]
        for label, row in found.items()
        if row
    ]
    return table([head, *(typeset(f"d = {dim:g}") for dim in columns)], rows)
