"""The study centaur_rates: the noise of its start series."""

import numpy as np
import pytest

from replication.errata.centaur import corrected_cap, printed_cap
from replication.run.config import read_config, read_study


@pytest.mark.parametrize(("form", "cap"), [("printed", printed_cap), ("corrected", corrected_cap)])
def test_noise_of_the_start_series(form, cap):
    """A quarter of the cap at every rank, at sizes that meet d >= k^3 ln n; sigma_g is twice the noise multiplier."""
    study = read_study(read_config(), "centaur_rates")
    problem = study.series[f"start-{form}"].problem
    for point in study.grid_of(f"start-{form}")["together"]:
        n, d, k = problem["users"], problem["dim"], point["rank"]
        assert 2 * point["noise_multiplier"] == pytest.approx(0.25 * cap(n, d, k), rel=1e-4)
        assert d >= k**3 * np.log(n)
