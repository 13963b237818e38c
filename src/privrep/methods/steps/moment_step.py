"""Private subspace step by perturbed sufficient statistics (jain2021, Algorithm 2).

    w_ij <- clip( vec(x_ij v_j^T); eta ),   y_ij <- clip(y_ij; zeta)
    A <- sum w_ij w_ij^T + N_sym(0, (2 q eta^2 Delta)^2)
    b <- sum y_ij w_ij   + N(0, (2 q eta zeta Delta)^2)
    U <- QR( unvec( A^{-1} b ) )

with q samples per user; vec stacks columns. For q = m/4 the noise is the printed m eta^2 Delta / 2 and m eta zeta Delta
/ 2. The printed argmin exists only while the noisy A is positive definite (E21). Here the linear system is solved in
any case; the smallest eigenvalue of A in the row of results shows whether A was.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from privrep.options import ensure
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.privacy.regression_moments import MomentClip, Moments
from privrep.users.blocks import Block, UserData
from privrep.users.heads import HeadRule
from privrep.users.known import Known
from privrep.users.splits import Split, count, split_samples

MOMENT_COLUMNS = {
    "clip_feature": "clipping bound of the features (eta), or of the whole A_j of a user",
    "clip_label": "clipping bound of the labels (zeta), or of the whole b_j of a user",
    "eta": "clipping bound of the features in absolute terms",
    "zeta": "clipping bound of the labels in absolute terms",
    "min_eigenvalue": "smallest eigenvalue of the noisy Gram over the mean magnitude of all, least over the steps",
}


def check_split(preset: str, known: Known) -> Split:
    """Return the split, after checking that each step has enough samples for the rank."""
    split = split_samples(preset, known.samples)
    for step in ("heads", "final"):
        samples = count(getattr(split, step))
        what = f"split {preset!r} leaves {samples} for {step}, which need at least rank = {known.rank}"
        ensure(samples >= known.rank, "samples", known.samples, what)
    return split


def disjoint_batches(users: int, count: int) -> list[range]:
    """Return contiguous ranges of users whose sizes differ by at most one."""
    return [range(t * users // count, (t + 1) * users // count) for t in range(count)]


@dataclass(frozen=True, eq=False)
class UserMoments:
    """Contribution of users: moments of a range of their samples, with heads from a rule."""

    heads: HeadRule
    samples: slice
    averaged: bool = False  # see `privrep.privacy.regression_moments.Moments`
    narrow = True

    @property
    def key(self) -> Hashable:
        """Cache key: all that the sum depends on besides the data; None if the head rule has no name."""
        name = getattr(self.heads, "name", None)
        return name and (name, self.samples.start, self.samples.stop, self.averaged)

    def __call__(self, block: Block) -> Moments:
        samples = self.samples
        features, labels, norms = (part[samples] for part in (block.features, block.labels, block.feature_norms))
        return Moments(features, labels, norms, self.heads(block), self.averaged)


FALLBACKS = {
    "solve": lambda eigenvalues, noise_norm: eigenvalues,
    "ridge": lambda eigenvalues, noise_norm: eigenvalues + noise_norm,
    "eigclip": lambda eigenvalues, noise_norm: np.maximum(eigenvalues, noise_norm) if noise_norm else eigenvalues,
}
"""Name -> numbers that replace the eigenvalues of the noisy A in its inverse, given the norm of its noise, which is
public: 2 sd sqrt(dk), over sqrt(2) for averaged noise. `solve`: the eigenvalues themselves, whatever their sign.
`ridge`: all of them plus the norm. `eigclip`: those below the norm raised to it. The paper has no rule (E21); all three
only process what was released."""
SYMMETRIES = ("copied", "averaged")
"""How the noise of A is made symmetric: its upper triangle copied below, as printed; or averaged with its transpose."""


@dataclass(frozen=True)
class Step:
    """Minimiser of one private step, and distance of its linear system from a singular one."""

    minimiser: np.ndarray  # (d, k), not orthonormalised
    min_eigenvalue: float  # of the noisy A, over the mean magnitude of all; the printed argmin exists only above 0


@dataclass(frozen=True)
class MomentStep:
    """Algorithm 2: one private minimisation over the users of a release, whose heads are given by a rule."""

    samples: slice
    clip: MomentClip
    fallback: str = "solve"  # name in `FALLBACKS`
    symmetry: str = "copied"  # one of `SYMMETRIES`

    def __call__(self, users: UserData, head_rule: HeadRule, release: Release) -> Step:
        averaged = self.symmetry == "averaged"
        contribution = UserMoments(head_rule, self.samples, averaged)
        second, first = release.sums(users, contribution, NamedSum("moment_step", self.clip))
        eigenvalues, vectors = np.linalg.eigh(second.value)
        noise_norm = 2 * second.sd * (len(eigenvalues) / (1 + averaged)) ** 0.5
        solution = vectors @ ((vectors.T @ first.value) / FALLBACKS[self.fallback](eigenvalues, noise_norm))
        minimiser = solution.reshape(-1, users.known.dim).T
        return Step(minimiser, float(eigenvalues[0] / np.abs(eigenvalues).mean()))
