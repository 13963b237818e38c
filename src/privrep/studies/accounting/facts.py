"""What the chapter of accounting needs beside its quantities."""

from __future__ import annotations

from privrep.report.run_tables import Run
from privrep.studies.accounting.measures import SECTION6_EPSILONS


def printed_zcdp(run: Run) -> dict[int, str]:
    """Epsilon -> zCDP as Section 6 prints it."""
    rows = run.claims[run.claims["id"] == "A-zCDP"]
    return dict(zip(SECTION6_EPSILONS, rows["claimed"], strict=True))
