"""What rounding to float32 adds to the share of a user, which test_contributions.py holds against its bound for data of
all sizes: a user whose every rounding goes the same way stays within it by the room that clips leave for rounding."""

from functools import partial

import numpy as np
import pytest
from conftest import FakeUsers, fake_users
from pieces import moments, pair_moments

from privrep.privacy.regression_moments import SampleClip


def rough_user(rng, kind: str, samples: int, dim: int, rank: int) -> FakeUsers:
    """One far beyond every clip. With `equal` entries the squares under a norm all round the same way."""
    features = {
        "equal": np.full((samples, dim), rng.uniform(0.5, 2)),
        "axis": np.eye(1, dim).repeat(samples, axis=0) * rng.uniform(0.5, 2),
        "parallel": rng.standard_normal((1, dim)).repeat(samples, axis=0),
    }[kind]
    return fake_users(50 * features[:, None], np.full((samples, 1), 99.0), np.eye(1, rank) * rng.uniform(0.5, 2))


def of_moments(part: int, user: FakeUsers, q: int, eta: float, zeta: float) -> float:
    """Size of A or b over its bound, where samples are clipped."""
    rule = SampleClip(eta, zeta)
    found = moments(user, range(1), lambda block: block.heads, slice(0, q), rule)[part]
    return np.linalg.norm(found) / rule.bounds(q)[part]


SHARES = {
    "A": partial(of_moments, 0),
    "b": partial(of_moments, 1),
    "pairs": lambda user, q, eta, zeta: (
        np.linalg.norm(np.triu(pair_moments(user, slice(0, q), zeta))) / (q // 2 * zeta**2)
    ),
}
"""Name -> size of what a user adds over its bound."""


def largest_share(name: str, rng, tries: int = 40) -> float:
    """Over users of some shapes and clips of any size."""
    shapes = [(2, 2, 1), (80, 3, 2), (6, 500, 1)]
    return max(
        SHARES[name](rough_user(rng, kind, *shape), shape[0], *map(float, rng.uniform(0.1, 10, 2)))
        for shape in shapes
        for kind in ("equal", "axis", "parallel")
        for _ in range(tries)
    )


@pytest.mark.parametrize("name", SHARES)
def test_rounding_lets_nobody_past_a_clip(name, rng, monkeypatch):
    """Every bound holds in float32, by a share of 1e-5 or so; without the allowance rounding exceeds some."""
    assert 1 - 2e-5 < largest_share(name, rng) <= 1
    for module in ("regression_moments", "paired_samples"):
        monkeypatch.setattr(f"privrep.privacy.{module}.within_float32", lambda bound, additions: bound)
    assert largest_share(name, rng) > 1 + 5e-8
