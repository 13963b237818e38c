"""Advice from sizes alone: the method to use, its expected risk, and the users, samples or epsilon needed for a target.

>>> from privrep.theory.advise import advise
>>> advice = advise(users=4000, samples=12, dim=16, rank=2, epsilon=2.0, label_noise=1.0)
>>> advice.recommended, list(advice.solved)
('unit steps', ['target'])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from privrep.options import Declared, check_count, check_positive, check_share, ensure, integer, option
from privrep.privacy.accounting import gdp_mu
from privrep.theory.choice import CLOSE, METHODS, NAMES, expected, method_to_use
from privrep.theory.residuals import RANGES, interval, place
from privrep.theory.whole_methods import Regime

LEAST_SAMPLES = 4
"""Fewest samples per user for the laws that split these in halves, and for the laws of starts."""
OVERLAP = "own data may do as well"
FITTED_BY = {"unit": "unit_steps", "mixed": "prior"}
"""Method -> its name in `privrep fit`, for the methods that this command offers."""
SOLVED = {"users": (RANGES["users"][0], 10**9), "samples": (LEAST_SAMPLES, 10**4), "epsilon": (1e-3, 1e2)}
"""Argument that may be solved for -> its search range; nothing was measured with fewer users than the range has."""
DIGITS = 1e-3
"""Relative precision of a solved epsilon."""


class Row(TypedDict):
    """Prediction for a method."""

    risk: float
    low: float
    high: float
    flag: str
    options: dict[str, object]


@dataclass(frozen=True)
class Setting(Declared):
    """Sizes, budget (delta None for 1/n^2), and label noise over the standard deviation of a coordinate of a head."""

    users: int = option("number of users, n", integer(2))
    samples: int = option("samples per user, m", integer(LEAST_SAMPLES))
    dim: int = option("number of features, d", integer(2))
    rank: int = option("dimension of the subspace of the heads, k", check_count)
    epsilon: float = option("budget", check_positive)
    noise: float = option("label noise", check_positive)
    delta: float | None = option("of the budget", check_share, None)

    def __post_init__(self):
        super().__post_init__()
        ensure(self.rank < self.dim, "rank", self.rank, f"it must be below dim, which is {self.dim}")

    @property
    def sizes(self) -> Regime:
        """Sizes in the form that the laws take."""
        return Regime(self.users, self.samples, self.dim, self.rank, self.noise)

    @property
    def spent(self) -> float:
        """The delta of the budget."""
        return self.users**-2.0 if self.delta is None else self.delta

    @cache  # noqa: B019  computed once, for `recommended` and for the table
    def row(self, name: str) -> Row:
        """Return the predicted risk of a method, its interval, a flag, and the method's best options."""
        mu = gdp_mu(self.epsilon, self.spent)
        prediction = expected(name, self.sizes, np.array([mu]))
        risk, known = float(prediction.risk[0]), bool(prediction.known[0])
        low, high = interval(name, risk, known, place(self.sizes, mu))
        values = vars(self) | {"label_noise": self.noise}
        outside = any(not low <= values[name] <= high for name, (low, high) in RANGES.items())
        flags = ["law not known"] * (not known) + ["outside of the measured settings"] * outside
        return {"risk": risk, "low": low, "high": high, "flag": "; ".join(flags), "options": prediction.options[0]}

    def high(self, name: str) -> float:
        """Return the upper end of the interval of a method's risk."""
        return self.row(name)["high"]

    def recommended(self) -> str:
        """Return the method to use."""
        return method_to_use(pd.DataFrame([{name: self.row(name)["risk"] for name in METHODS}])).iloc[0]

    def reaches(self, target: float) -> bool:
        """Whether the upper end of the recommended method's interval is at most a target."""
        return self.high(self.recommended()) <= target

    def check(self, name: str, options: dict[str, object]) -> str:
        """Return code that runs a method in this setting."""
        private = {"epsilon": self.epsilon} if name != "own" else {}
        sizes = {key: getattr(self, key) for key in ("users", "samples", "dim", "rank")}
        given = sizes | private | {"delta": self.spent, "label_noise_sd": self.noise, "head_law": "sphere"} | options
        words = ", ".join(f"{key}={value!r}" for key, value in given.items())
        return (
            f"from privrep.simulate import fit\nrow, _ = fit({METHODS[name][0]!r}, {words})\n"
            f'print(row["excess_risk"] / {self.rank})'
        )

    def fit(self, name: str) -> str:
        """Return the command that fits a table by a method, or a sentence that there is none."""
        if name not in FITTED_BY:
            alone = "users fit models to their own rows alone, and nothing is released"
            return f"No command: {alone if name == 'own' else f'{NAMES[name]} runs on simulated users only'}."
        words = {"epsilon": self.epsilon, "delta": float(f"{self.spent:.3g}"), "method": FITTED_BY[name]}
        given = " ".join(f"--{key} {value}" for key, value in words.items())
        rank = f" --rank {self.rank}" if name == "unit" else ""
        return f"privrep fit TABLE --user USER --label LABEL --bounds bounds.toml {given}{rank}"


