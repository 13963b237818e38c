"""Columns of the results row of a fit, with their meaning: those of every fit, and those of single methods."""

from __future__ import annotations

from privrep.methods.running.method import MethodOptions
from privrep.methods.running.scoring import SCORE_COLUMNS
from privrep.users.simulated import Problem

IDENTITY = {
    "key": "name of the fit: the first 12 hexadecimal digits of the sha256 of its parameters",
    "algorithm": "method or experiment: a file of the package",
    **{name: meaning for name, meaning in Problem.columns.items() if name != "seed"},
    "seed": Problem.columns["seed"],
    "calibration": "how the noise was chosen: paper (printed theorem) or exact (Gaussian DP of the joint release)",
    "epsilon": "target epsilon",
    "delta": "delta of all epsilons in the row",
    "redraw": "repetition of the noise on the same data",
}
"""Columns that identify the fit of a row, apart from the options of its algorithm."""
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
"""Columns of results of all algorithms. Comparisons with the truth are not released."""


def option_column(name: str) -> str:
    """Return the column of an option: its name, unless every fit has a column of that name."""
    return f"option.{name}" if name in IDENTITY or name in RESULTS else name


def own_columns(options: MethodOptions | type[MethodOptions]) -> dict[str, str]:
    """Return name -> meaning of the columns that a method adds."""
    scores = {name: SCORE_COLUMNS[name] for name in getattr(options, "scores", ())}
    return {option_column(name): meaning for name, meaning in options.columns.items()} | scores


def check_columns(name: str, options: MethodOptions, row: dict) -> None:
    """Raise ValueError if a row of results has a column that the method does not describe."""
    known = {*own_columns(options), *RESULTS}
    unknown = [name for name in row if name not in known]
    if unknown:
        raise ValueError(f"{name} writes {unknown[0]!r}; its options must describe this column")
