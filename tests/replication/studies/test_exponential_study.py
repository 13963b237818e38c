"""The study exponential: law F7, and its statistics on stub tables."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from privrep.theory import jain2021
from replication.studies.exponential import analysis
from replication.studies.exponential.analysis import FEW, LINE

# Law F7


@pytest.mark.parametrize(("dim", "power"), itertools.product((1, 2, 5), (1, 2)))
def test_mean_of_a_homogeneous_score(dim, power, rng):
    """E[f] = D / (power beta) under exp(-beta f) for f(x) = sum |x_i|^power, by drawing:
    each |x_i|^power is a Gamma(1 / power) variable. Five standard errors; the other power is rejected."""
    beta, draws = 3.0, 40_000
    found = rng.gamma(1 / power, 1 / beta, (draws, dim)).sum(axis=1)
    error = 5 * found.std() / draws**0.5
    # k (d - k) = dim for k = 1.
    assert found.mean() == pytest.approx(jain2021.mechanism_excess(beta, dim + 1, 1, power), abs=error)
    assert abs(found.mean() - jain2021.mechanism_excess(beta, dim + 1, 1, 3 - power)) > error


def test_loss_that_goes_with_a_score_excess(rng):
    """Least squares of y = <x, theta> in a subspace that misses theta by a little: the residual on the fitted samples
    and on new ones, over their law, within 2 percent (about four standard errors)."""
    k, q, users = 2, 9, 40_000
    z = rng.standard_normal((users, 2 * q, k))
    missed = rng.standard_normal((users, 2 * q))  # what the subspace does not see of the labels
    heads = [np.linalg.lstsq(zz, mm, rcond=None)[0] for zz, mm in zip(z[:4000, :q], missed[:4000, :q], strict=True)]
    heads = np.array(heads)
    scored = 0.5 * ((missed[:4000, :q] - np.einsum("nqk,nk->nq", z[:4000, :q], heads)) ** 2).mean()
    final = 0.5 * (1 + (heads**2).sum(axis=1).mean())
    assert jain2021.mechanism_loss(scored, k, q, q) == pytest.approx(final, rel=0.02)


# Privacy


# Risk


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


def test_users_by_the_law_solve_it():
    """n = 8 L_f D f / (0.1 eps sqrt(2 / pi)) at the root, with f what the final heads add;
    the printed clip needs more by the ratio of the clips."""
    row = pd.Series({"samples": 16, "dim": 12, "rank": 1, "epsilon": 0.5})
    for scale in ("prescribed", "projected"):
        n = analysis.users_by_law(row, scale)
        factor = (1 + 1 / 6) / (1 - 1 / 8)
        length = {"prescribed": 40 * 12**0.5 * math.log(16 * n), "projected": math.log(16 * n) ** 0.5}[scale]
        assert n == pytest.approx(8 * length * 11 * factor / (0.1 * 0.5 * (2 / math.pi) ** 0.5), rel=1e-3)


@pytest.mark.parametrize(("rank", "dim"), [(1, 10), (2, 20), (4, 20)])
def test_bounds_cross_where_the_paper_says(rank, dim, monkeypatch):
    """At k^3.5 d^1.5 users; another power of k in either bound would show."""
    assert analysis.crossing(rank, dim) == pytest.approx(rank**3.5 * dim**1.5)
    monkeypatch.setitem(analysis.BOUNDS, "mechanism", lambda k, d, n: k * d**1.5 / n)
    assert analysis.crossing(2 * rank, dim) / analysis.crossing(rank, dim) == pytest.approx(2**4)
