"""Per-user minimisation of a Lipschitz loss over heads of bounded length, for many users and subspaces at once.

    minimise  (1/q) sum_i l( <z_i, v> - y_i )   over  ||v|| <= C

The problem is convex. At any v in the ball the Frank-Wolfe gap <g, v> + C ||g||, with g the gradient, bounds how far
the value is from the minimum. The solver iterates until the gap of every user is at most a stated tolerance, and
returns the gaps. It raises no error if a gap stays larger after many steps: whether a computation fails must not depend
on one user, and privacy does not rest on the accuracy. The steps for a user depend on that user alone: if they depended
on other users, those would change this user's share of a sum.

* absolute loss, k = 1: exact. The minimum is a weighted median of y_i / z_i, moved into [-C, C].
* otherwise: Newton's method on the loss; each step minimises a quadratic over the ball. The first steps, and those of
  users with slow progress, use weights of iterated least squares, which never increase the loss. The absolute loss is
  approached by pseudo-Huber losses of falling width, which lie within their width of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.users.heads import solve_positive_definite
from privrep.users.losses import Loss

TOLERANCE = 1e-3  # certified distance of a user's loss from its minimum, in units of the labels
SLOW = 6  # steps after which only users beyond the tolerance continue, in double precision, with iterated least squares
MOST_STEPS = 200
FEW = 0.5  # share of users beyond the tolerance below which only they continue
SHORTENED = (1, 0.5, 0.2, 0.05)  # parts of a Newton step that are tried for a slow user
RIDGE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-8}  # share of the trace that is added to the diagonal
SECULAR_STEPS = 30
LENGTH_TOLERANCE = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-9}  # relative excess over C that is cut off
LANES = 64  # users are computed in multiples of this number
BLEND = 0.05  # share of the majoriser in a Newton step's weights: it keeps them positive where a loss is linear
SMOOTHINGS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # widths of the pseudo-Huber losses that approach the absolute loss


@dataclass(frozen=True)
class BoundedFit:
    """Heads (k, N) of bounded length, their loss (N,), and certified bounds (N,) on its distance from the minimum."""

    heads: np.ndarray
    values: np.ndarray
    gaps: np.ndarray


def fit_bounded(
    projected: np.ndarray, labels: np.ndarray, loss: Loss, bound: float, tolerance: float = TOLERANCE
) -> BoundedFit:
    """Fit heads of length at most `bound` to samples (k, q, N) and labels (q, N), with gaps up to the tolerance."""
    if loss.name == "absolute" and len(projected) == 1:
        return _weighted_median(projected[0], labels, bound)
    if loss.name == "absolute":
        fit = None
        for width in SMOOTHINGS:
            fit = _newton(projected, labels, Loss("pseudo-huber", width), bound, fit and fit.heads, width)
        assert fit is not None
        residual = np.einsum("kqn,kn->qn", projected, fit.heads) - labels
        return BoundedFit(fit.heads, np.abs(residual).mean(axis=0), fit.gaps + SMOOTHINGS[-1])
    return _newton(projected, labels, loss, bound, None, tolerance)


def _weighted_median(projected: np.ndarray, labels: np.ndarray, bound: float) -> BoundedFit:
    """Return the exact minimum of the mean of |z_i v - y_i| over |v| <= C, k = 1."""
    weights = np.abs(projected)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(weights > 0, labels / projected, 0)
    order = np.argsort(ratios, axis=0)
    heaped = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    middle = (2 * heaped < heaped[-1]).sum(axis=0)
    ranks = np.take_along_axis(order, np.minimum(middle, len(order) - 1)[None], axis=0)
    head = np.clip(np.take_along_axis(ratios, ranks, axis=0)[0], -bound, bound)
    values = np.abs(projected * head - labels).mean(axis=0)
    return BoundedFit(head[None], values, np.zeros_like(values))


def _in_lanes(users: np.ndarray) -> np.ndarray:
    """Repeat users' indices up to a multiple of `LANES`, more than a vector instruction takes: the rest of a loop is
    rounded in another way, and who is in it must not depend on how many other users still iterate."""
    return np.resize(users, -(-len(users) // LANES) * LANES)


def _newton(
    projected: np.ndarray, labels: np.ndarray, loss: Loss, bound: float, heads: np.ndarray | None, tolerance: float
) -> BoundedFit:
    rank, _, users = projected.shape
    heads = np.zeros((rank, users), projected.dtype) if heads is None else heads
    gaps = np.empty(users, projected.dtype)
    todo = _in_lanes(np.arange(users))
    z, y, v = (part[..., todo] for part in (projected, labels, heads))
    for step in range(MOST_STEPS):
        residual = _residual(z, y, v)
        weight, curvature = loss.weights(residual)
        gradient = np.einsum("qn,kqn->kn", weight * residual, z) / len(y)
        gap = (gradient * v).sum(axis=0) + bound * np.sqrt((gradient**2).sum(axis=0))
        heads[:, todo], gaps[todo] = v, gap
        late = ~(gap <= tolerance)
        if not late.any():
            break
        if late.mean() < FEW or step == SLOW:
            on = _in_lanes(np.flatnonzero(late))
            todo, late, kind = todo[on], late[on], float if step >= SLOW else z.dtype
            z, y, v, gradient, weight, curvature = (
                part[..., on].astype(kind) for part in (z, y, v, gradient, weight, curvature)
            )
        newton = _step(BLEND * weight + (1 - BLEND) * curvature if step else weight, z, v, gradient, bound)
        moved = newton if step < SLOW else _best(loss, z, y, v, newton, _step(weight, z, v, gradient, bound))
        v = np.where(late, moved, v)  # converged users stay: a user's head must not depend on other users
    return BoundedFit(heads, loss.value(_residual(projected, labels, heads)).mean(axis=0), gaps)


def _best(
    loss: Loss, z: np.ndarray, y: np.ndarray, v: np.ndarray, newton: np.ndarray, majorised: np.ndarray
) -> np.ndarray:
    """Return for each user, (k, N), the best of a Newton step, shorter ones, and one that cannot increase the loss."""
    tried = np.array([*(v + t * (newton - v) for t in SHORTENED), majorised])
    losses = np.array([loss.value(_residual(z, y, heads)).mean(axis=0) for heads in tried])
    return np.take_along_axis(tried, np.nan_to_num(losses, nan=np.inf).argmin(axis=0)[None, None], axis=0)[0]


def _residual(z: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("kqn,kn->qn", z, v) - y


def _step(weight: np.ndarray, z: np.ndarray, v: np.ndarray, gradient: np.ndarray, bound: float) -> np.ndarray:
    """Return the minimiser over the ball of the quadratic with these weights at v."""
    gram = np.einsum("aqn,bqn->abn", weight * z, z) / len(weight)
    diagonal = range(len(gram))
    gram[diagonal, diagonal] += RIDGE[gram.dtype] * sum(gram[a, a] for a in diagonal)
    return within_ball(gram, np.einsum("abn,bn->an", gram, v) - gradient, bound)


def within_ball(gram: np.ndarray, right: np.ndarray, bound: float) -> np.ndarray:
    """Return the minimisers (k, N) of v^T H v / 2 - b^T v over ||v|| <= C, by Newton's method on 1/||v|| - 1/C."""
    trace = sum(gram[a, a] for a in range(len(right)))
    unit = np.where(trace > 0, trace, 1)
    gram, right = gram / unit, right / unit  # so that determinants of long features do not overflow
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        heads = _solve(gram, right)
        long = _in_lanes(np.flatnonzero(~(np.einsum("kn,kn->n", heads, heads) <= bound**2)))
    if len(long):
        gram, b, diagonal = gram.take(long, axis=2), right.take(long, axis=1), range(len(right))
        # ||b|| <= (tr H + s) C bounds s, added to the diagonal, from below. The last term avoids 0 / 0.
        size, trace = np.sqrt(np.einsum("kn,kn->n", b, b)) / bound, sum(gram[a, a] for a in diagonal)
        accuracy = 8 * np.finfo(gram.dtype).eps
        gram[diagonal, diagonal] += np.maximum(size - trace, 0) + accuracy * (size + trace) + (size + trace == 0)
        for _ in range(SECULAR_STEPS):
            v = _solve(gram, b)
            squared = np.einsum("kn,kn->n", v, v)
            excess = np.maximum(np.sqrt(squared) / bound - 1, 0)
            if excess.max() <= LENGTH_TOLERANCE[gram.dtype]:
                break
            # Converged users stay: a user's head must not depend on other users.
            late = excess > LENGTH_TOLERANCE[gram.dtype]
            slope = np.einsum("kn,kn->n", v, _solve(gram, v))
            gram[diagonal, diagonal] += np.divide(squared * excess, slope, out=np.zeros_like(slope), where=late)
        heads[:, long] = v / (1 + excess)
    return np.where(np.isfinite(heads), heads, 0)


def _solve(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return H^{-1} b of N systems, (k, N), by Cramer's rule for k <= 2 and by Cholesky beyond."""
    if len(right) == 1:
        return right / gram[0]
    if len(right) > 2:
        return solve_positive_definite(gram.astype(float), right.astype(float)).astype(right.dtype)
    (first, off), (_, second) = gram
    determinant = first * second - off * off
    return np.array([second * right[0] - off * right[1], first * right[1] - off * right[0]]) / determinant
