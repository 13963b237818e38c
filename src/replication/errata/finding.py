"""The result of a demonstration, and the decorator that registers it under its erratum."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import signature

from privrep.users.rng import stream


@dataclass(frozen=True)
class Finding:
    """The measurement of a demonstration, in words with numbers, and whether it confirms the erratum."""

    measured: str
    confirmed: bool


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


def spell(values: Iterable[float]) -> str:
    """Write numbers to three digits, as a list."""
    return ", ".join(f"{value:.3g}" for value in values)
