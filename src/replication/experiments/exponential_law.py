"""The law of the exponential mechanism: samples by several Markov chains, and sums over a net if one is small enough.

Expectations under the law, computed with the known truth, and convergence of the chains; nothing here is released.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.running.scoring import SCORE_COLUMNS
from privrep.options import check_count, check_nonnegative, option
from privrep.privacy.mechanisms import PURE_COST, Release
from privrep.users.blocks import UserData
from privrep.users.passes import parts, total
from privrep.users.risk import personal_loss, personal_risk
from privrep.users.simulated import Problem
from privrep.users.subspace import dist_frobenius, random_subspaces
from replication.experiments.columns import columns_of
from replication.methods.exponential import PrintedOptions, personalised
from replication.methods.steps.grassmann_chain import Walk, walk
from replication.methods.steps.nets import chart_net, check_net
from replication.methods.steps.user_scores import UserScore

KEPT = 4  # states of each chain at which the users' final models are scored


def largest_gap(score: UserScore, users: UserData, bases: np.ndarray) -> float:
    """Return the largest certified distance of a user's loss from its minimum, over the subspaces."""
    gaps = parts(users, lambda block: (np.array([fit.gaps.max() for fit in score.fits(block, bases)]),))[0]
    return float(np.concatenate(gaps).max())


def mixing(path: Walk) -> dict[str, float]:
    """Return R-hat of the chains' scores, their effective sample size, and the share of accepted proposals."""
    # Imported here: the import takes half a second, and only this experiment needs it.
    from arviz_stats.base import array_stats

    statistics: Any = array_stats
    draws = path.scores.T
    return {
        "r_hat": float(statistics.rhat(draws, chain_axis=0, draw_axis=1)),
        "ess": float(statistics.ess(draws, chain_axis=0, draw_axis=1, method="mean")),
        "accepted": float(path.accepted.mean()),
    }


def prepare(options: Any, problem: Problem) -> Spending:
    """Check that the score is defined and the net is not too large."""
    if options.radius:
        check_net(problem.dim, problem.rank, options.radius)
    options.score(problem.known)
    return Spending(PURE_COST, options.theorem(problem.known))


NUMBERS = columns_of("exponential_law") | {"excess_loss": SCORE_COLUMNS["excess_loss"]}


@experiment(NUMBERS, base=PrintedOptions, prepare=prepare)
def exponential_law(
    task: Task,
    release: Release,
    options: PrintedOptions,
    *,
    chains: int = option("independent chains", check_count, 8),
    burn_in: int = option("steps of a chain in which its step size is found", check_count, 500),
    steps: int = option("steps of a chain after that", check_count, 500),
    radius: float = option("radius of a net over which the law is summed as well; 0 for none", check_nonnegative, 0.0),
) -> Outcome:
    """Estimate the law for one data set."""
    users, known, score = task.simulated, task.users.known, options.score(task.users.known)
    n = known.users
    scale = release.temperature("subspace", width=score.width, limit=True)
    if not scale:
        raise ValueError("noise_multiplier is 0; a chain needs a positive one")
    truth = users.truth.basis
    least = score.totals(users, truth[None])[0]

    def excess(bases: np.ndarray) -> np.ndarray:
        return score.totals(users, bases) - least

    starts = random_subspaces(chains, known.dim, known.rank, release.streams["init"])
    path = walk(excess, starts, scale, burn_in, steps, release.noise, min(KEPT, steps))
    states = path.kept.reshape(-1, *truth.shape)
    models = [personalised(basis, score, known) for basis in states]
    spread = path.scores.mean(axis=0).std(ddof=1) / math.sqrt(chains) if chains > 1 else math.nan
    log = mixing(path) | {
        "beta_n": n / scale,
        "score_truth": float(least + total(users, lambda block: score.at_zero(block).sum())) / n,
        "score_excess": path.scores.mean() / n,
        "score_error": spread / n,
        "largest_gap": largest_gap(score, users, states),
        "law_distF": np.sqrt(np.mean([dist_frobenius(basis, truth) ** 2 for basis in states])),
        "excess_loss": np.mean([personal_loss(users, fit.basis, fit.heads, score.loss) for fit in models]),
    }
    if radius:
        net = chart_net(known.dim, known.rank, radius)
        over = excess(net.bases)
        law = np.exp(-(over - over.min()) / scale)
        printed, weighted = (float((weights * over).sum() / weights.sum()) for weights in (law, net.volumes * law))
        log |= {"net_excess": printed / n, "net_excess_uniform": weighted / n, "net_size": len(net.bases)}
    return Outcome(excess_risk=float(np.mean([personal_risk(users, fit.basis, fit.heads) for fit in models])), log=log)
