"""Private FedRep for a linear representation (Snedeker, Zhou and Bassily, "Private Model Personalization Revisited", ICML 2025).

    U <- U_init
    for t = 1..T:
        each user: v_i <- least squares of y on U^T x over S
                   G_i <- (1/|S'|) sum_{S'} (v_i^T U^T x - y) x v_i^T                  half the printed gradient
        G <- ( sum_i clip(G_i; c) + N(0, (2 c Delta)^2) ) / n                         Frobenius norm, whole user
        U <- QR( U - eta G )                                                          eta = step / s_1^2
    each user: v_i <- least squares in the final U

A round is that of CENTAUR with other samples and another start. Replacing a user moves sum_i clip(G_i; c) by at most 2 c, since both the
old and the new contribution are clipped to norm c, whatever their samples.

The public code (github.com/learningformality/Private_FedRep, FedRep_Ready.py) has S = S' = all samples of the user in every round, and
fits the last heads on as many samples of their own. It clips a user's whole gradient, as the paper does. It runs T = 5, step 2.5 and
clip 10 on the gradient of the mean squared error, twice the above, for heads of norm 1: E v v^T = I/k. For heads with E v v^T = I, as
here, and half the gradient, clip 10 is 10 k/2, which at its d = 50, k = 2 is 0.5 sqrt(d) k^1.5, and step 2.5 is 2.5: the defaults. Its
noise sd on G is c sqrt(48 T ln(1.25/delta)) / (n eps), a noise multiplier of sqrt(12 T ln(1.25/delta)) / eps; here the budget decides.
Its baseline, alternating minimisation, has m times the noise on b that it needs, and its clips of 1e-4 leave A so small that the ridge of
1e-8 decides it.
The paper, as second-hand notes have it (its text was not at hand), takes in each round two disjoint batches of floor(m / 2T) samples
that serve once: `sample_use: fresh`.

Differs from both: U_init. The code takes singular vectors of a matrix that is zero but for rounding (it subtracts the same sum twice) and adds
no noise. The notes have a private one, of which half of the budget is spent, from all pairs of samples, clipped by user. Here `spectral` is
Algorithm 3 of jain2021, with `init_share` of the cost, `random` costs nothing. What serves the start serves the rounds again. The code
says nothing of E v v^T; eta in units of 1 / s_1^2 is this project's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.centaur import client
from privrep.algorithms.clip_units import CLIP_SCALE_COLUMN, check_update_scale, gradient_threshold, label_threshold
from privrep.algorithms.method import Iterate, LowRank, check_choice, check_count, check_share, check_sine
from privrep.algorithms.server import SERVER_COLUMNS, Server
from privrep.algorithms.spectral_init import SpectralInit
from privrep.algorithms.starts import START_COLUMNS, RandomStart, Start, planted_start
from privrep.data.heads import FINAL_HEADS, FINAL_HEADS_COLUMN, FittedHeads, final_penalty
from privrep.data.problem import Problem, UserData
from privrep.data.splits import SAMPLE_USES, SampleDraws, check_draws
from privrep.data.subspace import orthonormalise
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release

STARTS = ("planted", "random", "spectral")
USES = ("same", *SAMPLE_USES)
"""`same`: head and gradient take the same samples, in each round. The others: see `privrep.data.splits.SAMPLE_USES`."""


class SameSamples:
    """Stands in for `SampleDraws` where every subset is that of the first samples."""

    def take(self, *sizes: int) -> list[np.ndarray]:
        """Positions of the subsets of one round."""
        return [np.arange(size) for size in sizes]


@dataclass(frozen=True)
class PrivateFedRep:
    """The alternation of private gradient steps.

    Attributes
    ----------
    start : U_init. server : the rounds, with c. batch_samples : |S| = |S'|. step : eta. sample_use : one of `USES`.
    final_samples : the last ones, which serve the last heads alone; with 0 these take all samples. penalty : of these heads.
    """

    start: Start
    server: Server
    batch_samples: int
    step: float
    sample_use: str
    final_samples: int
    penalty: float = 0.0

    theorem = None

    @property
    def cost(self) -> Cost:
        """Of one user at multiplier 1 of the rounds; a start's noise follows from its share."""
        return self.start.cost_with(self.server.cost)

    def draws(self, samples: int, release: Release) -> SampleDraws | SameSamples:
        """What picks the samples of a round."""
        if self.sample_use == "same":
            return SameSamples()
        return SampleDraws(self.sample_use, samples, release.streams["samples"])

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        start = self.start.first(users, release, self.server.cost)
        yield start
        samples = users.problem.samples
        in_rounds = samples - self.final_samples
        draws = self.draws(in_rounds, release)
        final = slice(in_rounds if self.final_samples else 0, samples)
        for basis in self.server.run(
            "gradient",
            users,
            start.subspace,
            client_of_round=lambda: client(draws, self.batch_samples, self.server.clip),
            aggregate=lambda basis, gradient: orthonormalise(basis - self.step * gradient),
            release=release,
        ):
            yield Iterate(basis, LowRank(basis, FittedHeads(basis, final, self.penalty)), {"zeta": self.server.clip})


