"""What a demonstration returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What a demonstration found, in words with numbers, and whether it confirms the erratum."""

    measured: str
    confirmed: bool


def decides(measured: float, *, printed: float, correct: float, within: float) -> bool:
    """Whether a measurement agrees with the corrected value and not with the printed one."""
    return bool(abs(measured - correct) <= within < abs(measured - printed))


def spell(values: Iterable[float]) -> str:
    """Numbers to three digits, as a list."""
    return ", ".join(f"{value:.3g}" for value in values)
