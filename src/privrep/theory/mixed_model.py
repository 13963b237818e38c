"""What the released mixed model (`privrep.methods.mixed_model`) is expected to leave.

For heads on a sphere about 0 and Gaussian features. The mean of the users' products is c_a c_b U U^T / k, with c the
mean cosine between a half's ridge model and the head. Noise is drawn: the law is the geometric mean over `DRAWS`
symmetric matrices that are always the same, on which the method's own rules are applied. What a prior leaves of a head
follows from the deterministic equivalent of ridge regression. The spread of gains over users, one sample less in that
equivalent, and `LUCK` were settled on simulated settings.

Notation: n, m, d, k as in `privrep.theory.whole_methods.Regime`; mu of all releases together; `variances` and `squares`
(d,) are the prior's variances over that of the label noise and the mean squares of a head's coordinates."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from privrep.methods.steps import mixed_model_plan as plan
from privrep.theory.whole_methods import Prediction, Regime

LUCK = 0.1
"""Where log risks spread by more over the draws, the risk is a matter of luck."""
DRAWS, CHOICES = 12, 8
"""Of the noise in S, and for each of the noise in the gains."""


def fixed_point(variances: np.ndarray, samples: int) -> float:
    """Solve kappa (m - sum p / (p + kappa)) = 1, the kappa of ridge regression with penalty 1 and variances p."""
    low, high = 1e-15, (1 + variances.sum()) / samples
    for _ in range(60):
        middle = math.sqrt(low * high)
        if middle * (samples - (variances / (variances + middle)).sum()) < 1:
            low = middle
        else:
            high = middle
    return high


def posterior_risk(variances: np.ndarray, squares: np.ndarray, samples: int, noise2: float) -> float:
    """Mean square error of posterior means under a prior, where the label noise has variance `noise2`."""
    samples = samples - 1
    kappa = fixed_point(variances, samples)
    freedom = ((variances / (variances + kappa)) ** 2).sum() / samples
    bias = (squares * (kappa / (variances + kappa)) ** 2).sum()
    return (bias + noise2 * freedom) / (1 - freedom)


def isotropic_risk(sizes: Regime, strength: float, power: float) -> float:
    """Mean square error of posterior means under an isotropic prior."""
    d = sizes.dim
    return posterior_risk(np.full(d, strength / d), np.full(d, power / d), sizes.samples, sizes.noise**2)


def cosine(sizes: Regime, samples: int) -> float:
    """Mean cosine c between a head and its ridge model with penalty d on so many samples."""
    d, k = sizes.dim, sizes.rank
    even = np.full(d, 1 / d)
    risk = posterior_risk(even, np.full(d, k / d), samples, sizes.noise**2)
    along = 1 / (1 + d * fixed_point(even, samples))
    return along * math.sqrt(k / (risk - k + 2 * k * along))


def drawn_mean(sizes: Regime, mu: float, rng: np.random.Generator) -> float:
    """Draw |beta|^2 after the steps, whose truth is 0: what is kept of privacy noise and of sampling."""
    n, m, d = sizes.users, sizes.samples, sizes.dim
    length = math.sqrt(((sizes.rank + sizes.noise**2) * d + sizes.rank * (m + 1)) / m)
    noise = 2 / (mu * math.sqrt(plan.STEP)) * math.sqrt(d) / n
    private = noise * min(max(plan.STEP_NOISE / noise, plan.STEP_CLIPS[0]), plan.STEP_CLIPS[1])
    mean = np.zeros(d)
    for drawn in rng.standard_normal((plan.STEPS, d)):
        step = -mean + length * math.sqrt((private**2 + 1 / n) / d) * drawn
        mean += max(0.0, 1 - (private * length) ** 2 / (step @ step)) * step
    return mean @ mean


def symmetric(rng: np.random.Generator, dim: int) -> np.ndarray:
    """Draw normals of variance 1 on the diagonal and 1/2 beside it, (d, d)."""
    drawn = rng.standard_normal((dim, dim))
    return (drawn + drawn.T) / 2


def clipped_mean(means: np.ndarray, sd: float) -> np.ndarray:
    """Mean of normals clipped to +-GAIN_WIDTH."""

    def part(values: np.ndarray) -> np.ndarray:
        return values * ndtr(values) + np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)

    return sd * (part((means + plan.GAIN_WIDTH) / sd) - part((means - plan.GAIN_WIDTH) / sd)) - plan.GAIN_WIDTH


def mixed_model(sizes: Regime, mu: float) -> Prediction:
    """Risk of the released mixed model: the geometric mean over the draws.

    Left out: that users whose gradients are clipped pull less, and the answer that the shared mean is enough."""
    n, m, d, k, noise2 = sizes.users, sizes.samples, sizes.dim, sizes.rank, sizes.noise**2
    power = k + noise2
    cosines = cosine(sizes, (m + 1) // 2) * cosine(sizes, m // 2)
    sd = 2 / (mu * math.sqrt(plan.shares(False)[-1])) / n
    inside = np.arange(d) < k
    spread = np.sqrt(np.where(inside, cosines / k, 0.0) + (1 - cosines) / d)
    level2 = power * (1 - 1 / m)
    gain_sd = math.sqrt(2 / m)  # the spread over users of the log of a mean square of m samples
    alone = [isotropic_risk(sizes, strength, k) for strength in plan.ALONE_STRENGTHS]

    def logs(risks: np.ndarray | float) -> np.ndarray:
        return np.log((noise2 + risks) / level2 + plan.GAIN_FLOOR)

    def noise_sd(clip: float, share: float) -> float:
        return 2 * clip / (mu * math.sqrt(share) * n)

    rng, found = np.random.default_rng(0), []
    for _ in range(DRAWS):
        off = drawn_mean(sizes, mu, rng)
        private, sampled = symmetric(rng, d), symmetric(rng, d)
        drawn = np.diag(inside * cosines / k) + sd * private + spread * sampled * spread[:, None] / math.sqrt(n)
        values, vectors = np.linalg.eigh(drawn)
        squares = (vectors[:k] ** 2).sum(axis=0) + off / d
        shapes = [spectrum / spectrum.sum() for spectrum in plan.two_spectra(values, sd * math.sqrt(2 * d))]
        heads = [posterior_risk(one * shape, squares, m, noise2) for shape in shapes for one in plan.STRENGTHS]
        even = [isotropic_risk(sizes, one, k + off) for one in plan.STRENGTHS]
        heads, own = np.array(heads + even), min(*alone, k + off, even[0])
        errors = logs(np.array([*heads, *alone, k + off]))
        gains = clipped_mean(np.median(errors) - errors, gain_sd)
        gains -= gains.mean()
        gains = gains[: len(heads)] * min(1.0, plan.GAIN_WIDTH / math.sqrt(gains @ gains))
        noise = rng.standard_normal((CHOICES, len(heads))) * noise_sd(plan.GAIN_WIDTH, plan.CHOICE)
        best = heads[(gains + noise).argmax(axis=1)]
        over_own, over_mean = (clipped_mean(logs(other) - logs(best), gain_sd) for other in (own, k + off))
        clip = plan.GAIN_WIDTH * math.sqrt(2)
        sure = ndtr(over_own / noise_sd(clip, plan.CHOICE) - plan.SURE) * np.minimum(
            *(ndtr(gain / noise_sd(clip, plan.ANSWER) - plan.SURE) for gain in (over_own, over_mean))
        )
        found.append(np.log(sure * best + (1 - sure) * own))
    return Prediction(np.exp(np.mean(found)) / k, np.std(found) <= LUCK)
