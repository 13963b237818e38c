"""Noise for releases about real data: exact discrete Gaussians on a lattice, from the system's randomness.

Noise from a seeded generator is for simulations: the seed reveals the noise, and the low bits of a floating-point sum
reveal which noise was added to it (Mironov 2012). Here g is the largest power of two that is at most 2^-20 sd, with sd
that of the noise. The sum is rounded to multiples of g, and its noise is g k with independent integers k,

    P(k) ~ exp(-k^2 / (2 s^2)),    s = sd / g.

OpenDP draws them by exact rational arithmetic (Algorithm 3 of Canonne, Kamath and Steinke 2020, "CKS") from OpenSSL's
generator, which the system seeds. The release is a function of the integers sum / g + k.

**Free entries.** The free entries of a matrix whose upper triangle is copied are the entries of that triangle, and
distances are between triangles. Averaged noise, (N + N^T) / 2, has independent entries, of this sd on the diagonal and
of sd / sqrt(2) above: they are drawn with these sds and copied, so that no average of two entries leaves the lattice.
For symmetric sums that differ by D, the squared distance in units of the noise is

    sum_i D_ii^2 / sd^2 + sum_{i<j} D_ij^2 / (sd^2 / 2) = |D|_F^2 / sd^2:

Sensitivity is thus in Frobenius norm, as without a lattice. s is at least 2^20, and above such a diagonal 2^19.5.

**Sensitivity.** Let u = 2^-53 and gamma(h) = h u / (1 - h u), which bounds h roundings in float64 in any order (Higham
2002, Lemma 3.1) without under- and overflow. When a user is replaced, the rounded sum moves by at most

    (Delta + 2 gamma(n t + 8) n c + g sqrt(e)) (1 + gamma(t e + 8)).

- Delta is the sensitivity in exact arithmetic at clip c, n the number of users, e of entries (of the triangle
  where it is copied), t of terms that a user adds to an entry (`NoiseSpec.terms`).
- A user's clipped norm has at most t e squares: rounding lets a contribution exceed c by at most the last factor.
- A sum has an error of gamma(n t + 8) times the sum of absolute terms, of norm at most n c; there are two sums.
- Each entry of both sums is rounded by at most g / 2. With averaged noise all e = d^2 of a matrix count.

With several arrays in a release, the two last summands are the root of a sum of squares over the arrays, each in units
of its noise. Noise grows with sensitivity: mu stays as requested, and the ledger records the larger values.

**Privacy.** With mu = sensitivity / sd, the release is mu^2/2-concentrated DP (CKS, Theorem 14, in which each entry may
have its own s). The ledger treats it as mu-GDP, which holds up to a small delta. Let b^2 = s^2 - 1/12, P the law of k,
R that of N(0, b^2) rounded to integers. R added to an integer is N(0, b^2) added to it and rounded: a post-processed
Gaussian mechanism. P is the density of N(0, b^2) + N(0, 1/12) at the integers, normalised; R is that
of N(0, b^2) + U, with U uniform on [-1/2, 1/2], whose first three moments are the same. With f the density of
N(0, b^2),

    sum_k |f^(4)(k - x)| <= int |f^(4)| + int |f^(5)| <= (sqrt(4!) + sqrt(5!) / b) / b^4    for every x,

so that by Taylor's remainder the total variation of P and R is at most

    (3/144 + 1/80) / 24 (sqrt(4!) + sqrt(5!) / b) / (2 b^4) + 4 exp(-2 pi^2 s^2) <= s^-4 / 250    for s >= 50,

the last summand for the normaliser, by Poisson's formula. At s >= 2^19.5 that is less than 2^-85. A run that releases E
free entries in all is within E 2^-85 in total variation of one that is mu-GDP: where the ledger says (epsilon, delta),
it is (epsilon, delta + (1 + e^epsilon) E 2^-85)-DP. The factor `NARROWER` of the sensitivity accounts for b < s.

Not covered: the time of a draw depends on its result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privrep.privacy.noise import Noise, NoiseSpec

FINENESS = 20
"""log2 of the smallest number of lattice steps in one sd of the noise."""
NARROWER = 1 + 2.0**-43
"""Factor that exceeds s / sqrt(s^2 - 1/12) at s >= 2^19.5 and covers the rounding of the few numbers computed here."""
SPARE = 8
"""Roundings of a root, a factor and products, besides those of sums."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Range of an sd, so that nothing under- or overflows."""


