"""shen2023, Tables 1 and 3 on their own image sets (claims B-T1 and B-T3), and the order of the methods on digits of
MNIST.

A row whose files are not there is not run, and says which file to put where.
"""

from __future__ import annotations

import math

import pandas as pd

from privrep.evidence.facts import Quantities
from privrep.evidence.findings import Findings
from privrep.evidence.measured import Measured, not_run
from privrep.run.settings import MeasureSettings
from privrep.studies.images.analysis import KEPT, METHODS, OTHERS, Scores, lead, least, point, scores

ROWS = {
    "emnist-1000-5": {"stand_alone": 93.47, "fedavg": 91.32, "pmtl": 92.32, "ppsgd": 93.44, "centaur": 94.17},
    "emnist-2000-5": {"stand_alone": 90.67, "fedavg": 86.85, "pmtl": 88.81, "ppsgd": 88.96, "centaur": 92.79},
    "cifar10-500-5": {"stand_alone": 50.03, "fedavg": 46.17, "pmtl": 49.35, "ppsgd": 48.69, "centaur": 53.23},
    "cifar10-1000-2": {"stand_alone": 74.06, "fedavg": 57.02, "pmtl": 67.79, "ppsgd": 71.52, "centaur": 76.23},
    "cifar10-1000-5": {"stand_alone": 44.60, "fedavg": 37.15, "pmtl": 35.99, "ppsgd": 44.61, "centaur": 49.92},
    "cifar100-1000-5": {"stand_alone": 39.20, "fedavg": 22.17, "pmtl": 24.17, "ppsgd": 32.97, "centaur": 44.54},
    "cifar10-1000-2-long": {"stand_alone": 74.06, "fedavg": 63.97, "pmtl": 67.71, "ppsgd": 74.63, "centaur": 77.80},
    "cifar10-1000-5-long": {"stand_alone": 44.60, "fedavg": 41.12, "pmtl": 45.75, "ppsgd": 48.29, "centaur": 51.05},
}
"""Tables 1 and 3 as printed, in percent."""
GROUPS = {
    "EMNIST": [row for row in ROWS if row.startswith("emnist")],
    "CIFAR": [row for row in ROWS if row.startswith("cifar") and not row.endswith("-long")],
    "CIFAR, twice the rounds": [row for row in ROWS if row.endswith("-long")],
}
"""Rows that are judged together: those of Table 1 by image set, and those of Table 3."""
MNIST = {"": "mnist", ", no noise": "mnist-quiet"}


def row_scores(cells: pd.DataFrame, row: str, method: str) -> Scores:
    """Accuracy of a method in a row; clients alone are those of Table 1 in Table 3, too."""
    series = f"{row.removesuffix('-long')}-alone" if method == "stand_alone" else row
    return scores(cells, series, method)


def missing(cells: pd.DataFrame, row: str) -> str:
    """Why a row was not run; nothing for one that was."""
    reasons = cells.loc[(cells["series"] == row) & (cells["status"] == "not run"), "reason"]
    return reasons.iloc[0] if len(reasons) else ""


def row_measures(cells: pd.DataFrame, row: str) -> list[Measured]:
    """CENTAUR over clients alone, and over the best of all others."""
    names = f"{row}: lead of centaur over stand_alone", f"{row}: lead of centaur over the best other"
    why = missing(cells, row)
    if why:
        return [not_run(name, why) for name in names]
    ahead = {method: lead(row_scores(cells, row, "centaur"), row_scores(cells, row, method)) for method in OTHERS}
    return [ahead["stand_alone"].measured(names[0]), least(names[1], list(ahead.values()))]


def least_measures(cells: pd.DataFrame) -> list[Measured]:
    """CENTAUR over the best of all others, the least over the rows of a table; not run where a file is missing."""
    found = []
    for group, rows in GROUPS.items():
        name, why = f"{group}: least lead of centaur over the best other", [missing(cells, row) for row in rows]
        leads = [lead(row_scores(cells, row, "centaur"), row_scores(cells, row, one)) for row in rows for one in OTHERS]
        found.append(not_run(name, next(filter(None, why))) if any(why) else least(name, leads))
    return found


def mnist_measures(cells: pd.DataFrame) -> list[Measured]:
    """CENTAUR over each other method on digits of MNIST."""
    found, why = [], missing(cells, "mnist")
    for ending, series in MNIST.items():
        for method in OTHERS:
            name = f"mnist: lead of centaur over {method}{ending}"
            other = scores(cells, "mnist-alone", method) if method == "stand_alone" else scores(cells, series, method)
            ahead = lead(scores(cells, series, "centaur"), other)
            found.append(not_run(name, why) if why else ahead.measured(name))
    return found


def row_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Measured and printed accuracies of all rows that were run."""
    points = []
    for row, printed in ROWS.items():
        for method in METHODS if not missing(cells, row) else ():
            found = row_scores(cells, row, method)
            points.append(point(found, row=row, method=method, printed=printed[method]))
    for ending, series in MNIST.items():
        for method in METHODS if not missing(cells, "mnist") else ():
            found = scores(cells, "mnist-alone" if method == "stand_alone" else series, method)
            points.append(point(found, row=f"mnist{ending}", method=method, printed=math.nan))
    return pd.DataFrame(points or {"accuracy": []})


def rows_run(cells: pd.DataFrame, quantities: Quantities) -> list[str]:
    """The rows whose files were there."""
    return [row for row in ROWS if not missing(cells, row)]


def digits_run(cells: pd.DataFrame, quantities: Quantities) -> bool:
    """Whether the digits of MNIST were there."""
    return not missing(cells, "mnist")


def kept_digits(cells: pd.DataFrame, quantities: Quantities) -> dict[str, tuple[float, float, float]]:
    """CENTAUR's leads on digits of MNIST with the ends of their intervals, by the other method, from the run that is
    kept."""
    kept = mnist_measures(pd.read_csv(KEPT).assign(status="ok", reason="", seed=0))
    return {one.quantity.split("over ")[1]: (one.measured, one.ci_low, one.ci_high) for one in kept}


def files(cells: pd.DataFrame, quantities: Quantities) -> pd.DataFrame:
    """Image set by image set, why it was not run: which file has to be where. Nothing where it was."""
    sets = cells.drop_duplicates("images")
    return pd.DataFrame(
        {"images": sets["images"], "reason": sets["reason"].astype(str).where(sets["status"] == "not run", "")}
    )


FACTS = {"rows run": rows_run, "digits run": digits_run, "kept digits": kept_digits, "files": files}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """All quantities, and the accuracies."""
    found = [one for row in ROWS for one in row_measures(cells, row)] + least_measures(cells) + mnist_measures(cells)
    return Findings(found, {"shen2023/real_images": row_points(cells)})
