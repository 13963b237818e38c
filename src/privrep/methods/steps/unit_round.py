"""What users do in a round of unit steps (`privrep.methods.unit_steps`): log residual, head and gradient of each,
weighed by the covariance of its labels, and at the end its model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.steps.error_tracking import log_chi
from privrep.methods.steps.posterior import Prior, eigh_of_each
from privrep.methods.steps.whitening import Whitening
from privrep.privacy.clipping import float64, lengths, zero_rows_except
from privrep.privacy.contributions import Outer, Scalars, Semidefinite
from privrep.users.heads import projected, solve_positive_definite
from privrep.users.problem import Block


def unit(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their lengths, in float64: of norm at most 1, and 0 where a length is not finite or tiny."""
    rows = float64(rows)
    norms = lengths(rows) * (1 + 1e-12)
    sound = np.isfinite(norms) & (norms > 1e-100)
    return zero_rows_except(sound, rows) / np.where(sound, norms, 1.0)[:, None]


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
        rows = np.ascontiguousarray(whitening.rows(block.features).transpose(1, 0, 2), np.float64)
        labels = block.labels.T[:, :, None].astype(np.float64)
        if rows.shape[1] > rows.shape[2]:
            turned, rows = np.linalg.qr(rows)
            labels = turned.transpose(0, 2, 1) @ labels
        squares, axes = eigh_of_each(rows @ rows.transpose(0, 2, 1))
        axes = axes.transpose(0, 2, 1)
        turned = (axes @ rows).transpose(1, 0, 2), np.maximum(squares, 0.0).T, (axes @ labels)[:, :, 0].T
        return cls(*(np.ascontiguousarray(one, kind) for one, kind in zip(turned, ("f4", "f8", "f8"), strict=True)))

    @classmethod
    def kept(cls, whitening: Whitening, block: Block) -> PrincipalRows:
        """Return those of a block, found once."""
        return block.once(("unit rows", whitening.matrix.tobytes()), partial(cls.of, whitening, block))

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """Return sums of each user's rows with weights (q, B), (B, d)."""
        size = np.maximum(np.abs(weights).max(axis=0), 1e-300)
        return np.einsum("qbd,qb->bd", self.features, (weights / size).astype(np.float32)) * size[:, None]

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in vars(self).values())


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
    def residual(self) -> float:
        """Expected variance of what a head leaves of a label."""
        dim, rank = self.basis.shape
        return max(dim - rank, 1) * self.outside + self.noise2

    @property
    def added(self) -> np.ndarray:
        """Root (k, k) of what the prior of models has in the subspace beside the variance outside of it."""
        values, vectors = np.linalg.eigh(self.root @ self.root)
        return vectors * np.sqrt(np.maximum(values - self.outside, 0.0))

    def weighed(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return logarithms of what least squares heads leave, over expectation, and X^T S^-1 y (B, d) with S the
        covariance of the labels y: of which the prior's covariance makes posterior means."""
        rows = PrincipalRows.kept(self.whitening, block)
        seen, labels = projected(rows.features, self.basis), rows.labels / self.scale
        rank, _, users = seen.shape
        weights = 1 / (self.outside * rows.squares + self.noise2)
        inside = np.tensordot(self.added.T, seen, 1)
        scaled = inside * weights
        gram = np.einsum("iqb,jqb->ijb", scaled, inside) + np.eye(rank)[:, :, None]
        right = np.einsum("iqb,qb->ib", seen, labels)
        # Least squares and posterior means at once: systems this small cost as much as there are calls.
        both = np.concatenate([np.einsum("iqb,jqb->ijb", seen, seen), gram], axis=2)
        solved = solve_positive_definite(both, np.concatenate([right, np.einsum("iqb,qb->ib", scaled, labels)], axis=1))
        plain, heads = solved[:, :users], solved[:, users:]
        power = np.einsum("qb,qb->b", block.labels, block.labels, dtype=np.float64) / self.scale**2
        # What is left is positive but for rounding.
        unexplained = np.maximum(power - np.einsum("ib,ib->b", right, plain), 1e-14 * power)
        left = weights * (labels - np.einsum("iqb,ib->qb", inside, heads))
        return log_powers(unexplained, block.counts - rank, self.residual), rows.combined(left)

    def __call__(self, block: Block) -> tuple[Scalars, Semidefinite, Outer]:
        """Return log residuals over expectation; second moments of heads, (k, k); and steps, (d, k)."""
        logs, found = self.weighed(block)
        inside = found @ self.basis
        heads = inside @ self.root
        return logs, Semidefinite(unit(heads)), self.steps(found - inside @ self.basis.T, heads)

    def steps(self, gradients: np.ndarray, heads: np.ndarray) -> Outer:
        return Outer(unit(gradients), unit(heads))


@dataclass(frozen=True, eq=False)
class ModelsOfUsers:
    """Models of the users of a block, (B, d): posterior means under a Gaussian prior."""

    last: Round

    @property
    def shape(self) -> np.ndarray:
        """The prior's covariance in the coordinates of W, over h^2, (d, d)."""
        inside = self.last.basis @ self.last.added
        return inside @ inside.T + self.last.outside * np.eye(len(inside))

    @property
    def prior(self) -> Prior:
        """The same prior in the given coordinates."""
        values, vectors = np.linalg.eigh(self.shape)
        root = self.last.whitening.frame(vectors * np.sqrt(np.maximum(values, 0.0)))
        return Prior(np.zeros(len(root)), root, np.array([1 / self.last.noise2]), np.ones(1))

    def __call__(self, block: Block) -> np.ndarray:
        return self.last.weighed(block)[1] @ (self.last.scale * self.last.whitening.frame(self.shape)).T
