"""The epsilon of a row, counted again from the ledger that the row holds, by code that shares nothing with
`privrep.privacy`.

Gaussian releases in which everybody takes part: from the integral of (p - e^epsilon q)+ for two normal laws. All
others: privacy losses on a grid, convolved by Fourier transform. Where a user takes part with probability p, the
neighbours of a Gaussian release are (1 - p) N(0, 1) + p N(+-mu/2, 1); a pure release is randomised response.
"""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, ndtr

TERM = re.compile(
    r"(?P<count>\d+) x (?:gaussian (?P<sensitivity>\S+)/(?P<sd>\S+) rate (?P<rate>\S+)|pure (?P<epsilon>\S+))"
    r" users (?P<start>\d+):(?P<stop>\d+)"
)
WIDTH = 2e-4
"""Of the grid of privacy losses."""
FURTHEST = 60.0
"""Largest privacy loss on the grid."""
CLOSE, NEAR = 1e-6, 0.005
"""How far the two counts of an epsilon may be apart: for Gaussian releases with all users, and for others,
whose accountant rounds up."""


class MiscountError(Exception):
    """An epsilon that does not follow from its row's ledger; the message names the row."""


def terms(ledger: str) -> list[dict[str, float]]:
    """The releases of a ledger, as numbers by name.

    Parameters
    ----------
    ledger : its one line, `privrep.privacy.ledger.Ledger.summary`.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    found = [TERM.fullmatch(part) for part in ledger.split("; ")]
    if None in found:
        raise ValueError(f"ledger is {ledger!r}; its part {found.index(None) + 1} is no release")
    return [{name: float(text) for name, text in one.groupdict().items() if text is not None} for one in found]


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta of N(mu, 1) against N(0, 1): the first exceeds e^epsilon times the second beyond epsilon / mu + mu / 2.

    Parameters
    ----------
    mu : positive.
    epsilon : at least 0.
    """
    beyond = epsilon / mu + mu / 2
    return float(ndtr(mu - beyond)) - math.exp(epsilon + log_ndtr(-beyond))


def halved(delta_at, delta: float, high: float) -> float:
    """The least epsilon in [0, high] with at most this delta, by halving.

    Parameters
    ----------
    delta_at : epsilon -> delta, falling.
    delta : allowed.
    high : an epsilon that is large enough.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def losses(mu: float, rate: float) -> np.ndarray:
    """Probabilities of the privacy loss of a release with participation, on a grid around 0, rounded to the nearest
    point.

    Parameters
    ----------
    mu : Gaussian-DP parameter for a user who takes part.
    rate : probability of taking part.
    """
    x = np.linspace(-mu / 2 - 12, mu / 2 + 12, 400_001)
    out = normal(x)
    plus, minus = ((1 - rate) * out + rate * normal(x - side * mu / 2) for side in (1, -1))
    return on_grid(np.log(plus / minus), plus * (x[1] - x[0]))


def normal(x: np.ndarray) -> np.ndarray:
    """The standard normal density.

    Parameters
    ----------
    x : any shape.
    """
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def on_grid(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of losses on the points -r, ..., r times the width.

    Parameters
    ----------
    values : (N,) losses.
    weights : (N,) their probabilities.
    """
    places = np.rint(values / WIDTH).astype(int)
    reach = int(np.abs(places).max())
    return np.bincount(places + reach, weights, 2 * reach + 1)


def choice_delta(choice: float, epsilon: float) -> float:
    """delta of randomised response.

    Parameters
    ----------
    choice : log of the odds with which it tells the truth.
    epsilon : at least 0.
    """
    return max(0.0, -math.expm1(epsilon - choice)) / (1 + math.exp(-choice))


