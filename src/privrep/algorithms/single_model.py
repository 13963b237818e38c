"""One private linear model for all users: the `Single model` baseline of jain2021's Figure 2.

The paper does not name the mechanism. `moments`: Algorithm 2 with k = 1 and v_j = 1, that is perturbed d x d normal equations.
`gradient`: full-batch DP-GD, theta <- theta - (step / t) G / c on clipped user gradients. Since E v_j = 0, the best single
model is theta = 0 with excess risk E||theta_j||^2, whatever the privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.algorithms.gradient_descent import clipped_gradients
from privrep.algorithms.moment_step import SampleClip, moment_step
from privrep.privacy.accounting import Cost, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST, release_vector
from privrep.problem import Block, Problem, Users
from privrep.risk import block_excess
from privrep.task import Outcome, Task, check_choice, check_count


def ones(block: Block) -> np.ndarray:
    """The head v = 1 for every user, (B, 1)."""
    return np.ones((block.users, 1))


def single_model_risk(users: Users, model: np.ndarray) -> float:
    """Mean excess risk of one theta (d, 1) for all users."""
    total = sum(block_excess(block, users.truth, model, ones(block)).sum() for block in users.blocks())
    return float(total / users.problem.users)


@dataclass(frozen=True)
class Algorithm:
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

    def __post_init__(self):
        check_choice("method", self.method, ("moments", "gradient"))
        check_count("epochs", self.epochs)
        check_bound("step", self.step)
        if self.method == "moments" and self.epochs != 1:
            raise ValueError(f"epochs is {self.epochs!r}; method moments releases once, so it must be 1")
        _ = self.clip

    @property
    def clip(self) -> SampleClip:
        return SampleClip(self.clip_feature, self.clip_label)

    @property
    def cost(self) -> Cost:
        return self.clip.cost if self.method == "moments" else self.epochs * GAUSSIAN_COST

    def check(self, problem: Problem) -> None:
        """Any problem will do."""

    def fit(self, task: Task) -> Outcome:
        users = task.users
        theorem = sequential_theorem(self.cost)
        noise_multiplier = task.budget.noise_multiplier(self.cost, theorem)
        run = self._moments if self.method == "moments" else self._gradient
        model, log = run(task, noise_multiplier)
        return Outcome(
            excess_risk=single_model_risk(users, model),
            theorem=theorem.id,
            epsilon_paper=theorem.epsilon(noise_multiplier, task.budget.delta),
            log={"noise_multiplier": noise_multiplier, **log},
        )

    def _moments(self, task: Task, noise_multiplier: float) -> tuple[np.ndarray, dict]:
        step = moment_step(
            task.users,
            range(task.users.problem.users),
            ones,
            samples=slice(0, task.users.problem.samples),
            clip=self.clip,
            noise_multiplier=noise_multiplier,
            rng=task.stream("noise"),
            ledger=task.ledger,
        )
        return step.minimiser, {"min_eigenvalue": step.min_eigenvalue}

    def _gradient(self, task: Task, noise_multiplier: float) -> tuple[np.ndarray, dict]:
        problem, noise = task.users.problem, task.stream("noise")
        model = np.zeros((problem.dim, 1))
        for t in range(1, self.epochs + 1):
            total = np.zeros_like(model)
            for block in task.users.blocks():
                total += clipped_gradients(block, slice(0, problem.samples), model, ones(block), self.clip_feature)
            gradient = release_vector(
                total,
                bound=self.clip_feature,
                noise_multiplier=noise_multiplier,
                rng=noise,
                ledger=task.ledger,
                users=range(problem.users),
                name="gradient",
            )
            model = model - self.step / t * gradient / (problem.users * self.clip_feature)
        return model, {}
