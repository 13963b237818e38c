"""Releases of a fit as tables, with the names and units of the data; all of it may be published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.statement import PrivacyStatement
from privrep.users.schema import Category, Flag, Kind, Schema

READING = """\
Intercept: numbers in the middle of their ranges, flags at their stated share, the mean of all levels. A number: per 1
of its unit; a flag: 1 less 0; a level: less the mean of all levels. noise_sd: of privacy noise alone, an upper
bound. reach: largest distance from the middle of all ranges that the steps of a fit allow; values farther off are not
reached. noise_sd gives no confidence interval: steps end early, and the users are a random sample, too."""
BETWEEN = """\
Between users: how far coefficients are from 0 or the shared mean, in priors that predict well; often too wide.
Residual: error of a left-out label. Own data: a typical user's by own rows alone, with its noise."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Tables of released numbers in the units of the data; as text, all of them with their meaning.

    Attributes
    ----------
    coefficients : of the shared mean: estimate, noise_sd and reach, by names of features and levels.
    components : variance and sd of the coefficients between users, of the residual, and of own data's errors; the
        last sd has a noise_sd.
    head : the statement of privacy, and the advice.
    """

    coefficients: pd.DataFrame
    components: pd.DataFrame
    head: str

    @classmethod
    def of(cls, shared: SharedPrior, privacy: PrivacyStatement, advice: Mapping) -> Summary:
        """Return the summary of a release; numbers that a method does not release are NaN, and blank in the text."""
        names, units = in_units(shared.schema)
        means = pd.DataFrame({"estimate": units @ shared.mean}, names)
        means["estimate"] += np.eye(len(names))[0] * shared.schema.label.middle
        own = [advice.get(name, math.nan) for name in ("typical_error", "typical_error_noise")]
        between = np.einsum("rd,de,re->r", units, shared.covariance, units)
        variances = np.r_[shared.error * np.r_[between, units[0, 0] ** 2], own[0] ** 2]
        components = pd.DataFrame({"variance": variances, "sd": np.sqrt(variances)}, [*names, "Residual", "Own data"])
        unknown = np.full(len(names) + 1, math.nan)
        noise = np.sqrt(units**2 @ shared.mean_noise**2)
        return cls(
            means.assign(noise_sd=noise, reach=shared.mean_reach * noise),
            components.assign(noise_sd=np.r_[unknown, own[1]]),
            f"{privacy}\n{advice_line(advice)}",
        )

    def __str__(self) -> str:
        tables = (self.coefficients, self.components)
        first, second = (table.to_string(float_format="{:.4g}".format, na_rep="") for table in tables)
        return f"{self.head}\nShared mean\n{first}\n{READING}\n\nBetween users\n{second}\n{BETWEEN}\n"


def in_units(schema: Schema) -> tuple[list[str], np.ndarray]:
    """Return names of coefficients, and the matrix (r, d) from a scaled head to coefficients in the table's units."""
    parts = [(name, getattr(kind, "levels", None), of_kind(kind)) for name, kind in schema.features.items()]
    names = [[f"{name}[{level}]" for level in levels] if levels else [name] for name, levels, _ in parts]
    half = (schema.label.high - schema.label.low) / 2
    return sum(names, ["Intercept"]), half * block_diag(np.ones((1, 1)), *(units for *_, units in parts))


def of_kind(kind: Kind) -> np.ndarray:
    """Return changes of scaled columns if a number grows by 1, a flag from 0 to 1, or the mean of levels to a level."""
    if isinstance(kind, Category):
        return math.sqrt(kind.width) * (np.eye(kind.width) - 1 / kind.width)
    sd = math.sqrt(kind.share * (1 - kind.share)) if isinstance(kind, Flag) else (kind.high - kind.low) / math.sqrt(12)
    return np.array([[1 / sd]])


def advice_line(advice: Mapping) -> str:
    """Return the advice of a fit in a line, empty for a method without advice."""
    if not advice:
        return ""
    return (
        f"Advice: {advice['text']}. Squared error of a left-out label, less that of own data: lower by "
        f"{advice['gain']:.3g} (95 % interval {advice['gain_low']:.3g} to {advice['gain_high']:.3g}); own data are off "
        f"by {advice['typical_error']:.3g} for a typical user, and have weight {advice['weight_of_own_data']:.2f}.\n"
    )
