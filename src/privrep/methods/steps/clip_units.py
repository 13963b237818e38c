"""Clipping thresholds in units of the data, so that one option value serves all problem sizes of a study.

jain2021 sets eta = O~(mu sqrt(lam_k d k)) and zeta = O~(sigma_F + mu sqrt(k lam_k)) (Lemmas 4.4 and 4.6) and hides the
logarithms. `data` drops the logarithms and leaves a constant to choose; `printed` takes thresholds of the proofs, under
which nothing is clipped with probability 1 - n^-10 if no ||v_j|| exceeds `Known.head_bound`. Both use the law of the
heads, which is public here, and an orthonormal truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privrep.users.known import Known

CLIP_SCALE_COLUMN = "unit of the clipping bounds, see SCALES and UPDATE_SCALES in privrep.methods.steps.clip_units"
FAILURE_POWER = 10  # the papers' statements fail with probability n^-10


def _data(known: Known) -> tuple[float, float]:
    scale = known.head_condition * math.sqrt(known.rank)
    return scale * math.sqrt(known.dim), scale + known.label_noise_sd


def _printed(known: Known) -> tuple[float, float]:
    log_samples = math.log(4 * known.users * known.samples) + FAILURE_POWER * math.log(known.users)
    bound = known.head_bound
    longest = math.sqrt(known.dim) + math.sqrt(2 * log_samples)
    return bound * longest, (bound + known.label_noise_sd) * math.sqrt(2 * log_samples)


SCALES: dict[str, Callable[[Known], tuple[float, float]]] = {
    "absolute": lambda known: (1.0, 1.0),
    "data": _data,
    "printed": _printed,
}
"""Name -> units of (eta, zeta): 1; (c sqrt(dk), c sqrt(k) + sigma_F) with c the largest head scale; the proofs'
thresholds, with zeta = (mu sqrt(k lam_k) + sigma_F) sqrt(2 ln(4 n m / beta)) (Lemma B.1) and eta = mu sqrt(k lam_k)
(sqrt(d) + sqrt(2 ln(4 n m / beta)))."""


def label_threshold(scale: str, factor: float, known: Known) -> float:
    """Return zeta: `factor` in units of the scale (jain2021, Lemmas 4.4 and 4.6, and Lemma B.1 for `printed`)."""
    return factor * SCALES[scale](known)[1]


def _typical_sums(known: Known, samples: int) -> tuple[float, float]:
    d, q, head = known.dim, samples, known.head_condition**2 * known.rank
    first = math.sqrt(head * q * (head * (d + q + 1) + known.label_noise_sd**2 * d))
    return head * math.sqrt(q * d * (d + q + 1)), first


USER_SCALES: dict[str, Callable[[Known, int], tuple[float, float]]] = {
    "absolute": lambda known, samples: (1.0, 1.0),
    "data": _typical_sums,
}
"""Name -> units of the bounds on a user's whole A_j and b_j from q samples: 1; their root mean square norms for a user
whose head is the longest, ||A_j||_F = ||X X^T||_F ||v||^2 and ||b_j|| = ||sum_i y_i x_i|| ||v||, exact for Gaussian
features."""


def _prescribed_moment(known: Known) -> float:
    log_users = math.log(known.users)
    shape = math.sqrt(known.rank * known.dim) * log_users * (math.sqrt(log_users) + math.sqrt(known.rank))
    return known.head_bound**2 * shape


def _practical(known: Known) -> float:
    return math.sqrt(known.dim) * known.rank**1.5


UPDATE_SCALES: dict[str, tuple[Callable[[Known], float], Callable[[Known], float]]] = {
    "absolute": (lambda known: 1.0, lambda known: 1.0),
    "practical": (_practical, _practical),
    "prescribed": (
        lambda known: known.head_bound**2 * math.sqrt(known.dim * known.rank * math.log(known.users)),
        _prescribed_moment,
    ),
}
"""Name -> units of (zeta_g, zeta_0) of shen2023: 1; sqrt(d) k^1.5, without logarithms; mu^2 k s_k^2 sqrt(dk ln n)
(Theorem 5.1) and mu^2 k^1.5 s_k^2 sqrt(d) ln(n) (sqrt(ln n) + sqrt(k)) (Lemma F.1), with mu^2 k s_k^2 from
`Known.head_bound` and all constants 1."""


def gradient_threshold(scale: str, factor: float, known: Known) -> float:
    """Return zeta_g, the bound on a user's gradient: `factor` in units of the scale (shen2023, Theorem 5.1)."""
    return factor * UPDATE_SCALES[scale][0](known)


def moment_threshold(scale: str, factor: float, known: Known) -> float:
    """Return zeta_0, the bound on a user's Y_i: `factor` in units of the scale (shen2023, Lemma F.1)."""
    return factor * UPDATE_SCALES[scale][1](known)


PROJECTION_SCALES: dict[str, Callable[[Known], float]] = {
    "absolute": lambda known: 1.0,
    "prescribed": lambda known: 40 * math.sqrt(known.dim) * math.log(known.users * known.samples),
    "projected": lambda known: math.sqrt(known.rank * math.log(known.users * known.samples)),
}
"""Name -> unit of L_f, the bound on ||U^T x|| in Algorithm 4 of jain2021: 1; 40 sqrt(d) ln(n m) (Theorem 5.2);
sqrt(k ln(n m)), the size of a projection on k directions with the logarithm of the number of samples."""


def projection_threshold(scale: str, factor: float, known: Known) -> float:
    """Return L_f, the bound on ||U^T x||: `factor` in units of the scale (jain2021, Theorem 5.2)."""
    return factor * PROJECTION_SCALES[scale](known)
