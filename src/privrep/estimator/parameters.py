"""Parameters of the estimators, each declared once: name, type, default, check and meaning.

The constructor, the checks of a fit, the table in the docstring and the options of `privrep fit` are made from these.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import KW_ONLY, Field, dataclass, fields
from typing import TypeVar

from privrep.methods.mixed_model.calibration import BINARY, GAUSSIAN
from privrep.options import among, check_count, check_share, check_whole, integer, number, option, requires
from privrep.users.engines import ENGINES

MOST_EPSILON, MOST_SAMPLES = 10_000, 100_000
"""Largest epsilon, beyond which nothing is private, and max_samples, to which each user's rows are padded."""
check_text = requires(lambda value: isinstance(value, str), "be a text")
P = TypeVar("P", bound="type[Parameters]")


@dataclass(eq=False, repr=False)
class Parameters:
    """Base class of the estimators. As scikit-learn asks, the constructor only stores them, and `fit` checks them."""

    epsilon: float = option(
        "budget of the whole fit, for replacing all rows of one user",
        number(lambda value: 1e-6 <= value <= MOST_EPSILON, f"be a number from 1e-6 to {MOST_EPSILON}"),
        1.0,
    )
    delta: float | None = option("of the budget; by default 1/n^2 for n users; above 1/n it warns", check_share, None)
    _: KW_ONLY
    method: str = option(
        '"prior", a mixed model, or "unit_steps", with a rank', among(("prior", "unit_steps")), "prior"
    )
    rank: int | None = option(
        "of the released prior; by default all of it. One too low is ruinous, one too high costs little",
        check_count,
        None,
    )
    family: str = option(
        '"gaussian", or "binary": probabilities of labels 0 and 1', among((GAUSSIAN, BINARY)), GAUSSIAN
    )
    structure: str | Sequence[str] = option(
        'how users differ from the shared mean: "full", in all features; "level", in a constant; or a list of columns',
        default="full",
    )
    kinds: object = option(
        'of features, by name or in order: "number" (default), "flag" or the levels of a category', default=None
    )
    feature_bounds: object = option(
        "(low, high) of all numbers, or a pair for each. Required, public; values beyond count as nearest", default=None
    )
    label_bounds: object = option("(low, high). Required, public; labels beyond count as nearest", default=None)
    unit: str = option('"user", or "row": each row is a person, and fit takes no users', among(("user", "row")), "user")
    users: str | None = option("column with the user of each row; else `users` goes to fit", check_text, None)
    max_samples: int = option("rows of a user that are used at most, a random choice", integer(1, MOST_SAMPLES), 64)
    unseen: str = option(
        'for users without a head: "shared", the mean and a warning, or "raise"', among(("shared", "raise")), "shared"
    )
    heads: str = option(
        'whether pickles have heads: "local", no, or "pickle", yes', among(("local", "pickle")), "local"
    )
    random_state: int | None = option("for experiments alone: seed of noise that can be drawn again", check_whole, None)
    engine: str = option('where passes over users run: "process", "threads" or "dask"', among(ENGINES), "process")
    scheduler: str | None = option("address of Dask, as tcp://host:8786; by default one is started", check_text, None)


def declared(kind: type[Parameters]) -> list[Field]:
    """Return the declarations of the parameters that an estimator's constructor takes."""
    return [one for one in fields(kind) if one.init]


def documented(kind: P) -> P:
    """Put the table of parameters in place of "{parameters}" in the docstring of an estimator."""
    lines = (f"{one.name} : {one.metadata['meaning']}." for one in declared(kind))
    table = "\n".join(textwrap.fill(line, 116, subsequent_indent="    ") for line in lines)
    kind.__doc__ = inspect.cleandoc(kind.__doc__ or "").replace("{parameters}", table)
    return kind
