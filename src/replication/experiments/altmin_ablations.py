"""Alternating minimisation with one part exchanged: true heads in the subspace step, or the Gram's noise averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.methods.altmin import AltminOptions
from privrep.methods.steps.moment_step import SYMMETRIES, MomentStep
from privrep.options import among, option
from privrep.privacy.regression_moments import MomentClip
from privrep.users.blocks import true_heads
from privrep.users.heads import FittedHeads, HeadRule


@dataclass(frozen=True)
class AltminAblationsOptions(AltminOptions):
    """Options of alternating minimisation, and of the two parts that can be exchanged.

    With true heads the subspace step is the single regression of jain2021 Remark 1. Averaging noise is our variant."""

    heads: str = option("heads in the subspace step: fitted, or the true ones", among(("fitted", "true")), "fitted")
    symmetry: str = option("how noise of the Gram is made symmetric: copied, or averaged", among(SYMMETRIES), "copied")
    varies = "altmin"

    def moment_step(self, samples: slice, clip: MomentClip, fallback: str) -> MomentStep:
        return MomentStep(samples, clip, fallback, self.symmetry)

    def head_rule(self, basis: np.ndarray, samples: slice) -> HeadRule:
        return FittedHeads(basis, samples) if self.heads == "fitted" else true_heads
