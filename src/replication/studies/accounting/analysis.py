"""The privacy statements of both papers, checked by arithmetic and by adversarial search.

Each statement of jain2021 turns a noise multiplier Delta = sqrt(c L) / eps into (eps, delta)-DP by rho / Delta^2-zCDP
and eps' = rho + 2 sqrt(rho L), L = ln(1/delta). With c and rho as printed, eps' / eps depends on eps / L alone.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from privrep.privacy.accounting import gdp_delta, gdp_epsilon, zcdp_epsilon
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.privacy.regression_moments import MOMENTS_COST
from privrep.users.rng import stream
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, exact
from replication.experiments.auditing.worst_users import matrix_moved, moved
from replication.printed import accounting_shen2023 as stated
from replication.printed import prescribed_powers as prescribed
from replication.printed.accounting_shen2023 import DELTA, EPSILONS, REMOVED, SCOPES, WHOLE, achieved, exact_mu, largest
from replication.run.settings import AnalysisSettings

STATEMENTS = {
    "A-L4.3": (8, MOMENTS_COST),
    "A-L4.5": (8, GAUSSIAN_COST),
    "A-T4.2(i)": (16, GAUSSIAN_COST + MOMENTS_COST),
}
"""Claim id -> (c in Delta = sqrt(c L) / eps, cost of the releases at Delta = 1)."""
NAMES = {"A-L4.3": "Lemma 4.3", "A-L4.5": "Lemma 4.5", "A-T4.2(i)": "Theorem 4.2 (i)"}  # claim -> place
UNIT = 1  # a claimed epsilon
ALLOWED = 2**2 + 2**2
DELTAS = tuple(10.0**-power for power in range(4, 10))
SECTION6_DELTA = 1e-6
SECTION6_PRINTED = {1: "0.009", 2: "0.04", 5: "0.23", 10: "0.90"}  # epsilon -> zCDP as Section 6 prints it
ALPHAS, RATES, SDS = (2, 4, 8, 16), (0.01, 0.1, 0.5), (1.0, 2.0, 4.0)  # of Remark 4.1's divergences
MILD = ((2, 0.1, 1.0), (8, 0.1, 5.0))  # alpha, p, sigma where the printed order errs less than at its worst
ORDER_AT = "printed order over RDP at alpha = {:g}, p = {:g}, sigma = {:g}"
ALPHA, SD = 8, 2.0  # Rényi order and sigma of the figure of one round


def proved(claim: str, epsilon: float, delta: float) -> float:
    """Return the epsilon that the printed proof gives at the noise that a statement prescribes for `epsilon`."""
    constant, cost = STATEMENTS[claim]
    return zcdp_epsilon(cost.rho * epsilon**2 / (constant * math.log(1 / delta)), delta)


def achieved_exactly(claim: str, epsilon: float, delta: float) -> float:
    """Return the exact epsilon of a statement's releases at that noise, with the joint sensitivity of (A, b)."""
    constant, cost = STATEMENTS[claim]
    return gdp_epsilon(math.sqrt(cost.mu_squared * epsilon**2 / (constant * math.log(1 / delta))), delta)


def section6_rho(epsilon: float) -> float:
    """Return eps^2 / (8 L), the zCDP of releases of total cost 1 at Lemma 4.3's noise (see erratum E9)."""
    return epsilon**2 / (8 * math.log(1 / SECTION6_DELTA))


def statement_curves() -> pd.DataFrame:
    """Tabulate the epsilon that each statement achieves over the claimed one, by the printed proof and exactly."""
    rows = [
        (claim, epsilon, *(chain(claim, epsilon, SECTION6_DELTA) / epsilon for chain in (proved, achieved_exactly)))
        for claim in STATEMENTS
        for epsilon in np.geomspace(0.1, 20, 60)
    ]
    return pd.DataFrame(rows, columns=["statement", "epsilon", "printed chain", "exact"])


def statements() -> list[Measured]:
    """Measure jain2021's achieved over claimed epsilon, limits of validity, sensitivities found, Section 6's zCDP."""
    measures, log_term = [], math.log(1 / SECTION6_DELTA)
    for claim in STATEMENTS:

        def gap(ratio: float, claim: str = claim) -> float:
            return proved(claim, ratio * log_term, SECTION6_DELTA) - ratio * log_term

        ratios = (
            proved(claim, epsilon, delta) / epsilon
            for delta in DELTAS
            for epsilon in np.geomspace(0.1, 1, 41) * math.log(1 / delta)
        )
        measures += [
            exact(f"{claim} worst ratio", max(ratios)),
            exact(f"{claim} limit", brentq(gap, 0.1, 50)),
            exact(f"{claim} exact epsilon at 1", achieved_exactly(claim, 1, SECTION6_DELTA)),
        ]
    rng = stream(0, "adversary", {})
    parts = {"second moment": "second", "first moment": "first", "joint": "joint"}
    changes = {name: moved(statistic, 2, rng) for name, statistic in parts.items()}
    measures += [exact(f"{name} change", change) for name, change in changes.items()]
    # Bounds by the triangle inequality: 2 for each statistic, 8 for the joint squares of Algorithm 2.
    over = matrix_moved(2, rng) / 2, *(change / (8 if name == "joint" else 2) for name, change in changes.items())
    measures.append(exact("largest change over its bound", max(over)))
    measures += [exact(f"rho at {epsilon}", section6_rho(epsilon)) for epsilon in SECTION6_PRINTED]
    explained = sum(
        f"{section6_rho(epsilon):.{len(printed.partition('.')[2])}f}" == printed
        for epsilon, printed in SECTION6_PRINTED.items()
    )
    return [*measures, exact("printed zCDP values explained", explained)]


