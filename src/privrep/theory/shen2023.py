"""Laws of shen2023: a round of CENTAUR (F8 to F10), its private power method (F11), and the sizes of users' updates.

Notation:

    n, d, k, samples     users, dimension, rank, q samples of a user for each of head and gradient
    condition            kappa = sqrt(lam_1 / lam_k) of the heads; lam_ratio(s) = lam_i / lam_1
    step                 eta lam_1
    noise_multiplier     Delta, half of the printed sigma
    clip, zeta           zeta_g of gradients, zeta_0 of the power method
    sine                 s, of every angle between a subspace and the truth
    sigma                sd of the label noise
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privrep.theory.shared import Values, edge
from privrep.users.rng import stream

TARGET, CANDIDATE = 0.2, 0.01
"""eps_0, the dist2 of a start that the main rounds require, and eps_i, that of a single run (Lemmas F.1 and F.3)."""


def centaur_contraction(condition: Values, step: Values = 0.25) -> Values:
    """F8: contraction factor of the slowest direction in a noiseless round, 1 - eta lam_k."""
    return 1 - step / np.asarray(condition, dtype=float) ** 2


def centaur_bound(condition: Values, start: Values = 0.2) -> Values:
    """Eq. (19): the factor proved by shen2023 for a noiseless round, sqrt(1 - E0 / (8 kappa^2)), E0 = 1 - eps_0^2
    (E12)."""
    return np.sqrt(1 - (1 - start**2) / (8 * np.asarray(condition, dtype=float) ** 2))


def centaur_noise(
    n: Values, noise_multiplier: Values, clip: Values, step: Values = 0.25, lam_1: Values = 1.0
) -> Values:
    """F9: g, sd of the noise of one round of CENTAUR on an entry of B: eta sigma_g zeta_g / n with eta = step / lam_1,
    sigma_g = 2 Delta."""
    return step / lam_1 * 2 * noise_multiplier * clip / n


def centaur_gain(lam_ratio: Values, step: Values = 0.25) -> Values:
    """F9: steady-state noise of a direction over that of one round: 1 / sqrt(1 - (1 - step ratio)^2) with ratio = lam_i
    / lam_1, 1.512 at 1."""
    return 1 / np.sqrt(1 - (1 - step * np.asarray(lam_ratio, dtype=float)) ** 2)


def centaur_frobenius(noise: Values, d: Values, lam_ratios: Values, step: Values = 0.25) -> Values:
    """F9: distF in CENTAUR's steady state, first order."""
    lam_ratios = np.asarray(lam_ratios, dtype=float)
    return noise * np.sqrt(
        (d - lam_ratios.shape[-1]) * np.sum(np.asarray(centaur_gain(lam_ratios, step)) ** 2, axis=-1)
    )


def centaur_spectral(noise: Values, d: Values, k: Values, step: Values = 0.25) -> Values:
    """F9: dist2 in CENTAUR's steady state, lam_i = lam."""
    return noise * centaur_gain(1.0, step) * edge(d, k)


def gradient_norm(sine: Values, d: Values, k: Values, samples: Values) -> Values:
    """F10: median ||G_i||_F of a user of CENTAUR, sphere heads, lam_i = 1, sine s in every direction and q samples for
    each of head and gradient: s sqrt(1 - s^2) k sqrt((1 + d/q) (1 + k / (q - k - 1))), with medians in place of the
    means of the chi squares."""
    sampled = (1 - 2 / (3 * samples)) * (1 + (d - 5 / 3) / samples)
    scatter = 1 + (k - 2 / 3) / (samples - k - 1)
    return sine * np.sqrt(1 - np.square(sine)) * k * np.sqrt(sampled * scatter)


def gradient_deviation(n: Values, d: Values, k: Values, samples: Values, sine: Values) -> Values:
    """Lemma C.4: operator norm of CENTAUR's mean gradient less its mean given the heads, as in F10: its entries have
    variance s^2 (1 - s^2) k (1 + k / (q - k - 1)) / (n q)."""
    spread = np.square(sine) * (1 - np.square(sine)) * k / (n * samples) * (1 + k / (samples - k - 1))
    return np.sqrt(spread) * edge(d + k, k)


@dataclass(frozen=True)
class ClippedProduct:
    """F11: Y = M X of the power method after the clip, in expectation over users, near X = U*.

    E[U*^T clip(Y)] = along I. A small tilt W of X outside U* becomes across W. `spread` is the root mean square entry
    of clip(Y) outside U*, for X = U*. Without a clip the three are k + 2, k and sqrt(3 k (k + 4) / q).
    """

    along: float
    across: float
    spread: float


