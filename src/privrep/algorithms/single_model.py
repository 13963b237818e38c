"""One private linear model for all users: the `Single model` baseline of jain2021's Figure 2.

The paper does not name the mechanism. `moments`: Algorithm 2 with k = 1 and v_j = 1, that is perturbed d x d normal equations.
`gradient`: full-batch DP-GD, theta <- theta - (step / t) G / c on clipped user gradients. Since E v_j = 0, the best single
model is theta = 0 with excess risk E||theta_j||^2, whatever the privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.gradient_descent import private_gradient
from privrep.algorithms.method import Iterate, LowRank, check_choice, check_count
from privrep.algorithms.moment_step import MomentStep, SampleClip
from privrep.data.problem import Block, Problem, UserData
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release


def ones(block: Block) -> np.ndarray:
    """The head v = 1 for every user, (B, 1)."""
    return np.ones((block.users, 1))


ones.name = "ones"


@dataclass(frozen=True)
class SingleByMoments:
    """Algorithm 2 once, with the head 1 for every user."""

    step: MomentStep

    @property
    def cost(self) -> Cost:
        """Of one user."""
        return self.step.clip.cost

    @property
    def theorem(self) -> Theorem:
        """Lemma 4.3."""
        return sequential_theorem(self.cost)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        step = self.step(users, ones, release)
        yield Iterate(None, LowRank(step.minimiser, ones), {"min_eigenvalue": step.min_eigenvalue})


@dataclass(frozen=True)
class SingleByGradients:
    """Full-batch gradient descent. samples : all that a user has. clip : of a user's gradient."""

    samples: slice
    clip: float
    step: float
    epochs: int

    @property
    def cost(self) -> Cost:
        """Of one user."""
        return self.epochs * GAUSSIAN_COST

    @property
    def theorem(self) -> Theorem:
        """Lemma 4.3, composed."""
        return sequential_theorem(self.cost)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        model, unit = np.zeros((users.problem.dim, 1)), users.problem.users * self.clip
        for t in range(1, self.epochs + 1):
            gradient = private_gradient(users, model, ones, self.samples, self.clip, release)
            model = model - self.step / t * gradient / unit
            yield Iterate(None, LowRank(model, ones))


@dataclass(frozen=True)
class Options:
    """Options.

    Parameters
    ----------
    method : {"moments", "gradient"}
    clip_feature : eta of Algorithm 2, or the bound on a user's gradient.
    clip_label : zeta of Algorithm 2; not used by `gradient`.
    epochs, step : passes and step size of `gradient`.
    """

    method: str
    clip_feature: float
    clip_label: float = 1.0
    epochs: int = 1
    step: float = 1.0
    scores = ()
    columns: ClassVar = {
        "method": "mechanism of the single model",
        "clip_feature": "clipping bound of the features (eta), or of a user's gradient",
        "clip_label": "clipping bound of the labels (zeta)",
        "epochs": "passes over all users, E",
        "step": "step size, in units of the clipping bound",
        "min_eigenvalue": "smallest eigenvalue of the noisy Gram over the mean magnitude of all, least over the steps",
    }

    def __post_init__(self):
        check_choice("method", self.method, ("moments", "gradient"))
        check_count("epochs", self.epochs)
        check_bound("step", self.step)
        if self.method == "moments" and self.epochs != 1:
            raise ValueError(f"epochs is {self.epochs!r}; method moments releases once, so it must be 1")
        SampleClip(self.clip_feature, self.clip_label)  # checks both

    def build(self, problem: Problem) -> SingleByMoments | SingleByGradients:
        """The method for any problem."""
        samples = slice(0, problem.samples)
        if self.method == "moments":
            return SingleByMoments(MomentStep(samples, SampleClip(self.clip_feature, self.clip_label)))
        return SingleByGradients(samples, self.clip_feature, self.step, self.epochs)
