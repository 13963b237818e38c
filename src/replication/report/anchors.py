"""Names of places within the page."""

from __future__ import annotations

import re


def claim_anchor(claim: str) -> str:
    """Where the first row of a claim stands."""
    return "claim-" + re.sub(r"[^\w.]+", "-", claim.replace("'", " prime")).strip("-")


def figure_anchor(figure: str) -> str:
    """Where a figure stands."""
    return "fig-" + re.sub(r"\W+", "-", figure).strip("-")


def unused(base: str, taken: set[str]) -> str:
    """The name, numbered where it is taken already; it is taken from now on."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name