@cache
def composed(parts: tuple[tuple[int, float, float], ...], pure: tuple[tuple[int, float], ...], delta: float) -> float:
    """Epsilon of releases that touch one user.

    Parameters
    ----------
    parts : (count, mu, rate) of the Gaussian ones.
    pure : (count, epsilon) of the pure ones.
    delta : strictly between 0 and 1.
    """
    laws = [(count, losses(mu, rate)) for count, mu, rate in parts]
    for count, epsilon in pure:
        kept = 1 / (1 + math.exp(-epsilon))
        laws.append((count, on_grid(np.array([epsilon, -epsilon]), np.array([kept, 1 - kept]))))
    reach = sum(count * (len(law) // 2) for count, law in laws)
    # Sums of many losses stay far inside the sum of their ranges; what the transform wraps around lies beyond
    # `FURTHEST`.
    reach = min(reach, int(FURTHEST / WIDTH))
    size = 1 << (2 * reach + 1).bit_length()
    product = np.ones(size // 2 + 1, complex)
    for count, law in laws:
        centred = np.zeros(size)
        np.add.at(centred, (np.arange(len(law)) - len(law) // 2) % size, law)
        product *= np.fft.rfft(centred) ** count
    weights = np.maximum(np.fft.irfft(product, size), 0)
    values = WIDTH * np.where(np.arange(size) < size // 2, np.arange(size), np.arange(size) - size)
    weights[weights < 1e-15] = 0

    def delta_at(epsilon: float) -> float:
        above = values > epsilon
        return float(weights[above] @ -np.expm1(epsilon - values[above]))

    return halved(delta_at, delta, float(values.max()))


@cache
def epsilon_of(ledger: str, delta: float) -> tuple[float, float]:
    """Epsilon of the user who is touched most, and how far another count may be away from it, as a share.

    Parameters
    ----------
    ledger : its one line.
    delta : strictly between 0 and 1.

    Raises
    ------
    ValueError
        If the ledger cannot be read.
    """
    releases = terms(ledger)
    if any(one.get("sd") == 0 or one.get("epsilon") == math.inf for one in releases):
        return math.inf, 0.0
    found, within = [], CLOSE
    for first in sorted({one["start"] for one in releases}):
        touching = [one for one in releases if one["start"] <= first < one["stop"]]
        if all(one.get("rate") == 1 for one in touching):
            mu = math.sqrt(sum(one["count"] * (one["sensitivity"] / one["sd"]) ** 2 for one in touching))
            found.append(halved(lambda epsilon, mu=mu: gaussian_delta(mu, epsilon), delta, 40 * mu + mu**2))
        elif len(touching) == touching[0]["count"] == 1 and "epsilon" in touching[0]:
            choice = touching[0]["epsilon"]
            found.append(halved(lambda epsilon, choice=choice: choice_delta(choice, epsilon), delta, choice))
        else:
            gaussian = [
                (int(one["count"]), one["sensitivity"] / one["sd"], one["rate"]) for one in touching if "sd" in one
            ]
            pure = [(int(one["count"]), one["epsilon"]) for one in touching if "epsilon" in one]
            found.append(composed(tuple(gaussian), tuple(pure), delta))
            within = NEAR
    return max(found), within


def check_epsilons(cells: pd.DataFrame) -> int:
    """Compare every `epsilon_exact` with its ledger.

    Parameters
    ----------
    cells : rows of a results table.

    Returns
    -------
    How many rows have an epsilon.

    Raises
    ------
    MiscountError
        If a row has an epsilon and no ledger, a ledger that cannot be read, or one that gives another epsilon.
    """
    if "epsilon_exact" not in cells:
        return 0
    rows = cells[cells["epsilon_exact"].notna()]
    for key, ledger, delta, stated in rows[["key", "ledger", "delta", "epsilon_exact"]].itertuples(index=False):
        if not isinstance(ledger, str):
            raise MiscountError(f"cell {key}: epsilon_exact is {stated!r}, and there is no ledger")
        try:
            counted, within = epsilon_of(ledger, delta)
        except ValueError as error:
            raise MiscountError(f"cell {key}: {error}") from None
        if not (counted == stated or abs(counted - stated) <= within * max(counted, stated)):
            raise MiscountError(f"cell {key}: epsilon_exact is {stated!r}; its ledger, {ledger}, gives {counted!r}")
    return len(rows)
