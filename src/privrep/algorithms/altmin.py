"""Private alternating minimisation (jain2021, Algorithm 1 `Priv-AltMin`, with Algorithms 2 and 3).

    U <- U_init
    for t = 1..T, on disjoint batches S_t of users, in each of E epochs:
        v_j <- least squares of y_ij on U^T x_ij        for j in S_t, on the user's side
        U   <- private step over S_t                    Algorithm 2
    v_j <- least squares in the final U                 on the user's side

The theorems have E = 1 and T batches; Section 6 has T = 1 and E epochs over all users, whose costs add up. Batches are
contiguous ranges of users, who are drawn independently, in place of the printed random permutation.
"""

from __future__ import annotations

from dataclasses import dataclass

from privrep.algorithms.moment_step import Clip, SampleClip, Step, UserClip, moment_step
from privrep.algorithms.spectral_init import spectral_init
from privrep.heads import fit_heads
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.problem import Problem, Users
from privrep.risk import personalised_risk
from privrep.splits import Split, count, split_samples
from privrep.subspace import orthonormalise, random_subspace
from privrep.task import Outcome, Task, check_choice, check_count

STARTS = ("random", "spectral")

THEOREM_4_2 = Theorem("A-T4.2", 16)
"""Delta = sqrt(16 L)/eps for Algorithm 3 and one pass of Algorithm 1 over disjoint batches."""


def start_subspace(init: str, users: Users, split: Split, label_clip: float, noise_multiplier: float, task: Task):
    """U_init, (d, k) orthonormal: `random` costs nothing, `spectral` is Algorithm 3."""
    if init == "random":
        return random_subspace(users.problem.dim, users.problem.rank, task.stream("init"))
    return spectral_init(
        users,
        samples=split.init,
        label_clip=label_clip,
        noise_multiplier=noise_multiplier,
        rng=task.stream("init_noise"),
        ledger=task.ledger,
    )


def alternate(
    users: Users, batch: range, basis, split: Split, clip: Clip, noise_multiplier: float, rng, ledger
) -> Step:
    """One head step on the users' side and one private subspace step."""
    return moment_step(
        users,
        batch,
        lambda block: fit_heads(block.features[split.heads], block.labels[split.heads], basis),
        samples=split.subspace,
        clip=clip,
        noise_multiplier=noise_multiplier,
        rng=rng,
        ledger=ledger,
    )


def check_split(preset: str, problem: Problem) -> Split:
    """The split, after checking that each step has enough samples for the rank."""
    split = split_samples(preset, problem.samples)
    for step in ("heads", "final"):
        samples = count(getattr(split, step))
        if samples < problem.rank:
            raise ValueError(
                f"samples is {problem.samples}; split {preset!r} leaves {samples} for {step}, which need at least rank = {problem.rank}"
            )
    return split


@dataclass(frozen=True)
class Algorithm:
    """Options of private alternating minimisation.

    Parameters
    ----------
    init : {"random", "spectral"}
    split : name in `privrep.splits.PRESETS`
    epochs : passes over all users, E.
    batches : disjoint batches per epoch, T.
    clip_unit : {"sample", "user"}; `user` is not in the paper.
    clip_feature, clip_label : eta and zeta of Algorithm 2, or the bounds of the whole A_j and b_j for clip_unit "user".
    init_label_clip : zeta of Algorithm 3.
    """

    init: str
    split: str
    clip_feature: float
    clip_label: float
    epochs: int = 1
    batches: int = 1
    clip_unit: str = "sample"
    init_label_clip: float = 2.0

    def __post_init__(self):
        check_choice("init", self.init, STARTS)
        check_choice("clip_unit", self.clip_unit, ("sample", "user"))
        check_count("epochs", self.epochs)
        check_count("batches", self.batches)
        check_bound("init_label_clip", self.init_label_clip)
        _ = self.clip

    @property
    def clip(self) -> Clip:
        return (SampleClip if self.clip_unit == "sample" else UserClip)(self.clip_feature, self.clip_label)

    @property
    def cost(self) -> Cost:
        """Of one user: the initialisation, and in each epoch the one batch that the user is in."""
        steps = self.epochs * self.clip.cost
        return GAUSSIAN_COST + steps if self.init == "spectral" else steps

    @property
    def theorem(self) -> Theorem:
        """Theorem 4.2 for the algorithm as stated (one epoch of disjoint batches from Algorithm 3); Lemma 4.3, composed, for the rest."""
        if self.init == "spectral" and self.epochs == 1 and self.batches > 1:
            return THEOREM_4_2
        return sequential_theorem(self.cost)

    def check(self, problem: Problem) -> None:
        check_split(self.split, problem)
        if self.batches > problem.users:
            raise ValueError(f"batches is {self.batches}; it must not exceed users, which is {problem.users}")

    def fit(self, task: Task) -> Outcome:
        users, split = task.users, check_split(self.split, task.users.problem)
        n = users.problem.users
        noise_multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        basis = start_subspace(self.init, users, split, self.init_label_clip, noise_multiplier, task)
        noise = task.stream("noise")
        smallest = float("inf")
        for _ in range(self.epochs):
            for t in range(self.batches):
                batch = range(t * n // self.batches, (t + 1) * n // self.batches)
                step = alternate(users, batch, basis, split, self.clip, noise_multiplier, noise, task.ledger)
                basis = orthonormalise(step.minimiser)
                smallest = min(smallest, step.min_eigenvalue)
        return Outcome(
            excess_risk=personalised_risk(users, basis, split.final),
            subspace=basis,
            theorem=self.theorem.id,
            epsilon_paper=self.theorem.epsilon(noise_multiplier, task.budget.delta),
            log={"noise_multiplier": noise_multiplier, "min_eigenvalue": smallest},
        )