def conversion_curves() -> pd.DataFrame:
    """Tabulate achieved epsilon over claimed, and exact delta at the claimed epsilon, for each set of releases."""
    rows = []
    for scope, epsilon in product(SCOPES, np.geomspace(0.1, math.log(1 / DELTA), 60)):
        mu = exact_mu(scope, epsilon, DELTA)
        spent, delta = gdp_epsilon(mu, DELTA), gdp_delta(epsilon, mu)
        rows.append((scope, epsilon, achieved(scope, epsilon, DELTA) / epsilon, spent / epsilon, delta))
    return pd.DataFrame(rows, columns=["scope", "epsilon", "paper's conversion", "exact", "delta"])


def round_curves() -> pd.DataFrame:
    """Tabulate each divergence of a round over that of full participation against the probability p."""
    divergences = {
        "replace a user": stated.replacement_divergence,
        "remove a user": stated.removal_divergence,
        "right mixture, printed order": stated.printed_order,
        "as printed": stated.printed_divergence,
    }
    full = REMOVED * ALPHA / SD**2
    rows = [
        (name, rate, divergence(ALPHA, rate, SD) / full)
        for name, divergence in divergences.items()
        for rate in np.linspace(0.02, 1, 50)
    ]
    return pd.DataFrame(rows, columns=["divergence", "p", "over alpha / (2 sigma^2)"])


def listed(values: dict[float, float]) -> str:
    """Write pairs of a stated epsilon and a value as text."""
    return ", ".join(f"{value:.3g} at {epsilon:g}" for epsilon, value in values.items())


def conversion() -> list[Measured]:
    """Measure epsilon and delta that the conversion in the last step of Theorem 5.2 achieves."""
    measures = []
    for scope in SCOPES:
        deltas = {epsilon: gdp_delta(epsilon, exact_mu(scope, epsilon, DELTA)) for epsilon in EPSILONS}
        premise = "; the start is charged as much as the rounds, which the theorem permits" if scope == WHOLE else ""
        note = f"at Figure 1's epsilons; exact delta where {DELTA:g} is claimed: {listed(deltas)}{premise}"
        measures += [
            exact(f"{scope}: largest exact over claimed delta", max(deltas.values()) / DELTA, note),
            exact(f"{scope}: smallest exact over claimed delta", min(deltas.values()) / DELTA, note),
            exact(f"{scope}: largest ratio", largest(lambda *args: achieved(*args) / args[1], scope)),
            exact(f"{scope}: missing noise", largest(stated.missing_noise, scope)),
            exact(f"{scope}: missing noise, exact", largest(stated.missing_noise_exactly, scope)),
        ]
        for epsilon, delta in deltas.items():
            spent = gdp_epsilon(exact_mu(scope, epsilon, DELTA), DELTA)
            measures.append(exact(f"{scope}: exact epsilon at {epsilon:g}", spent))
            measures.append(exact(f"{scope}: exact delta at {epsilon:g}", delta))
    return measures


def sampled_round() -> list[Measured]:
    """Measure Remark 4.1 and the cost of a round and of a power iteration under both neighbour relations."""
    alpha, sd = 8, 4.0
    full = alpha / (2 * sd**2)
    removed, replaced = stated.removal_divergence(alpha, 1.0, sd), stated.replacement_divergence(alpha, 1.0, sd)
    grid = [(alpha, rate, sd) for alpha in ALPHAS for rate in RATES for sd in SDS]
    short = {point: stated.printed_order(*point) / stated.removal_divergence(*point) for point in (*grid, *MILD)}
    worst = min(grid, key=lambda point: short[point])
    where = "alpha = {:g}, p = {:g}, sigma = {:g}".format(*worst)
    beside = "; ".join("{:.2g} at {:g}, {:g}, {:g}".format(short[point], *point) for point in MILD)
    replacing = max(stated.replacement_divergence(*point) / stated.removal_divergence(*point) for point in grid)
    return [
        exact("full participation, remove a user", round(removed / full, 9)),
        exact("full participation, replace a user", round(replaced / full, 9)),
        # The proof of Theorem 5.2 has 2 alpha / sigma_g^2, (67) has alpha / sigma_0^2.
        exact("round over the proof's", round(replaced / (4 * full), 9)),
        exact("run over (67), remove a user", round(removed / (2 * full), 9)),
        exact("run over (67), replace a user", round(replaced / (2 * full), 9)),
        exact("printed mass at p = 0.5", sum(stated.printed_mixture(0.5, sd).weights)),
        exact("printed S at p = 1", stated.printed_divergence(alpha, 1.0, sd) / full),
        exact("largest printed S", max(stated.printed_divergence(*point) for point in grid)),
        exact("printed order over RDP", short[worst], f"{where}; {beside}"),
        *(exact(ORDER_AT.format(*point), short[point]) for point in MILD),
        exact("replacing over removing", replacing),
    ]