POPULATION = 16_000
"""Users drawn for the expectations under the clip, for an error of about 1 % on each."""


@lru_cache
def _products(d: int, k: int, q: int) -> tuple[np.ndarray, ...]:
    """Draw users and return, for each user's M = F^T F with rows y x / sqrt(q) of F = (P, R), P along U* and R outside:
    ||P||^2, ||R||^2, ||M U*||^2, ||R^T P||^2 and <R^T F F^T P, R^T P>."""
    rng = stream(0, "products", {"dim": d, "rank": k, "samples": q})
    along = rng.standard_normal((POPULATION, q, k))
    labels = np.sqrt(k / q) * along[:, :, :1]
    outside = rng.standard_normal((POPULATION, q, d - k), dtype=np.float32)
    first, rest = labels * along, labels * (outside @ outside.transpose(0, 2, 1)) * labels.transpose(0, 2, 1)
    gram = first @ first.transpose(0, 2, 1) + rest
    pulled = rest @ first
    return (
        (first**2).sum(axis=(1, 2)),
        np.trace(rest, axis1=1, axis2=2),
        (first * (gram @ first)).sum(axis=(1, 2)),
        (first * pulled).sum(axis=(1, 2)),
        (pulled * (gram @ first)).sum(axis=(1, 2)),
    )


def clipped_product(d: int, k: int, q: int, zeta: float) -> ClippedProduct:
    """F11: the expectations for heads of length sqrt(k) and q samples, over a population of drawn users.

    Clipping commutes with rotations of U* and of its complement, so both maps are multiples of the identity. A tilt
    also changes the norm: the second term of `across` is the derivative of the clip factor."""
    first, rest, length, outside, turned = _products(d, k, q)
    norm = np.sqrt(length)
    factor = np.minimum(1, zeta / norm)
    slope = np.where(norm > zeta, zeta / norm**3, 0)
    return ClippedProduct(
        along=float((factor * first).mean() / k),
        across=float((factor * rest).mean() / (d - k) - (slope * turned).mean() / ((d - k) * k)),
        spread=float(np.sqrt((factor**2 * outside).mean() / ((d - k) * k))),
    )


def power_noise(n: Values, noise_multiplier: Values, zeta: Values, along: Values, across: Values) -> Values:
    """F11: sine per direction caused by the noise of the power method in its steady state: 2 Delta zeta_0 / (n
    sqrt(along^2 - across^2)). An iteration adds noise / along, and keeps a share across / along of the old tilt."""
    return 2 * noise_multiplier * zeta / (n * np.sqrt(along**2 - across**2))


def power_frobenius(sine: Values, d: Values, k: Values) -> Values:
    """F11: distF for a sine per direction: sqrt((d - k) k) times this sine, at most that of a random subspace."""
    return np.minimum(np.sqrt(k * (1 - k / d)), np.sqrt((d - k) * k) * sine)


def power_spectral(sine: Values, d: Values, k: Values) -> Values:
    """F11: dist2 for a sine per direction, at most 1."""
    return np.minimum(1, edge(d, k) * sine)


def power_sampling_noise(n: Values, along: Values, across: Values, spread: Values, fresh: Values) -> Values:
    """F11 without noise: sine per direction by sampling, spread / sqrt(n (along^2 - across^2)) with fresh samples in
    each iteration, whose errors add in squares; spread / (sqrt(n) (along - across)) if all use the same ones."""
    return spread / np.sqrt(n * np.where(fresh, along**2 - across**2, (along - across) ** 2))


def model_update(square: Values, d: Values, samples: Values, sigma: Values = 0.0) -> Values:
    """Remark 3.1, full model: root mean square of ||(1/q) sum (<theta, x> - y) x|| on q samples: sqrt(square (1 + (d +
    1) / q) + sigma^2 d / q), exact for Gaussian features."""
    return np.sqrt(square * (1 + (d + 1) / samples) + sigma**2 * d / samples)


def representation_update(sine: Values, d: Values, k: Values, samples: Values, sigma: Values = 0.0) -> Values:
    """Remark 3.1, representation alone: root mean square of ||G_j|| of Algorithm 4, lam_i = 1, at sine s in every
    direction, q samples each for head and gradient: ||G_j|| = ||g_j|| ||w_j||, where the fit scatters w_j about its
    mean by (k s^2 + sigma^2) k / (q - k - 1). For small s and large q it is k s sqrt(1 + d / q). Leaves out the fourth
    moment of the scatter."""
    scatter = (k * sine**2 + sigma**2) * k / (samples - k - 1)
    return model_update(k * sine**2 + scatter, d, samples, sigma) * np.sqrt(k * (1 - sine**2) + scatter)
