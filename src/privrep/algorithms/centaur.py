"""CENTAUR for a linear representation (shen2023, Algorithms 1, 3 and 4).

    B <- INITIALIZATION                                   the best of T_0 runs of the private power method
    for t = 1..T:                                         SERVER
        S1, S2 <- disjoint subsets of q samples each      CLIENT, on the user's side
        w_i <- least squares of y on B^T x over S1
        G_i <- (1/q) sum_{S2} (w_i^T B^T x - y) x w_i^T
        G   <- ( sum_i clip(G_i; zeta_g) + N(0, (sigma_g zeta_g)^2) ) / n
        B   <- QR( B - eta G )                            eta = step / s_1^2
    each user: w_i <- least squares in the final B, on all samples

G_i is a gradient, so the server subtracts it (eq. 24 has the other sign: E11). sigma_g is twice the noise multiplier. Which samples
serve which round is left open by the paper (E52); `sample_use` decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.algorithms.candidate_selection import select
from privrep.algorithms.power_method import check_draws, power_method, random_starts
from privrep.algorithms.server import ClippedSum, Server, clip_outer
from privrep.heads import fit_heads
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.problem import Block, Problem
from privrep.risk import personalised_risk
from privrep.splits import SAMPLE_USES, SampleDraws
from privrep.subspace import check_planted, dist2, dist_frobenius, orthonormalise, planted_subspace, random_subspace
from privrep.task import Outcome, Task, check_choice, check_count
from privrep.thresholds import check_update_scale, gradient_threshold, moment_threshold

STARTS = ("planted", "power_method", "random")


def representation_gradients(
    block: Block, first: np.ndarray, second: np.ndarray, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """CLIENT of Algorithm 4 for all users of a block: l (B, d) and w (B, k) with G_i = l_i w_i^T.

    Parameters
    ----------
    first, second : positions of the samples for the head and for the gradient.
    """
    heads = fit_heads(block.features[first], block.labels[first], basis)
    features = block.features[second]
    projected = features.reshape(-1, len(basis)) @ basis.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = np.einsum("qbk,bk->qb", projected.reshape(len(second), block.users, -1), heads)
        residual = ((fitted - block.labels[second]) / len(second)).astype(np.float32)
        return np.einsum("qbd,qb->bd", features, residual), heads


def client(draws: SampleDraws, samples: int, bound: float) -> ClippedSum:
    """The CLIENT of one round, with samples of its own."""
    first, second = draws.take(samples, samples)

    def gradients(block: Block, basis: np.ndarray, taking_part: np.ndarray) -> np.ndarray:
        return clip_outer(*representation_gradients(block, first, second, basis), bound, taking_part)

    return gradients


@dataclass(frozen=True)
class Algorithm:
    """Options of CENTAUR.

    Parameters
    ----------
    rounds : T. batch_samples : q, samples per user for each of head and gradient in a round.
    clip : zeta_g in units of `clip_scale` (see `privrep.thresholds.UPDATE_SCALES`), which is the unit of `init_clip`, too.
    step : eta s_1^2; the theorem takes 1/4. sample_use : "reuse" or "fresh", see `privrep.splits.SAMPLE_USES`.
    participation, divide_by : see `privrep.algorithms.server`.
    init : `power_method` is Algorithm 3; `planted` starts at sine `start_sine` from the truth in every direction, for laws that
        assume a good start; `random` costs nothing.
    starts, iterations, init_samples, init_clip : T_0, L, samples per user and iteration, and zeta_0 of the power method.
    init_share : share of the whole cost mu^2 that the power method takes. accuracy : eps_i of the selection.
    """

    rounds: int
    clip: float
    batch_samples: int
    clip_scale: str = "practical"
    step: float = 0.25
    sample_use: str = "reuse"
    participation: float = 1.0
    divide_by: str = "expected"
    init: str = "power_method"
    start_sine: float = 0.1
    starts: int = 36
    iterations: int = 14
    init_samples: int = 8
    init_clip: float = 1.0
    init_share: float = 0.5
    accuracy: float = 0.01

    def __post_init__(self):
        Server(self.rounds, self.clip, self.participation, self.divide_by)  # checks these four
        for name in ("batch_samples", "starts", "iterations", "init_samples"):
            check_count(name, getattr(self, name))
        check_bound("init_clip", self.init_clip)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step is {self.step!r}; it must be positive and finite")
        check_update_scale(self.clip_scale)
        check_choice("sample_use", self.sample_use, SAMPLE_USES)
        check_choice("init", self.init, STARTS)
        if not 0 <= self.start_sine < 1:
            raise ValueError(f"start_sine is {self.start_sine!r}; it must be at least 0 and less than 1")
        for name in ("init_share", "accuracy"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must lie strictly between 0 and 1")

    @property
    def cost(self) -> Cost:
        """Of one user at multiplier 1 of the main rounds; the power method's noise follows from its share. Takes no gain from sampling."""
        main = self.rounds * GAUSSIAN_COST
        if self.init != "power_method":
            return main
        return Cost(main.mu_squared / (1 - self.init_share), main.rho / (1 - self.init_share))

    @property
    def theorem(self) -> Theorem:
        """Theorem 5.2: eps = 2 sqrt(T ln(1/delta)) / sigma_g, in which its proof charges the start as much as the rounds."""
        return Theorem("B-T5.2", self.rounds)

    def init_multiplier(self, noise_multiplier: float) -> float:
        """Noise multiplier of a release of the power method: its T_0 L releases take `init_share` of the cost, the T rounds the rest."""
        releases = self.starts * self.iterations
        return noise_multiplier * (releases * (1 - self.init_share) / (self.init_share * self.rounds)) ** 0.5

    def check(self, problem: Problem) -> None:
        if self.batch_samples < problem.rank:
            raise ValueError(f"batch_samples is {self.batch_samples}; it must be at least the rank, {problem.rank}")
        before = [self.init_samples] * self.iterations if self.init == "power_method" else []
        check_draws(self.sample_use, problem, before + [2 * self.batch_samples] * self.rounds)
        if self.init == "planted":
            check_planted(problem.dim, problem.rank)

    def start(self, task: Task, draws: SampleDraws, noise_multiplier: float) -> tuple[np.ndarray, dict, dict]:
        """B_0 (d, k) orthonormal, with what the row logs and what it scores."""
        problem, rng, truth = task.users.problem, task.stream("init"), task.users.truth.basis
        if self.init == "planted":
            return planted_subspace(truth, self.start_sine, rng), {}, {}
        if self.init == "random":
            return random_subspace(problem.dim, problem.rank, rng), {}, {}
        candidates = power_method(
            task.users,
            random_starts(self.starts, problem, rng),
            iterations=self.iterations,
            draw_samples=lambda: draws.take(self.init_samples)[0],
            clip=moment_threshold(self.clip_scale, self.init_clip, problem),
            noise_multiplier=self.init_multiplier(noise_multiplier),
            rng=task.stream("init_noise"),
            ledger=task.ledger,
        )
        chosen = select(candidates, self.accuracy)
        distances = [dist2(candidate, truth) for candidate in candidates]
        log = {"selection_passed": float(chosen.passed)}
        scores = {"start_dist2": distances[chosen.index], "start_dist2_median": float(np.median(distances))}
        return candidates[chosen.index], log, scores

    def fit(self, task: Task) -> Outcome:
        users, problem = task.users, task.users.problem
        noise_multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        clip = gradient_threshold(self.clip_scale, self.clip, problem)
        draws = SampleDraws(self.sample_use, problem.samples, task.stream("samples"))
        start, log, scores = self.start(task, draws, noise_multiplier)
        step = self.step / problem.head_condition**2
        path: list[np.ndarray] = []
        basis = Server(self.rounds, clip, self.participation, self.divide_by).run(
            users,
            start,
            client_of_round=lambda: client(draws, self.batch_samples, clip),
            aggregate=lambda basis, gradient: orthonormalise(basis - step * gradient),
            noise_multiplier=noise_multiplier,
            rng=task.stream("noise"),
            participants=task.stream("participants"),
            ledger=task.ledger,
            name="gradient",
            watch=path.append,
        )
        late = path[self.rounds // 2 :]
        truth = users.truth.basis
        scores |= {
            "steady_dist2": float(np.sqrt(np.mean([dist2(each, truth) ** 2 for each in late]))),
            "steady_distF": float(np.sqrt(np.mean([dist_frobenius(each, truth) ** 2 for each in late]))),
            "largest_dist2": max(dist2(each, truth) for each in path),
        }
        return Outcome(
            excess_risk=personalised_risk(users, basis, slice(0, problem.samples)),
            subspace=basis,
            theorem=self.theorem.id,
            epsilon_paper=self.theorem.epsilon(noise_multiplier, task.budget.delta),
            log={"noise_multiplier": noise_multiplier, "zeta": clip, **log},
            scores=scores,
        )
