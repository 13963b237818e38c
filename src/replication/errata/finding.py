"""The result of a demonstration, and the decorator that registers it under its erratum."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from privrep.users.rng import stream


class Several(tuple[Any, ...]):
    """Numbers that a text lists, each to three digits unless the text says otherwise."""

    def __format__(self, form: str) -> str:
        return ", ".join(format(value, form or ".3g") for value in self)


class Finding:
    """Whether a demonstration confirms its erratum, and its numbers in the order of the erratum's text `measured`."""

    def __init__(self, confirmed: object, *numbers: Any):
        self.confirmed, self.numbers = bool(confirmed), numbers

    def said(self, text: str) -> str:
        """Fill the braces of the text with the numbers; one that is an array or a list is listed."""
        return text.format(*(number if np.ndim(number) == 0 else Several(number) for number in self.numbers))


ENTERED: dict[str, Callable[[], Finding]] = {}  # erratum -> its demonstration, for the modules imported so far


def demonstrates(erratum: str, role: str = "erratum") -> Callable[[Callable[..., Finding]], Callable[[], Finding]]:
    """Register the demonstration of an erratum by its id; a function with a parameter gets a random generator."""

    def enter(show: Callable[..., Finding]) -> Callable[[], Finding]:
        if erratum in ENTERED:
            raise ValueError(f"{erratum} is demonstrated by {ENTERED[erratum].__name__}, not by {show.__name__}")
        drawn = bool(signature(show).parameters)

        @wraps(show)
        def demonstration() -> Finding:
            return show(stream(0, role, {"erratum": int(erratum[1:])})) if drawn else show()

        ENTERED[erratum] = demonstration
        return demonstration

    return enter


def decides(measured: float, *, printed: float, correct: float, within: float) -> bool:
    """Return whether a measurement agrees with the corrected value and not with the printed one."""
    return bool(abs(measured - correct) <= within < abs(measured - printed))
