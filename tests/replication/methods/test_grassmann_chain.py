"""Metropolis chains on the subspaces: proposals, burn-in, and means under laws that an integral gives."""

import numpy as np
import pytest
from conftest import FALSE_ALARM
from scipy import integrate, stats

from privrep.users.subspace import random_subspaces
from replication.methods.steps.grassmann_chain import WANTED, walk

BAND = (0.15, 0.55)
"""Of acceptance after a burn-in of 200 steps or more, about `WANTED`."""


def latitude(bases: np.ndarray) -> np.ndarray:
    """P_11 of each subspace."""
    return (bases[:, 0] ** 2).sum(axis=1)


@pytest.mark.parametrize(("dim", "rank"), [(3, 1), (4, 1), (5, 4), (5, 2)])
def test_proposals_leave_the_uniform_law(dim, rank):
    """P_11 of a uniform subspace is Beta(k/2, (d - k)/2): by chi-square over ten equal shares at rate 1e-6,
    after 4 steps of 4000 chains that move away from where they were. A law that leans to one axis is rejected."""
    rng = np.random.default_rng(5)
    edges = stats.beta(rank / 2, (dim - rank) / 2).ppf(np.linspace(0, 1, 11))

    def p_value(starts):
        found = walk(lambda bases: np.zeros(len(bases)), starts, 1.0, 0, 4, rng)
        assert (found.accepted == 1).all()
        moved = np.linalg.norm(np.einsum("cdk,cdl->ckl", starts, found.last), axis=(1, 2)) ** 2
        assert moved.mean() < rank - 0.1
        return stats.chisquare(np.histogram(latitude(found.last), edges)[0]).pvalue

    assert p_value(random_subspaces(4000, dim, rank, rng)) > FALSE_ALARM
    leaning = random_subspaces(4000, dim, rank, rng)
    leaning[:, 0] *= 2
    assert stats.chisquare(np.histogram(latitude(np.linalg.qr(leaning)[0]), edges)[0]).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("dim", "rank"), [(3, 1), (4, 3)])
@pytest.mark.parametrize("scale", [0.5, 0.02])
def test_the_mean_is_that_of_the_law(dim, rank, scale):
    """Score 1 - P_11, whose mean is a ratio of two integrals over a Beta law:
    within five standard errors between 200 chains, which reject the mean at 1.5 times the scale."""
    rng = np.random.default_rng(3)
    density = stats.beta(rank / 2, (dim - rank) / 2).pdf

    def mean(at: float) -> float:
        parts = [
            integrate.quad(
                lambda t, p=power: (1 - t) ** p * density(t) * np.exp(-(1 - t) / at), 0, 1, epsabs=0, limit=400
            )[0]
            for power in (1, 0)
        ]
        return parts[0] / parts[1]

    found = walk(lambda bases: 1 - latitude(bases), random_subspaces(200, dim, rank, rng), scale, 200, 200, rng)
    chains = found.scores.mean(axis=0)
    error = 5 * chains.std(ddof=1) / len(chains) ** 0.5
    assert chains.mean() == pytest.approx(mean(scale), abs=error)
    for wrong in (scale / 1.5, 1.5 * scale):
        assert abs(chains.mean() - mean(wrong)) > error


@pytest.mark.parametrize(("dim", "rank"), [(4, 1), (8, 2)])
@pytest.mark.parametrize("scale", [0.1, 1e-2, 1e-4])
def test_the_burn_in_finds_the_step(dim, rank, scale):
    """Acceptance in a band for scales a thousand times apart; a chain without a burn-in is far below it."""
    rng = np.random.default_rng(1)

    def accepted(burn_in: int) -> np.ndarray:
        starts = np.broadcast_to(np.eye(dim, rank), (40, dim, rank))
        return walk(
            lambda bases: rank - (bases[:, :rank] ** 2).sum(axis=(1, 2)), starts, scale, burn_in, 200, rng
        ).accepted

    assert BAND[0] < WANTED < BAND[1]
    assert BAND[0] < accepted(300).mean() < BAND[1]
    if scale < 1e-3:
        assert accepted(0).mean() < BAND[0] / 2


def test_steps_are_fixed_after_the_burn_in():
    """Twice the steps begin with the same ones."""
    scores = [
        walk(
            lambda bases: 1 - latitude(bases),
            random_subspaces(5, 4, 1, np.random.default_rng(0)),
            0.05,
            50,
            steps,
            np.random.default_rng(2),
        ).scores
        for steps in (30, 60)
    ]
    assert np.array_equal(scores[0], scores[1][:30])


def test_what_is_kept():
    """States at even distances, the last one among them; scores after each step; acceptance counts moves."""
    rng = np.random.default_rng(0)
    score, starts = (lambda bases: 1 - latitude(bases)), random_subspaces(6, 4, 2, rng)
    found = walk(score, starts, 0.1, 30, 40, rng, keep=4)
    assert found.kept.shape == (4, 6, 4, 2)
    assert found.scores.shape == (40, 6)
    assert np.array_equal(found.kept[-1], found.last)
    for state, row in zip(found.kept, (9, 19, 29, 39), strict=True):
        assert score(state) == pytest.approx(found.scores[row])
        np.testing.assert_allclose(np.einsum("cdk,cdl->ckl", state, state), [np.eye(2)] * 6, atol=1e-12)
    moves = (np.diff(found.scores, axis=0) != 0).sum(axis=0) / 40
    assert (np.abs(found.accepted - moves) <= 1 / 40 + 1e-12).all()


def test_chains_do_not_see_each_other():
    """One whose proposals all score worse stays, the other moves at every step."""
    rng = np.random.default_rng(4)
    starts = random_subspaces(2, 3, 1, rng)

    def score(bases):
        return np.array([0.0 if np.array_equal(bases[0], starts[0]) else 1e9, 0.0])

    found = walk(score, starts, 1.0, 0, 20, rng)
    assert found.accepted.tolist() == [0, 1]
    assert np.array_equal(found.last[0], starts[0])
