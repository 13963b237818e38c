"""Fault injection, to audit the audit: faults of the release handle, of the ledger, or of clips in the algorithms."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Literal

import numpy as np

from privrep.privacy.clipping import clip_factor, clip_scalar
from privrep.privacy.ledger import Ledger
from replication.experiments.auditing.replay import SOUND, Fault, Transcript


@dataclass(frozen=True)
class WrongClip:
    """Faulty replacements of `clip_factor` and `clip_scalar` of `privrep.privacy.clipping`."""

    factor: Callable[[np.ndarray, float], np.ndarray]
    scalar: Callable[[np.ndarray, float], np.ndarray]


def _first_free(honest: Callable, free: Callable) -> Callable:
    def wrong(given: np.ndarray, bound: float) -> np.ndarray:
        clipped = np.array(honest(given, bound))
        first = (0,) * clipped.ndim  # the first user, on whichever axis users are
        clipped[first] = free(given)[first]
        return clipped

    return wrong


def _of_data(honest: Callable) -> Callable:
    def wrong(given: np.ndarray, bound: float) -> np.ndarray:
        sizes = np.abs(given)[np.isfinite(given)]
        return honest(given, float(max(np.max(sizes, initial=0.0), 1e-30)))

    return wrong


FIRST_UNCLIPPED = WrongClip(_first_free(clip_factor, np.ones_like), _first_free(clip_scalar, lambda values: values))
BOUND_OF_DATA = WrongClip(_of_data(clip_factor), _of_data(clip_scalar))
NO_CLIP = WrongClip(lambda norm, bound: np.ones_like(norm), lambda value, bound: value)


@cache
def _clips(modules: int) -> list[tuple[ModuleType, str, Callable]]:
    """Return module, name and function of each clip in the code, cached by the number of loaded modules."""
    return [
        (module, key, value)
        for name, module in list(sys.modules.items())
        if name.startswith(("privrep.methods.", "privrep.privacy.", "replication.methods."))
        and name != clip_factor.__module__
        for key, value in vars(module).items()
        if any(value is clip for clip in HONEST)
    ]


@contextmanager
def clipped_by(wrong: WrongClip | None) -> Iterator[None]:
    """Replace the clipping functions in the code of the algorithms until the end of the block; None leaves them."""
    places = _clips(len(sys.modules)) if wrong else []
    for module, key, value in places:
        setattr(module, key, getattr(wrong, "factor" if value is clip_factor else "scalar"))
    try:
        yield
    finally:
        for module, key, value in places:
            setattr(module, key, value)


HONEST = (clip_factor, clip_scalar)
Needs = Literal["", "several", "one stream", "not 1", "composed", "start", "moments", "participation", "clip"]


@dataclass(frozen=True)
class Mutant:
    """An injected fault, and the mechanisms that can have it."""

    fault: Fault = SOUND  # of the release handle
    clip: WrongClip | None = None  # of the algorithm
    unaccounted: Literal["", "first", "last"] = ""  # the release that the ledger lacks
    one_seed: bool = False  # whether all runs have the same noise
    too_few: int = 0  # number of releases by which the noise is calibrated too low
    everyone: bool = False  # whether all users take part although random participation is charged
    variance: bool = False  # whether the noise multiplier is taken for a variance
    unbounded: bool = False  # whether the privacy loss has no limit
    searched: bool = False  # whether the worst pair of users is sought anew
    needs: Needs = ""  # property of the mechanisms to which the fault applies

    def applicable(self, transcript: Transcript, multiplier: float, clips: bool) -> bool:
        """Return whether the fault applies to a mechanism; `clips`: whether it clips by the library's functions."""
        releases = transcript.records
        streams = Counter(record.role for record in releases for _ in range(record.parts))
        sampled = any(record.rate < 1 for record in releases)
        has = {
            "": True,
            "several": len(releases) > 1,
            "one stream": max(streams.values()) > 1,
            "not 1": abs(multiplier - 1) > 0.05,
            "composed": len(releases) > 1 and not sampled,
            "start": {record.role for record in releases} == {"noise", "init_noise"},
            "moments": any(record.parts > 1 for record in releases),
            "participation": sampled,
            "clip": clips,
        }
        return has[self.needs]

    def multiplier(self, honest: float, releases: int) -> float:
        """Return the noise multiplier that the mutant claims, given that of the sound mechanism."""
        return honest * math.sqrt(1 - self.too_few / releases)

    def fault_at(self, multiplier: float) -> Fault:
        return replace(self.fault, noise_scale=multiplier**-0.5) if self.variance else self.fault

    def noise_reduction(self, multiplier: float, users: int) -> float:
        """Return the claimed over the actual noise, both relative to the contribution of one of n users."""
        fault = self.fault_at(multiplier)
        return (users if fault.mean_clip else 1) / (fault.noise_scale * fault.charged)

    def ledger(self, honest: Ledger) -> Ledger:
        """Return the ledger of the mutant, given that of the sound mechanism."""
        kept = {"": slice(None), "first": slice(1, None), "last": slice(None, -1)}[self.unaccounted]
        return Ledger(honest.entries[kept])


MUTANTS = {
    "none": Mutant(),
    "half the noise": Mutant(Fault(noise_scale=0.5)),
    "half the sensitivity": Mutant(Fault(charged=0.5)),
    "variance for sd": Mutant(variance=True, needs="not 1"),
    "a user charged as a sample": Mutant(Fault(charged=1 / 16)),
    "one of two statistics uncharged": Mutant(Fault(joint=1 / 2), searched=True, needs="moments"),
    "noise repeated over rounds": Mutant(Fault(repeats=True), unbounded=True, needs="one stream"),
    "noise of one seed": Mutant(one_seed=True, unbounded=True),
    "a release uncharged": Mutant(unaccounted="last", needs="several"),
    "start uncharged": Mutant(unaccounted="first", needs="start"),
    "a round too few": Mutant(too_few=1, needs="composed"),
    "one user unclipped": Mutant(clip=FIRST_UNCLIPPED, unbounded=True, needs="clip"),
    "clip after the sum": Mutant(Fault(mean_clip=True), clip=NO_CLIP, needs="clip"),
    "clip taken from the data": Mutant(clip=BOUND_OF_DATA, unbounded=True, needs="clip"),
    "participation not drawn": Mutant(everyone=True, needs="participation"),
}
"""Half the sensitivity: as if a user were added or removed, or a clip had half its bound. A user charged as a sample:
each of 16 samples is clipped, and one clip is charged. One of two statistics uncharged: the pair of Algorithm 2 is
charged the squared sensitivity of its matrix alone."""
