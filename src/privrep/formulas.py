"""Leading-order laws of the algorithms of both papers, with constants: what a measured error is expected to be.

They are derived for isotropic noise in the complement of the true subspace, and say what exponent a finite grid should
show: factors such as sqrt(d - k) move the slope of a small grid away from the asymptotic exponent. All take numbers or
arrays. Symbols: n users, m samples, d dim, k rank, lam_i the eigenvalues of E v v^T, Delta the noise multiplier, eta and
zeta the clipping thresholds, sigma the label noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from privrep.rng import stream


def signal_scale(d):
    """c_d = E||x|| / d = sqrt(2) Gamma((d+1)/2) / (d Gamma(d/2)), about d^-1/2 (jain2021 eq. 5, corrected: E5)."""
    d = np.asarray(d, dtype=float)
    return np.sqrt(2) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2)) / d


TRACY_WIDOM_MEAN = -1.2065
"""Mean of the Tracy-Widom law of real matrices."""


def edge(d, k):
    """Root mean square of the largest singular value of a (d - k, k) matrix of unit normals: sqrt(d - 1) for k = 1, else about
    sqrt(d - k) + sqrt(k), less the edge fluctuation of 5 to 20 % at d = 20 to 80 (Johnstone 2001)."""
    long, short = np.sqrt(np.asarray(d, dtype=float) - k - 1), np.sqrt(k)
    square = (long + short) ** 2 + TRACY_WIDOM_MEAN * (long + short) * np.cbrt(1 / long + 1 / short)
    return np.sqrt(np.where(np.equal(k, 1), np.subtract(d, 1), square))


def init_noise(n, d, delta, zeta):
    """Sine per direction that the noise of Algorithm 3 gives to one entry: sd 2 Delta zeta^2 / n over the signal c_d^2, lam = 1."""
    return 2 * delta * zeta**2 / (n * signal_scale(d) ** 2)


def init_threshold(n, d, delta, zeta, lam=1.0):
    """2 Delta zeta^2 d^1.5 / (n lam): well above 1 the output of Algorithm 3 is a random subspace (spiked Wigner matrix)."""
    return 2 * delta * zeta**2 * np.asarray(d, dtype=float) ** 1.5 / (n * lam)


def init_privacy_frobenius(n, d, k, delta, zeta, lams=1.0):
    """distF of Algorithm 3 by privacy noise: sqrt(sum_i min(1 - k/d, (d - k) (s / lam_i)^2)) with s from `init_noise`; 1 - k/d is the
    mean square sine of a random subspace. `lams` is one number for all directions, or an array of k, along the last axis."""
    size = np.expand_dims((d - k) * init_noise(n, d, delta, zeta) ** 2, -1)
    turned = np.minimum(np.expand_dims(np.asarray(1 - k / d), -1), size / np.asarray(lams, dtype=float) ** 2)
    return np.sqrt(k * turned.mean(axis=-1))


def init_privacy_spectral(n, d, k, delta, zeta):
    """dist2 of Algorithm 3 by privacy noise, lam_i = 1."""
    return np.minimum(1, init_noise(n, d, delta, zeta) * edge(d, k))


def init_sampling_noise(n, m, d, k, sigma, gauss):
    """Sine per direction by sampling, n m / 2 pairs.

    W copies the upper triangle of x_a x_b^T y_a y_b / (||x_a|| ||x_b||). With c = d / (d + 2), from E[x_r^2 (x^T theta)^2 / ||x||^2] =
    ||theta||^2 / (d + 2), its variance per entry is E[(c ||v||^2 + sigma^2)^2] + (4/3) c E[(c ||v||^2 + sigma^2) v_c^2], over d^2.
    """
    shrunk = d / (d + 2)
    power = shrunk * k + sigma**2
    sphere = power**2 + 4 / 3 * shrunk * power
    variance = np.where(gauss, power**2 + 2 * k * shrunk**2 + 4 / 3 * shrunk * (power + 2 * shrunk), sphere)
    return np.sqrt(2 * variance / (n * m)) / (d * signal_scale(d) ** 2)


def init_sampling_frobenius(n, m, d, k, sigma, gauss):
    """distF of Algorithm 3 without privacy."""
    return np.sqrt((d - k) * k) * init_sampling_noise(n, m, d, k, sigma, gauss)


def init_sampling_spectral(n, m, d, k, sigma, gauss):
    """dist2 of Algorithm 3 without privacy."""
    return edge(d, k) * init_sampling_noise(n, m, d, k, sigma, gauss)


def noise_ratio(batch, d, k, delta, eta, lam_k=1.0):
    """x = 4 sqrt(dk) eta^2 Delta / (n_t lam_k): operator norm of the noise on A over its least signal eigenvalue. The step of
    Algorithm 2 is linear in the noise for x << 1; from x = 1 on A is not positive definite."""
    return 4 * np.sqrt(d * k) * eta**2 * delta / (batch * lam_k)


def step_privacy(batch, d, k, delta, eta, zeta, inverse_squares=None):
    """distF of one step of Algorithm 2 by privacy noise, first order, for any number of samples per user.

    (2 Delta eta / n_t) sqrt(k eta^2 + zeta^2) sqrt((d - k) sum_i lam_i^-2); `inverse_squares` is the sum, k by default.
    """
    inverse_squares = k if inverse_squares is None else inverse_squares
    return 2 * delta * eta / batch * np.sqrt(k * eta**2 + zeta**2) * np.sqrt((d - k) * inverse_squares)


def step_privacy_resolved(x, d, k):
    """distF of one step over the whole range 0 < x < 1, label noise neglected: the resolvent of a semicircle with edge x."""
    tau = np.minimum(np.asarray(x, dtype=float), 1.0) / 2
    root = np.sqrt(np.maximum(0, 1 - 4 * tau**2))
    resolvent = np.divide(1 - root, 2 * tau**2, out=np.ones_like(tau), where=tau > 0)
    square = tau**2 * resolvent**2
    # With t = square / (1 - square) the share turned out of the subspace is t / (1 + t) = square.
    return np.sqrt(k * (d - k) / d * square)


def contraction(samples, d, k, head_samples):
    """distF after over before one step without noise: sqrt((d - k) k^2 / (N (q_v - k - 1))), N samples in the subspace step and
    q_v per user in the head step. The (d - k) k directions outside see the spread of k head errors."""
    return np.sqrt((d - k) * k * k / (samples * (head_samples - k - 1)))


def step_floor(samples, d, k, head_samples, sigma):
    """distF without privacy that label noise leaves, lam_i = 1: sigma sqrt((d - k) k / N) sqrt((1 + k h) (1 + sigma^2 h)) with
    h = 1 / (q_v - k - 1). The first factor is the sampling of the head errors, the second their share in the heads' second moment,
    which shortens the step along U*."""
    spare = 1 / (head_samples - k - 1)
    return sigma * np.sqrt((d - k) * k / samples * (1 + k * spare) * (1 + sigma**2 * spare))


def personal_risk(outside, k, samples, sigma):
    """Excess risk after a least-squares head on h fresh samples: r (1 + k / (h - k - 1)) + sigma^2 k / (h - k - 1), exact for
    Gaussian features; r is the mean of ||(I - U U^T) theta_j||^2 (jain2021 eq. 22, corrected: E8)."""
    spread = k / (samples - k - 1)
    return outside * (1 + spread) + sigma**2 * spread


def head_error(sine, k, samples, sigma):
    """Root mean square of ||v_j - Q^{-1} v_j*|| after a fit on q samples, lam_i = 1 and sine s in every direction: the scatter
    (k s^2 + sigma^2) k / (q - k - 1), and k s^4 / (1 - s^2) since the fit is centred at Q^T v_j*, not at Q^{-1} v_j*."""
    scatter = (k * sine**2 + sigma**2) * k / (samples - k - 1)
    return np.sqrt(scatter + k * sine**4 / (1 - sine**2))


def gram_deviation(samples, d, k):
    """Operator norm of the whitened Gram of N samples of dimension dk, minus I: 2 sqrt(dk / N) (Lemma B.5)."""
    return 2 * np.sqrt(d * k / samples)


def centaur_noise(n, delta, clip, step=0.25, lam_1=1.0):
    """g, the noise that one round of CENTAUR adds to an entry of B: eta sigma_g zeta_g / n with eta = step / lam_1, sigma_g = 2 Delta."""
    return step / lam_1 * 2 * delta * clip / n


def centaur_contraction(condition, step=0.25):
    """Factor by which a noiseless round shrinks the slowest direction, 1 - eta lam_k; kappa = sqrt(lam_1 / lam_k)."""
    return 1 - step / np.asarray(condition, dtype=float) ** 2


def centaur_bound(condition, start=0.2):
    """The factor that shen2023 proves for the same: sqrt(1 - E0 / (8 kappa^2)), E0 = 1 - eps_0^2 (eq. 19; E12)."""
    return np.sqrt(1 - (1 - start**2) / (8 * np.asarray(condition, dtype=float) ** 2))


def centaur_gain(lam_ratio, step=0.25):
    """Steady over one-round noise of a direction with lam_i / lam_1 = `lam_ratio`: 1 / sqrt(1 - (1 - step ratio)^2), 1.512 at 1."""
    return 1 / np.sqrt(1 - (1 - step * np.asarray(lam_ratio, dtype=float)) ** 2)


def centaur_frobenius(noise, d, lam_ratios, step=0.25):
    """distF of CENTAUR's steady state, first order. `lam_ratios` are lam_i / lam_1, along the last axis."""
    lam_ratios = np.asarray(lam_ratios, dtype=float)
    return noise * np.sqrt((d - lam_ratios.shape[-1]) * (centaur_gain(lam_ratios, step) ** 2).sum(axis=-1))


