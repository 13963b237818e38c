"""Heads of bounded length where samples span less than R^k, where labels are huge, and whoever is fitted with them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from privrep.users.losses import Loss
from replication.methods.steps.bounded_heads import SMOOTHINGS, TOLERANCE, fit_bounded, within_ball

LOSSES = (Loss("huber"), Loss("huber", 0.1), Loss("pseudo-huber"), Loss("pseudo-huber", 0.1), Loss("absolute", 0.0))
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{loss.name}-{loss.width:g}")
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
ranks = pytest.mark.parametrize("rank", [1, 2, 3])
BOUNDS = (0.3, 1.0, 4.0)
USERS, SAMPLES = 30, 6


def most(loss: Loss) -> float:
    """Largest gap that a fit may have, with the rounding of float32."""
    return 1e-5 + (2 * SMOOTHINGS[-1] if loss.name == "absolute" else TOLERANCE)


def check(fit, projected, labels, loss, bound) -> None:
    """In the ball, finite, certified, and `values` are the losses of `heads`."""
    lengths = np.linalg.norm(fit.heads.astype(float), axis=0)
    assert np.isfinite(fit.heads).all()
    assert lengths.max() <= bound * (1 + 1e-6)
    residual = np.einsum("kqn,kn->qn", projected.astype(float), fit.heads) - labels
    assert fit.values == pytest.approx(loss.value(residual).mean(axis=0), rel=1e-4, abs=1e-5)
    assert fit.gaps.max() <= most(loss)


def samples(rng, rank: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    projected = rng.standard_normal((rank, SAMPLES, USERS))
    labels = np.einsum("kqn,kn->qn", projected, rng.standard_normal((rank, USERS)))
    return projected.astype(dtype), (labels + 0.3 * rng.standard_normal(labels.shape)).astype(dtype)


@every_loss
@every_dtype
@ranks
def test_samples_of_one_direction(loss, dtype, rank, rng):
    """z_i = a_i u has the minimum of one coordinate; equal samples too."""
    along, labels = samples(rng, 1, dtype)
    direction = rng.standard_normal((rank, 1, USERS))
    direction = (direction / np.linalg.norm(direction, axis=0)).astype(dtype)
    for parts in (along, np.repeat(along[:, :1], SAMPLES, axis=1)):
        projected = direction * parts
        for bound in BOUNDS:
            fit = fit_bounded(projected, labels, loss, bound)
            check(fit, projected, labels, loss, bound)
            line = fit_bounded(parts.astype(float), labels.astype(float), loss, bound)
            assert fit.values == pytest.approx(line.values, abs=most(loss) + TOLERANCE)


@every_loss
@every_dtype
@ranks
def test_one_sample(loss, dtype, rank, rng):
    """A prediction reaches C ||z|| at most: the least loss is l(max(|y| - C ||z||, 0))."""
    projected, labels = (part[..., :1, :] for part in samples(rng, rank, dtype))
    for bound in BOUNDS:
        fit = fit_bounded(projected, labels, loss, bound)
        check(fit, projected, labels, loss, bound)
        reach = bound * np.linalg.norm(projected[:, 0], axis=0)
        assert fit.values == pytest.approx(loss.value(np.maximum(np.abs(labels[0]) - reach, 0)), abs=most(loss))


@every_loss
@every_dtype
@ranks
def test_nothing_to_learn_from(loss, dtype, rank):
    """Zero features, or zero labels: any head in the ball, or the head 0, and the loss of the labels."""
    labels = np.linspace(-2, 2, SAMPLES * USERS).reshape(SAMPLES, USERS).astype(dtype)
    nothing = np.zeros((rank, SAMPLES, USERS), dtype)
    fit = fit_bounded(nothing, labels, loss, 1.0)
    check(fit, nothing, labels, loss, 1.0)
    still = fit_bounded(nothing + 1, 0 * labels, loss, 1.0)
    assert still.values == pytest.approx(np.zeros(USERS), abs=most(loss))


@every_loss
@every_dtype
@ranks
def test_labels_far_beyond_reach(loss, dtype, rank, rng):
    """Every slope is 1 or -1, so the head is C times the direction of sum_i sign(y_i) z_i."""
    projected, labels = samples(rng, rank, dtype)
    pull = np.einsum("kqn,qn->kn", projected, np.sign(labels))
    for bound in BOUNDS:
        fit = fit_bounded(projected, 1e7 * labels, loss, bound)
        slope = (pull * fit.heads).sum(axis=0) / SAMPLES
        assert (bound * np.linalg.norm(pull, axis=0) / SAMPLES - slope <= most(loss) * (1 + bound)).all()
        assert np.linalg.norm(fit.heads, axis=0).max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_weighted_median_with_ties_and_empty_samples(dtype):
    """Two kinks of equal weight, a sample without weight, and a bound between."""
    projected = np.array([[[1, 2, 0], [1, -1, 0], [2, 1, 0], [0, 0, 0]]], dtype)
    labels = np.array([[1, 2, 3], [1, 1, -1], [4, 3, 1], [7, -7, 0]], dtype)
    grid = np.linspace(-1.5, 1.5, 3001)
    for bound in (1.5, 0.5):
        fit = fit_bounded(projected, labels, Loss("absolute", 0.0), bound)
        within = grid[np.abs(grid) <= bound]
        scan = np.abs(within[:, None, None] * projected[0] - labels).mean(axis=1).min(axis=0)
        assert fit.values == pytest.approx(scan, abs=1e-6)
        assert np.abs(fit.heads).max() <= bound
        assert not fit.gaps.any()


# Other users


@every_loss
@ranks
def test_what_a_user_gets_does_not_hang_on_the_others(loss, rank, rng):
    """A user among others that take few steps or many: no more than rounding, which is a hundredth of the tolerance,
    changes. A sum over n users would otherwise move by n times the tolerance where one is replaced."""
    projected, labels = samples(rng, rank, np.float32)
    easy, hard = np.zeros_like(projected), np.concatenate([projected[..., 1:], projected[..., :1]], axis=-1)
    found = []
    for others in (easy, hard):
        for count in (1, 2, USERS):
            mixed = np.concatenate([projected, *[others] * count], axis=-1)
            values = fit_bounded(mixed, np.tile(labels, count + 1), loss, 1.0).values
            found.append(values[:USERS])
    assert np.ptp(found, axis=0).max() <= 0.01 * TOLERANCE


# Quadratics over the ball


def least(gram: np.ndarray, right: np.ndarray, bound: float) -> np.ndarray:
    """The minimiser by eigenvectors: b in their coordinates over (eigenvalue + s), with s found by bisection."""
    values, vectors = np.linalg.eigh(gram)
    inside = vectors.T @ right

    def head(shift):
        return np.divide(inside, values + shift, out=np.zeros_like(inside), where=values + shift > 1e-12)

    if np.linalg.norm(head(0.0)) <= bound:
        return vectors @ head(0.0)
    top = np.linalg.norm(right) / bound + 1
    return vectors @ head(optimize.brentq(lambda s: np.linalg.norm(head(s)) - bound, 0, top, xtol=1e-14))


@given(st.integers(1, 4), st.floats(-6, 0), st.floats(0.05, 20), st.integers(0, 2**32 - 1))
def test_quadratics_against_eigenvectors(rank, logarithm, bound, seed):
    """H with eigenvalues from 1e-6 to 1 and any b: as good a value, in the ball."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    gram, right = (axes * np.logspace(logarithm, 0, rank)) @ axes.T, rng.standard_normal(rank)
    found = within_ball(gram[..., None], right[:, None], bound)[:, 0]
    best = least(gram, right, bound)

    def value(v):
        return v @ gram @ v / 2 - right @ v

    assert np.linalg.norm(found) <= bound * (1 + 1e-9)
    assert value(found) <= value(best) + 1e-6 * (1 + abs(value(best)))


def test_a_quadratic_that_is_flat():
    """H = 0 leaves the end of the ball in the direction of b, and 0 for b = 0."""
    gram, right = np.zeros((2, 2, 2)), np.array([[3.0, 0.0], [4.0, 0.0]])
    assert within_ball(gram, right, 2.0) == pytest.approx(np.array([[1.2, 0.0], [1.6, 0.0]]), abs=1e-6)
    assert math.isclose(np.linalg.norm(within_ball(gram[:, :, :1], right[:, :1], 1e-3)), 1e-3, rel_tol=1e-6)
