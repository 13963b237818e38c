"""What the chapter of power_method needs beside its quantities."""

from __future__ import annotations

from privrep.report.run_tables import Run


def least_clip(run: Run) -> float:
    """The least clip of the sweep, over the practical one."""
    cells = run.cells("power_method")
    return float(cells.loc[cells["series"] == "clip", "init_clip"].min())
