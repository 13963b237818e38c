"""The grids of jain2021's rates, before any run: what the finite grid adds to an exponent, how many repetitions there
are."""

import importlib
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest

from privrep.methods.running.columns import RESULTS, own_columns
from privrep.methods.running.runner import prepared
from privrep.methods.steps.clip_units import SCALES, label_threshold
from privrep.theory import jain2021
from replication.evidence.claim_rules import Rate
from replication.evidence.intervals import FEWEST
from replication.evidence.quantities import checked_claims
from replication.evidence.scaling import slope_weights
from replication.printed.of_cells import init_log_factor, step_log_factor
from replication.run.config import read_config, read_study
from replication.run.grids import Cell, expand
from replication.run.settings import Spec
from replication.studies.local_convergence import analysis as local_convergence
from replication.studies.risk import analysis as risk
from replication.studies.sample_complexity import analysis as sample_complexity

STUDIES = ("init_rates", "local_convergence", "risk", "sample_complexity")
TOO_FAR = {
    "sampling sigma distF": "label noise far above the signal needs 1e7 samples in each of about a hundred data sets",
    "privacy k dist2": "the spectral edge is not small beside sqrt(d) where it can be run; the rms sine has none",
}
"""Exponents whose grid cannot be moved, with the reason: they end as INCONCLUSIVE."""


def planned(cell: Cell) -> dict:
    """A row of the results table as far as it is known before the run; errors are placeholders."""
    fitter, problem = cell.options, cell.problem
    method = prepared(fitter, problem)
    row = dict.fromkeys([*own_columns(cell.options), *RESULTS], np.nan) | cell.row
    row |= dict.fromkeys(("distF", "dist2", "excess_risk"), 0.001)
    if row["noise_multiplier"] is np.nan and cell.budget is not None:
        row["noise_multiplier"] = cell.budget.noise_multiplier(method.cost, method.theorem)
    if hasattr(fitter, "clip_feature"):
        eta, zeta = SCALES[fitter.clip_scale](problem.known)
        row |= {"eta": fitter.clip_feature * eta, "zeta": fitter.clip_label * zeta}
    elif hasattr(fitter, "init_label_clip"):
        row["zeta"] = label_threshold(fitter.clip_scale, fitter.init_label_clip, problem.known)
    return row


@cache
def table(study: str) -> pd.DataFrame:
    """The planned rows of a study with what the laws expect."""
    rows = pd.DataFrame([planned(cell) for cell in expand(read_study(read_config(), study))])
    return importlib.import_module(f"replication.studies.{study}.analysis").with_predictions(rows)


def local_slope(rows: pd.DataFrame, spec: Spec) -> float:
    """Slope of the law on the grid."""
    rows = rows[rows["noise_multiplier"] > 0] if spec.paired else rows
    expected = rows.groupby(spec.axis)[spec.prediction].mean()
    return float(slope_weights(np.log(expected.index.to_numpy(float))) @ np.log(expected.to_numpy()))


def judged() -> list:
    """Study, fit and rule of every judged exponent."""
    config = read_config()
    specs = {(study, name): spec for study in STUDIES for name, spec in read_study(config, study).fits.items()}
    return [
        pytest.param(claim.study, specs[claim.study, name], quantity, id=f"{claim.id} {name}")
        for claim in checked_claims()["jain2021"]
        for quantity in claim.quantities
        if isinstance(quantity, Rate) and (claim.study, name := quantity.measured.removeprefix("exponent ")) in specs
    ]


@pytest.mark.parametrize(("study", "spec", "quantity"), judged())
def test_an_exponent_is_judged_on_a_grid_that_shows_it(study, spec, quantity):
    """The law's slope on the grid is within a third of the tolerance of its true exponent, so that the data and not the
    correction decide, and there are enough data sets for an interval."""
    rows = table(study)
    rows = rows[rows["series"] == spec.series]
    assert rows["seed"].nunique() >= FEWEST
    expected = quantity.value if quantity.expected is None else quantity.expected
    if spec.prediction and not math.isnan(expected):
        added = abs(local_slope(rows, spec) - expected)
        assert (added > quantity.tolerance / 3) == (spec.name in TOO_FAR), added


def test_the_logarithms_are_divided_out_and_nothing_else():
    """Over their factor the proofs' thresholds have the law without logarithms; others have factor 1."""
    steps, starts = table("local_convergence"), table("init_rates")
    for rows, factor in ((steps, step_log_factor(steps)), (starts, init_log_factor(starts))):
        printed = (rows["clip_scale"] == "printed").to_numpy()
        assert (factor[~printed] == 1).all() and (factor[printed] > 10).all()
    step, start = (rows.query("series == 'n-printed' and noise_multiplier > 0").iloc[0] for rows in (steps, starts))
    d, k = step["dim"], step["rank"]
    eta, zeta = step["clip_feature"] * np.sqrt(d * k), step["clip_label"] * np.sqrt(k)
    plain = jain2021.step_privacy(step["users"] / step["batches"], d, k, step["noise_multiplier"], eta, zeta)
    assert step["privacy_over_log"] == pytest.approx(plain)
    sizes = [start[name] for name in ("users", "dim", "rank", "noise_multiplier")]
    plain = jain2021.init_privacy_frobenius(*sizes, start["init_label_clip"] * np.sqrt(start["rank"]))
    assert start["privacy_F_over_log"] == pytest.approx(plain)


def test_equation_22_counts_the_samples_of_the_fit():
    """Its m is the number of columns of X, half of a user's samples in Theorem 4.2, whose last term has all."""
    k, m, sigma = 2, 16, 1.0
    risk_of = jain2021.personal_risk(0.0, k, m / 2, sigma)
    row = {"series": "heads", "samples": m, "start_sine": 0.0, "label_noise_sd": sigma, "rank": k, "seed": [0, 1]}
    found = risk.head_ratios(pd.DataFrame(row | {"excess_risk": risk_of, "subspace_risk": 0.0}))
    h = m / 2
    assert found["heads over exact"] == pytest.approx(1)
    assert found["heads over printed, fewest samples"] == pytest.approx(h / (h - k - 1))
    assert found["heads last term over printed, most samples"] == pytest.approx(m / (h - k - 1))


def test_starts_within_the_condition_are_counted_run_by_run():
    """Runs that halve their distance or end as near as from the nearest start; starts further out do not count."""
    rows = pd.DataFrame({"start_sine": np.repeat([0.01, 0.03, 0.5], 2), "distF": [0.001, 0.001, 0.014, 0.02, 0.5, 0.5]})
    rows = rows.assign(series="start", noise_multiplier=0.0, rank=1, seed=[0, 1] * 3)
    found = local_convergence.near_starts(rows, noise=False, near_error=1.5)
    assert found.quantity == "start within 1/32 is enough without noise, share of runs"
    assert (found.measured, found.seeds) == (0.75, 4)


def test_the_least_number_of_samples_has_no_interval_of_its_own():
    """It is found in steps of four: repetitions that agree say nothing about its error, the share of runs does."""
    points = pd.DataFrame({"rank": [1, 1, 2, 2], "spare": 0, "square": [1.0, 1.0, 1.0, 9.0], "samples": 4, "seed": 0})
    found = {one.quantity: one for one in sample_complexity.least_enough(points, near=1.5)}
    assert found["m = 4 k suffices, share of runs"].measured == 0.75
    assert found["m = 4 k suffices at rank 2, share of runs"].measured == 0.5
    assert found["m = 4 k suffices at rank 1, share of runs"].ci_high == 1.0
