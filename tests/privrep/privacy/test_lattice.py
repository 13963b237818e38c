"""Noise from the system's randomness: where released numbers lie, by which law, and what the ledger has of it.

Draws cannot be repeated: a check fails on correct code with a probability of at most `conftest.FALSE_ALARM` each time
that it runs, and samples are so large that it accepts the wrong law named beside it as rarely.
"""

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as opendp
import pytest
from conftest import FALSE_ALARM, check_sd, fake_users
from contribution_cases import CASES, SIZE
from scipy import special, stats
from test_contributions import distance

from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.contributions import Rows, Scalars, Scores, Semidefinite
from privrep.privacy.lattice import NARROWER, SystemNoise, gamma, on_lattice, spacing
from privrep.privacy.ledger import Ledger, OverBudget
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release, clipped_sums
from privrep.privacy.noise import NoiseSpec

SYSTEM = SystemNoise()
MULTIPLIER = 1.7
KINDS = ("rows", "columns", "scalars", "outer", "symmetric", "semidefinite", "several rows", "by norm", "more, by norm")
"""Those that are clipped and added in float64."""
FORMS = ("independent", "copied", "averaged")
every_form = pytest.mark.parametrize("form", FORMS)


class Still(SystemNoise):
    """Draws nothing but zeros, and remembers what it was asked for: scale and count."""

    def __init__(self):
        self.asked = []

    def integers(self, scale, count):
        self.asked.append((scale, count))
        return np.zeros(count, np.int64)


def opened(source=SYSTEM, multiplier: float = MULTIPLIER, users: int = 4, ledger: Ledger | None = None) -> Release:
    return Release.from_one(multiplier, source, users, Ledger() if ledger is None else ledger)


def blank(users: int, block_size: int | None = None) -> object:
    """Users whose contributions come from elsewhere."""
    return fake_users(np.zeros((1, users, 1)), np.zeros((1, users)), np.zeros((users, 1)), block_size)


def released(name: str, numbers: np.ndarray, handle: Release) -> np.ndarray:
    case = CASES[name]
    return handle.sum(name, blank(len(numbers)), case.contribution(numbers), clip=case.clip).value


def matrix(handle: Release, exact: np.ndarray, spec: NoiseSpec) -> np.ndarray:
    (found,) = handle._gaussian("x", (exact,), spec)
    assert found.sd == pytest.approx(handle.ledger.entries[-1].noise_sd, rel=1e-15)
    return found.value


def of_matrix(form: str, sensitivity: float = 1.0) -> NoiseSpec:
    return NoiseSpec.of_one(sensitivity, sensitivity / 2, form, terms=1)


# Where released numbers lie


@pytest.mark.parametrize("sd", [1.0, np.nextafter(1.0, 0), 1.5, 3e-7, 12345.678])
def test_the_spacing_is_the_largest_power_of_two_within_a_millionth(sd):
    step = spacing(sd)
    assert math.frexp(step)[0] == 0.5
    assert Fraction(step) * 2**20 <= Fraction(sd) < Fraction(step) * 2**21


@pytest.mark.parametrize("name", KINDS)
def test_every_number_is_a_multiple_of_the_spacing(name, rng):
    """And of no larger one: 30 releases have an odd multiple but with probability 2^-30."""
    step = Fraction(spacing(CASES[name].law.noise_sd * MULTIPLIER))
    numbers = rng.standard_normal((4, SIZE))
    found = np.array([released(name, numbers, opened()) for _ in range(30)])
    steps = [Fraction(float(number)) / step for number in found.ravel()]
    assert all(number.denominator == 1 for number in steps)
    assert any(number % 2 for number in steps)


@every_form
def test_matrices_lie_on_the_lattice(form, rng):
    """Symmetric ones are symmetric, and only their upper triangle is read."""
    exact = rng.standard_normal((5, 5))
    found = matrix(opened(), exact + exact.T, of_matrix(form))
    assert not np.fmod(found, spacing(MULTIPLIER)).any()
    assert np.array_equal(found, found.T) == (form != "independent")
    if form != "independent":
        upper = matrix(opened(Still()), np.triu(exact + exact.T), of_matrix(form))
        whole = matrix(opened(Still()), exact + exact.T, of_matrix(form))
        assert np.array_equal(upper, whole)


