"""The privacy loss of the exponential mechanism on neighbouring data sets whose users differ as much as users can.

Users of the first kind have every sample at x = L_f e_1 with label L_f C, those of the second kind at an angle to e_1.
One user is of the first kind in one data set and of the second in its neighbour; the others are all of the first kind,
or divided between both kinds. Over a net the law of Algorithm 4 of jain2021 is a list of probabilities (p and p' for
the two data sets), for the exact draw and for a Metropolis chain after any number of steps, so that

    loss = max over U of |ln p(U) - ln p'(U)|,
    delta(eps) = the larger of sum (p - e^eps p')_+ and sum (p' - e^eps p)_+

are exact. The mechanism is (eps, delta)-DP only if no neighbours have a larger delta(eps).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Task
from privrep.options import among, check_whole, option
from privrep.privacy.accounting import Budget
from privrep.privacy.mechanisms import PURE_COST, Release
from privrep.users.blocks import Block
from privrep.users.simulated import Problem
from replication.experiments.columns import columns_of
from replication.methods.exponential import PrintedOptions
from replication.methods.steps.nets import Net, chart_net, check_net
from replication.methods.steps.user_scores import Shares, UserScore

OTHERS = {"agreeing": (math.pi / 2, 1.0), "balanced": (math.pi / 2, 0.5), "divided": (1.2, 0.6)}
"""Name -> angle between the kinds, and share of the other users that is of the first kind."""
STEP = 0.05  # standard deviation of a proposal's angle


def kinds(score: UserScore, angle: float, dim: int) -> Block:
    """Return a block with one user of each kind."""
    directions = np.zeros((2, dim), np.float32)
    directions[0, 0], directions[1, :2] = 1, (math.cos(angle), math.sin(angle))
    samples = score.samples.stop
    features = np.tile(np.float32(score.clip) * directions, (samples, 1, 1))
    return Block(0, features, np.full((samples, 2), score.clip * score.bound, np.float32))


def neighbouring_scores(score: UserScore, net: Net, users: int, others: str) -> tuple[np.ndarray, np.ndarray]:
    """Return score(U) of two neighbouring data sets at the c subspaces of the net, (c,) each."""
    angle, share = OTHERS[others]
    first, second = Shares(score, net.bases)(kinds(score, angle, net.bases.shape[1])).shares(score.width).T
    count = round(share * (users - 1))
    rest = count * first + (users - 1 - count) * second
    return rest + first, rest + second


def exact_law(scores: np.ndarray, scale: float) -> np.ndarray:
    """Return ln p(U) of the exact draw, (c,), for the scores of c subspaces."""
    return -scores / scale - logsumexp(-scores / scale)


def chain_law(scores: np.ndarray, scale: float, bases: np.ndarray, steps: int) -> np.ndarray:
    """Return ln p(U), k = 1, after `steps` steps of a Metropolis chain with Gaussian angles and uniform start."""
    cosines = np.abs(bases[:, :, 0] @ bases[:, :, 0].T)
    proposal = np.exp(-0.5 * (np.arccos(np.minimum(cosines, 1)) / STEP) ** 2)
    np.fill_diagonal(proposal, 0)
    moves = proposal / proposal.sum(axis=1).max() * np.exp(np.minimum(0, (scores[:, None] - scores) / scale))
    np.fill_diagonal(moves, 1 - moves.sum(axis=1))
    return np.log(np.linalg.matrix_power(moves, steps).mean(axis=0))


def delta_at(epsilon: float, first: np.ndarray, second: np.ndarray) -> float:
    """Return the least delta at which two laws, given by ln p, are (epsilon, delta)-close."""
    p, q = np.exp(first), np.exp(second)
    return float(max(np.maximum(p - np.exp(epsilon) * q, 0).sum(), np.maximum(q - np.exp(epsilon) * p, 0).sum()))


def prepare(options: Any, problem: Problem) -> Spending:
    """Check that the problem's sizes allow the two kinds of users, the net and the score."""
    if problem.rank != 1 or problem.dim < 2:
        raise ValueError(f"dim and rank are {problem.dim} and {problem.rank}; these users need rank 1, dim at least 2")
    check_net(problem.dim, problem.rank, options.radius)
    options.score(problem.known)
    return Spending(PURE_COST, options.theorem(problem.known))


@experiment(
    columns_of("exponential_neighbours"),
    base=PrintedOptions,
    prepare=prepare,
)
def exponential_neighbours(
    task: Task,
    release: Release,
    options: PrintedOptions,
    *,
    radius: float = option("radius of the net", default=0.05),
    others: str = option(
        "others: of the first kind, half and half, or uneven and less apart", among(OTHERS), "agreeing"
    ),
    chain_steps: int = option("steps of a Metropolis chain from uniform; 0: the exact draw", check_whole, 0),
) -> dict[str, float]:
    """Compute the privacy loss on one pair of neighbours."""
    problem, score = task.simulated.problem, options.score(task.users.known)
    if not isinstance(task.budget, Budget):
        raise ValueError("the grid has noise_multiplier; it must have epsilon, with which losses are compared")
    scale = release.temperature("subspace", width=score.width, limit=chain_steps > 0)
    net = chart_net(problem.dim, problem.rank, radius)
    laws = [
        chain_law(scores, scale, net.bases, chain_steps) if chain_steps else exact_law(scores, scale)
        for scores in neighbouring_scores(score, net, problem.users, others)
    ]
    return {
        "privacy_loss": np.abs(laws[0] - laws[1]).max(),
        "delta_at_epsilon": delta_at(task.budget.epsilon, *laws),
        "net_size": len(net.bases),
    }
