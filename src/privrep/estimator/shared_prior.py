"""The published part of a fit: public statements, shared mean and prior, from which anybody's head follows."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np

from privrep.methods.steps.calibration import Calibration
from privrep.methods.steps.posterior import Mixture, Prior
from privrep.users.schema import Schema

VERSION = 2
"""Of the file's form."""


@dataclass(frozen=True, eq=False)
class SharedPrior:
    """A publishable prior, a function of releases and public statements alone.

    Attributes
    ----------
    schema : the statements.
    mean : the shared mean, (d,), by which users without rows are predicted.
    heads : priors of the heads, and the weights with which every user's heads under them are averaged.
    max_samples : the most rows by which a head is fitted.
    calibration : of predictions, where the label is one of two classes or a count.
    """

    schema: Schema
    mean: np.ndarray
    heads: Mixture
    max_samples: int
    calibration: Calibration | None = None

    @property
    def covariance(self) -> np.ndarray:
        """Weighted mean of the priors' covariances over the variance of the label noise, (d, d)."""
        return sum(one.strengths @ one.weights * one.root @ one.root.T for one in self.heads.priors)

    @property
    def spectrum(self) -> np.ndarray:
        """Eigenvalues of `covariance`, largest first."""
        return np.linalg.eigvalsh(self.covariance)[::-1]

    def labels(self, scaled: np.ndarray) -> np.ndarray:
        """Return predictions in the label's own unit from products of features and heads, (N,) each."""
        return self.schema.labels(scaled if self.calibration is None else self.calibration(scaled))

    def to_dict(self) -> dict:
        """Return all fields, with numbers as decimal strings that are read back to the last bit."""
        bent = self.calibration and {name: texts(one) for name, one in vars(self.calibration).items()}
        return {
            "version": VERSION,
            **self.schema.to_dict(),
            "max_samples": self.max_samples,
            "mean": texts(self.mean),
            "priors": [
                {
                    "mean": texts(prior.mean),
                    "root": [texts(row) for row in prior.root],
                    "strengths": texts(prior.strengths),
                    "weights": texts(prior.weights),
                }
                for prior in self.heads.priors
            ],
            **({"calibration": bent} if bent else {}),
        }

    @classmethod
    def from_dict(cls, read: dict) -> SharedPrior:
        """Invert `to_dict`; raise ValueError for another version or a missing field."""
        if read.get("version") != VERSION:
            raise ValueError(f"version is {read.get('version')!r}; this privrep reads {VERSION}")
        try:
            priors = tuple(
                Prior(
                    mean=numbers(one["mean"]),
                    root=np.array(list(map(numbers, one["root"]))),
                    strengths=numbers(one["strengths"]),
                    weights=numbers(one["weights"]),
                )
                for one in read["priors"]
            )
            one = cls(Schema.from_dict(read), numbers(read["mean"]), Mixture(priors), int(read["max_samples"]))
            bent = {name: numbers(values) for name, values in read.get("calibration", {}).items()}
            return replace(one, calibration=Calibration(**bent)) if bent else one
        except KeyError as error:
            raise ValueError(f"there is no {error.args[0]!r}") from error

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1)


def texts(values: np.ndarray) -> list[str]:
    """Shortest decimals that give the same numbers."""
    return [repr(float(value)) for value in values]


def numbers(read: list[str]) -> np.ndarray:
    """The inverse of `texts`."""
    return np.array([float(text) for text in read])