@dataclass(frozen=True)
class Advice:
    """The advice for a setting; risks are mean excess risks over that of predicting zero.

    Attributes
    ----------
    table : by method: `risk`, predicted, with `low` and `high`, the 95 % interval of one run; `users` needed for `high`
        to reach the target, or NaN; `flag`, if assumptions of the law fail or nothing was measured at such settings.
        A method that cannot be run is left out.
    solved : the omitted argument and its value. Empty if none was omitted, or if a solved target would not be below 1.
    recommended : name of the method with the least predicted risk, or of own data or unit steps if their expected risk
        is within a tenth of it; its flag says if own data may do as well.
    equals : names of the other methods with an expected risk within a tenth of the least.
    fits : by method, the command that fits a table, or a sentence that there is none.
    checks : by method, code that runs it once and prints the risk.
    setting : the setting, with the solved value.
    """

    table: pd.DataFrame
    solved: dict[str, float]
    recommended: str
    equals: list[str]
    fits: dict[str, str]
    checks: dict[str, str]
    setting: Setting


def noise_of(label_noise: float | None, signal: float | None, rank: int) -> float:
    """Return the label noise, which is given directly or by the signal."""
    if (label_noise is None) == (signal is None):
        raise ValueError(f"label_noise is {label_noise!r} and signal is {signal!r}; exactly one of them must be given")
    if signal is None:
        check_positive("label_noise", label_noise)
        assert label_noise is not None
        return float(label_noise)
    check_share("signal", signal)
    return math.sqrt(rank * (1 - signal) / signal)


def smallest(name: str, reached: Callable[[float], bool]) -> float:
    """Return, by bisection, the least value of an argument in `SOLVED` that reaches a target, or NaN."""
    low, high = SOLVED[name]
    if not reached(high):
        return math.nan
    if reached(low):
        return low
    whole = isinstance(low, int)
    while high - low > (1 if whole else DIGITS * low):
        middle = math.sqrt(low * high)
        middle = min(max(round(middle), low + 1), high - 1) if whole else middle
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def advise(
    *,
    dim: int,
    rank: int,
    users: int | None = None,
    samples: int | None = None,
    epsilon: float | None = None,
    target: float | None = None,
    delta: float | None = None,
    label_noise: float | None = None,
    signal: float | None = None,
) -> Advice:
    """Recommend a method for n users with m samples each, by laws for heads on a sphere and Gaussian features.

    At most one of users, samples, epsilon and target is omitted, and is solved for: the least value at which the upper
    end of the recommended method's interval reaches the target, or, if the target is omitted, this upper end. The label
    noise matters most: where heads explain nearly all of a label's variance, the risk of a method may be four orders of
    magnitude smaller than where they explain half of it (`signal` 1/2).

    Parameters
    ----------
    dim : features, d.
    rank : dimension k of the subspace of the heads, below d. Every method fails at a value that is too small by one,
        and a value that is too large by one costs little: if in doubt, take the larger one.
    users : n.
    samples : samples per user, m.
    epsilon : epsilon of the guarantee for replacing all samples of a user.
    target : excess risk over that of predicting zero, between 0 and 1.
    delta : None for 1/n^2, as in the estimator.
    label_noise : its standard deviation over that of one of a head's `rank` coordinates, for features of variance 1.
    signal : share of the variance of labels (R^2) explained by heads, instead of the label noise.

    Raises
    ------
    ValueError
        If more than one is omitted, an argument is out of range, or no value reaches the target.
    """
    asked = {"users": users, "samples": samples, "epsilon": epsilon, "target": target}
    unknown = [name for name, value in asked.items() if value is None]
    if len(unknown) > 1:
        raise ValueError(f"{' and '.join(unknown)} are left out; at most one of {', '.join(asked)} may be")
    if target is not None:
        check_share("target", target)
    base: dict[str, Any] = {"dim": dim, "rank": rank, "users": users, "samples": samples, "epsilon": epsilon}
    base |= {"delta": delta, "noise": noise_of(label_noise, signal, rank)}

    def having(more: dict[str, Any]) -> Setting:
        return Setting(**base | more)

    solved, sought = {}, math.nan if target is None else target
    if unknown and unknown[0] != "target":
        name = unknown[0]
        value = smallest(name, lambda tried: having({name: tried}).reaches(sought))
        if math.isnan(value):
            raise ValueError(f"target is {target!r}; no {name} up to {SOLVED[name][1]:g} reaches it")
        base[name] = solved[name] = value
    setting = Setting(**base)
    rows = {name: setting.row(name) for name in METHODS}
    rows = {name: row for name, row in rows.items() if math.isfinite(row["risk"])}
    table = pd.DataFrame.from_dict(rows, "index")

    def needed(name: str) -> float:
        return smallest("users", lambda n: having({"users": n}).high(name) <= sought)

    table["users"] = [math.nan if target is None else needed(name) for name in rows]
    least, best = min(row["risk"] for row in rows.values()), setting.recommended()
    equals = [NAMES[name] for name, row in rows.items() if name != best and row["risk"] <= CLOSE * least]
    if best != "own" and rows["own"]["low"] <= rows[best]["high"]:
        table.loc[best, "flag"] = "; ".join(filter(None, [rows[best]["flag"], OVERLAP]))
    if unknown == ["target"] and rows[best]["high"] < 1:
        solved["target"] = rows[best]["high"]
    checks = {NAMES[name]: setting.check(name, row["options"]) for name, row in rows.items()}
    fits = {NAMES[name]: setting.fit(name) for name in rows}
    columns = ["risk", "low", "high", "users", "flag"]
    return Advice(table.rename(NAMES)[columns], solved, NAMES[best], equals, fits, checks, setting)
