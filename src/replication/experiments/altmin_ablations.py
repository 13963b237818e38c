"""Alternating minimisation with one part in place of another: the true heads, averaged noise, or all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privrep.methods.altmin import AltminOptions
from privrep.methods.spectral_init import PAIRS, SpectralInit
from privrep.methods.steps.moment_step import SYMMETRIES, MomentStep
from privrep.methods.steps.starts import Start
from privrep.options import among, option
from privrep.privacy.regression_moments import MomentClip
from privrep.users.heads import FittedHeads, HeadRule, true_heads


@dataclass(frozen=True)
class AltminAblationsOptions(AltminOptions):
    """Options of alternating minimisation, and its parts.

    True heads make the subspace step the one regression of jain2021 Remark 1. All pairs and averaged noise are not in
    the paper."""

    heads: str = option("heads in the subspace step: fitted, or the true ones", among(("fitted", "true")), "fitted")
    symmetry: str = option("how noise of the Gram is made symmetric: copied, or averaged", among(SYMMETRIES), "copied")
    init_pairs: str = option("sample pairs in Algorithm 3: disjoint, or all, clipped by user", among(PAIRS), "disjoint")
    varies = "altmin"

    def start(self, samples: slice = slice(0)) -> Start:
        found = super().start(samples)
        return replace(found, pairs=self.init_pairs) if isinstance(found, SpectralInit) else found

    def moment_step(self, samples: slice, clip: MomentClip, fallback: str) -> MomentStep:
        return MomentStep(samples, clip, fallback, self.symmetry)

    def head_rule(self, basis: np.ndarray, samples: slice) -> HeadRule:
        return FittedHeads(basis, samples) if self.heads == "fitted" else true_heads
