"""Published part of a fit: schema, shared mean and prior, from which any user's head is computed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields

import numpy as np

from privrep.methods.mixed_model.calibration import Calibration
from privrep.methods.steps.posterior import Mixture, Prior
from privrep.options import ensure
from privrep.users.schema import Schema

VERSION = 5
"""Version of the file's format."""
PRIOR = tuple(field.name for field in fields(Prior))


@dataclass(frozen=True, eq=False)
class SharedPrior:
    """A publishable prior, a function of releases and public statements alone.

    Attributes
    ----------
    schema : public statements on the columns.
    mean : the shared mean, (d,), which predicts for users without rows.
    heads : priors of the heads, and the weights with which every user's heads under them are averaged.
    max_samples : largest number of rows to which a head is fitted.
    mean_noise : upper bounds of the standard deviations of the privacy noise in `mean`, (d,).
    mean_reach : largest distance that a fit can move `mean` from the middle of all ranges, divided by `mean_noise`.
    error : typical squared error of a label that was left out; NaN for a method that releases none.
    calibration : of predictions, where the label is one of two classes.
    """

    schema: Schema
    mean: np.ndarray
    heads: Mixture
    max_samples: int
    mean_noise: np.ndarray
    mean_reach: float
    error: float
    calibration: Calibration | None = None

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of one prior that represents all priors, divided by the variance of the label noise, (d, d)."""
        return self.heads.covariance

    @property
    def spectrum(self) -> np.ndarray:
        """Eigenvalues of `covariance`, largest first."""
        return np.linalg.eigvalsh(self.covariance)[::-1]

    @property
    def stranger(self) -> np.ndarray:
        """`Mixture.doubts` of a user without rows, (2 + d,); raises ValueError where no error is released."""
        if math.isnan(self.error):
            raise ValueError("return_std is True; this method releases no errors of labels: use method='prior'")
        return np.r_[self.error, 1.0, np.zeros(self.schema.dim)]

    def sd(self, features: np.ndarray, doubts: np.ndarray) -> np.ndarray:
        """Standard deviations of new labels in their unit, (N,), from scaled features (N, d) and doubts (N, 2 + d)."""
        return np.sqrt(self.heads.variances(features, doubts)) * (self.schema.label.high - self.schema.label.low) / 2

    def labels(self, scaled: np.ndarray) -> np.ndarray:
        """Return predictions in the label's own unit from products of features and heads, (N,) each."""
        return self.schema.labels(scaled if self.calibration is None else self.calibration(scaled))

    def to_dict(self) -> dict:
        """Return all fields, with numbers as decimal strings that are read back to the last bit."""
        bent = self.calibration and {name: texts(array) for name, array in vars(self.calibration).items()}
        return {
            "version": VERSION,
            **self.schema.to_dict(),
            "max_samples": int(self.max_samples),  # an int of Python, since JSON can hold no other
            "mean": texts(self.mean),
            "mean_noise": texts(self.mean_noise),
            "mean_reach": repr(float(self.mean_reach)),
            "error": repr(float(self.error)),
            "priors": [{name: texts(getattr(prior, name)) for name in PRIOR} for prior in self.heads.priors],
            **({"calibration": bent} if bent else {}),
        }

    @classmethod
    def from_dict(cls, read: dict) -> SharedPrior:
        """Invert `to_dict`; raise ValueError for another version or a missing field."""
        version = read.get("version")
        ensure(version == VERSION, "version", version, f"this privrep reads {VERSION}")
        try:
            priors = tuple(Prior(**{name: numbers(entry[name]) for name in PRIOR}) for entry in read["priors"])
            mean, noise = numbers(read["mean"]), numbers(read["mean_noise"])
            reach, error = float(read["mean_reach"]), float(read["error"])
            bent = {name: numbers(values) for name, values in read.get("calibration", {}).items()}
            calibration = Calibration(**bent) if bent else None
            most = int(read["max_samples"])
            return cls(Schema.from_dict(read), mean, Mixture(priors), most, noise, reach, error, calibration)
        except KeyError as error:
            raise ValueError(f"there is no {error.args[0]!r}") from error

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1)


def texts(values: np.ndarray) -> list:
    """Return the shortest decimals that give the same numbers, in nested lists of the array's shape."""
    return np.vectorize(repr, otypes=[object])(np.asarray(values, object)).tolist()


def numbers(read: list) -> np.ndarray:
    """Invert `texts`."""
    return np.array(read, float)
