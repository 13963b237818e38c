"""The methods among which advice and the study guide choose: what the law of each expects of it at its best.

Risks are mean excess risks over that of predicting zero. `sizes` holds n, m, d, k and the label noise, its standard
deviation over that of a coordinate of a head; mu is that of all releases together. The label noise decides: from 0.01
to that of a signal of 1/2 the risk of the same method may rise by four orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from privrep.methods.steps.clip_units import USER_SCALES, gradient_threshold, label_threshold, moment_threshold
from privrep.privacy.regression_moments import USER_MOMENTS_COST
from privrep.theory import whole_methods
from privrep.theory.mixed_model import mixed_model
from privrep.theory.rival_options import PASSES, ROUNDS
from privrep.theory.shared import Values
from privrep.theory.whole_methods import (
    Moments,
    PowerStart,
    Prediction,
    Regime,
    Rounds,
    SpectralStart,
    by_rounds,
    power_outside,
    spectral_outside,
)
from privrep.users.problem import Problem
from privrep.users.splits import count, split_samples

CENTAUR_START = {"init_samples": 4, "init_clip": 0.5}
ITERATIONS, FEDREP_LABEL_CLIP, SPLIT = 14, 0.5, "halves-then-all"
"""Of the start of CENTAUR, of that of private FedRep, and of alternating minimisation."""
METHODS = {
    "unit": ("unit_steps", {}),
    "mixed": ("mixed_model", {}),
    "own": ("own_data", {}),
    "fedrep": ("private_fedrep", {"final_heads": "ridge"}),
    "centaur": ("centaur", {**CENTAUR_START, "starts": 1, "final_heads": "ridge"}),
    "altmin": (
        "altmin",
        {"init": "spectral", "split": SPLIT, "clip_scale": "data", "clip_unit": "user", "final_heads": "ridge"},
    ),
}
"""Method -> its file in `privrep.methods`, and the options that are not chosen."""
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
"""Least penalty of own data."""


def choices(name: str, sizes: Regime) -> list[dict[str, object]]:
    """Return the options that may be chosen for a method.

    Those of private FedRep and CENTAUR with the same number of rounds are one entry, whose values are columns
    (options, 1). The law of alternating minimisation has one pass.
    """
    if name in ("fedrep", "centaur"):
        table = pd.DataFrame(ROUNDS)
        start = CENTAUR_START if name == "centaur" else {}
        return [
            {"rounds": int(rounds), **start} | {key: rows[[key]].to_numpy() for key in rows if key != "rounds"}
            for rounds, rows in table.groupby("rounds")
        ]
    if name == "altmin":
        return [one for one in PASSES if one["epochs"] == 1]
    if name == "own":  # the penalty of the posterior mean, were heads isotropic
        return [{"penalty": max(sizes.noise**2 * sizes.dim / sizes.rank, LEAST_PENALTY)}]
    return [{}]


def law(name: str, sizes: Regime, mu: np.ndarray, chosen: Mapping[str, Values]) -> Prediction:
    """Return what the law of a method expects with these options, whose thresholds are in units of the data."""
    samples = sizes.samples
    # Thresholds in units of the data do not depend on the number of users.
    known = Problem(1, samples, sizes.dim, sizes.rank, sizes.noise, "sphere").known
    if name == "zero":
        return Prediction(np.asarray(1.0), np.asarray(True))
    if name == "own":
        return whole_methods.own_data(sizes, chosen["penalty"])
    if name == "unit":
        return whole_methods.unit_steps(sizes, mu)
    if name == "mixed":
        pairs = np.broadcast(sizes.users, mu)
        each = [mixed_model(replace(sizes, users=users), one) for users, one in pairs]
        return Prediction(*(np.array([getattr(one, part) for one in each]) for part in ("risk", "known")))
    share = chosen["init_share"]
    if name in ("centaur", "fedrep"):
        if name == "centaur":
            init_clip = moment_threshold("practical", chosen["init_clip"], known)
            start = power_outside(sizes, mu, PowerStart(ITERATIONS, chosen["init_samples"], init_clip, share))
        else:
            label_clip = label_threshold("data", FEDREP_LABEL_CLIP, known)
            start = spectral_outside(sizes, mu, SpectralStart(samples, label_clip, share))
        batch, clip = samples // 2 if name == "centaur" else 0, gradient_threshold("practical", chosen["clip"], known)
        return by_rounds(sizes, mu, start, share, Rounds(chosen["rounds"], batch, chosen["step"], clip))
    split = split_samples(SPLIT, samples)
    start = SpectralStart(samples, label_threshold("data", chosen["init_label_clip"], known), share)
    step = Moments(
        heads=count(split.heads),
        samples=count(split.subspace),
        factors=(chosen["clip_feature"], chosen["clip_label"]),
        units=USER_SCALES["data"](known, count(split.subspace)),
        cost=USER_MOMENTS_COST.mu_squared,
    )
    return whole_methods.altmin(sizes, mu, start, step)


@dataclass(frozen=True)
class Expected:
    """Of a method at its best, for each mu: its risk, whether the assumptions of its law hold, and its options."""

    risk: np.ndarray
    known: np.ndarray
    options: list[dict[str, object]]


def expected(name: str, sizes: Regime, mu: np.ndarray) -> Expected:
    """Return the least risk that the law of a method expects of the options that may be chosen, for each mu (r,).

    The number of users may be an array (r,) as well. The risk of a method that cannot be run is infinite.
    """
    if name == "altmin" and sizes.samples % 2:  # its split is in halves
        return Expected(np.full(len(mu), np.inf), np.full(len(mu), False), len(mu) * [{}])
    tried = choices(name, sizes)
    found = [law(name, sizes, mu, options) for options in tried]
    risk, known = (
        np.vstack([np.broadcast_to(part, np.broadcast_shapes(np.shape(part), mu.shape)) for part in parts])
        for parts in ([one.risk for one in found], [one.known for one in found])
    )
    fixed = dict(METHODS[name][1]) if name in METHODS else {}
    if name == "centaur":
        fixed["batch_samples"] = sizes.samples // 2
    each = [fixed | one for options in tried for one in rows_of(options)]
    best = risk.argmin(axis=0)
    return Expected(*(part[best, np.arange(len(mu))] for part in (risk, known)), [each[place] for place in best])


def rows_of(options: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the options one by one, whose values may be columns."""
    count = max((len(value) for value in options.values() if np.ndim(value)), default=1)
    return [
        {key: np.ravel(value)[row].item() if np.ndim(value) else value for key, value in options.items()}
        for row in range(count)
    ]


def method_to_use(risks: pd.DataFrame) -> pd.Series:
    """Return the method to use in each row of a table with predicted risks by method: that with the least."""
    return risks.idxmin(axis=1)
