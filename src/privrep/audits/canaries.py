"""The pair of users that a mechanism distinguishes best, found by an adversary who knows all others.

Structured users first (few directions, few lengths, few labels, groups of samples alike), then one sample changed at a
time, or all turned. The score is how far their whole runs lie apart under one history
(`privrep.audits.replay.attained_mu`), over what the ledger charges: no pair may go beyond 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.data.given_users import GivenUsers
from privrep.data.problem import Problem

LENGTHS = (1e-3, 1.0, 10.0, 1e3)
LABELS = (-1e3, -10.0, -1.0, 0.0, 1.0, 10.0, 1e3)


@dataclass(frozen=True)
class Canary:
    """features (m, d) and labels (m,) of a user."""

    features: np.ndarray
    labels: np.ndarray


Pair = tuple[Canary, Canary]


@dataclass(frozen=True)
class Background:
    """Background users, known to the adversary: features (m, n, d) and labels (m, n), the first user left to a
    canary."""

    problem: Problem
    features: np.ndarray
    labels: np.ndarray

    @classmethod
    def drawn(cls, problem: Problem, rng: np.random.Generator) -> Background:
        """Standard normal features and labels."""
        shape = problem.samples, problem.users
        return cls(problem, rng.standard_normal((*shape, problem.dim)), rng.standard_normal(shape))

    def with_user(self, canary: Canary) -> GivenUsers:
        """All users."""
        features, labels = self.features.copy(), self.labels.copy()
        features[:, 0], labels[:, 0] = canary.features, canary.labels
        return GivenUsers(self.problem.known, features, labels)


def directions(dim: int) -> np.ndarray:
    """(5, d) unit vectors: three at right angles, as far as there are, and two at 60 and 45 degrees to the first."""
    axes = np.eye(max(dim, 3))[:3, :dim]
    turned = [np.cos(angle) * axes[0] + np.sin(angle) * axes[1] for angle in (np.pi / 3, np.pi / 4)]
    return np.concatenate([axes, turned])


def unit_vectors(count: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """(count, d), drawn uniformly."""
    drawn = rng.standard_normal((count, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def structured(problem: Problem, rng: np.random.Generator) -> Canary:
    """A user whose samples are alike in groups."""
    samples = np.arange(problem.samples)
    groups = int(rng.choice([2**i for i in range(problem.samples.bit_length())]))
    member = samples * groups // problem.samples if rng.random() < 0.5 else samples % groups
    known = directions(problem.dim) if rng.random() < 0.5 else unit_vectors(5, problem.dim, rng)
    chosen = known[rng.integers(5, size=problem.samples)]
    even = rng.random() < 0.5
    lengths, labels = (
        np.full(problem.samples, rng.choice(values)) if even else rng.choice(values, problem.samples)
        for values in (LENGTHS, LABELS)
    )
    lengths = lengths * rng.choice([-1, 1], problem.samples)
    return Canary((chosen * lengths[:, None])[member], labels[member])


def structured_pair(problem: Problem, rng: np.random.Generator) -> Pair:
    """Two users apart; or of the same lengths and labels in another direction;
    or with other signs of some labels, or of all."""
    first, kind = structured(problem, rng), rng.random()
    if kind < 0.3:
        return first, structured(problem, rng)
    if kind < 0.6:
        lengths = np.linalg.norm(first.features, axis=1, keepdims=True)
        return first, Canary(unit_vectors(1, problem.dim, rng) * lengths, first.labels)
    signs = np.where(rng.random(problem.samples) < 0.7, -1, 1) if rng.random() < 0.5 else -1
    return first, Canary(first.features, first.labels * signs)


def changed(pair: Pair, rng: np.random.Generator) -> Pair:
    """One sample of one of the two is another, or all its features are turned a little, the same way."""
    new = [Canary(one.features.copy(), one.labels.copy()) for one in pair]
    user = new[rng.integers(2)]
    samples, dim = user.features.shape
    at = rng.integers(samples)
    kind = rng.random()
    if kind < 0.3:
        user.features[:] = user.features @ (np.eye(dim) + rng.choice([0.03, 0.3]) * rng.standard_normal((dim, dim)))
    elif kind < 0.65:
        known = directions(dim)[rng.integers(5)] * rng.choice(LENGTHS) * rng.choice([-1, 1])
        user.features[at] = known if rng.random() < 0.7 else rng.standard_normal(dim)
    else:
        user.labels[at] = rng.choice(LABELS) if rng.random() < 0.7 else rng.standard_normal()
    return new[0], new[1]


def larger(pair: Pair, features: float, labels: float) -> Pair:
    """The same users, longer by factors."""
    first, second = (Canary(features * one.features, labels * one.labels) for one in pair)
    return first, second


def worst_pair(
    score: Callable[[Pair], float], problem: Problem, draws: int, changes: int, rng: np.random.Generator
) -> tuple[Pair, float]:
    """The pair with the largest score among so many drawn ones, then changed sample by sample where that helps."""
    pair = max((structured_pair(problem, rng) for _ in range(draws)), key=score)
    best = score(pair)
    for _ in range(changes):
        other = changed(pair, rng)
        found = score(other)
        if found > best:
            pair, best = other, found
    return pair, best
