"""The results table: its columns with their meaning, and how a cell becomes a row."""

from __future__ import annotations

import time

import numpy as np

from privrep.fitting import fit
from privrep.grids import Cell
from privrep.privacy.ledger import Ledger
from privrep.problem import Users
from privrep.rng import stream
from privrep.subspace import dist2, dist_frobenius
from privrep.task import Task

EXACT = "; exact, for analysis, not released"
"""Of a column without noise that a real server could not have: it reads the users' data past the mechanisms."""

COLUMNS = {
    "study": "study that the cell belongs to",
    "series": "label of the reading or method within the study",
    "key": "name of the cell: the first 12 hexadecimal digits of the sha256 of its parameters",
    "algorithm": "file under src/privrep/algorithms, or under src/privrep/instruments",
    "users": "number of users, n",
    "samples": "samples per user, m",
    "dim": "ambient dimension, d",
    "rank": "dimension of the shared subspace, k",
    "label_noise_sd": "standard deviation of the label noise, sigma_F",
    "head_law": "distribution of the heads v_j",
    "truth_law": "normalisation of U*",
    "head_condition": "condition number of the heads, sqrt(lam_1 / lam_k)",
    "head_factor": "length of long heads over that of the others",
    "head_bias": "b: the first coordinate of a head is positive with probability (1 + b) / 2",
    "seed": "repetition",
    "calibration": "how the noise was chosen: paper (printed theorem) or exact (Gaussian DP of the joint release)",
    "epsilon": "target epsilon",
    "delta": "delta of all epsilons in the row",
    "redraw": "repetition of the noise on the same data",
    "epochs": "passes over all users, E",
    "batches": "disjoint batches of users per epoch, T",
    "init": "initial subspace: random, spectral (Algorithm 3), or planted at a given distance from the truth",
    "start_sine": "sine of every principal angle between a planted start and the truth",
    "heads": "heads in the subspace step: fitted, or the true ones",
    "fallback": "how the noisy linear system is solved: solve, ridge, or eigclip",
    "clip_scale": "unit of the clipping bounds, see SCALES and UPDATE_SCALES in privrep.thresholds",
    "split": "which samples serve which step, see privrep.splits",
    "clip_feature": "clipping bound of the features (eta), or of the whole A_j or gradient of a user",
    "clip_label": "clipping bound of the labels (zeta), or of the whole b_j of a user",
    "clip_unit": "what is clipped: each sample, or each user's sums",
    "init_label_clip": "clipping bound of the labels in Algorithm 3",
    "step": "step size of gradient methods, in units of the clipping bound; of CENTAUR, in units of 1 / s_1^2",
    "rounds": "rounds of the server, T_g",
    "clip": "clipping bound of a user's update (zeta_g), in units of clip_scale",
    "batch_samples": "samples per user for each of head and gradient in a round",
    "sample_use": "whether samples serve one round alone (fresh) or are drawn anew in each (reuse)",
    "local_steps": "gradient steps of a user in a round, T_l",
    "local_step": "step size of a user's gradient steps, eta_l",
    "drift_bound": "bound of the clipped updates whose drift is measured, in medians of the full model's updates",
    "personal_step": "step size for the part that a user keeps",
    "feasible": "feasible set of the representation: free, or orthonormal",
    "participation": "probability with which a user takes part in a round, p_g",
    "divide_by": "what the noisy sum is divided by: expected or realised number of participants",
    "starts": "independent runs of the power method, T_0",
    "iterations": "iterations of the power method, L",
    "init_samples": "samples per user and iteration of the power method",
    "init_clip": "clipping bound of the power method (zeta_0), in units of clip_scale",
    "init_share": "share of the privacy cost that the power method takes",
    "accuracy": "accuracy of a good candidate in the selection, eps_i",
    "method": "mechanism of the single model",
    "penalty": "ridge penalty; 0 is minimum norm",
    "kind": "which reference model",
    "tolerance": "distance between successive subspaces at which alternation stops",
    "max_epochs": "limit on the number of epochs",
    "status": "ok, or failed",
    "reason": "why the cell failed",
    "dist2": "sine of the largest principal angle to the true subspace",
    "distF": "Frobenius distance to the true subspace, at most sqrt(rank)",
    "excess_risk": "mean over users of ||theta_j - theta_hat_j||^2, exact population value",
    "mse": "excess_risk plus the label noise variance",
    "noise_multiplier": "noise sd of one release over its replace-one sensitivity as the paper counts it, Delta",
    "theorem": "claim id of the printed privacy statement; for gradient methods its rule, rho = eps^2/(8 ln(1/delta)), is carried over",
    "epsilon_paper": "epsilon that the printed statement promises for this noise",
    "epsilon_exact": "epsilon from the ledger, by exact Gaussian accounting; by privacy loss distributions where users take part at random",
    "mu": "Gaussian-DP parameter from the ledger; an upper bound where users take part at random",
    "releases": "entries in the ledger",
    "eta": "clipping bound of the features in absolute terms",
    "zeta": "clipping bound of the labels, or of a user's update, in absolute terms",
    "min_eigenvalue": "smallest eigenvalue of the noisy Gram over the mean magnitude of all, least over the steps",
    "head_error_rms": "root mean square over users of ||v_j - Q^{-1} v_j*||, Lemma B.4",
    "head_error_max": "largest of the same over users",
    "head_norm_max": "largest ||v_j|| over users" + EXACT,
    "gram_deviation_2": "||W^{-1/2} A W^{-1/2} - I|| in operator norm, Lemma B.5",
    "gram_deviation_F": "the same in Frobenius norm",
    "noise_deviation_2": "||W^{-1/2} G W^{-1/2}|| in operator norm, G the noise on A, Lemma B.3",
    "total_deviation_2": "||W^{-1/2} A_priv W^{-1/2} - I|| in operator norm, Lemma B.3",
    "along_F": "||M||_F of eq. 27, Lemma B.6",
    "residual_F": "||F||_F of eq. 27, Lemma B.6",
    "private_F": "||F~||_F of eq. 27, Lemma B.7",
    "target": "excess risk to reach",
    "target_unit": "unit of the target: absolute, or the rank, which is the risk of the zero model",
    "smallest_users": "smallest number of users that reaches the target",
    "trials": "fits made in the search for it",
    "epochs_run": "epochs until convergence",
    "steady_dist2": "root mean square of dist2 over the second half of the rounds",
    "steady_distF": "root mean square of distF over the second half of the rounds",
    "largest_dist2": "largest dist2 over the rounds",
    "start_dist2": "dist2 of the start that was selected",
    "start_dist2_median": "median dist2 of the candidates",
    "selection_passed": "1 where the selected candidate passed the printed test, 0 where none did",
    "heterogeneity": "1 - ||mean of v_j||^2 over the mean of ||v_j||^2: 1 where users have nothing in common, 0 where they are equal",
    "representation_rms": "root mean square over users of the norm of an update where the representation alone is shared"
    + EXACT,
    "representation_median": "median over users of the same norm where the representation alone is shared" + EXACT,
    "representation_q99": "99 % quantile of the same norm where the representation alone is shared" + EXACT,
    "representation_max": "largest of the same norm where the representation alone is shared" + EXACT,
    "representation_drift": "norm of the mean of clipped updates over the clipping bound where the representation alone is shared"
    + EXACT,
    "full_rms": "root mean square over users of the norm of an update where a full model is shared" + EXACT,
    "full_median": "median over users of the same norm where a full model is shared" + EXACT,
    "full_q99": "99 % quantile of the same norm where a full model is shared" + EXACT,
    "full_max": "largest of the same norm where a full model is shared" + EXACT,
    "full_drift": "norm of the mean of clipped updates over the clipping bound where a full model is shared" + EXACT,
    "shared_rms": "root mean square over users of the norm of an update where a representation and a head are shared"
    + EXACT,
    "shared_median": "median over users of the same norm where a representation and a head are shared" + EXACT,
    "shared_q99": "99 % quantile of the same norm where a representation and a head are shared" + EXACT,
    "shared_max": "largest of the same norm where a representation and a head are shared" + EXACT,
    "shared_drift": "norm of the mean of clipped updates over the clipping bound where a representation and a head are shared"
    + EXACT,
    "runs_dist2": "root mean square of dist2 over independent runs of the power method",
    "runs_distF": "root mean square of distF over independent runs of the power method",
    "runs_dist2_median": "median of dist2 over the same runs",
    "runs_dist2_max": "largest dist2 over the same runs",
    "runs_log_tangent": "mean over the same runs of the logarithm of the tangent of the largest angle",
    "runs_within": "share of the same runs with dist2 at most the accuracy",
    "average_dist2": "dist2 of the subspace closest to all of the same runs",
    "product_norm_max": "largest ||Y_i||_F before the clip over users, iterations and runs of the power method" + EXACT,
    "clipped_share": "share of the updates, Y_i or G_i, that the clip shortens" + EXACT,
    "gradient_median": "median over users of ||G_i||_F before clipping, shen2023 Lemma C.1" + EXACT,
    "gradient_max": "largest of the same" + EXACT,
    "gradient_2": "operator norm of the mean gradient G before clipping" + EXACT,
    "isometry_2": "largest ||B^T S_i B - I|| over users, delta_1 of Lemma C.2" + EXACT,
    "gram_least": "least eigenvalue of B^T S_i B over users, Lemma D.2" + EXACT,
    "cross_2": "largest ||B^T S_i (B B^T - I) B*|| over users, delta_2 dist2 of Lemma C.3",
    "deviation_2": "operator norm of G - Q V, Lemmas C.4 and D.6",
    "heads_F": "||V||_F, Lemma D.4" + EXACT,
    "head_errors_F": "||F||_F, Lemma D.4",
    "descent_2": "operator norm of I - eta V^T V, Lemma D.5" + EXACT,
    "inverse_2": "operator norm of R^{-1}, Lemma D.7",
    "signal_max": "s_1, largest singular value of W* / sqrt(n)",
    "signal_min": "s_k, smallest singular value of W* / sqrt(n)",
    "true_head_max": "largest ||w_i*|| over users, mu sqrt(k) s_k",
}
"""The data dictionary: every column of cells.csv. Columns that compare with the truth are not released either."""

