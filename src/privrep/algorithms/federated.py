"""What the federated methods of shen2023 Section 6 have in common: rounds, local gradient steps, clipping of whole updates, cost.

In their linear analogues the loss of a user on a mini-batch is half the mean squared residual. The server's step eta_g is 1, as in the
paper's experiments: a user sends how far its copy of the shared model has moved, and the server adds the noisy mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.clip_units import CLIP_SCALE_COLUMN, check_update_scale, gradient_threshold
from privrep.algorithms.method import check_count
from privrep.algorithms.server import SERVER_COLUMNS, ClippedSum, Server
from privrep.data.problem import Problem, UserData
from privrep.data.splits import SampleDraws
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.privacy.mechanisms import Release


@dataclass(frozen=True, kw_only=True)
class Federated:
    """What a method of Section 6 has: its rounds."""

    server: Server

    @property
    def cost(self) -> Cost:
        """Of one user; takes no gain from sampling users."""
        return self.server.cost

    @property
    def theorem(self) -> Theorem:
        """Remark 4.1: (alpha, alpha T / (2 sigma^2))-Renyi DP, turned into eps = 2 sqrt(rho ln(1/delta)) as the paper does in
        Theorem 5.2. The remark takes a sensitivity of zeta, which is that of adding or removing a user; replacing one costs
        four times as much (E10)."""
        return Theorem("B-R4.1", self.server.rounds / 2)

    @property
    def log(self) -> dict[str, float]:
        """The clipping bound as a row has it."""
        return {"zeta": self.server.clip}

    def rounds(
        self,
        users: UserData,
        start: np.ndarray,
        client_of_round: Callable[[], ClippedSum],
        release: Release,
        aggregate: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.add,
    ) -> Iterator[np.ndarray]:
        """The shared model after each round; by default the mean displacement is added."""
        return self.server.run("displacement", users, start, client_of_round, aggregate, release)


@dataclass(frozen=True)
class LocalSteps:
    """Gradient steps of a user in a round. samples : q of a mini-batch. count : T_l. size : eta_l."""

    samples: int
    count: int
    size: float

    def draw(self, users: UserData, release: Release) -> Callable[[], list[np.ndarray]]:
        """Draws the mini-batches of one round: positions without replacement in a local step, anew from all samples in each."""
        draws = SampleDraws("reuse", users.problem.samples, release.streams["samples"])
        return lambda: [draws.take(self.samples)[0] for _ in range(self.count)]


@dataclass(frozen=True, kw_only=True)
class FederatedOptions:
    """Options of every method.

    Parameters
    ----------
    rounds : T. clip : zeta, the bound on a user's whole update, in units of `clip_scale` (`privrep.algorithms.clip_units.UPDATE_SCALES`).
    participation, divide_by : see `privrep.algorithms.server`.
    """

    rounds: int
    clip: float
    clip_scale: str = "absolute"
    participation: float = 1.0
    divide_by: str = "expected"
    scores = ()
    columns: ClassVar = SERVER_COLUMNS | CLIP_SCALE_COLUMN

    def __post_init__(self):
        check_update_scale(self.clip_scale)
        Server(self.rounds, self.clip, self.participation, self.divide_by)  # checks the others

    def server(self, problem: Problem) -> Server:
        """The rounds, with the clipping bound in absolute terms."""
        clip = gradient_threshold(self.clip_scale, self.clip, problem)
        return Server(self.rounds, clip, self.participation, self.divide_by)


@dataclass(frozen=True, kw_only=True)
class LocalOptions(FederatedOptions):
    """Options of the methods whose users take gradient steps, and those of `FederatedOptions`.

    Parameters
    ----------
    batch_samples : q, samples of a mini-batch. local_steps : T_l. local_step : eta_l.
    """

    batch_samples: int
    local_steps: int = 1
    local_step: float = 0.25
    columns: ClassVar = FederatedOptions.columns | {
        "batch_samples": "samples per user for each of head and gradient in a round",
        "local_steps": "gradient steps of a user in a round, T_l",
        "local_step": "step size of a user's gradient steps, eta_l",
    }

    def __post_init__(self):
        super().__post_init__()
        check_count("batch_samples", self.batch_samples)
        check_count("local_steps", self.local_steps)
        check_bound("local_step", self.local_step)

    def steps(self, problem: Problem) -> LocalSteps:
        """The local steps, after checking that mini-batches and the final heads have samples."""
        for name, needed in (("batch_samples", self.batch_samples), ("the rank", problem.rank)):
            if problem.samples < needed:
                raise ValueError(f"samples is {problem.samples}; it must be at least {name}, {needed}")
        return LocalSteps(self.batch_samples, self.local_steps, self.local_step)


def gradient(features: np.ndarray, labels: np.ndarray, models: np.ndarray) -> np.ndarray:
    """(1/q) sum (<theta, x> - y) x with a model theta for each user; (B, d) float64.

    Parameters
    ----------
    features : (q, B, d). labels : (q, B). models : (B, d).
    """
    features = features.astype(np.float64)
    residual = np.einsum("qbd,bd->qb", features, models) - labels
    return np.einsum("qbd,qb->bd", features, residual) / len(labels)


def clipped_sum(updates: np.ndarray, bound: float, taking_part: np.ndarray) -> np.ndarray:
    """sum_i clip(g_i; bound) over the users that take part, each update clipped in L2 norm as a whole.

    A user whose numbers overflowed adds nothing.

    Parameters
    ----------
    updates : (B, ...) float64.
    """
    flat = updates.reshape(len(updates), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("bp,bp->b", flat, flat))
    sound = np.isfinite(norms) & taking_part
    factor = np.where(sound, clip_factor(np.where(sound, norms, 0.0), bound), 0.0)
    return (factor @ np.where(sound[:, None], flat, 0.0)).reshape(updates.shape[1:])
