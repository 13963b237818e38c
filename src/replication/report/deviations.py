"""What was revised after results existed, how gaps of the papers were filled, and what stands in for something else."""

from __future__ import annotations

from markupsafe import Markup

from replication.report.layout import macros

KINDS = {
    "revised-after-results": "Revised after results existed",
    "revised-after-confirmation": "Revised after the confirmation on a second master seed",
    "left-open": "Left open by the papers",
    "fallback": "Fallbacks",
    "split": "Which samples serve which step",
    "analogue": "Analogues of methods that are not linear",
    "stand-in": "Stand-ins",
}
"""Kind of a deviation -> caption of its table."""


def deviations_table(deviations: list[dict]) -> Markup:
    """Return all deviations as HTML, one table for each kind."""
    return macros("errata.html.jinja").deviations(deviations, KINDS)
