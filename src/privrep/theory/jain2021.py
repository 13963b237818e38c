"""Laws of jain2021: Algorithm 3 (F1, F2), the step of Algorithms 1 and 2 (F3 to F5), the risk of a personal head (F6),
and the exponential mechanism (F7).

    n, batch                    users; n_t users in one step
    m, samples, head_samples    samples of a user; N in a step, of all users, or q of a fit; q_v per user for the heads
    d, k                        dimension, rank
    lam, lams, lam_k            eigenvalues of E v v^T: of one direction, of all (k, along the last axis), the least
    noise_multiplier            Delta
    eta, zeta                   clips of ||w|| and of labels
    sigma                       sd of the label noise
    gauss                       whether heads are Gaussian; else they lie on a sphere
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from privrep.theory.shared import Values, edge


def signal_scale(d: Values) -> Values:
    """F1 and F2: c_d = E||x|| / d = sqrt(2) Gamma((d+1)/2) / (d Gamma(d/2)), about d^-1/2 (jain2021 eq. 5, corrected:
    E5)."""
    d = np.asarray(d, dtype=float)
    return np.sqrt(2) * np.exp(gammaln((d + 1) / 2) - gammaln(d / 2)) / d


def init_noise(n: Values, d: Values, noise_multiplier: Values, zeta: Values) -> Values:
    """F1: sine per direction caused by the noise of Algorithm 3: sd 2 Delta zeta^2 / n of an entry over the signal
    c_d^2, lam = 1."""
    return 2 * noise_multiplier * zeta**2 / (n * signal_scale(d) ** 2)


def init_threshold(n: Values, d: Values, noise_multiplier: Values, zeta: Values, lam: Values = 1.0) -> Values:
    """F1: u = 2 Delta zeta^2 d^1.5 / (n lam); well above 1 the output of Algorithm 3 is a random subspace (spiked
    Wigner matrix)."""
    return 2 * noise_multiplier * zeta**2 * np.asarray(d, dtype=float) ** 1.5 / (n * lam)


def init_privacy_frobenius(
    n: Values, d: Values, k: Values, noise_multiplier: Values, zeta: Values, lams: Values = 1.0
) -> Values:
    """F1: distF of Algorithm 3 by privacy noise: sqrt(sum_i min(1 - k/d, (d - k) (s / lam_i)^2)) with s from
    `init_noise`; 1 - k/d is the mean square sine of a random subspace."""
    size = np.expand_dims((d - k) * init_noise(n, d, noise_multiplier, zeta) ** 2, -1)
    turned = np.minimum(np.expand_dims(np.asarray(1 - k / d), -1), size / np.asarray(lams, dtype=float) ** 2)
    return np.sqrt(k * turned.mean(axis=-1))


def init_privacy_spectral(n: Values, d: Values, k: Values, noise_multiplier: Values, zeta: Values) -> Values:
    """F1: dist2 of Algorithm 3 by privacy noise, lam_i = 1."""
    return np.minimum(1, init_noise(n, d, noise_multiplier, zeta) * edge(d, k))


def init_sampling_noise(n: Values, m: Values, d: Values, k: Values, sigma: Values, gauss: Values) -> Values:
    """F2: sine per direction by sampling, n m / 2 pairs.

    W copies the upper triangle of x_a x_b^T y_a y_b / (||x_a|| ||x_b||). With c = d / (d + 2), from E[x_r^2 (x^T
    theta)^2 / ||x||^2] = ||theta||^2 / (d + 2), its variance per entry is E[(c ||v||^2 + sigma^2)^2] + (4/3) c E[(c
    ||v||^2 + sigma^2) v_c^2], over d^2."""
    shrunk = d / (d + 2)
    power = shrunk * k + sigma**2
    sphere = power**2 + 4 / 3 * shrunk * power
    variance = np.where(gauss, power**2 + 2 * k * shrunk**2 + 4 / 3 * shrunk * (power + 2 * shrunk), sphere)
    return np.sqrt(2 * variance / (n * m)) / (d * signal_scale(d) ** 2)


def init_sampling_frobenius(n: Values, m: Values, d: Values, k: Values, sigma: Values, gauss: Values) -> Values:
    """F2: distF of Algorithm 3 without privacy."""
    return np.sqrt((d - k) * k) * init_sampling_noise(n, m, d, k, sigma, gauss)


def init_sampling_spectral(n: Values, m: Values, d: Values, k: Values, sigma: Values, gauss: Values) -> Values:
    """F2: dist2 of Algorithm 3 without privacy."""
    return edge(d, k) * init_sampling_noise(n, m, d, k, sigma, gauss)


def noise_ratio(
    batch: Values, d: Values, k: Values, noise_multiplier: Values, eta: Values, lam_k: Values = 1.0
) -> Values:
    """F3: x = 4 sqrt(dk) eta^2 Delta / (n_t lam_k), the operator norm of A's noise over the signal's least eigenvalue.
    The step of Algorithm 2 is linear in the noise for x << 1; for x >= 1 A is not positive definite."""
    return 4 * np.sqrt(d * k) * eta**2 * noise_multiplier / (batch * lam_k)


def step_privacy(
    batch: Values,
    d: Values,
    k: Values,
    noise_multiplier: Values,
    eta: Values,
    zeta: Values,
    inverse_squares: Values | None = None,
) -> Values:
    """F3: distF of one step of Algorithm 2 by privacy noise, first order, for any number of samples per user: (2 Delta
    eta / n_t) sqrt(k eta^2 + zeta^2) sqrt((d - k) sum_i lam_i^-2); `inverse_squares` is that sum, by default k."""
    inverse_squares = k if inverse_squares is None else inverse_squares
    return 2 * noise_multiplier * eta / batch * np.sqrt(k * eta**2 + zeta**2) * np.sqrt((d - k) * inverse_squares)


def step_privacy_resolved(x: Values, d: Values, k: Values) -> Values:
    """F3: distF of one step over the whole range 0 < x < 1, label noise neglected: the resolvent of a semicircle with
    edge x."""
    tau = np.minimum(np.asarray(x, dtype=float), 1.0) / 2
    root = np.sqrt(np.maximum(0, 1 - 4 * tau**2))
    resolvent = np.divide(1 - root, 2 * tau**2, out=np.ones_like(tau), where=tau > 0)
    square = tau**2 * resolvent**2
    # With t = square / (1 - square) the share turned out of the subspace is t / (1 + t) = square.
    return np.sqrt(k * (d - k) / d * square)


def contraction(samples: Values, d: Values, k: Values, head_samples: Values) -> Values:
    """F4: ratio of distF after to before one step without noise: sqrt((d - k) k^2 / (N (q_v - k - 1))). The (d - k) k
    directions outside see the spread of k head errors."""
    return np.sqrt((d - k) * k * k / (samples * (head_samples - k - 1)))


def step_floor(samples: Values, d: Values, k: Values, head_samples: Values, sigma: Values) -> Values:
    """F5: distF caused by label noise without privacy, lam_i = 1: sigma sqrt((d - k) k / N) sqrt((1 + k h) (1 + sigma^2
    h)) with h = 1 / (q_v - k - 1). The first factor is the sampling of the head errors, the second their share in the
    heads' second moment, which shortens the step along U*."""
    spare = 1 / (head_samples - k - 1)
    return sigma * np.sqrt((d - k) * k / samples * (1 + k * spare) * (1 + sigma**2 * spare))


