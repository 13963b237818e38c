"""Shares of runs and their intervals, on stub tables."""

import numpy as np
import pandas as pd
import pytest
from conftest import clopper_pearson

from replication.evidence.counts import failed_shares, proportion


def test_failures_are_counted_over_repetitions():
    """Two repetitions of 50 runs by setting; counts are whole but for rounding.
    Few runs fail, so that a normal interval would end below 0."""
    shares = [0, 0.02, 0.06, 1]
    rows = pd.DataFrame({"tau": np.repeat([2, 4, 8, 16], 2), "seed": [0, 1] * 4, "tried": 50})
    points = failed_shares(rows.assign(failed=np.repeat(shares, 2) * 50 + 1e-12), ["tau"])
    assert list(points["failed"]) == shares and list(points["draws"]) == [2] * 4
    expected = [clopper_pearson(round(100 * share), 100) for share in shares]
    np.testing.assert_allclose(points[["ci_low", "ci_high"]], expected, rtol=1e-9)
    assert points["ci_low"].min() == 0
    found = proportion("failures", points.iloc[1], "failed", "a note")
    assert (found.quantity, found.measured, found.seeds, found.note) == ("failures", 0.02, 2, "a note")
    assert [found.ci_low, found.ci_high] == pytest.approx(expected[1])
