"""The users' part of a round of unit steps: log residual, head and gradient of each user, weighted by the covariance of
its labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.methods.steps.posterior import Mixture, Prior, by_user, eigh_of_each
from privrep.methods.unit_steps.tracking import log_chi
from privrep.methods.unit_steps.whitening import Whitening
from privrep.privacy.clipping import float64, lengths, zero_rows_except
from privrep.privacy.contributions import Outer, Scalars, Semidefinite
from privrep.users.blocks import Block
from privrep.users.heads import projected, solve_positive_definite


def unit(rows: np.ndarray) -> np.ndarray:
    """Scale rows to norm 1, in float64, never above it; a row becomes 0 if its length is not finite or tiny."""
    rows = float64(rows)
    norms = lengths(rows) * (1 + 1e-12)
    sound = np.isfinite(norms) & (norms > 1e-100)
    return zero_rows_except(sound, rows) / np.where(sound, norms, 1.0)[:, None]


def ridge_models(features: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """Return ridge models of the users of a block, (B, d), by the smaller of the kernel and the normal equations."""
    features, labels = features.transpose(1, 0, 2), labels.T[:, :, None]
    _, samples, dim = features.shape
    by_kernel = samples <= dim
    gram = features @ features.transpose(0, 2, 1) if by_kernel else features.transpose(0, 2, 1) @ features
    # A part of each user's own trace keeps its system regular whatever its data: a singular one would stop all users.
    own = penalty + 1e-6 * np.trace(gram, axis1=1, axis2=2, dtype=np.float64)
    system = gram + own[:, None, None] * np.eye(gram.shape[1])
    right = labels if by_kernel else features.transpose(0, 2, 1) @ labels
    solved = np.linalg.solve(system, right.astype(np.float64)).astype(np.float32)
    return (features.transpose(0, 2, 1) @ solved if by_kernel else solved)[:, :, 0]


def log_powers(power: np.ndarray, freedom: np.ndarray, variance: float = 1.0, expected: float = 0.0) -> Scalars:
    """Return log(power / (freedom variance)) less its expectation, (B,); 0 without degrees of freedom."""
    sound = (freedom > 0) & (power > 0) & np.isfinite(power)
    freedom = np.where(sound, freedom, 1)
    logs = np.log(np.where(sound, power, 1.0) / freedom / variance) - log_chi(freedom) - expected
    return Scalars(np.where(sound, logs, 0.0))


@dataclass(frozen=True, eq=False)
class PrincipalRows:
    """Samples of each user in the principal axes of its Gram matrix: features W x, (q, B, d) float32 with q = min(m,
    d), which are orthogonal to each other, their squared lengths (q, B), and labels (q, B)."""

    features: np.ndarray
    squares: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, whitening: Whitening, block: Block) -> PrincipalRows:
        """Return the rows of a block, computed once."""

        def rows_of_block() -> PrincipalRows:
            x, y = whitening.rows(by_user(block)), block.labels.T[:, :, None].astype(np.float64)
            if x.shape[1] > x.shape[2]:
                turned, x = np.linalg.qr(x)
                y = turned.transpose(0, 2, 1) @ y
            squares, vectors = eigh_of_each(x @ x.transpose(0, 2, 1))
            axes = vectors.transpose(0, 2, 1)
            rows, labels = (axes @ x).transpose(1, 0, 2), (axes @ y)[:, :, 0]
            return cls(rows.astype(np.float32, "C"), np.maximum(squares, 0.0).T.copy(), labels.T.copy())

        return block.once(("unit rows", whitening.matrix.tobytes()), rows_of_block)

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """Return sums of each user's rows with weights (q, B), (B, d)."""
        size = np.maximum(np.abs(weights).max(axis=0), 1e-300)
        return np.einsum("qbd,qb->bd", self.features, (weights / size).astype(np.float32)) * size[:, None]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values())


@dataclass(frozen=True, eq=False)
class Round:
    """Contribution of users in a round."""

    whitening: Whitening
    basis: np.ndarray
    root: np.ndarray  # H^1/2, (k, k)
    outside: float  # expected variance of a coordinate of a model outside of the subspace, k e^2
    noise2: float  # expected variance of the noise
    scale: float  # h

    @property
    def prior(self) -> Prior:
        """Prior of the users' models, in the coordinates of the features before whitening."""
        dim = len(self.basis)
        root = self.whitening.frame(np.hstack([self.basis @ self.root, math.sqrt(self.outside) * np.eye(dim)]))
        return Prior(np.zeros(dim), root, np.array([1 / self.noise2]), np.ones(1), self.noise2 * self.scale**2)

    def models(self, block: Block) -> np.ndarray:
        """Return posterior means of the users' models in the coordinates before whitening, (B, d), with outlying
        labels moved towards their predictions."""
        return Mixture((self.prior,)).heads(block)

    def __call__(self, block: Block) -> tuple[Scalars, Semidefinite, Outer]:
        """Return log residuals less their expectation; second moments of heads, (k, k); and steps, (d, k)."""
        rows = PrincipalRows.of(self.whitening, block)
        seen, labels = projected(rows.features, self.basis @ self.root), rows.labels / self.scale
        rank, _, users = seen.shape
        variances = self.outside * rows.squares + self.noise2
        weighed = seen / variances
        # Least squares and posterior means in one call, since calls cost more than systems this small.
        gram = np.einsum("iqb,jqb->ijb", weighed, seen) + np.eye(rank)[:, :, None]
        both = np.concatenate([np.einsum("iqb,jqb->ijb", seen, seen), gram], axis=2)
        right = np.concatenate([np.einsum("iqb,qb->ib", factor, labels) for factor in (seen, weighed)], axis=1)
        solved = solve_positive_definite(both, right)
        plain, heads = solved[:, :users], solved[:, users:]
        power = np.einsum("qb,qb->b", block.labels, block.labels, dtype=np.float64) / self.scale**2
        # The residual is positive up to rounding.
        unexplained = np.maximum(power - np.einsum("ib,ib->b", right[:, :users], plain), 1e-14 * power)
        gradients = rows.combined((labels - np.einsum("iqb,ib->qb", seen, heads)) / variances)
        gradients -= (gradients @ self.basis) @ self.basis.T
        logs = log_powers(unexplained, block.counts - rank, max(len(self.basis) - rank, 1) * self.outside + self.noise2)
        return logs, Semidefinite(unit(heads.T)), self.steps(gradients, heads.T)

    def steps(self, gradients: np.ndarray, heads: np.ndarray) -> Outer:
        return Outer(unit(gradients), unit(heads))
