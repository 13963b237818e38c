"""The study centaur_rates: contraction per round, caps on the noise and participation, from stub tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from replication.errata.centaur import corrected_cap, printed_cap
from replication.evidence.measured import Measured
from replication.evidence.numbers import measure
from replication.evidence.quantities import numbers
from replication.run.config import ROOT, read_config, read_study, read_yaml
from replication.run.settings import settings_of
from replication.studies.centaur_rates import analysis as centaur_rates


def measured(name: str, cells: pd.DataFrame) -> Measured:
    """A number as the study's file defines it."""
    return measure(name, numbers(read_study(read_config(), "centaur_rates"))[name], cells.assign(status="ok"))


def rate_table(factor: float) -> pd.DataFrame:
    rows = [
        {"series": "rate", "head_condition": 2.0, "rounds": rounds, "seed": seed, "start_sine": 0.1}
        | {"dist2": 0.1 * factor**rounds * (1 + 0.1 * seed)}
        for rounds in (5, 10, 20, 40)
        for seed in range(3)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("factor", [0.75, 0.9375])
def test_contraction_of_a_geometric_path(factor):
    """The factor per round, whatever the size at the start."""
    found = centaur_rates.contractions(centaur_rates.rate_points(rate_table(factor)))
    assert found.shape == (1, 3)
    np.testing.assert_allclose(found, factor, rtol=1e-12)


def test_law_and_bound_of_a_rate():
    """F8 and eq. (19): 1 - 1/(4 kappa^2), and sqrt(1 - 0.96/(8 kappa^2))."""
    points = centaur_rates.rate_points(rate_table(0.9))
    assert points["law"].unique() == pytest.approx([1 - 1 / 16])
    assert points["bound"].unique() == pytest.approx([(1 - 0.96 / 32) ** 0.5])


def test_noise_law_counts_participants():
    """With a share p of the users a round adds 1/p times the noise; mu of long heads is that of the problem."""
    common = {"users": 2000, "dim": 20, "rank": 2, "noise_multiplier": 1.0, "zeta": 6.0, "step": 0.25}
    common |= {"head_condition": 1.0, "head_factor": 1.0}
    common |= {"participation": 1.0, "steady_dist2": 0.1, "steady_distF": 0.2}
    table = pd.DataFrame([common, common | {"participation": 0.1}, common | {"head_factor": 4.0}])
    found = centaur_rates.with_predictions(table)
    assert found["floor_F"][1] == pytest.approx(10 * found["floor_F"][0])
    assert found["floor_F"][0] == pytest.approx(0.25 * 2 * 6 / 2000 * (2 * 18 / (1 - 0.75**2)) ** 0.5)
    assert found["floor_sine"][0] == pytest.approx(found["floor_F"][0] / 2**0.5)
    assert found["sine"][0] == pytest.approx(0.2 / 2**0.5)
    assert found["over_log"][0] == pytest.approx(0.1 / np.log(2000) ** 0.5)
    assert found["mu"].tolist() == pytest.approx([1, 1, 4 / (1 + 15 / 100) ** 0.5])


def test_paired_ratio_on_the_same_users():
    """Root mean squares over redraws, paired by repetition."""
    rows = [
        {"series": series, "seed": seed, "steady_distF": size * (1 + seed) * scatter * (1 + turn * (-1) ** seed)}
        for series, size, turn in (("fresh", 3.0, 1e-3), ("reuse", 2.0, 0.0))
        for seed in range(6)
        for scatter in (0.9, 1.1)
    ]
    found = measured("distF of fresh over reused samples", pd.DataFrame(rows))
    assert found.measured == pytest.approx(1.5, rel=1e-3)
    assert 1.49 < found.ci_low < found.measured < found.ci_high < 1.51


@pytest.mark.parametrize(("form", "cap"), [("printed", printed_cap), ("corrected", corrected_cap)])
def test_noise_of_the_start_series(form, cap):
    """A quarter of the cap at every rank, at sizes that meet d >= k^3 ln n; sigma_g is twice the noise multiplier."""
    study = read_yaml(ROOT / settings_of("centaur_rates"))
    problem = study["series"][f"start-{form}"]["problem"]
    for point in study["grids"][f"start-{form}"]["together"]:
        n, d, k = problem["users"], problem["dim"], point["rank"]
        assert 2 * point["noise_multiplier"] == pytest.approx(0.25 * cap(n, d, k), rel=1e-4)
        assert d >= k**3 * np.log(n)
