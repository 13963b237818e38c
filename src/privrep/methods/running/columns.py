"""The columns of the row of a fit and what they mean: those that every fit has, and those that a method brings.

The `columns` of a method's options describe its options and the numbers that it writes beside them; `scores` names its
distances to the truth.
"""

from __future__ import annotations

from privrep.methods.running.method import MethodOptions
from privrep.methods.running.scoring import SCORE_COLUMNS

IDENTITY = {
    "key": "name of the fit: the first 12 hexadecimal digits of the sha256 of its parameters",
    "algorithm": "method or experiment: a file of the package",
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
    "feature_law": "distribution of the entries of features: gauss, rare binary or skewed",
    "feature_scale": "root mean square standard deviation of a feature's coordinate",
    "feature_condition": "largest standard deviation of a feature's coordinate over the smallest",
    "feature_axes": "what the scales of features belong to: coordinates, or directions that mix them",
    "feature_tail": "degrees of freedom of multivariate Student features; 0 for Gaussian ones",
    "fewest_samples": "a user has between this many samples and m of them; 0: all have m",
    "noise_spread": "largest label noise of a user over the smallest",
    "adversaries": "corrupted users, whose labels follow one long vector off the subspace",
    "seed": "repetition",
    "calibration": "how the noise was chosen: paper (printed theorem) or exact (Gaussian DP of the joint release)",
    "epsilon": "target epsilon",
    "delta": "delta of all epsilons in the row",
    "redraw": "repetition of the noise on the same data",
}
"""Columns that say which fit a row belongs to, but for the options of its algorithm."""

RESULTS = {
    "status": "ok, failed, or not run",
    "reason": "why the cell failed or was not run",
    "dist2": "sine of the largest principal angle to the true subspace",
    "distF": "Frobenius distance to the true subspace, at most sqrt(rank)",
    "excess_risk": (
        "mean over users, corrupted ones left out, of the expected squared error of theta_hat_j less that of theta_j, "
        "exact population value"
    ),
    "mse": "excess_risk plus the label noise variance",
    "noise_multiplier": "noise sd of one release over its replace-one sensitivity as the paper counts it, Delta",
    "theorem": (
        "claim id of the printed privacy statement; for gradient methods its rule, rho = eps^2/(8 ln(1/delta)), is "
        "carried over"
    ),
    "epsilon_paper": "epsilon that the printed statement promises for this noise",
    "epsilon_exact": (
        "epsilon from the ledger, by exact Gaussian accounting; by privacy loss distributions where users take part at "
        "random"
    ),
    "mu": "Gaussian-DP parameter from the ledger; an upper bound where users take part at random",
    "releases": "entries in the ledger",
    "unspent": "share of the declared mu^2 that is left over, where some is",
    "ledger": (
        "the entries: how many were alike, sensitivity over noise sd (or the epsilon of a pure release), rate of "
        "participation, users touched"
    ),
}
"""Columns of all algorithms. What compares with the truth is not released."""


def option_column(name: str) -> str:
    """Return the column of an option: its name, unless every fit has a column of that name."""
    return f"option.{name}" if name in IDENTITY or name in RESULTS else name


def own_columns(options: MethodOptions | type[MethodOptions]) -> dict[str, str]:
    """Return name -> meaning of the columns that a method brings."""
    scores = {name: SCORE_COLUMNS[name] for name in getattr(options, "scores", ())}
    return {option_column(name): meaning for name, meaning in options.columns.items()} | scores


def check_columns(name: str, options: MethodOptions, row: dict) -> None:
    """Raise ValueError if a row of results has a column that the method does not describe."""
    known = {*own_columns(options), *RESULTS}
    unknown = [name for name in row if name not in known]
    if unknown:
        raise ValueError(f"{name} writes {unknown[0]!r}; the columns of its options must say what that is")