PRINTED_POWERS = {
    "eps'_init": {"n": -2, "d": 2, "k": 7, "mu": 4, "kappa": 2},
    "eps_init": {"n": -2, "d": 2, "k": 8, "mu": 4, "kappa": 2},
    "cap": {"n": 1, "d": -1, "k": -4, "mu": -2, "kappa": 0},
    "trade-off": {"n": -1, "d": 1, "k": 1.5, "mu": 2, "kappa": 1},
}
"""Powers in eq. (67), Corollary F.1, Theorem 5.2 and Corollary 5.1."""
LENGTH = "kappa^2 comes from L <= 1 + k kappa^2; with L = O(k), as the paper treats it, the exponent is {:g}"
"""Note on the powers of kappa, which depend on L; the cost of a start is proportional to L."""


def idle_condition(size: prescribed.Size) -> float:
    """Return Corollary 5.1's printed least epsilon over its trade-off's at eps_a = 1; up to 1 the condition is idle."""
    return prescribed.least_epsilon(prescribed.utility_cap)(size) / prescribed.trade_off(size)


def powers() -> list[Measured]:
    """Measure the exponents of Lemma F.2, Corollary F.1, Theorem 5.2's condition and Corollary 5.1."""
    laws = {
        "eps'_init": prescribed.run_cost,
        "eps_init": prescribed.start_cost,
        "cap": prescribed.privacy_cap,
        "least eps": prescribed.least_epsilon(prescribed.privacy_cap),
        "trade-off": prescribed.trade_off,
        "least eps of the trade-off at eps_a = 1": prescribed.trade_off,
        "printed least eps over that of the trade-off at eps_a = 1": idle_condition,
        "eps_a at the least eps": prescribed.utility(prescribed.privacy_cap),
    }
    shorter = {"eps'_init": -2, "eps_init": -2, "cap": 1, "least eps": -1, "eps_a at the least eps": 1}
    measures = []
    for name, law in laws.items():
        for symbol in ("n", "d", "k", "mu", "kappa"):
            value = round(prescribed.power(law, symbol), 6) + 0.0
            note = LENGTH.format(value + shorter[name]) if symbol == "kappa" and name in shorter else ""
            measures.append(exact(f"{name}: exponent of {symbol}", value, note))
    by_name = {row.quantity: row for row in measures}
    for name, printed in PRINTED_POWERS.items():
        powers = {symbol: by_name[f"{name}: exponent of {symbol}"] for symbol in printed}
        gap = max(abs(powers[symbol].measured - value) for symbol, value in printed.items())
        measures.append(exact(f"{name}: largest difference from the printed powers", gap, powers["kappa"].note))
    return measures


def experiments() -> list[Measured]:
    """Measure the epsilons of Section 6 under both neighbour relations if its noise is that of Opacus' accountant."""
    removed, replaced = (
        {epsilon: stated.experiments_epsilon(epsilon, shift) for epsilon in EPSILONS} for shift in (1.0, 2.0)
    )
    note = f"exact epsilons where these are stated: removed {listed(removed)}; replaced {listed(replaced)}"
    rows = []
    for relation, values in (("remove", removed), ("replace", replaced)):
        worst = max(value / epsilon for epsilon, value in values.items())
        rows.append(exact(f"experiments: largest exact over stated epsilon, {relation} a user", worst, note))
        rows += [exact(f"experiments at {epsilon:g}, {relation} a user", value) for epsilon, value in values.items()]
    return rows


FACTS = {
    # The limit by two triangle inequalities, and the share of it that the search attained.
    "joint release": lambda cells, values: {"allowed": ALLOWED, "share": values["joint change"].measured / ALLOWED},
}


def analyse(cells: None, study: AnalysisSettings) -> Findings:
    """Measure the privacy statements of jain2021 and of shen2023."""
    return Findings(
        statements() + conversion() + sampled_round() + powers() + experiments(),
        {
            "jain2021/privacy_accounting": statement_curves(),
            "shen2023/privacy_conversion": conversion_curves(),
            "shen2023/sampled_round": round_curves(),
        },
    )
