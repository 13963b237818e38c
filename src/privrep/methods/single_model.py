"""One private linear model for all users: the `Single model` baseline of jain2021's Figure 2.

The paper does not name the mechanism.
`moments`: Algorithm 2 with k = 1 and v_j = 1, that is perturbed d x d normal equations.
`gradient`: full-batch DP-GD, theta <- theta - (step / t) G / c on clipped user gradients.
Since E v_j = 0, the best single model is theta = 0 with excess risk E||theta_j||^2, whatever the privacy.

>>> from privrep.simulate import fit
>>> row, _ = fit("single_model", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, method="moments", clip_feature=2.0,
...              clip_label=1.5)
>>> row["releases"], row["excess_risk"] > 1
(1, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from privrep.methods.gradient_descent import Sequential, gradients
from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.moment_step import MOMENT_COLUMNS, MomentStep
from privrep.options import Declared, among, check_count, ensure, option
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.privacy.regression_moments import SampleClip
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known


def ones(block: Block) -> np.ndarray:
    """Return the head v = 1 for every user, (B, 1)."""
    return np.ones((block.users, 1))


ones.name = "ones"


@dataclass(frozen=True)
class SingleModelOptions(Sequential, Declared):
    """One model for all users: `clip_label` is an option of `moments`, `epochs` and `step` of `gradient`."""

    method: str = option("mechanism of the single model", among(("moments", "gradient")))
    clip_feature: float = option("clipping bound of the features (eta), or of a user's gradient", check_bound)
    clip_label: float = option("clipping bound of the labels (zeta)", check_bound, 1.0)
    epochs: int = option("passes over all users, E", check_count, 1)
    step: float = option("step size, in units of the clipping bound", check_bound, 1.0)
    numbers: ClassVar = {"min_eigenvalue": MOMENT_COLUMNS["min_eigenvalue"]}

    def __post_init__(self):
        super().__post_init__()
        fits = self.method == "gradient" or self.epochs == 1
        ensure(fits, "epochs", self.epochs, "method moments releases once, so it must be 1")

    def build(self, known: Known) -> SingleModelOptions:
        return self

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1."""
        return SampleClip.cost if self.method == "moments" else self.epochs * GAUSSIAN_COST

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        known, samples, clip = users.known, slice(0, users.known.samples), self.clip_feature
        if self.method == "moments":
            step = MomentStep(samples, SampleClip(clip, self.clip_label))(users, ones, release)
            yield Iterate(None, LowRank(step.minimiser, ones), {"min_eigenvalue": step.min_eigenvalue})
            return
        model, unit = np.zeros((known.dim, 1)), known.users * clip
        for t in range(1, self.epochs + 1):
            gradient = release.sum("gradient", users, partial(gradients, model, ones, samples), clip=clip)
            model = model - self.step / t * gradient.value / unit
            yield Iterate(None, LowRank(model, ones))