def test_a_sum_is_rounded_to_the_nearest_multiple(rng):
    exact = 1e6 * rng.standard_normal(1000)
    found = matrix(opened(Still()), exact, of_matrix("independent"))
    assert np.abs(found - exact).max() <= spacing(MULTIPLIER) / 2
    assert np.abs(found - exact).max() > 0.49 * spacing(MULTIPLIER)


# By which law


def discrete(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """Weights of the discrete Gaussian."""
    return lambda k: np.exp(-(k**2) / (2 * scale**2))


def rounded(sd: float) -> Callable[[np.ndarray], np.ndarray]:
    """Weights of a continuous one that is rounded to integers. Mirrored, so that small ones do not cancel."""
    return lambda k: special.ndtr((0.5 - np.abs(k)) / sd) - special.ndtr((-0.5 - np.abs(k)) / sd)


def fits(draws: np.ndarray, weights: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether integers may have this law: chi-square test on values, tails of 50 expected draws in one bin each."""
    values = np.arange(-200, 201)
    expected = weights(values.astype(float))
    expected *= len(draws) / expected.sum()
    last = values[np.cumsum(expected) >= 50][0]
    inner = np.abs(values) < -last
    tail = expected[values <= last].sum()
    counts = np.bincount(np.clip(draws, last, -last) - last, minlength=1 - 2 * last)
    return stats.chisquare(counts, [tail, *expected[inner], tail]).pvalue > FALSE_ALARM


def test_draws_have_the_law_of_the_discrete_gaussian():
    """300,000 tell 2 % of the scale, 100,000 small ones tell a Gaussian that is rounded."""
    draws = SYSTEM.integers(3.3, 300_000)
    assert fits(draws, discrete(3.3))
    assert not fits(draws, discrete(3.3 * 1.02)) and not fits(draws, discrete(3.3 / 1.02))
    small = SYSTEM.integers(0.8, 100_000)
    assert fits(small, discrete(0.8))
    assert not fits(small, rounded(0.8))


def test_draws_have_the_law_at_the_scale_of_releases():
    """By 32 shares of the normal law, and by the low bits, which are uniform."""
    scale = 1.37 * 2**20
    draws = SYSTEM.integers(scale, 100_000)
    check_sd(draws, scale)
    for sd, same in ((scale, True), (1.05 * scale, False)):
        shares = np.bincount((32 * special.ndtr(draws / sd)).astype(int), minlength=32)
        assert (stats.chisquare(shares).pvalue > FALSE_ALARM) == same
    for low, same in ((draws % 32, True), (draws // 2 * 2 % 32, False)):
        assert (stats.chisquare(np.bincount(low, minlength=32)).pvalue > FALSE_ALARM) == same


@every_form
def test_the_noise_has_the_sd_of_its_entry(form):
    """A continuous Gaussian's, on the diagonal and beside it; the ledger has the sd that was drawn."""
    ledger = Ledger()
    law = of_matrix(form)
    draws = np.array([matrix(opened(ledger=ledger), np.zeros((5, 5)), law) for _ in range(200)])
    sd = ledger.entries[0].noise_sd
    rows, columns = np.triu_indices(5, 1)
    check_sd(draws[:, range(5), range(5)], sd)
    check_sd(draws[:, rows, columns], sd / math.sqrt(2) if form == "averaged" else sd)
    source = Still()
    handle = opened(source, 2.0**14, ledger=ledger)  # so large that the enlargement is seen
    matrix(handle, np.zeros((5, 5)), law)
    scale = ledger.entries[-1].noise_sd / spacing(2.0**14)
    assert scale > 1.05 * 2**20
    beside = (scale / math.sqrt(2) if form == "averaged" else scale, 10)
    drawn = [(scale, 25)] if form == "independent" else [(scale, 5), beside]
    np.testing.assert_allclose(source.asked, drawn, rtol=1e-15)


# What the ledger has of it


@every_form
def test_rounding_moves_a_sum_by_what_the_sensitivity_has(form):
    """Where every entry of one sum is rounded down and of the other up, within 1 % of what is added."""
    step, just = 2.0**-20, 2.0**-10
    numbers = 21 if form == "copied" else 36
    steps = round(1.3 / step / math.sqrt(numbers))
    sensitivity = math.sqrt(numbers) * step * (steps + 2 * just)
    law, ledger = of_matrix(form, sensitivity), Ledger()
    below, above = (np.full((6, 6), step * number) for number in (0.5 - just, steps + 0.5 + just))
    assert distance(law, (below,), (above,)) == pytest.approx(1, rel=1e-12)
    handle = opened(Still(), 1.0, ledger=ledger)
    one, other = (matrix(handle, exact, law) for exact in (below, above))
    moved = sensitivity * distance(law, (one,), (other,))
    assert moved > sensitivity * (1 + 1e-6)
    assert moved <= ledger.entries[0].sensitivity <= moved + 0.01 * (moved - sensitivity)


@pytest.mark.parametrize("multiplier", [0.3, 3.0, 1000.0])
def test_the_cost_is_that_of_opendp(multiplier):
    """Which counts rounding to a lattice by itself; it would be more at the sensitivity of the exact sum."""
    law = on_lattice("x", NoiseSpec.of_one(2.0, 1.0, terms=1), (np.zeros(25),), 1, multiplier)
    sd = law.noise_sd * multiplier
    space = opendp.vector_domain(opendp.atom_domain(T="f64", nan=False), size=25), opendp.l2_distance(T="f64")
    opendp.enable_features("contrib")
    rho = opendp.m.make_gaussian(*space, scale=sd, k=round(math.log2(law.noises[0].spacing))).map(2.0)
    assert rho <= (law.sensitivity / sd) ** 2 / 2 <= rho * (1 + 1e-9)
    assert (2.0 / sd) ** 2 / 2 < rho * (1 - 1e-7)


def test_adding_up_in_float64_moves_a_sum_by_more_than_the_sensitivity():
    """One after the other, small numbers count for more beside 1 than beside -1; the ledger has the bound on that."""
    n = 2000

    def sum_with(first: float) -> Fraction:
        numbers = np.full(n, 1.2 * 2.0**-53)
        numbers[0] = first
        return Fraction(float(clipped_sums(blank(n, 1), lambda block: Scalars(numbers[[block.start]]), 1.0)[0]))

    moved = sum_with(1.0) - sum_with(-1.0) - 2
    assert 0 < moved <= Fraction(2 * gamma(n + 8) * n)
    law, zero = NoiseSpec.of_one(2.0, 1.0, terms=3), (np.zeros(()),)
    many, few = (on_lattice("x", law, zero, users, 1.0).sensitivity for users in (10**7, 0))
    assert many - few == pytest.approx(2 * gamma(3 * 10**7 + 8) * 10**7, rel=1e-6)


def test_a_clip_in_float64_lets_a_user_past_by_roundings(rng):
    """By no more than the ledger has."""
    excess = []
    for values in rng.standard_normal((200, 1, 9)):
        (found,) = Rows(values).clipped(0.3)
        excess.append(sum(Fraction(float(number)) ** 2 for number in found) / Fraction(0.3) ** 2 - 1)
    assert 0 < max(excess) <= Fraction(2 * gamma(9 + 8))
    law = Semidefinite(np.zeros((40, 1, 100))).noise_spec(1.0)
    assert [CASES[name].law.terms for name in KINDS] == [1, 1, 1, 1, 1, 1, 2, 2, 3]
    assert law.terms == 40 and Semidefinite(np.zeros((1, 100))).noise_spec(1.0).terms == 1
    larger = [on_lattice("x", law, (np.zeros(size),), 0, 1e-12).sensitivity / law.sensitivity for size in (1, 10**4)]
    assert np.array(larger) / NARROWER - 1 == pytest.approx(np.array([48, 40 * 10**4]) * 2.0**-53, rel=1e-2, abs=0)


def test_several_arrays_are_enlarged_together():
    """In units of their noise; each lies on a lattice of its own, and a million users' sums are rounded."""
    one = NoiseSpec.of_one(2.0, 1.0, "averaged", terms=1)
    two = NoiseSpec(math.sqrt(1.1), 1.0, (*one.noises, *NoiseSpec.of_one(600.0, 300.0).noises), (1.0, 300.0), terms=1)
    law = on_lattice("x", two, (np.zeros((30, 30)), np.zeros(400)), 10**6, 1.0)
    steps = [noise.spacing * math.sqrt(size) for noise, size in zip(law.noises, (900, 400), strict=True)]
    parts = (2 * gamma(10**6 + 8) * 10**6 * np.array([1, 300]) + steps) / (2, 600)
    assert law.sensitivity - two.sensitivity == pytest.approx(math.hypot(*parts), rel=1e-6)
    assert law.sensitivity / law.noise_sd == pytest.approx(math.sqrt(1.1), rel=1e-15)
    assert [noise.sd for noise in law.noises] == pytest.approx([2 * law.noise_sd, 600 * law.noise_sd], rel=1e-15)


def test_releases_cost_what_was_asked_for():
    """Noise grows with sensitivity, so that a handle's mu^2 is spent, and one release more is refused."""
    ledger, numbers = Ledger(), np.zeros((4, SIZE))
    handle = Release(MULTIPLIER, ledger, range(4), {"noise": SYSTEM}, GAUSSIAN_COST.at(MULTIPLIER))
    for part in handle.split(0.25, 0.75):
        released("symmetric", numbers, part)
    assert ledger.mu == pytest.approx(1 / MULTIPLIER, rel=1e-12)
    assert all(entry.sensitivity > 2 * CASES["symmetric"].clip for entry in ledger.entries)
    with pytest.raises(OverBudget, match="rows"):
        released("rows", numbers, handle.share(1e-6))


# Randomness


def test_no_generator_is_touched(monkeypatch, rng):
    """And the same release twice has other numbers."""
    legacy, state = np.random.get_state()[1].copy(), rng.bit_generator.state  # noqa: NPY002
    monkeypatch.setattr(np.random, "default_rng", None)
    streams = {"noise": SYSTEM, "init_noise": SYSTEM, "samples": rng, "participants": rng}
    handle = Release(MULTIPLIER, Ledger(), range(4), streams, UNLIMITED)
    for name in KINDS:
        assert not np.array_equal(*(released(name, np.zeros((4, SIZE)), handle) for _ in range(2)))
    assert np.array_equal(np.random.get_state()[1], legacy) and rng.bit_generator.state == state  # noqa: NPY002


def test_copies_of_a_process_draw_other_numbers():
    """Seeds of the usual libraries change nothing, either."""
    words = """
import os, random, numpy as np
from privrep.privacy.lattice import SystemNoise
random.seed(1), np.random.seed(1), SystemNoise().integers(1e6, 1)
child = os.fork()
print(*SystemNoise().integers(1e6, 4), flush=True)
if child: os.waitpid(child, 0)
"""
    runs = [subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True) for _ in range(2)]
    lines = [line for run in runs for line in run.stdout.splitlines()]
    assert len(lines) == len(set(lines)) == 4


# What is refused


@pytest.mark.parametrize("name", sorted(set(CASES) - set(KINDS)))
def test_sums_whose_rounding_is_not_bounded_are_refused(name, rng):
    ledger = Ledger()
    with pytest.raises(ValueError, match=f"release '{name}'.*rounding"):
        released(name, rng.standard_normal((4, SIZE)), opened(ledger=ledger))
    assert not ledger.entries


def test_the_exponential_mechanism_is_refused():
    ledger = Ledger()
    handle = opened(ledger=ledger)
    with pytest.raises(ValueError, match="release 'pick': the exponential mechanism takes numbers from a seeded"):
        handle.choice("pick", blank(4), lambda block: Scores(np.zeros((2, block.users))), width=1.0)
    with pytest.raises(ValueError, match="release 'walk': the exponential mechanism"):
        handle.approached("walk", lambda scale, rng: np.zeros(1), width=1.0)
    assert not ledger.entries


def test_a_gain_from_random_participation_is_refused(rng):
    handle = Release(1.0, Ledger(), range(4), {"noise": SYSTEM, "participants": rng}, UNLIMITED)
    with pytest.raises(ValueError, match="a gain from random participation"):
        handle.sampled(0.5)
    assert handle.sampled(0.5, count_known=True).rate == 1


@pytest.mark.parametrize(("sd", "beyond"), [(1e-100, 0), (1e100, math.inf)])
def test_noise_that_float64_cannot_hold_is_refused(sd, beyond):
    assert on_lattice("x", of_matrix("independent", sd), (np.zeros(1),), 1, 1.0).terms == 1
    with pytest.raises(ValueError, match="release 'x': sd of its noise is"):
        on_lattice("x", of_matrix("independent", math.nextafter(sd, beyond)), (np.zeros(1),), 1, 1.0)


def test_without_privacy_nothing_is_rounded(rng):
    numbers = rng.standard_normal((4, SIZE))
    exact = clipped_sums(blank(4), CASES["rows"].contribution(numbers), CASES["rows"].clip)[0]
    assert np.array_equal(released("rows", numbers, opened(multiplier=0.0)), exact)
