"""The head law `heavy`: a few users with outlier heads, at the second moment of the other laws (shen2023,
Assumption 5.2 with large mu)."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import gather
from hypothesis import given
from hypothesis import strategies as st
from test_problem import moments_match

import privrep.users.problem
from privrep.users.problem import Problem, Users

PROBLEM = Problem(2000, 1, 6, 3, head_law="heavy", head_factor=5.0)
MU = 5 / math.sqrt(0.99 + 0.01 * 25)


def lengths(users) -> np.ndarray:
    return np.linalg.norm(gather(users)[2], axis=1)


def test_every_hundredth_user_has_a_long_head(monkeypatch):
    """Users 0, 100, 200, ..., of all and not of a block: mu sqrt(k); the others a fifth of it."""
    monkeypatch.setattr(privrep.users.problem, "FLOATS_PER_STREAM", 2**8)
    monkeypatch.setattr(privrep.users.problem, "STREAMS_PER_BLOCK", 1)
    assert PROBLEM.stream_users == 42
    found = lengths(Users(PROBLEM)) / 3**0.5
    long = np.arange(2000) % 100 == 0
    np.testing.assert_allclose(found[long], MU, rtol=1e-6)
    np.testing.assert_allclose(found[~long], MU / 5, rtol=1e-6)


@given(st.floats(1, 50), st.integers(1, 4))
def test_the_second_moment_is_the_identity(factor, rank):
    """Mean ||v||^2 = k for hundreds of users, whatever the factor: 0.99 short^2 + 0.01 long^2 = k."""
    problem = Problem(300, 1, 4, rank, head_law="heavy", head_factor=factor)
    assert (lengths(Users(problem)) ** 2).mean() == pytest.approx(rank, rel=1e-5)
    assert problem.longest_head == pytest.approx(factor / math.sqrt(0.99 + 0.01 * factor**2), rel=1e-12)
    assert 1 <= problem.longest_head < 10


def test_long_heads_have_no_preferred_direction():
    """E v v^T = I, not k e e^T or twice I."""
    heads = gather(Users(replace(PROBLEM, users=20_000)))[2]
    assert moments_match(heads, np.eye(3))
    for wrong in (2 * np.eye(3), np.diag([1.5, 0.75, 0.75])):
        assert not moments_match(heads, wrong)


def test_the_bound_on_heads_is_the_long_ones():
    """mu sqrt(k) in the prescribed thresholds: 1 for a factor of 1, and for other laws."""
    assert PROBLEM.known.mu == pytest.approx(MU, rel=1e-12)
    assert PROBLEM.known.head_bound == pytest.approx(MU * 3**0.5, rel=1e-12)
    assert replace(PROBLEM, head_law="aniso", head_factor=1.0, head_condition=2.0).known.mu == 2
    assert lengths(Users(PROBLEM)).max() == pytest.approx(PROBLEM.known.head_bound, rel=1e-6)
    for law in ("sphere", "heavy"):
        plain = replace(PROBLEM, head_law=law, head_factor=1.0)
        assert plain.longest_head == 1
        assert plain.known.head_bound == pytest.approx(3**0.5, rel=1e-12)
