"""Expected risk of the released mixed model (`privrep.methods.mixed_model`).

It holds for heads on a sphere about 0 and Gaussian features. The mean of the users' products is c_a c_b U U^T / k, with
c_a and c_b the mean cosines between a head and its ridge models on each half of the samples. The risk is the geometric
mean over `DRAWS` fixed symmetric matrices of noise, to which the method's own rules are applied.

Notation: n, m, d, k as in `privrep.theory.whole_methods.Regime`; mu of all releases together; `variances` and `squares`
(d,) are the prior's variances over that of the label noise and the mean squares of a head's coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from privrep.methods.mixed_model import plan
from privrep.methods.mixed_model.stacking import OWN_STRENGTHS, SHARED_STRENGTHS
from privrep.privacy.contributions import Scalars, SymmetricOuter
from privrep.theory.shared import Values
from privrep.theory.whole_methods import Prediction, Regime, fixed_point, posterior_risk

LUCK = 0.1
"""Standard deviation of the draws' log risks above which the risk depends on chance."""
QUIET = 0.1
"""Label noise below which the law is off by up to two orders of magnitude, as measured."""
DRAWS, CHOICES = 12, 8
"""Numbers of draws: of the noise in S, and, for each of these, of the noise in the gains."""


def isotropic_risk(sizes: Regime, strength: float, power: float) -> float:
    """Return the mean square error of posterior means under an isotropic prior."""
    d = sizes.dim
    return float(posterior_risk(np.array([strength / d]), np.array([power / d]), sizes.samples, sizes.noise**2, d))


def cosine(sizes: Regime, samples: int) -> float:
    """Return the mean cosine c between a head and its ridge model with penalty d on this number of samples."""
    d, k = sizes.dim, sizes.rank
    even = np.array([1 / d])
    risk = posterior_risk(even, np.array([k / d]), samples, sizes.noise**2, d)
    along = 1 / (1 + d * fixed_point(even, samples, d))
    return float(along * math.sqrt(k / (risk - k + 2 * k * along)))


def along(sizes: Regime, strength: float) -> float:
    """Return the mean factor by which an isotropic prior shrinks a head."""
    even = np.array([strength / sizes.dim])
    return float(even[0] / (even[0] + fixed_point(even, sizes.samples, sizes.dim)))


def mean_error(sizes: Regime, mu: float, share: float, level: float, unit: float) -> float:
    """Return |beta|^2 after the steps: the noise of privacy and sampling, since the true beta is 0. Later steps undo as
    much of this noise as users' changes, clipped to a share of their length, can correct."""
    n, d, k = int(np.asarray(sizes.users)), sizes.dim, sizes.rank
    part = along(sizes, plan.MEAN_STRENGTH)
    typical = math.sqrt(d * max(isotropic_risk(sizes, plan.MEAN_STRENGTH, k) - k + 2 * k * part, 1e-12))
    noise = 2 * plan.LENGTH_CLIP * typical / (mu * math.sqrt(share) * n)
    rates = plan.PATH_NOISE * level * unit / noise
    steps = int(plan.between(rates / plan.RATE, *plan.STEPS))
    rate = min(plan.RATE, rates / steps)
    left = (1 - rate * plan.LENGTH_CLIP * part) ** np.arange(steps)
    total, squares = float(left.sum()), float((left**2).sum())
    return rate**2 * (steps * squares * noise**2 + (total * plan.LENGTH_CLIP * typical) ** 2 / (n * d))


def symmetric(rng: np.random.Generator, dim: int) -> np.ndarray:
    """Draw a symmetric matrix (d, d) of normals, of variance 1 on the diagonal and 1/2 off it."""
    drawn = rng.standard_normal((dim, dim))
    return (drawn + drawn.T) / 2


def mixed_model(sizes: Regime, mu: float) -> Prediction:
    """Return the risk of the released mixed model: the geometric mean over the draws.

    Heads of a kind are averaged by weights from their noisy scores. The best kind is mixed with own data as if it were
    the posterior mean: its error e_1 then does not correlate with e_0 - e_1, e_0 that of own data."""
    n, m, d, k, noise2 = int(np.asarray(sizes.users)), sizes.samples, sizes.dim, sizes.rank, sizes.noise**2
    unit = math.sqrt(k + noise2) / plan.GUESSED_LABEL
    share = plan.Plan.of(n, d, mu)
    level = min(math.sqrt(noise2 + isotropic_risk(sizes, plan.LEVEL_STRENGTH, k)) / unit, 1.0)
    off = mean_error(sizes, mu, share.mean, level, unit)
    inside, error = np.arange(d) < k, (level * unit) ** 2

    def noise_sd(clip: float, share: float) -> float:
        return Scalars.sensitivity(clip) / (mu * math.sqrt(share) * n)

    def averaged(strengths: tuple[float, ...], expected: Sequence[Values], rng: np.random.Generator) -> np.ndarray:
        """Return the risks of heads averaged by noisy scores, for each draw of the scores."""
        risks, sd = np.array(expected), noise_sd(plan.score_clip(n * mu), share.scores)
        scores = -risks / error / sd + rng.standard_normal((CHOICES, len(risks)))
        return softmax(scores - np.log1p(np.array(strengths) / plan.TRUSTED), axis=1) @ risks

    rng, logs = np.random.default_rng(0), []
    for _ in range(DRAWS):
        own = averaged(OWN_STRENGTHS, [isotropic_risk(sizes, strength, k) for strength in OWN_STRENGTHS], rng)
        about = [*(isotropic_risk(sizes, strength, k + off) for strength in SHARED_STRENGTHS), k + off]
        kinds = [averaged((*SHARED_STRENGTHS, 0.0), about, rng)]
        if share.shape:
            sd = SymmetricOuter.sensitivity(1.0) / (mu * math.sqrt(share.shape)) / n
            cosines = cosine(sizes, (m + 1) // 2) * cosine(sizes, m // 2)
            spread = np.sqrt(np.where(inside, cosines / k, 0.0) + (1 - cosines) / d)
            sampled = spread * symmetric(rng, d) * spread[:, None] / math.sqrt(n)
            values, vectors = np.linalg.eigh(np.diag(inside * cosines / k) + sd * symmetric(rng, d) + sampled)
            squares = (vectors[:k] ** 2).sum(axis=0) + off / d
            shapes = [spectrum / spectrum.sum() for spectrum in plan.two_spectra(values, sd * math.sqrt(2 * d))]
            pairs = [(strength, shape) for shape in shapes for strength in SHARED_STRENGTHS]
            risks = [posterior_risk(strength * shape, squares, m, noise2) for strength, shape in pairs]
            kinds.append(averaged(2 * SHARED_STRENGTHS, risks, rng))
        best = min(kinds, key=np.mean)
        differs = np.maximum(own - best, 1e-12) / error
        sd = noise_sd(plan.WEIGHT_CLIP, share.weights)
        linear = 2 * np.minimum(best - own, 0.0) / error + sd * rng.standard_normal(CHOICES)
        weight = np.clip((plan.DOUBT * sd - linear) / 2 / (differs + plan.DOUBT * sd), 0.0, 1.0)
        logs.append(np.log(np.maximum(own - error * differs * (2 * weight - weight**2), best)).mean())
    return Prediction(np.exp(np.mean(logs)) / k, bool(np.std(logs) <= LUCK) & (sizes.noise >= QUIET))
