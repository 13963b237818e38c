"""Candidate methods of the advice and of the study guide: the law of each, at its best options.

Risks are mean excess risks over that of predicting zero. `sizes` holds n, m, d, k and the label noise: its standard
deviation over that of a coordinate of a head; mu is that of all releases together. The label noise matters most: at
0.01, where heads explain nearly all of a label's variance, the risk of a method may be four orders of magnitude smaller
than at sqrt(k), where they explain half of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from privrep.methods.steps.clip_units import USER_SCALES, gradient_threshold
from privrep.privacy.regression_moments import USER_MOMENTS_COST
from privrep.theory import whole_methods
from privrep.theory.mixed_model import mixed_model
from privrep.theory.rival_options import PASSES, ROUNDS, STARTED
from privrep.theory.shared import Values
from privrep.theory.whole_methods import Moments, Prediction, Regime, Rounds, by_rounds, models_outside
from privrep.users.simulated import Problem
from privrep.users.splits import count, split_samples

SPLIT, STEP, AVERAGED = "halves-then-all", 1.0, 0.25
"""Split of samples in alternating minimisation; step and share of averaged rounds in CENTAUR and private FedRep."""
ROUNDS_OF_BOTH = {**STARTED, "step": STEP, "average_last": AVERAGED, "final_heads": "ridge"}
METHODS = {
    "unit": ("unit_steps", {}),
    "mixed": ("mixed_model", {}),
    "own": ("own_data", {}),
    "fedrep": ("private_fedrep", ROUNDS_OF_BOTH),
    "centaur": ("centaur", ROUNDS_OF_BOTH),
    "altmin": (
        "altmin",
        {**STARTED, "split": SPLIT, "clip_scale": "data", "clip_unit": "user", "final_heads": "ridge"},
    ),
}
"""Method -> its file in `privrep.methods`, and its fixed options."""
NAMES = {
    "unit": "unit steps",
    "mixed": "mixed model",
    "own": "own data",
    "fedrep": "private FedRep",
    "centaur": "CENTAUR",
    "altmin": "alternating minimisation",
    "zero": "predicting zero",
}
LEAST_PENALTY = 0.001
"""Smallest ridge penalty of own data."""


@cache
def _by_rounds() -> list[dict[str, Values]]:
    return [
        {"rounds": rounds, **{str(key): rows[[key]].to_numpy() for key in rows if key != "rounds"}}
        for rounds, rows in ((int(of["rounds"].iloc[0]), of) for _, of in pd.DataFrame(ROUNDS).groupby("rounds"))
    ]


def choices(name: str, sizes: Regime) -> list[dict[str, Values]]:
    """Return the candidate options of a method.

    For private FedRep and CENTAUR, options with the same number of rounds are one entry with columns (options, 1) as
    values. Alternating minimisation has those with one pass alone, since its law has one.
    """
    if name in ("fedrep", "centaur"):
        return _by_rounds()
    if name == "altmin":
        return [passes for passes in PASSES if passes["epochs"] == 1]
    if name == "own":  # the penalty of the posterior mean for isotropic heads
        return [{"penalty": max(sizes.noise**2 * sizes.dim / sizes.rank, LEAST_PENALTY)}]
    return [{}]


def law(name: str, sizes: Regime, mu: np.ndarray, chosen: Mapping[str, Values]) -> Prediction:
    """Return what a method's law predicts for these options; clipping thresholds are multiples of the data's scale."""
    samples, given = sizes.samples, dict[str, Any](chosen)
    # Thresholds as multiples of the data's scale do not depend on the number of users.
    known = Problem(1, samples, sizes.dim, sizes.rank, sizes.noise, "sphere").known
    if name == "zero":
        return Prediction(np.asarray(1.0), np.asarray(True))
    if name == "own":
        return whole_methods.own_data(sizes, given["penalty"])
    if name == "unit":
        return whole_methods.unit_steps(sizes, mu)
    if name == "mixed":
        pairs = np.broadcast(sizes.users, mu)
        each = [mixed_model(replace(sizes, users=users), budget) for users, budget in pairs]
        return Prediction(*(np.array([getattr(prediction, part) for prediction in each]) for part in ("risk", "known")))
    share = given["init_share"]
    start = models_outside(sizes, np.sqrt(share) * mu)
    if name in ("centaur", "fedrep"):
        batch, clip = samples // 2 if name == "centaur" else 0, gradient_threshold("practical", given["clip"], known)
        fall = given["last_clip"] / given["clip"]
        return by_rounds(sizes, mu, start, share, Rounds(given["rounds"], batch, STEP, clip, fall, AVERAGED))
    split = split_samples(SPLIT, samples)
    step = Moments(
        heads=count(split.heads),
        samples=count(split.subspace),
        factors=(given["clip_feature"], given["clip_label"]),
        units=USER_SCALES["data"](known, count(split.subspace)),
        cost=USER_MOMENTS_COST.mu_squared,
    )
    return whole_methods.altmin(sizes, mu, start, share, step)


@dataclass(frozen=True)
class Expected:
    """Predictions for a method at its best options, for each mu: risk, whether the assumptions of its law hold, the
    share S (`whole_methods`) after its start, and the options."""

    risk: np.ndarray
    known: np.ndarray
    start: np.ndarray
    options: list[dict[str, object]]


def expected(name: str, sizes: Regime, mu: np.ndarray) -> Expected:
    """Return the least risk predicted by a method's law over the candidate options, for each mu (r,).

    The number of users may also be an array (r,). A method that cannot be run has infinite risk.
    """
    if name == "altmin" and sizes.samples % 2:  # it splits a user's samples in halves
        return Expected(np.full(len(mu), np.inf), np.full(len(mu), False), np.ones(len(mu)), len(mu) * [{}])
    tried = choices(name, sizes)
    predictions = [law(name, sizes, mu, options) for options in tried]
    risk, known, start = (
        np.vstack([np.broadcast_to(part, np.broadcast_shapes(np.shape(risk), mu.shape)) for part, risk in parts])
        for parts in ([(getattr(case, part), case.risk) for case in predictions] for part in ("risk", "known", "start"))
    )
    fixed = dict(METHODS[name][1]) if name in METHODS else {}
    if name == "centaur":
        fixed["batch_samples"] = sizes.samples // 2
    each = [fixed | row for options in tried for row in rows_of(options)]
    best = risk.argmin(axis=0)
    at = best, np.arange(len(mu))
    return Expected(risk[at], known[at], start[at], [each[place] for place in best])


def rows_of(options: Mapping[str, Values]) -> list[dict[str, object]]:
    """Return options with one value each, a dict for each row, from options whose values may be columns."""
    count = max((len(value) for value in map(np.atleast_1d, options.values())), default=1)
    return [
        {key: np.ravel(value)[row].item() if np.ndim(value) else value for key, value in options.items()}
        for row in range(count)
    ]


CLOSE = 1.1
"""Methods whose risks differ by at most this factor count as equally good."""


def method_to_use(risks: pd.DataFrame) -> pd.Series:
    """Return the method to use in each row of predicted risks by method: own data, which costs no privacy, or else unit
    steps, which need no tuning, if as good as the best within `CLOSE`; otherwise the best."""
    best = risks.idxmin(axis=1)
    for name in ("unit", "own"):
        if name in risks:
            best = best.mask(risks[name] <= CLOSE * risks.min(axis=1), name)
    return best
