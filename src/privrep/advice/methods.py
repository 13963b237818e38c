"""The methods among which advice chooses: their laws, and the options with which each is expected to be at its best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.laws.mixed_model import mixed_model
from privrep.laws.whole_methods import Regime
from privrep.studies.guide.analysis import OPTIONS, law

METHODS = {
    "unit": ("unit_steps", {}),
    "mixed": ("mixed_model", {}),
    "own": ("own_data", {}),
    "fedrep": ("private_fedrep", {"final_heads": "ridge"}),
    "centaur": ("centaur", {"init_samples": 4, "starts": 1, "init_clip": 0.5, "final_heads": "ridge"}),
    "altmin": (
        "altmin",
        {
            "init": "spectral",
            "split": "halves-then-all",
            "clip_scale": "data",
            "clip_unit": "user",
            "final_heads": "ridge",
        },
    ),
}
"""Series, the file of each, and the options that are not chosen; as in the study guide."""
LEAST_PENALTY = 0.001


@dataclass(frozen=True)
class Expected:
    """Of a method with these options. risk : over that of predicting zero. known : the law's assumptions hold."""

    risk: float
    known: bool
    options: dict[str, object]


def expected(name: str, sizes: Regime, mu: float) -> Expected:
    """The least risk that the law of a method expects of the options that it may choose."""
    if name == "altmin" and sizes.samples % 2:  # its split is in halves
        return Expected(np.inf, False, {})
    if name == "mixed":
        found = mixed_model(sizes, mu)
        return Expected(float(found.risk), bool(found.known), {})
    if name == "own":  # the posterior mean, were heads isotropic
        choices = [{"penalty": max(sizes.noise**2 * sizes.dim / sizes.rank, LEAST_PENALTY)}]
    else:
        choices = OPTIONS[name]
    best = Expected(np.inf, False, {})
    for options in choices:
        found = law(name, sizes, np.array([mu]), options)
        risks = np.atleast_1d(found.risk).reshape(-1)
        place = int(risks.argmin())
        if risks[place] < best.risk or not best.options:
            known = np.broadcast_to(found.known, np.shape(found.risk)).reshape(-1)[place]
            chosen = {key: np.ravel(value)[place].item() if np.ndim(value) else value for key, value in options.items()}
            best = Expected(float(risks[place]), bool(known), chosen)
    if name == "centaur":
        best.options["batch_samples"] = sizes.samples // 2
    return Expected(best.risk, best.known, METHODS[name][1] | best.options)
