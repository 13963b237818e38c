"""The columns of a results table and what they mean: those that every cell has, and those that an algorithm brings.

The `columns` of an algorithm's options describe its options and the numbers that it writes beside them; `scores` names
its distances to the truth. The table of a study has the columns of its own algorithms: a new one moves no other study.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from privrep.fitting.scoring import SCORE_COLUMNS
from privrep.run.registry import method_files, options_class
from privrep.run.settings import Simulation

IDENTITY = {
    "study": "study that the cell belongs to",
    "series": "label of the reading or method within the study",
    "key": "name of the cell: the first 12 hexadecimal digits of the sha256 of its parameters",
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
"""Columns that say which cell a row belongs to, but for the options of its algorithm."""

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
    """Return the column of an option: its name, unless every cell has a column of that name."""
    return f"option.{name}" if name in IDENTITY or name in RESULTS else name


def own_columns(algorithm: str) -> dict[str, str]:
    """Return name -> meaning of the columns that an algorithm brings."""
    options = options_class(algorithm)
    scores = {name: SCORE_COLUMNS[name] for name in getattr(options, "scores", ())}
    return {option_column(name): meaning for name, meaning in options.columns.items()} | scores


def columns(algorithms: Iterable[str]) -> dict[str, str]:
    """Return name -> meaning of the columns of a table with rows of the given algorithms, in order."""
    brought = {name: meaning for algorithm in algorithms for name, meaning in own_columns(algorithm).items()}
    return IDENTITY | brought | RESULTS


def study_columns(study: Simulation) -> tuple[str, ...]:
    """Return the columns of a study's table, in order."""
    return tuple(columns(series.algorithm for series in study.series.values()))


def settings_columns(study: Simulation) -> set[str]:
    """Return the columns of a study's table that say what a cell is, and the noise that followed."""
    options = {one.name for series in study.series.values() for one in fields(options_class(series.algorithm))}
    return {*IDENTITY, "noise_multiplier", *map(option_column, options)}


def check_columns(row: dict) -> None:
    """Raise ValueError if a row has a column that its algorithm does not describe."""
    known = columns([row["algorithm"]])
    unknown = [name for name in row if name not in known]
    if unknown:
        raise ValueError(f"{row['algorithm']} writes {unknown[0]!r}; the columns of its options must say what that is")


def dictionary() -> str:
    """Return all columns of all tables by owner, as Markdown."""
    lines = ["# Columns of cells.csv"]
    owners = {"Every study": IDENTITY | RESULTS} | {f"`{name}`": own_columns(name) for name in method_files()}
    for title, owned in owners.items():
        lines += ["", f"## {title}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| {name} | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in owned.items()]
    return "\n".join(lines) + "\n"