def personal_risk(outside: Values, k: Values, samples: Values, sigma: Values) -> Values:
    """F6: excess risk after a least-squares head on h fresh samples: r (1 + k / (h - k - 1)) + sigma^2 k / (h - k - 1)
    with r the mean of ||(I - U U^T) theta_j||^2, exact for Gaussian features (jain2021 eq. 22, corrected: E8)."""
    spread = k / (samples - k - 1)
    return outside * (1 + spread) + sigma**2 * spread


def head_error(sine: Values, k: Values, samples: Values, sigma: Values) -> Values:
    """Lemma B.4: root mean square of ||v_j - Q^{-1} v_j*|| after a fit on q samples, lam_i = 1 and sine s in every
    direction: the scatter (k s^2 + sigma^2) k / (q - k - 1), and k s^4 / (1 - s^2) since the fit is centred at Q^T
    v_j*, not at Q^{-1} v_j*."""
    scatter = (k * sine**2 + sigma**2) * k / (samples - k - 1)
    return np.sqrt(scatter + k * sine**4 / (1 - sine**2))


def gram_deviation(samples: Values, d: Values, k: Values) -> Values:
    """Lemma B.5: operator norm of G - I, G the whitened Gram matrix of N samples of dimension dk: 2 sqrt(dk / N)."""
    return 2 * np.sqrt(d * k / samples)


def mechanism_excess(beta_n: Values, d: Values, k: Values, power: Values = 2) -> Values:
    """F7: E[score(U) - min score] / n under the law proportional to exp(-beta score(U)), for a score that grows from
    its minimum as the given power of the distance: D / (power beta n) with D = k (d - k), the dimension of the set of
    subspaces. Exact where the score is homogeneous."""
    return k * (d - k) / (power * beta_n)


def mechanism_loss(excess: Values, k: Values, score_samples: Values, final_samples: Values) -> Values:
    """F7: expected loss for a score excess, near the optimum and without label noise. The heads of the score are fitted
    to the same q samples that score them, which leaves a share 1 - k/q of the loss; heads of the final fit on h samples
    add k / (h - k - 1) to it."""
    return excess * (1 + k / (final_samples - k - 1)) / (1 - k / score_samples)
