"""Norms of the users' updates when a representation is shared, and when a whole model is (shen2023, Remark 3.1).

    representation: G_i of CENTAUR's CLIENT at a B at sine s from the truth; q samples for the head,
                    q others for the gradient
    full model:     the gradient at theta_bar + s sqrt(k) u, with theta_bar the mean of all theta_i, the optimum,
                    and u a random direction
    shared head:    the gradient in (B, w) of DP-FedAvg, B as above and w = B^T theta_bar, the best head shared by all

All gradients are of half the mean squared residual on the same q samples. The drift is the norm of the mean of clipped
updates over the clipping bound, which is `drift_bound` times the median norm of the full model's updates. At the
optimum the drift comes from clipping alone.

For analysis: the experiment reads the truth and releases nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privrep.methods.centaur import representation_gradients
from privrep.methods.dp_fedavg import model_steps
from privrep.methods.running.experiment import experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.steps.federated import gradient
from privrep.options import check_any_sine, check_count, option
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.users.blocks import Block, true_heads
from privrep.users.passes import rows
from privrep.users.simulated import Users
from privrep.users.subspace import planted_subspace
from replication.experiments.client_lemmas import check_round

WHAT = {
    "representation": "the representation alone is shared",
    "full": "a full model is shared",
    "shared": "a representation and a head are shared",
}
"""Prefix of columns -> what users share with the server."""
QUANTILES = {"median": 0.5, "q99": 0.99, "max": 1.0}  # share of the users below each mark
MARKS = {
    "rms": "root mean square over users of the norm of an update where {}",
    "median": "median over users of the norm of an update where {}",
    "q99": "99 % quantile of the norm of an update where {}",
    "max": "largest norm of an update where {}",
    "drift": "norm of the mean of clipped updates over the clipping bound where {}",
}


def all_heads(users: Users) -> np.ndarray:
    """Return the true heads, (n, k) float32."""
    return rows(users, lambda block: (true_heads(block),))[0]


def updates(
    users: Users, sine: float, samples: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the updates of all users as rows, for each kind of sharing in `WHAT`, and the planted B (d, k)."""
    truth = users.truth.basis
    basis = planted_subspace(truth, sine, rng)
    centre = truth @ all_heads(users).mean(axis=0, dtype=np.float64)
    aside = rng.standard_normal(len(truth))
    model = centre + sine * np.sqrt(truth.shape[1]) * aside / np.linalg.norm(aside)
    both = np.concatenate([basis, (basis.T @ centre)[None]])
    first, second = np.arange(samples), np.arange(samples, 2 * samples)

    def of_block(block: Block) -> tuple[np.ndarray, ...]:
        left, heads = representation_gradients(block, first, second, basis)
        moved, _ = model_steps(block, [second], both, np.zeros_like(heads), 1.0, 0.0)
        full = gradient(block.features[second], block.labels[second], np.broadcast_to(model, left.shape))
        moves = (left[:, :, None] * heads[:, None, :], full, moved)
        return tuple(part.reshape(block.users, -1) for part in moves)

    return dict(zip(WHAT, rows(users, of_block), strict=True)), basis


NUMBERS = {
    f"{name}_{mark}": f"{meaning.format(what)}; exact, for analysis, not released"
    for name, what in WHAT.items()
    for mark, meaning in MARKS.items()
} | {
    "heterogeneity": "1 - ||mean v_j||^2 / mean ||v_j||^2: 1 where users have nothing in common, 0 where they are equal"
}


@experiment(NUMBERS, prepare=lambda options, problem: check_round(options.batch_samples, problem))
def update_norms(
    task: Task,
    *,
    start_sine: float = option("sine of every principal angle between a planted start and the truth", check_any_sine),
    batch_samples: int = option("samples per user for each of head and gradient in a round", check_count),
    drift_bound: float = option("clip at which drift is measured, over the full model's median", check_bound, 0.25),
) -> Outcome:
    """Measure the norms at distance `start_sine` from the optimum."""
    moves, basis = updates(task.simulated, start_sine, batch_samples, task.stream("init"))
    norms = {name: np.linalg.norm(rows, axis=1) for name, rows in moves.items()}
    bound = drift_bound * np.median(norms["full"])
    heads = all_heads(task.simulated).astype(np.float64)
    log: dict[str, Any] = {"heterogeneity": 1 - (heads.mean(axis=0) ** 2).sum() / (heads**2).sum(axis=1).mean()}
    for name in WHAT:
        log[f"{name}_rms"] = np.sqrt((norms[name] ** 2).mean())
        log |= {f"{name}_{mark}": np.quantile(norms[name], at) for mark, at in QUANTILES.items()}
        drift = clip_factor(norms[name], bound) @ moves[name] / len(heads)
        log[f"{name}_drift"] = np.linalg.norm(drift) / bound
    return Outcome(subspace=basis, log=log)
