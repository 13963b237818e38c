"""Parameters of a simulated problem as a configuration states them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from privrep.declarations import Count, Model


class PartOfProblem(Model):
    """Parameters of a `privrep.users.problem.Problem`, as far as a series changes them."""

    users: Count | None = None
    samples: Count | None = None
    dim: Count | None = None
    rank: Count | None = None
    label_noise_sd: Annotated[float, Field(ge=0)] = 0.0
    head_law: Literal["gauss", "sphere", "aniso", "heavy"] = "gauss"
    truth_law: Literal["orthonormal", "unit-columns"] = "orthonormal"
    head_condition: Annotated[float, Field(ge=1)] = 1.0
    head_factor: Annotated[float, Field(ge=1)] = 1.0
    head_bias: Annotated[float, Field(ge=0, le=1)] = 0.0
    feature_law: Literal["gauss", "rare", "skewed"] = "gauss"
    feature_scale: Annotated[float, Field(gt=0)] = 1.0
    feature_condition: Annotated[float, Field(ge=1)] = 1.0
    feature_axes: Literal["coordinates", "mixed"] = "coordinates"
    feature_tail: Annotated[float, Field(ge=0)] = 0.0
    fewest_samples: Annotated[int, Field(ge=0)] = 0
    noise_spread: Annotated[float, Field(ge=1)] = 1.0
    adversaries: Annotated[int, Field(ge=0)] = 0


class WholeProblem(PartOfProblem):
    """Parameters of a `privrep.users.problem.Problem`; its sizes must be there."""

    users: Count
    samples: Count
    dim: Count
    rank: Count
