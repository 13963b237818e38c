"""Baselines on real tables, none of them private: each user alone, one model for all, and a mixed model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from privrep.users.given_users import laid_out
from privrep.users.rng import stream
from replication.experiments.real_tables import RealTable


@dataclass(frozen=True, eq=False)
class Halves:
    """Training rows (n, m, d), zero beyond a user's own number `rows` (n,), test rows (N, d), labels, user numbers."""

    features: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray
    test_user: np.ndarray

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """X_i^T X_i (n, d, d) and X_i^T y_i (n, d) of the training rows."""
        turned = self.features.transpose(0, 2, 1)
        return turned @ self.features, (turned @ self.labels[:, :, None])[:, :, 0]

    def squares(self, models: np.ndarray) -> np.ndarray:
        """Return squared errors on the test rows, (N,), for models (n, d)."""
        return (self.test_labels - np.einsum("Nd,Nd->N", self.test_features, models[self.test_user])) ** 2

    def error(self, models: np.ndarray) -> float:
        """Return the mean squared error on the test rows over the variance of their labels, for models (n, d)."""
        return float(np.mean(self.squares(models)) / np.var(self.test_labels))


def halves(table: RealTable, name: str, split: int) -> Halves:
    """Draw a random half of each user's rows, rounded up, for training, at most `most_rows`; the rest for testing."""
    user, names = pd.factorize(table.rows[table.user], sort=True)
    draw = stream(0, "table_halves", {"table": name, "split": split}).random(len(user))
    order = np.lexsort((draw, user))
    user, rows = user[order], table.rows.iloc[order]
    features = table.schema.scaled(rows).astype(np.float64)
    labels = table.schema.scaled_labels(rows[table.label].to_numpy())
    first, last = np.searchsorted(user, user), np.searchsorted(user, user, side="right")
    position, half = np.arange(len(user)) - first, (last - first + 1) // 2
    train, test = position < np.minimum(half, table.most_rows), position >= half
    own = np.bincount(user[train], minlength=len(names))
    by_row, by_label = laid_out(features[train], labels[train], own, int(own.max()))
    tests = features[test], labels[test], user[test]
    return Halves(by_row.transpose(1, 0, 2).astype(np.float64), by_label.T.astype(np.float64), own, *tests)


PENALTIES = 10.0 ** np.arange(-2, 5.1, 0.5)
INTERCEPTS = (1e-8, 0.01, 0.1, 1.0)
"""A user's penalty on the intercept over that on other coefficients; the smallest leaves the intercept almost free."""


def own_data(halves: Halves, penalty: float, intercept: float = 0.0, about: np.ndarray | float = 0.0) -> np.ndarray:
    """Fit users' ridge regressions shrunk towards `about`, (n, d); intercepts' penalty is `intercept` * `penalty`."""
    squares, products = halves.moments
    penalties = penalty * np.r_[intercept, np.ones(squares.shape[-1] - 1)]
    left = products - squares @ np.broadcast_to(about, squares.shape[-1])
    return about + np.linalg.solve(squares + np.diag(penalties), left[:, :, None])[:, :, 0]


def best_own_data(halves: Halves, about: np.ndarray | float = 0.0) -> float:
    """Return the error of `own_data`, penalty and intercept's share chosen on test rows, which favours own data."""
    squares, products = halves.moments
    left, errors = products - squares @ np.broadcast_to(about, squares.shape[-1]), []
    for share in INTERCEPTS:
        scale = np.r_[share**-0.5, np.ones(squares.shape[-1] - 1)]
        values, vectors = np.linalg.eigh(squares * np.outer(scale, scale))
        inside = np.einsum("nde,nd->ne", vectors, left * scale)
        for penalty in PENALTIES:
            change = np.einsum("nde,ne->nd", vectors, inside / (np.maximum(values, 0) + penalty))
            errors.append(halves.error(about + scale * change))
    return min(errors)


def _least_squares(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the solution of least norm; there are many, as the indicators of a category's levels sum to a constant."""
    return np.linalg.pinv(squares, rcond=1e-10, hermitian=True) @ products


def single_model(halves: Halves) -> np.ndarray:
    """Fit one least squares model to all training rows, (n, d), the same for all users."""
    squares, products = halves.moments
    return np.broadcast_to(_least_squares(squares.sum(axis=0), products.sum(axis=0)), products.shape)


def best_shrunk_mean(halves: Halves) -> float:
    """Return the error of each user's mean label, shrunk to the mean of all rows, penalty chosen on the test rows."""
    constant = replace(halves, features=halves.features[..., :1], test_features=halves.test_features[:, :1])
    return best_own_data(constant, single_model(constant)[0])


@dataclass(frozen=True, eq=False)
class MixedModel:
    """y = <x, mean + head_i> + noise, heads from N(0, covariance), by maximum likelihood; `models` (n, d) sum both."""

    mean: np.ndarray
    covariance: np.ndarray
    noise: float
    models: np.ndarray
    gains: np.ndarray


def mixed_model(halves: Halves, least_gain: float = 1e-5, most_steps: int = 300) -> MixedModel:
    """Fit a mixed model by expectation maximisation until a step raises the log likelihood a row by less than
    `least_gain`, the mean by least squares. More than d rows of a user are rotated into d; zero rows add nothing."""
    features, labels, (squares, products) = halves.features, halves.labels, halves.moments
    total, length = halves.rows.sum(), np.sum(labels**2)
    mean = _least_squares(squares.sum(axis=0), products.sum(axis=0))
    noise = (length - mean @ products.sum(axis=0)) / total / 2
    covariance = noise * np.eye(len(mean)) * total / np.trace(squares.sum(axis=0))
    if features.shape[1] > features.shape[2]:
        rotation, features = np.linalg.qr(features)
        labels = np.einsum("nmd,nm->nd", rotation, labels)
    turned, unexplained, (users, most_rows, _) = features.transpose(0, 2, 1), length - np.sum(labels**2), features.shape
    likelihoods: list[float] = []
    while True:
        of_labels = features @ covariance @ turned + noise * np.eye(most_rows)  # covariance of each user's labels
        inverse = np.linalg.inv(of_labels)
        weighted = inverse @ features
        information = np.einsum("nmd,nme->de", features, weighted, optimize=True)
        mean = _least_squares(information, np.einsum("nmd,nm->d", weighted, labels))
        left = labels - features @ mean
        weighted_left = (inverse @ left[:, :, None])[:, :, 0]
        heads = np.einsum("nmd,nm->nd", features, weighted_left) @ covariance
        volume = total * np.log(2 * np.pi * noise) + (np.linalg.slogdet(of_labels)[1] - most_rows * np.log(noise)).sum()
        likelihoods.append(-0.5 * (volume + np.sum(left * weighted_left) + unexplained / noise) / total)
        gains = np.diff(likelihoods)
        if len(gains) and (gains[-1] < least_gain or len(gains) >= most_steps):
            return MixedModel(mean, covariance, float(noise), mean + heads, gains)
        covariance = covariance + (heads.T @ heads - covariance @ information @ covariance) / users
        freedom = users * most_rows - noise * np.trace(inverse, axis1=1, axis2=2).sum()
        noise = (noise**2 * np.sum(weighted_left**2) + unexplained + noise * freedom) / total
