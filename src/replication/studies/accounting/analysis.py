"""jain2021's privacy statements, checked by arithmetic and by adversarial search (claims A-L4.3, A-L4.5, A-T4.2(i),
A-zCDP).

Each statement turns a noise multiplier Delta = sqrt(c L) / eps into (eps, delta)-DP by way of rho / Delta^2-zCDP and
eps' = rho + 2 sqrt(rho L). With c and rho printed, eps' / eps depends on eps / L alone.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from privrep.privacy.accounting import gdp_epsilon, zcdp_epsilon
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.privacy.regression_moments import MOMENTS_COST
from privrep.users.rng import stream
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.measured import exact
from replication.experiments.auditing.worst_users import matrix_moved, moved
from replication.run.settings import AnalysisSettings

STATEMENTS = {
    "A-L4.3": (8, MOMENTS_COST),
    "A-L4.5": (8, GAUSSIAN_COST),
    "A-T4.2(i)": (16, GAUSSIAN_COST + MOMENTS_COST),
}
"""Claim id -> (c in Delta = sqrt(c L) / eps, cost of the releases at Delta = 1)."""

NAMES = {"A-L4.3": "Lemma 4.3", "A-L4.5": "Lemma 4.5", "A-T4.2(i)": "Theorem 4.2 (i)"}
"""Claim -> place of a statement of which the chapter speaks."""
UNIT = 1
"""A claimed epsilon."""
ALLOWED = 2**2 + 2**2
DELTAS = tuple(10.0**-power for power in range(4, 10))
SECTION6_DELTA = 1e-6
SECTION6_PRINTED = {1: "0.009", 2: "0.04", 5: "0.23", 10: "0.90"}
"""Epsilon -> zCDP as Section 6 prints it."""


def achieved(claim: str, epsilon: float, delta: float) -> float:
    """Return the epsilon that the printed proof gives at the noise that a statement prescribes for `epsilon`."""
    constant, cost = STATEMENTS[claim]
    return zcdp_epsilon(cost.rho * epsilon**2 / (constant * math.log(1 / delta)), delta)


def achieved_exactly(claim: str, epsilon: float, delta: float) -> float:
    """Return the exact epsilon of the same releases, with the joint sensitivity of (A, b)."""
    constant, cost = STATEMENTS[claim]
    return gdp_epsilon(math.sqrt(cost.mu_squared * epsilon**2 / (constant * math.log(1 / delta))), delta)


def worst_ratio(claim: str) -> float:
    """Return the largest ratio of the proof's epsilon to the claimed one, up to L and over all deltas."""
    return max(
        achieved(claim, epsilon, delta) / epsilon
        for delta in DELTAS
        for epsilon in np.geomspace(0.1, 1, 41) * math.log(1 / delta)
    )


def section6_rho(epsilon: float) -> float:
    """Return eps^2 / (8 L), the zCDP of releases of total cost 1 at Lemma 4.3's noise (see erratum E9)."""
    return epsilon**2 / (8 * math.log(1 / SECTION6_DELTA))


def curves() -> pd.DataFrame:
    """Tabulate the epsilon that each statement achieves over the claimed one, by the printed proof and exactly."""
    rows = [
        (claim, epsilon, *(chain(claim, epsilon, SECTION6_DELTA) / epsilon for chain in (achieved, achieved_exactly)))
        for claim in STATEMENTS
        for epsilon in np.geomspace(0.1, 20, 60)
    ]
    return pd.DataFrame(rows, columns=["statement", "epsilon", "printed chain", "exact"])


def exact_epsilons(cells: None, quantities: Quantities) -> dict[str, float]:
    """Return the least and largest exact epsilon where `UNIT` is claimed, and the least share of it that is left."""
    found = [quantities[f"{claim} exact epsilon at {UNIT}"].measured for claim in NAMES]
    return {"least": min(found), "most": max(found), "left": 1 - max(found) / UNIT}


def joint_release(cells: None, quantities: Quantities) -> dict[str, float]:
    """Return the squared joint change that two triangle inequalities allow, and the share of it that was found."""
    return {"allowed": ALLOWED, "share": quantities["joint change"].measured / ALLOWED}


FACTS = {"exact epsilons": exact_epsilons, "joint release": joint_release}


def analyse(cells: None, study: AnalysisSettings) -> Findings:
    """Measure ratios of epsilons, limits of validity, sensitivities found by search, and the zCDP of Section 6."""
    found, log_term = [], math.log(1 / SECTION6_DELTA)
    for claim in STATEMENTS:

        def gap(ratio: float, claim: str = claim) -> float:
            return achieved(claim, ratio * log_term, SECTION6_DELTA) - ratio * log_term

        found += [
            exact(f"{claim} worst ratio", worst_ratio(claim)),
            exact(f"{claim} limit", brentq(gap, 0.1, 50)),
            exact(f"{claim} exact epsilon at 1", achieved_exactly(claim, 1, SECTION6_DELTA)),
        ]
    rng = stream(0, "adversary", {})
    parts = {"second moment": "second", "first moment": "first", "joint": "joint"}
    changes = {name: moved(statistic, 2, rng) for name, statistic in parts.items()}
    found += [exact(f"{name} change", change) for name, change in changes.items()]
    # The bounds: two each, by the triangle inequality; both of Algorithm 2 in squares.
    over = matrix_moved(2, rng) / 2, *(change / (8 if name == "joint" else 2) for name, change in changes.items())
    found.append(exact("largest change over its bound", max(over)))
    found += [exact(f"rho at {epsilon}", section6_rho(epsilon)) for epsilon in SECTION6_PRINTED]
    explained = sum(
        f"{section6_rho(epsilon):.{len(printed.partition('.')[2])}f}" == printed
        for epsilon, printed in SECTION6_PRINTED.items()
    )
    found.append(exact("printed zCDP values explained", explained))
    return Findings(found, {"jain2021/privacy_accounting": curves()})
