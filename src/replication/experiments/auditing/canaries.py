"""Search for the pair of users that a mechanism or a statistic distinguishes best.

Users have groups of equal samples; then one sample of the best pair, or all features of one user, change in each step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.users.given_users import GivenUsers
from privrep.users.simulated import Problem

LENGTHS = (1e-3, 1.0, 10.0, 1e3)
LABELS = (-1e3, -10.0, -1.0, 0.0, 1.0, 10.0, 1e3)


@dataclass(frozen=True, eq=False)
class Canary:
    """Features (m, d) and labels (m,) of a user, which nobody changes."""

    features: np.ndarray
    labels: np.ndarray


Pair = tuple[Canary, Canary]


def before_others(pair: Pair, problem: Problem, rng: np.random.Generator) -> tuple[GivenUsers, GivenUsers]:
    """Return two data sets, each with one of the pair first; their other users are equal, standard normal, public."""
    shape = problem.samples, problem.users
    features, labels, worlds = rng.standard_normal((*shape, problem.dim)), rng.standard_normal(shape), []
    for canary in pair:
        features, labels = features.copy(), labels.copy()
        features[:, 0], labels[:, 0] = canary.features, canary.labels
        worlds.append(GivenUsers(problem.known, features, labels))
    return tuple(worlds)


def directions(dim: int) -> np.ndarray:
    """Return five directions (5, d): up to three axes, and two at 60 and 45 degrees to the first."""
    axes = np.eye(max(dim, 3))[:3, :dim]
    turned = [np.cos(angle) * axes[0] + np.sin(angle) * axes[1] for angle in (np.pi / 3, np.pi / 4)]
    return np.concatenate([axes, turned])


def unit_vectors(count: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Draw unit vectors (count, d) uniformly."""
    drawn = rng.standard_normal((count, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def structured(problem: Problem, rng: np.random.Generator) -> Canary:
    """Draw a user with groups of equal samples."""
    samples = np.arange(problem.samples)
    groups = int(rng.choice([2**i for i in range(problem.samples.bit_length())]))
    member = samples * groups // problem.samples if rng.random() < 0.5 else samples % groups
    known = directions(problem.dim) if rng.random() < 0.5 else unit_vectors(5, problem.dim, rng)
    chosen = known[rng.integers(5, size=problem.samples)]
    even = rng.random() < 0.5
    lengths = np.full(problem.samples, rng.choice(LENGTHS)) if even else rng.choice(LENGTHS, problem.samples)
    labels = np.full(problem.samples, rng.choice(LABELS)) if even else rng.choice(LABELS, problem.samples)
    lengths = lengths * rng.choice([-1, 1], problem.samples)
    return Canary((chosen * lengths[:, None])[member], labels[member])


def structured_pair(problem: Problem, rng: np.random.Generator) -> Pair:
    """Draw two independent users, or one and its copy in another direction or with other signs of labels."""
    first, kind = structured(problem, rng), rng.random()
    if kind < 0.3:
        return first, structured(problem, rng)
    if kind < 0.6:
        lengths = np.linalg.norm(first.features, axis=1, keepdims=True)
        return first, Canary(unit_vectors(1, problem.dim, rng) * lengths, first.labels)
    signs = np.where(rng.random(problem.samples) < 0.7, -1, 1) if rng.random() < 0.5 else -1
    return first, Canary(first.features, first.labels * signs)


def changed(pair: Pair, rng: np.random.Generator) -> Pair:
    """Replace features or label of one sample of one of the two users, or change all features of that user linearly."""
    which = int(rng.integers(2))
    user = Canary(pair[which].features.copy(), pair[which].labels.copy())
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
    return (pair[0], user) if which else (user, pair[1])


def larger(pair: Pair, features: float, labels: float) -> Pair:
    """Return the pair with all features and all labels multiplied by these factors."""
    first, second = (Canary(features * user.features, labels * user.labels) for user in pair)
    return first, second


def worst_pair(
    score: Callable[[Pair], float], problem: Problem, draws: int, changes: int, rng: np.random.Generator
) -> tuple[Pair, float]:
    """Return the pair with the largest score, and the score: the best drawn pair, after changes that raise it."""
    pair = max((structured_pair(problem, rng) for _ in range(draws)), key=score)
    best = score(pair)
    for _ in range(changes):
        other = changed(pair, rng)
        reached = score(other)
        if reached > best:
            pair, best = other, reached
    return pair, best
