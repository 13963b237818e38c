"""What the study clip_choice found: the settings of both methods that the comparison uses."""

from __future__ import annotations

import math

from privrep.report.findings.rates import paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import count, number

STUDY = "clip_choice"
NAMES = {
    "A": "jain2021, samples clipped",
    "A-user": "jain2021, whole users clipped",
    "B": "shen2023",
    "B-random": "shen2023 from a random start",
}


def rule(measures: Measures) -> str:
    """How the settings were chosen."""
    tried = [f"settings tried, {series}" for series in NAMES]
    if not all(name in measures for name in tried) or not all(math.isfinite(measures.value(name)) for name in tried):
        return ""
    total = sum(int(measures.value(name)) for name in tried)
    return (
        f"**How the clips were chosen.** {total} settings of clips and of the budget's share for the initialisation were run on simulated data from the public "
        "law, on seeds of their own, and for each method the one with the least geometric mean of the error was taken. No user's data is touched, so the "
        "choice costs no privacy. It does assume that the law of features and heads is known up to scale, for both methods alike."
    )


def outcome(measures: Measures) -> str:
    """What was chosen, whether the file agrees with the runs, and how much hangs on it."""
    parts = []
    for series, name in NAMES.items():
        chosen, worst = f"chosen over best, {series}", f"largest over least error, {series}"
        if chosen not in measures or not math.isfinite(measures.value(chosen)):
            continue
        ratio = measures.value(chosen)
        best = measures.row(chosen)["note"].removeprefix("best: ")
        agrees = (
            "which is what the comparison uses"
            if ratio <= 1
            else f"the comparison uses one with {number(ratio)} times its error"
        )
        parts.append(
            f"{name}: {best}, {agrees}; the largest error of a setting is {number(measures.value(worst))} times the least"
        )
    return f"**What was chosen**, in {count(len(parts))} choices. {'. '.join(parts)}." if parts else ""


def findings(run: Run) -> str:
    """All findings of the study, as Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(rule(measures), outcome(measures))
