"""Likelihood-ratio audit of the whole estimator at epsilon 1.

Under one history, the answers of a fit, the log-likelihood ratio of two neighbouring tables is normal with variance
mu^2 = sum |shift of a sum|^2 / (sd of its noise)^2, whatever the releases depend on (adaptive composition of Gaussian
mechanisms). Shifts are exact, and sds are those that the generator is asked for. Many users are tried in the place of
one, so that each two of them are a pair.
"""

from collections import Counter
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pytest
from estimator_cases import CONFIGURATIONS, FIRST, ONE, Fit, called, few_rounds, rows_of, table

from privrep.methods.mixed_model import plan
from privrep.privacy.contributions import Rows, Scalars
from privrep.privacy.mechanisms import Release

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
CANARIES = 32
ROUNDING = 1e-5
OUT_OF_REACH = {("unit_level", "gaussian"): 0.15, ("mixed_length", "binary"): 0.4}
"""Releases whose clip rows within their ranges do not reach, by family, with an upper end of what they do reach."""


def canary(seed: int):
    """Draw the rows of a user at the ends of what may be."""
    rng = np.random.default_rng([7, seed])
    rows = int(rng.choice([1, 2, 3, 6]))
    a = [np.full(rows, rng.choice([-1.0, 0, 1])), np.resize([1.0, -1], rows), rng.uniform(-1, 1, rows)][rng.integers(3)]
    c = rng.choice(["u", "v"], rows if rng.random() < 0.5 else 1)
    sign = rng.choice([-1, 1])
    kinds = [
        np.full(rows, sign * rng.choice([1, 0.01])),
        np.resize([1.0, -1], rows),
        sign * a,
        rng.choice([-1, 1], rows),
    ]
    kinds += [sign * np.where(np.resize(c, rows) == "u", 1, -1)]
    return rows_of(FIRST, a, np.resize(c, rows), kinds[rng.integers(len(kinds))])


@pytest.fixture(autouse=True)
def shapes_are_released_and_gains_clipped(monkeypatch):
    """However small the table; in doubt half of the weight is not own data's, and gains are clipped."""
    monkeypatch.setattr(plan, "EDGE", np.inf)
    monkeypatch.setattr(plan, "ANSWER_CLIP", 1.0)
    with few_rounds():
        yield


def audit(configuration: dict, histories: int = 3) -> tuple[float, Fit, Counter]:
    """Try all canaries in place of the first user in some histories: mu of the worst pair over that of the ledger, its
    history, and of each release the largest shift over that of its entry."""
    found, shares = [], Counter()
    for seed in range(histories):
        history = Fit(configuration | {"epsilon": 1.0, "random_state": seed}, table(ONE))
        fits = [Fit(history.configuration, table(canary(one)), history.transcript) for one in range(CANARIES)]
        squares = np.zeros((CANARIES, CANARIES))
        for number, entry in enumerate(history.model.ledger_.entries):
            exact = np.array([fit.transcript.records[number].exact for fit in fits])
            shifts = np.linalg.norm(exact[:, None] - exact, axis=2)
            squares += shifts**2
            shares[entry.name] = max(shares[entry.name], shifts.max() / entry.mu)
        found.append((squares.max() ** 0.5 / history.model.ledger_.mu, history))
    return *max(found, key=itemgetter(0)), shares


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)), ids=lambda number: called(CONFIGURATIONS[number]))
def test_no_pair_is_told_apart_better_than_is_stated(number):
    """In the whole and in each release; and by more than half of what is stated, so that a factor of two is seen."""
    whole, history, shares = audit(CONFIGURATIONS[number])
    assert len(history.transcript.records) == len(history.model.ledger_.entries)
    assert history.model.privacy_["epsilon"] <= 1 + 1e-9
    assert 0.75 < whole <= 1 + ROUNDING
    for name, share in shares.items():
        out = OUT_OF_REACH.get((name, history.model.family))
        low, high = (0.5, 1 + ROUNDING) if out is None else (0, out)
        assert low < share <= high, name


def half_the_noise(name: str):
    """A release with half the noise of its entry in the ledger."""
    honest = Release._gaussian

    def gaussian(self, released, exact, spec):
        noises = tuple(replace(noise, sd=noise.sd / (2 if released == name else 1)) for noise in spec.noises)
        return honest(self, released, exact, replace(spec, noises=noises))

    return Release, "_gaussian", gaussian


def twice_the_clip(kind: type):
    honest = kind.clipped
    return kind, "clipped", lambda self, clip, there=None: honest(self, 2 * clip, there)


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (0, half_the_noise("mixed_shape")),
        (1, half_the_noise("mixed_length")),
        (2, half_the_noise("mixed_step")),
        (4, half_the_noise("unit_heads")),
        *((number, twice_the_clip(kind)) for number, kind in ((1, Rows), (3, Scalars))),
    ],
)
def test_a_fault_of_a_factor_of_two_is_seen(monkeypatch, number, fault):
    monkeypatch.setattr(*fault)
    _, _, shares = audit(CONFIGURATIONS[number], histories=1)
    assert max(shares.values()) > 1.3
