"""What the chapter of init_rates needs beside its quantities."""

from __future__ import annotations

from privrep.report.run_tables import NotMeasured, Run
from privrep.studies.init_rates.analysis import RANGES

STUDY = "init_rates"


def off_the_law(run: Run) -> float:
    """The largest factor between the Frobenius distance and the law F1, over all settings of the collapse."""
    measures = run.measures(STUDY)
    largest = [measures.value(f"collapse largest ratio {where}") for where in RANGES]
    smallest = [measures.value(f"collapse smallest ratio {where}") for where in RANGES]
    return max(max(largest), 1 / min(smallest))


def proof_threshold(run: Run) -> float:
    """Square of the proof's own threshold zeta, with its logarithms, over the square of the one that the sweep in n has."""
    cells = run.cells(STUDY)
    swept, printed = (cells[cells["series"] == series] for series in ("n", "n-printed"))
    if swept.empty or printed.empty:
        raise NotMeasured("zeta of the series n and n-printed")
    whole = printed["zeta"].max() / printed["init_label_clip"].iloc[0]
    return float((whole / swept["zeta"].max()) ** 2)