def centaur_spectral(noise, d, k, step=0.25):
    """dist2 of the same, lam_i = lam."""
    return noise * centaur_gain(1.0, step) * edge(d, k)


def gradient_norm(sine, d, k, samples):
    """Median ||G_i||_F of a user of CENTAUR, sphere heads, lam_i = 1, sine s in every direction and q samples for each of head and
    gradient: s sqrt(1 - s^2) k sqrt((1 + d/q) (1 + k / (q - k - 1))), with medians in place of the means of the chi squares."""
    sampled = (1 - 2 / (3 * samples)) * (1 + (d - 5 / 3) / samples)
    scatter = 1 + (k - 2 / 3) / (samples - k - 1)
    return sine * np.sqrt(1 - np.square(sine)) * k * np.sqrt(sampled * scatter)


def gradient_deviation(n, d, k, samples, sine):
    """Operator norm of CENTAUR's mean gradient less its mean given the heads (Lemma C.4), same setting: entries of variance
    s^2 (1 - s^2) k (1 + k / (q - k - 1)) / (n q)."""
    spread = np.square(sine) * (1 - np.square(sine)) * k / (n * samples) * (1 + k / (samples - k - 1))
    return np.sqrt(spread) * edge(d + k, k)


def power_contraction(k):
    """Factor by which a noiseless step of shen2023's power method shrinks the tangents, for heads of length sqrt(k) and no clip."""
    return k / (np.asarray(k, dtype=float) + 2)