class SystemNoise:
    """The system's randomness as a source of noise: without a seed, without a state."""

    def integers(self, scale: float, count: int) -> np.ndarray:
        """Draw independent discrete Gaussians, P(k) ~ exp(-k^2 / (2 scale^2)), (count,) int64."""
        import opendp.prelude as opendp  # here, since it takes a tenth of a second

        opendp.enable_features("contrib")  # for parts of OpenDP whose proofs are not fully reviewed, as here
        space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
        return np.array(opendp.m.make_gaussian(*space, scale=scale)([0] * count), np.int64)


@dataclass(frozen=True)
class LatticeNoise(Noise):
    """Noise on the multiples of a spacing, which is a power of two in the unit of the sum."""

    spacing: float = 1.0

    def added(self, exact: np.ndarray, multiplier: float, source: SystemNoise) -> np.ndarray:
        """Return the sum, rounded to the lattice, plus noise; only the upper triangle of a symmetric matrix is read."""
        scale = self.sd * multiplier / self.spacing
        rounded = self.spacing * np.rint(exact / self.spacing)
        if self.form == "independent":
            return rounded + self.spacing * source.integers(scale, exact.size).reshape(exact.shape)
        steps = np.diag(source.integers(scale, len(exact)))
        above = np.triu_indices(len(exact), 1)
        steps[above] = source.integers(scale * 0.5**0.5 if self.form == "averaged" else scale, len(above[0]))
        upper = np.triu(rounded) + self.spacing * steps
        return upper + np.triu(upper, 1).T


def spacing(sd: float) -> float:
    """Return the largest power of two that is at most 2^-20 sd."""
    return math.ldexp(0.5, math.frexp(sd)[1] - FINENESS)


def entries(array: np.ndarray, noise: Noise) -> int:
    """Return the number of entries that are rounded; for a copied matrix, those of the triangle."""
    return len(array) * (len(array) + 1) // 2 if noise.form == "copied" else array.size


def gamma(roundings: int) -> float:
    """Return the largest relative change of a number by this many roundings in float64."""
    return roundings / (2**53 - roundings)


def on_lattice(name: str, spec: NoiseSpec, exact: Sequence[np.ndarray], users: int, multiplier: float) -> NoiseSpec:
    """Return the specification of the same release on a lattice: one factor enlarges sensitivity and noise."""
    if spec.terms is None:
        raise ValueError(
            f"release {name!r}: the rounding of its sum has no known bound, as in float32; noise from the "
            "system's randomness is for sums of float64 whose noise specification has `terms`"
        )
    for noise in spec.noises:
        if not SMALLEST <= noise.sd * multiplier <= LARGEST:
            raise ValueError(
                f"release {name!r}: sd of its noise is {noise.sd * multiplier!r}; it must lie between {SMALLEST:g} and "
                f"{LARGEST:g}"
            )
    noises = [LatticeNoise(noise.sd, noise.form, spacing(noise.sd * multiplier)) for noise in spec.noises]
    summing = 2 * gamma(users * spec.terms + SPARE) * users
    moved = [
        (summing * bound + noise.spacing * math.sqrt(entries(array, noise))) / noise.sd
        for array, noise, bound in zip(exact, noises, spec.bounds, strict=True)
    ]
    clipping = gamma(spec.terms * max(array.size for array in exact) + SPARE)
    factor = (1 + spec.noise_sd * math.hypot(*moved) / spec.sensitivity) * (1 + clipping) * NARROWER
    return replace(
        spec,
        sensitivity=spec.sensitivity * factor,
        noise_sd=spec.noise_sd * factor,
        noises=tuple(replace(noise, sd=noise.sd * factor) for noise in noises),
    )
