"""snedeker2025, private FedRep (claims C-FACTOR, C-OWN, C-CODE): risks on the problem of its public code.

The risk at an epsilon is a median, since one run that learns nothing would dominate a mean; means are reported, too.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from privrep.theory import jain2021, shen2023
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures
from replication.evidence.measured import Measured, bare, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import Sweep, fit_all, fit_table
from replication.run.settings import MeasureSettings
from replication.studies.measures import ratio_exponent

METHODS = ("fedrep-code", "fedrep", "fedrep-wide", "altmin", "altmin-user", "centaur", "unit-steps")
"""Series that are compared at the same exact privacy budgets."""
NOTHING = 0.1  # a run has learned nothing if its risk exceeds this share of that of predicting zero
FACTORS = {"d": ("altmin d", "fedrep d"), "k": ("altmin k", "fedrep k")}  # parameter -> fits of numerator, denominator
WIDER = {"k with longer clips": ("altmin k", "fedrep k, longer clips")}  # the same, reported but not drawn
CODE_ROUNDS, CODE_SAMPLES, CODE_DELTA = 5, 5, 1e-6  # T, m and delta of the public code
CODE_EPSILONS = (1.0, 4.0, 8.0)


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with `law`, the risk due to privacy noise of private FedRep in its steady state (F9, F6) and of
    alternating minimisation after a step (F3, F6), without label noise, else NaN; `noise_ratio`, x of the latter, else
    0; `subspace_risk`, distF^2; and `statistical`, distF^2 without privacy noise.

    If the mean gradient is 0, the error E of the subspace solves sum_i Y_i^T Y_i E v_i v_i^T = sum_i Y_i^T s_i v_i^T.
    Y_i and s_i are the residuals of the features off the subspace and of the label noise after the fit of a head, with
    m - k degrees of freedom each. So each of the (d - k) k entries of E has variance sigma^2 / (n (m - k))."""
    plain = cells["label_noise_sd"] == 0
    fedrep, altmin = (plain & (cells["algorithm"] == name) for name in ("private_fedrep", "altmin"))
    n, m, d, k, multiplier = (cells[name] for name in ("users", "samples", "dim", "rank", "noise_multiplier"))
    noise = shen2023.centaur_noise(n, multiplier, cells["zeta"], cells["step"])
    # Heads and gradients use the same m samples, which shrinks a mean gradient to (m - k) / m of that on separate ones.
    sine = noise * shen2023.centaur_gain(1.0, cells["step"] * (m - k) / m)
    distance = jain2021.step_privacy(n, d, k, multiplier, cells["eta"], cells["zeta"])
    steady, step = (jain2021.personal_risk(square, k, m, 0) for square in (sine**2 * (d - k) * k, distance**2))
    statistical = cells["label_noise_sd"] ** 2 * (d - k) * k / (n * (m - k))
    ratio = jain2021.noise_ratio(n, d, k, multiplier, cells["eta"])
    law = np.where(fedrep, steady, np.where(altmin, step, np.nan))
    laws = {"law": law, "statistical": statistical}
    return cells.assign(**laws, noise_ratio=np.where(altmin, ratio, 0.0), subspace_risk=cells["distF"] ** 2)


def own_table(known: Quantities) -> pd.DataFrame:
    """Return median risks by series and epsilon with intervals, and the floor."""
    rows = [
        (series, epsilon, risk.measured, risk.ci_low, risk.ci_high)
        for series in METHODS
        for epsilon, risk in known.numbered(f"median risk of {series} at epsilon =").items()
    ]
    table = pd.DataFrame(rows, columns=["series", "epsilon", "risk", "ci_low", "ci_high"])
    return table.assign(floor=known["median risk of floor"].measured)


def factor_points(above: Sweep, below: Sweep, name: str) -> list[Measured]:
    """Measure the ratio of the mean risks of two fits on the same users, at each value of a parameter."""

    def ratios(indices: np.ndarray) -> dict[str, float]:
        over = above.errors[:, indices].mean(axis=1) / below.errors[:, indices].mean(axis=1)
        return {f"factor at {name} = {value:g}": float(ratio) for value, ratio in zip(above.values, over, strict=True)}

    return bootstrap_measures(ratios, above.repetitions, f"factor {name}", note="")


def code_measures() -> list[Measured]:
    """Measure the epsilon of the code's noise, sqrt(12 T ln(1.25 / delta)) / eps, and its ratio to the exact noise."""
    measured = []
    for epsilon in CODE_EPSILONS:
        multiplier = math.sqrt(12 * CODE_ROUNDS * math.log(1.25 / CODE_DELTA)) / epsilon
        needed = math.sqrt(CODE_ROUNDS) / gdp_mu(epsilon, CODE_DELTA)
        spent = gdp_epsilon(math.sqrt(CODE_ROUNDS) / multiplier, CODE_DELTA)
        measured += [
            exact(f"epsilon spent by the code at epsilon = {epsilon:g}", spent),
            exact(f"noise over exact by the code at epsilon = {epsilon:g}", multiplier / needed),
        ]
    return measured


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure risks and ratios on the code's problem, exponents, the factor between methods, and the code's noise."""
    cells = with_predictions(cells)
    fits, measured, tables = fit_all(study, cells), defined(study, cells), []
    own = own_table(Quantities(measured))
    for name, pair in (FACTORS | WIDER).items():
        above, below = (fits[fit].sweep for fit in pair)
        points, quantity = factor_points(above, below, name), f"exponent of {name} in the factor"
        left_out = above.too_few or below.too_few
        slope = bare(quantity, math.nan, above.repetitions, left_out)
        if not left_out:
            slope = ratio_exponent(quantity, above, below)
        measured += [*points, slope]
        if name in WIDER:
            continue
        rows = [(point.measured, point.ci_low, point.ci_high) for point in points]
        table = pd.DataFrame(rows, columns=["error", "ci_low", "ci_high"]).assign(
            fit=f"factor, {name}",
            value=above.values,
            predicted=above.predicted / below.predicted,
            exponent=slope.measured,
            exponent_low=slope.ci_low,
            exponent_high=slope.ci_high,
        )
        tables += [fit_table(fits, pair), table]
    shown = {"snedeker2025/own_problem": own, "snedeker2025/factor": pd.concat(tables)}
    return Findings(measured + code_measures(), shown, fits)
