"""All demonstrations: a few lines for each erratum that would give another answer if the printed version were right."""

from __future__ import annotations

from replication.errata import (  # noqa: F401  Each module registers its demonstrations.
    centaur,
    exponential,
    initialisation,
    local_convergence,
    power_method,
    privacy,
    privacy_shen2023,
    statements,
)
from replication.errata.finding import ENTERED

DEMONSTRATIONS = {erratum: ENTERED[erratum] for erratum in sorted(ENTERED, key=lambda name: int(name[1:]))}
"""Erratum -> demonstration, in the order of their numbers. errata.yaml has their texts under the same ids."""