@dataclass(frozen=True)
class ClippedProduct:
    """What the clip leaves of Y = M X in the power method, in expectation over users, near X = U*.

    E[U*^T clip(Y)] = along I. A small tilt W of X outside U* comes back as across W. `spread` is the root mean square of an entry of
    clip(Y) outside U*, for X = U*. Without clip they are k + 2, k and sqrt(3 k (k + 4) / q).
    """

    along: float
    across: float
    spread: float


POPULATION = 16_000
"""Users drawn for the expectations under the clip: about 1 % on each."""


@lru_cache
def _products(d: int, k: int, q: int) -> tuple[np.ndarray, ...]:
    """Per user, of M = F^T F with rows y x / sqrt(q) of F = (P, R), P along U* and R outside: ||P||^2, ||R||^2, ||M U*||^2, ||R^T P||^2
    and <R^T F F^T P, R^T P>."""
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
    """The expectations for heads of length sqrt(k) and q samples, over a population of its own.

    Clipping commutes with rotations of U* and of its complement, so both maps are multiples of the identity. A tilt moves the norm, too:
    the second term of `across` is the derivative of the clip factor.
    """
    first, rest, length, outside, turned = _products(d, k, q)
    norm = np.sqrt(length)
    factor = np.minimum(1, zeta / norm)
    slope = np.where(norm > zeta, zeta / norm**3, 0)
    return ClippedProduct(
        along=float((factor * first).mean() / k),
        across=float((factor * rest).mean() / (d - k) - (slope * turned).mean() / ((d - k) * k)),
        spread=float(np.sqrt((factor**2 * outside).mean() / ((d - k) * k))),
    )


def power_noise(n, delta, zeta, along, across):
    """Sine per direction that the noise of the power method leaves in its steady state: 2 Delta zeta_0 / (n sqrt(along^2 - across^2)).
    An iteration adds noise over `along` and keeps across / along of the tilt before."""
    return 2 * delta * zeta / (n * np.sqrt(along**2 - across**2))


def power_frobenius(sine, d, k):
    """distF for a sine per direction: sqrt((d - k) k) of it, at most that of a random subspace."""
    return np.minimum(np.sqrt(k * (1 - k / d)), np.sqrt((d - k) * k) * sine)


def power_spectral(sine, d, k):
    """dist2 for the same."""
    return np.minimum(1, edge(d, k) * sine)


def power_sampling_noise(n, along, across, spread, fresh):
    """Sine per direction by sampling: spread / sqrt(n (along^2 - across^2)) with fresh samples in each iteration, whose errors add in
    squares; spread / (sqrt(n) (along - across)) with the same ones in all."""
    return spread / np.sqrt(n * np.where(fresh, along**2 - across**2, (along - across) ** 2))


def model_update(square, d, samples, sigma=0.0):
    """Root mean square of ||(1/q) sum (<theta, x> - y) x|| on q samples, `square` the mean of ||theta - theta_j||^2: exact for Gaussian
    features, sqrt(square (1 + (d + 1) / q) + sigma^2 d / q)."""
    return np.sqrt(square * (1 + (d + 1) / samples) + sigma**2 * d / samples)


def representation_update(sine, d, k, samples, sigma=0.0):
    """Root mean square of ||G_j|| of shen2023 Algorithm 4, lam_i = 1, at sine s in every direction, q samples each for head and
    gradient: ||G_j|| = ||g_j|| ||w_j||, where the fit scatters w_j about its mean by (k s^2 + sigma^2) k / (q - k - 1). For small s and
    large q it is k s sqrt(1 + d / q). Leaves out the fourth moment of the scatter."""
    scatter = (k * sine**2 + sigma**2) * k / (samples - k - 1)
    return model_update(k * sine**2 + scatter, d, samples, sigma) * np.sqrt(k * (1 - sine**2) + scatter)