TIMING_COLUMNS = ("key", "series", "cpu_seconds", "wall_seconds")


def cell_row(cell: Cell) -> dict:
    """The part of a row that is known before the run."""
    return {
        "study": cell.study,
        "series": cell.series,
        "key": cell.key,
        "algorithm": cell.algorithm,
        **vars(cell.problem),
        **(cell.budget.axes if cell.budget else {}),
        **vars(cell.chosen),
    }


SHARED_ROLES = ("init",)
"""Streams that belong to the repetition and not to the cell: a random start is drawn once for each data set, so that budgets
and numbers of epochs are compared from the same starts. A few bad starts carry the mean; drawn anew in each cell, they would
decide whether it falls from one epsilon to the next."""


def cell_stream(cell: Cell, role: str, master_seed: int) -> np.random.Generator:
    """The random stream of a cell for one role, keyed by the problem alone for `SHARED_ROLES` and by the whole cell otherwise."""
    return stream(master_seed, role, cell.problem.axes if role in SHARED_ROLES else cell.axes)


def run_cell(cell: Cell, users: Users) -> tuple[dict, dict, Ledger]:
    """Run one cell on its users.

    Returns
    -------
    row, timing, ledger. A numerical failure is a row with status `failed` and a reason, not an exception.
    """
    ledger = Ledger()
    task = Task(users, cell.budget, lambda role: cell_stream(cell, role, users.master_seed), ledger)
    row = cell_row(cell)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        outcome = fit(cell.chosen, task)
        if outcome.excess_risk is not None and not np.isfinite(outcome.excess_risk):
            raise ArithmeticError(f"the excess risk is {outcome.excess_risk}")
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        row |= {"status": "failed", "reason": str(error)}
    else:
        row |= {
            "status": "ok",
            "theorem": outcome.theorem,
            "epsilon_paper": outcome.epsilon_paper,
            **outcome.log,
            **outcome.scores,
        }
        if outcome.excess_risk is not None:
            row |= {"excess_risk": outcome.excess_risk, "mse": outcome.excess_risk + cell.problem.label_noise_sd**2}
        if outcome.subspace is not None:
            row |= {
                "dist2": dist2(outcome.subspace, users.truth.basis),
                "distF": dist_frobenius(outcome.subspace, users.truth.basis),
            }
    if ledger.entries:
        row |= {"releases": len(ledger.entries), "mu": ledger.mu}
        if cell.budget:
            row["epsilon_exact"] = ledger.epsilon(cell.budget.delta)
    timing = {
        "key": cell.key,
        "series": cell.series,
        "cpu_seconds": round(time.process_time() - cpu, 4),
        "wall_seconds": round(time.perf_counter() - wall, 4),
    }
    return row, timing, ledger