@dataclass(frozen=True)
class Options:
    """Options of private FedRep. The defaults are those of the public code, but for the start.

    Parameters
    ----------
    rounds : T. step : eta s_1^2. clip : c in units of `clip_scale` (see `privrep.algorithms.clip_units.UPDATE_SCALES`).
    sample_use : `same` as in the code, `fresh` as in the proofs, or `reuse`: two disjoint batches anew in each round.
    batch_samples : for each of head and gradient in a round; by default as many as there are.
    final_samples : samples that serve the last heads alone; the code has as many of them as for the rounds.
    init : `spectral` is Algorithm 3 of jain2021; `planted` starts at sine `start_sine` from the truth; `random` costs nothing.
    init_label_clip : zeta of Algorithm 3, absolute for the clip_scale `absolute`, else in units of a label's sd: c sqrt(k) + sigma_F.
    init_share : share of the whole cost mu^2 that Algorithm 3 takes.
    final_heads : one of `privrep.data.heads.FINAL_HEADS`.
    """

    rounds: int = 5
    clip: float = 0.5
    clip_scale: str = "practical"
    step: float = 2.5
    sample_use: str = "same"
    batch_samples: int | None = None
    final_samples: int = 0
    init: str = "spectral"
    start_sine: float = 0.1
    init_label_clip: float = 0.5
    init_share: float = 0.5
    final_heads: str = "least squares"
    scores = ()
    columns: ClassVar = (
        {name: SERVER_COLUMNS[name] for name in ("rounds", "clip", "zeta")}
        | CLIP_SCALE_COLUMN
        | START_COLUMNS
        | FINAL_HEADS_COLUMN
        | {
            "step": "step size, in units of 1 / s_1^2",
            "sample_use": "whether head and gradient share their samples (same), or these serve one round alone (fresh) or are drawn anew (reuse)",
            "batch_samples": "samples per user for each of head and gradient in a round",
            "final_samples": "samples per user that serve the last heads alone",
            "init_label_clip": "clipping bound of the labels in Algorithm 3",
            "init_share": "share of the privacy cost that Algorithm 3 takes",
        }
    )

    def __post_init__(self):
        Server(self.rounds, self.clip)  # checks both
        check_update_scale(self.clip_scale)
        if not 0 < self.step < math.inf:
            raise ValueError(f"step is {self.step!r}; it must be positive and finite")
        check_choice("sample_use", self.sample_use, USES)
        if self.batch_samples is not None:
            check_count("batch_samples", self.batch_samples)
        if self.final_samples != 0:
            check_count("final_samples", self.final_samples)
        check_choice("init", self.init, STARTS)
        check_sine(self.start_sine)
        check_bound("init_label_clip", self.init_label_clip)
        check_share("init_share", self.init_share)
        check_choice("final_heads", self.final_heads, FINAL_HEADS)

    def start(self, problem: Problem, samples: int) -> Start:
        """U_init, where it is spectral from the pairs of the first `samples` samples."""
        if self.init == "planted":
            return planted_start(self.start_sine, problem)
        if self.init == "random":
            return RandomStart(problem.rank)
        scale = "absolute" if self.clip_scale == "absolute" else "data"
        label_clip = label_threshold(scale, self.init_label_clip, problem)
        return SpectralInit(problem.rank, slice(0, samples - samples % 2), label_clip, self.init_share)

    def batch(self, problem: Problem, samples: int) -> int:
        """|S|, after checking that `samples` samples are enough for the heads and all rounds."""
        subsets = {"same": 1, "reuse": 2, "fresh": 2 * self.rounds}[self.sample_use]
        q = samples // subsets if self.batch_samples is None else self.batch_samples
        # Least squares on k samples leaves no residual, and no gradient on the same ones.
        least = problem.rank + (self.sample_use == "same")
        if q < least:
            raise ValueError(f"batch_samples is {q}; sample_use {self.sample_use!r} needs at least {least}")
        check_draws("reuse", samples, [subsets * q])
        return q

    def build(self, problem: Problem) -> PrivateFedRep:
        """The method for a problem."""
        if 0 < self.final_samples < problem.rank:
            raise ValueError(f"final_samples is {self.final_samples}; it must be at least the rank, {problem.rank}")
        samples = problem.samples - self.final_samples
        return PrivateFedRep(
            start=self.start(problem, samples),
            server=Server(self.rounds, gradient_threshold(self.clip_scale, self.clip, problem)),
            batch_samples=self.batch(problem, samples),
            step=self.step / problem.head_condition**2,
            sample_use=self.sample_use,
            final_samples=self.final_samples,
            penalty=final_penalty(self.final_heads, problem),
        )
