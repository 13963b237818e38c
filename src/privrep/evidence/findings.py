"""What a study's analysis makes of its cells: its quantities, and the numbers that its figures show."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from privrep.evidence.measured import Measured


@dataclass(frozen=True)
class Findings:
    """All that one analysis ends with.

    Attributes
    ----------
    measured : the quantities of the study. tables : id of a figure -> the numbers that it shows; it is drawn from them alone.
    """

    measured: list[Measured]
    tables: dict[str, pd.DataFrame]


def write_numbers(path: Path, numbers: pd.DataFrame) -> None:
    """Write the numbers of a figure as CSV, in one move; what is read back has the same bits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(numbers.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
    os.replace(temporary, path)


def read_numbers(path: Path) -> pd.DataFrame:
    """The numbers of a figure; an empty one has no columns."""
    if not path.read_text(encoding="utf-8").strip():
        return pd.DataFrame()
    return pd.read_csv(path, float_precision="round_trip")
