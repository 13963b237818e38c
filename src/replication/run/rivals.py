"""Settings of published methods that were chosen on public simulations: src/replication/studies/rivals.csv, written by
workflow/scripts/choose_rivals.py.

A series that is `tuned` takes options from this table, by setting: those of its row with the same n, m, d, k,
label noise and epsilon, or else of the nearest row, in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import yaml

from replication.run.csv_tables import read_rows

TABLE = Path("src/replication/studies/rivals.csv")
BY_TRIALS = Path("src/replication/studies/rivals_by_trials.csv")
SIZES = ("users", "samples", "dim", "rank")
REALS = ("label_noise_sd", "epsilon")
COLUMNS = ("study", "series", *SIZES, *REALS, "options", "value", "runs", "failed")
"""value : median over the public data sets of the excess risk or, in a search, of the number of users. failed : runs of
the chosen setting whose risk is near that of predicting zero."""
BY_TRIALS_COLUMNS = ("study", "series", *SIZES, *REALS, "trials", "value")
"""trials : how many of the drawn options were tried, 0 for the options before this choice. value : that of the best."""
LEAST = 1e-9
"""Number that replaces a label noise of 0 in logarithms."""


def read_choices(study: str, root: Path) -> list[dict]:
    """Return the choices of a study: series, setting and options."""
    return [
        {"series": row["series"]}
        | {name: int(row[name]) for name in SIZES}
        | {name: float(row[name]) for name in REALS}
        | {"options": yaml.load(row["options"], yaml.CSafeLoader)}
        for row in read_rows(root / TABLE)
        if row["study"] == study
    ]


def chosen_options(choices: Sequence[dict], series: str, setting: dict[str, float]) -> dict[str, object]:
    """Return the options of a series at a setting, which maps SIZES and REALS to values; ValueError for no row of the
    series."""

    def distance(choice: dict) -> float:
        return sum(math.log(max(choice[name], LEAST) / max(setting[name], LEAST)) ** 2 for name in (*SIZES, *REALS))

    of_series = [choice for choice in choices if choice["series"] == series]
    if not of_series:
        raise ValueError(f"tuned: {TABLE} has no row of {series!r}; make rivals")
    return min(of_series, key=distance)["options"]
