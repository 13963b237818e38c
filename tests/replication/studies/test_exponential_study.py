"""The study exponential: users needed, on stub tables."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from replication.studies.exponential import analysis
from replication.studies.exponential.analysis import FEW, LINE


def table(risk_of, series, users, rank=1, seeds=5) -> pd.DataFrame:
    rows = [
        {"series": name, "users": n, "seed": seed, "rank": rank, "excess_risk": rank * risk_of(name, n, seed)}
        for name, n, seed in itertools.product(series, users, range(seeds))
    ]
    return pd.DataFrame(rows)


def test_users_needed_are_found_between_sizes():
    """A power law is interpolated exactly; the last fall of a risk counts; beyond the sizes there is no number."""
    found = {
        "mechanism": lambda n: 50 / n,
        "altmin": lambda n: {100: 0.01, 1000: 1.0, 10_000: 0.001}[n],
        "staged-A": lambda n: 1.0,
        "staged-B": lambda n: 0.01,
    }
    cells = table(lambda name, n, seed: found.get(name, lambda n: 5e3 / n**2)(n), (*LINE, *FEW), (100, 1000, 10_000))
    needed = analysis.users_needed(cells, np.arange(5))
    needed = {name.removeprefix("users for a twentieth, "): users for name, users in needed.items()}
    assert [needed["mechanism"], needed["centaur"]] == pytest.approx([1000, math.sqrt(1e5)])
    assert 1000 < needed["altmin"] < 10_000
    assert math.isnan(needed["staged-A"]) and math.isnan(needed["staged-B"])
