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

from privrep.algorithms.moment_step import FALLBACKS, Clip, HeadRule, SampleClip, Step, UserClip, moment_step
from privrep.algorithms.spectral_init import spectral_init
from privrep.heads import fit_heads
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.problem import Problem, Users
from privrep.risk import personalised_risk
from privrep.splits import Split, count, split_samples
from privrep.subspace import check_planted, orthonormalise, planted_subspace, random_subspace
from privrep.task import Outcome, Task, check_choice, check_count
from privrep.thresholds import USER_SCALES, check_scale, feature_threshold, label_threshold, user_units

STARTS = ("random", "spectral")
HEADS = ("fitted", "true")

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


def fitted_heads(basis, samples: slice) -> HeadRule:
    """The head step of Algorithm 1, on the users' side."""
    return lambda block: fit_heads(block.features[samples], block.labels[samples], basis)


def alternate(
    users: Users,
    batch: range,
    basis,
    split: Split,
    clip: Clip,
    noise_multiplier: float,
    rng,
    ledger,
    fallback: str = "solve",
) -> Step:
    """One head step on the users' side and one private subspace step."""
    return moment_step(
        users,
        batch,
        fitted_heads(basis, split.heads),
        samples=split.subspace,
        clip=clip,
        noise_multiplier=noise_multiplier,
        rng=rng,
        ledger=ledger,
        fallback=fallback,
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
    init : {"random", "spectral", "planted"}
        A planted start knows the truth, for the local theory; privacy statements then take the truth as public.
    split : name in `privrep.splits.PRESETS`
    epochs : passes over all users, E.
    batches : disjoint batches per epoch, T.
    clip_unit : {"sample", "user"}; `user` is not in the paper.
    clip_feature, clip_label : eta and zeta of Algorithm 2, or the bounds of the whole A_j and b_j for clip_unit "user".
    init_label_clip : zeta of Algorithm 3.
    init_share : share of the whole cost mu^2 that Algorithm 3 takes; by default one noise multiplier serves all releases, as printed.
    clip_scale : unit of the three bounds, a name in `privrep.thresholds.SCALES`; for clip_unit "user" `absolute` or `data`.
    start_sine : sine of every principal angle between a planted start and the truth.
    heads : {"fitted", "true"}; true heads make the subspace step the one regression of jain2021 Remark 1.
    fallback : name in `privrep.algorithms.moment_step.FALLBACKS`.
    """

    init: str
    split: str
    clip_feature: float
    clip_label: float
    epochs: int = 1
    batches: int = 1
    clip_unit: str = "sample"
    init_label_clip: float = 2.0
    init_share: float | None = None
    clip_scale: str = "absolute"
    start_sine: float = 0.1
    heads: str = "fitted"
    fallback: str = "solve"

    def __post_init__(self):
        check_choice("init", self.init, (*STARTS, "planted"))
        check_choice("clip_unit", self.clip_unit, ("sample", "user"))
        check_count("epochs", self.epochs)
        check_count("batches", self.batches)
        check_bound("clip_feature", self.clip_feature)
        check_bound("clip_label", self.clip_label)
        check_bound("init_label_clip", self.init_label_clip)
        check_scale(self.clip_scale)
        if self.clip_unit == "user" and self.clip_scale not in USER_SCALES:
            raise ValueError(f"clip_scale is {self.clip_scale!r}; clip_unit 'user' needs 'absolute' or 'data'")
        if self.init_share is not None and not (self.init == "spectral" and 0 < self.init_share < 1):
            raise ValueError(
                f"init_share is {self.init_share!r}; it must lie strictly between 0 and 1, and init must be spectral"
            )
        if not 0 <= self.start_sine <= 1:
            raise ValueError(f"start_sine is {self.start_sine!r}; it must lie between 0 and 1")
        check_choice("heads", self.heads, HEADS)
        check_choice("fallback", self.fallback, tuple(FALLBACKS))

    @property
    def clip_kind(self) -> type[SampleClip] | type[UserClip]:
        return SampleClip if self.clip_unit == "sample" else UserClip

    def clip(self, problem: Problem) -> Clip:
        """The thresholds in absolute terms."""
        if self.clip_unit == "user":
            units = user_units(self.clip_scale, problem, count(split_samples(self.split, problem.samples).subspace))
            return UserClip(self.clip_feature * units[0], self.clip_label * units[1])
        return SampleClip(
            feature_threshold(self.clip_scale, self.clip_feature, problem),
            label_threshold(self.clip_scale, self.clip_label, problem),
        )

    @property
    def cost(self) -> Cost:
        """Of one user: the initialisation, and in each epoch the one batch that the user is in."""
        steps = self.epochs * self.clip_kind.cost
        if self.init != "spectral":
            return steps
        return GAUSSIAN_COST + steps if self.init_share is None else (1 / (1 - self.init_share)) * steps

    def init_multiplier(self, noise_multiplier: float) -> float:
        """Noise multiplier of Algorithm 3: its release takes `init_share` of the cost, the steps the rest."""
        if self.init_share is None:
            return noise_multiplier
        steps = self.epochs * self.clip_kind.cost.mu_squared
        return noise_multiplier * (GAUSSIAN_COST.mu_squared / steps * (1 - self.init_share) / self.init_share) ** 0.5

    @property
    def theorem(self) -> Theorem:
        """Theorem 4.2 for the algorithm as stated (one epoch of disjoint batches from Algorithm 3); Lemma 4.3, composed, for the rest."""
        if self.init == "spectral" and self.init_share is None and self.epochs == 1 and self.batches > 1:
            return THEOREM_4_2
        return sequential_theorem(self.cost)

    def check(self, problem: Problem) -> None:
        check_split(self.split, problem)
        if self.batches > problem.users:
            raise ValueError(f"batches is {self.batches}; it must not exceed users, which is {problem.users}")
        if self.init == "planted":
            check_planted(problem.dim, problem.rank)

    def start(self, task: Task, split: Split, noise_multiplier: float):
        """U_init, (d, k) orthonormal."""
        users = task.users
        if self.init == "planted":
            return planted_subspace(users.truth.basis, self.start_sine, task.stream("init"))
        label_clip = label_threshold(self.clip_scale, self.init_label_clip, users.problem)
        return start_subspace(self.init, users, split, label_clip, self.init_multiplier(noise_multiplier), task)

    def fit(self, task: Task) -> Outcome:
        users, split = task.users, check_split(self.split, task.users.problem)
        n, clip = users.problem.users, self.clip(users.problem)
        noise_multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        basis = self.start(task, split, noise_multiplier)
        noise = task.stream("noise")
        smallest = float("inf")
        for _ in range(self.epochs):
            for t in range(self.batches):
                batch = range(t * n // self.batches, (t + 1) * n // self.batches)
                step = moment_step(
                    users,
                    batch,
                    fitted_heads(basis, split.heads) if self.heads == "fitted" else lambda block: block.heads,
                    samples=split.subspace,
                    clip=clip,
                    noise_multiplier=noise_multiplier,
                    rng=noise,
                    ledger=task.ledger,
                    fallback=self.fallback,
                )
                basis = orthonormalise(step.minimiser)
                smallest = min(smallest, step.min_eigenvalue)
        log = {"noise_multiplier": noise_multiplier, "min_eigenvalue": smallest}
        if self.clip_unit == "sample":
            log |= {"eta": clip.feature, "zeta": clip.label}
        return Outcome(
            excess_risk=personalised_risk(users, basis, split.final),
            subspace=basis,
            theorem=self.theorem.id,
            epsilon_paper=self.theorem.epsilon(noise_multiplier, task.budget.delta),
            log=log,
        )
