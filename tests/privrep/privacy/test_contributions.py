"""Kinds of contributions, whatever the data: what a user adds, how far a sum moves where one is replaced,
and how the release handle releases them.

Distances are in units of the noise that a law draws. Of a symmetric matrix the free numbers are those of the upper
triangle; averaged noise is smaller by sqrt(2) beside the diagonal.
"""

import math
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import proofs
import pytest
from conftest import fake_users, handle
from contribution_cases import CASES, CHOICE, SIZE, Case, slanted, user
from hypothesis import given
from hypothesis import strategies as st

from privrep.privacy.clipping import clip_factor
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease
from privrep.privacy.mechanisms import NamedSum, Release, clipped_sums
from privrep.privacy.noise import Noise, NoiseSpec
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import Moments, UserClip
from privrep.users.blocks import Block
from privrep.users.given_users import GivenUsers
from privrep.users.passes import UserRows
from privrep.users.simulated import Problem

every_kind = pytest.mark.parametrize("case", [*CASES.values(), CHOICE], ids=[*CASES, "scores"])
every_sum = pytest.mark.parametrize("case", CASES.values(), ids=CASES)

BAD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, -1e30, 1e-30, 1e-320, 0.0)


@st.composite
def crowds(draw, users: int = 4) -> np.ndarray:
    """Numbers of users, (users, SIZE): of any size, and some that are no numbers."""
    drawn = draw(st.binary(min_size=users * SIZE, max_size=users * SIZE))
    sizes = draw(st.lists(st.sampled_from([1.0, 1e-30, 1e30, 1e150, 1e300]), min_size=users, max_size=users))
    numbers = np.frombuffer(drawn, np.int8).reshape(users, SIZE) / 32 * np.array(sizes)[:, None]
    places = st.tuples(st.integers(0, users - 1), st.integers(0, SIZE - 1), st.sampled_from(BAD))
    for place in draw(st.lists(places, max_size=4)):
        numbers[place[:2]] = place[2]
    return numbers


def free(array: np.ndarray, noise: Noise) -> np.ndarray:
    """The free numbers of an array, each over the sd of its noise."""
    if noise.form == "independent":
        return np.ravel(array) / noise.sd
    rows, columns = np.triu_indices(len(array))
    beside = noise.sd / math.sqrt(2) if noise.form == "averaged" else noise.sd
    return array[rows, columns] / np.where(rows == columns, noise.sd, beside)


def distance(law: NoiseSpec, one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> float:
    """Of two sums, at noise multiplier 1."""
    parts = zip(one, other, law.noises, strict=True)
    return math.sqrt(sum(float((free(np.subtract(a, b, dtype=float), noise) ** 2).sum()) for a, b, noise in parts))


# One user


@every_sum
@given(numbers=crowds())
def test_no_user_adds_more_than_the_bound(case, numbers):
    """Whatever the data; of a triangle that is copied the upper one counts."""
    for number in range(len(numbers)):
        found = case.sums(numbers[number : number + 1])
        for array, noise, bound in zip(found, case.law.noises, case.law.bounds, strict=True):
            seen = np.triu(array) if isinstance(case.make(numbers), DisjointPairs) else array
            assert np.linalg.norm(seen.astype(float)) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("name", ["rows", "columns", "scalars", "outer", "symmetric", "semidefinite", "several rows"])
def test_numbers_in_float32_are_measured_and_summed_in_float64(name, rng):
    """So that rounding lets nobody past the clip, and no sum rounds otherwise with another user in it."""
    case = CASES[name]
    for _ in range(50):
        (found,) = case.sums((99 * rng.standard_normal((1, SIZE))).astype(np.float32))
        assert found.dtype == np.float64
        assert np.linalg.norm(found) <= case.clip * (1 + 1e-12)


@given(numbers=crowds())
def test_no_user_moves_a_score_by_more_than_the_width(numbers):
    """All scores of a user lie in [-w, 0], whatever the data."""
    for number in range(len(numbers)):
        (found,) = CHOICE.sums(numbers[number : number + 1])
        assert (found <= 0).all() and (found >= -CHOICE.clip).all()


@every_sum
@given(numbers=crowds())
def test_a_user_who_is_replaced_moves_a_sum_by_the_sensitivity_at_most(case, numbers):
    """In units of the noise, among others."""
    before, after, without = (case.sums(numbers[who]) for who in ([0, 1, 2], [3, 1, 2], [1, 2]))
    assert distance(case.law, before, after) <= case.most("replaced") * (1 + 1e-12) + case.rounding
    assert distance(case.law, before, without) <= case.most("added or removed") * (1 + 1e-12) + case.rounding


@every_sum
def test_the_sensitivity_is_attained(case):
    """Within 1 %, so no smaller one would do; but for all pairs of more than two samples it is larger than need be."""
    one, other = map(case.sums, case.pair)
    nobody = tuple(np.zeros_like(array) for array in one)
    moved = {"replaced": distance(case.law, one, other)}
    moved["added or removed"] = max(
        distance(case.law, each, nobody) for each in (one, other, case.sums(slanted(0, 99)))
    )
    for neighbours, found in moved.items():
        assert case.share * case.most(neighbours) <= found <= case.most(neighbours) * (1 + 1e-9)
    assert case.law.sensitivity / case.law.noise_sd == case.most("replaced")


def test_differences_of_scores_move_by_twice_the_width():
    one, other = (CHOICE.sums(numbers)[0] for numbers in CHOICE.pair)
    assert np.ptp(one - other) == pytest.approx(2 * CHOICE.clip, rel=1e-12)
    assert np.abs(one - other).max() == pytest.approx(CHOICE.clip, rel=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("name", ["rows", "columns", "outer", "symmetric", "semidefinite", "several rows"])
def test_who_cannot_be_measured_adds_nothing(name, bad):
    """Numbers that are none, or whose squares overflow, leave the sum of the others as it is."""
    case, sound = CASES[name], np.random.default_rng(0).standard_normal((3, SIZE))
    spoilt = sound.copy()
    spoilt[1, :6] = bad
    for found, others in zip(case.sums(spoilt), case.sums(sound[[0, 2]]), strict=True):
        np.testing.assert_allclose(found, others, rtol=1e-12)


@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e3])
def test_a_clip_at_its_edges(clip):
    """What is as long as the clip is left alone, what overflowed adds nothing, even where nothing is clipped; nor does
    a user whose moments are beyond the clip by a factor that float32 does not hold."""
    lengths = np.array([0, 0.999, 1, 1.001, 4, math.inf, math.nan])
    np.testing.assert_allclose(clip_factor(clip * lengths, clip), [1, 1, 1, 1 / 1.001, 0.25, 0, 0], rtol=1e-12)
    np.testing.assert_array_equal(clip_factor(lengths, math.inf), [1, 1, 1, 1, 1, 0, 0])
    for factor, part in ((1.01e-20, 1), (0.99e-20, 0)):
        one, head = np.ones((1, 1, 1), np.float32), np.array([[math.sqrt(clip) / factor]])
        found = Moments(one, one[0], one[0], head).clipped(UserClip(clip, clip))
        np.testing.assert_allclose([array.item() for array in found], part * clip, rtol=1e-5)


# Several users


@every_kind
@given(numbers=crowds())
def test_a_sum_is_that_of_its_users(case, numbers):
    """Each clipped by itself."""
    alone = [case.sums(numbers[number : number + 1]) for number in range(len(numbers))]
    bounds = case.law.bounds if case.law else (case.clip,)
    for together, parts, bound in zip(case.sums(numbers), zip(*alone, strict=True), bounds, strict=True):
        np.testing.assert_allclose(together, np.sum(parts, axis=0, dtype=float), rtol=0, atol=case.rounding * bound)


@every_kind
def test_no_users_add_nothing(case):
    """In the shape of a sum, also where they are the first that a worker sees."""
    shapes = [np.shape(array) for array in case.sums(user(1.0))]
    with ThreadPoolExecutor(1) as worker:
        nothing = worker.submit(case.sums, np.empty((0, SIZE))).result()
    assert [np.shape(array) for array in nothing] == shapes and not any(array.any() for array in nothing)


@every_kind
def test_a_kind_is_the_same_after_a_round_trip(case):
    """Also one that has been measured."""
    kind = case.make(np.random.default_rng(0).standard_normal((4, SIZE)))
    found = kind.clipped(case.clip)
    again = pickle.loads(pickle.dumps(kind))
    assert again.noise_spec(case.clip) == kind.noise_spec(case.clip)
    assert [one.tobytes() for one in again.clipped(case.clip)] == [one.tobytes() for one in found]


def test_the_page_on_proofs_is_that_of_the_code():
    """All but the list of releases, which other tests hold against what runs; `python tests/proofs.py` renews it. The
    tests that it names exist."""
    page = proofs.PAGE.read_text()
    assert proofs.page(*proofs.listed()) == page
    assert [path for path in re.findall(r"`(tests/[\w/]+\.py)", page) if not (proofs.ROOT / path).exists()] == []
    assert set(re.findall(r"\| `(test_\w+)", page)) <= globals().keys()


# The release handle

CROWD = 10.0 ** np.arange(-4, 5)[:, None] * np.random.default_rng(3).standard_normal((9, SIZE))
CROWD[4, 0], CROWD[7, 1] = math.nan, math.inf
USERS = fake_users(np.zeros((1, 9, 1)), np.zeros((1, 9)), np.zeros((9, 1)), block_size=2)
"""Users whose numbers are `CROWD`, in blocks of two."""
SOME = range(3, 9)


def opened(multiplier: float = 1.7, seed: int = 0, **options) -> Release:
    """A release handle for some of the users, with a ledger of its own."""
    return handle(9, multiplier, np.random.default_rng(seed), Ledger(), **options).of(SOME)


def of_all(*names: str) -> Callable[[Block], tuple]:
    """Several contributions from one pass."""
    parts = [CASES[name].contribution(CROWD) for name in names]
    return lambda block: tuple(part(block) for part in parts)


def as_tuple(found) -> tuple:
    """What a release handle released, as one array or several."""
    return found if isinstance(found, tuple) else (found,)


def check_released(case: Case, found, numbers: np.ndarray, multiplier: float = 1.7, rng=None) -> None:
    """The clipped sum of users with these numbers, and noise as the law draws it, by default that of `opened()`."""
    rng = np.random.default_rng(0) if rng is None else rng
    for noisy, exact, noise in zip(as_tuple(found), case.sums(numbers), case.law.noises, strict=True):
        expected = exact + noise.draw(np.shape(exact), multiplier, rng)
        np.testing.assert_allclose(noisy.value, expected, rtol=0, atol=10 * case.rounding * noise.sd)
        assert noisy.sd == noise.sd * multiplier
        assert noisy.charge == pytest.approx((case.law.sensitivity / case.law.noise_sd / multiplier) ** 2, rel=1e-12)


@every_sum
def test_a_sum_is_released_by_its_law(case):
    """The clipped sum over the release handle's users and nobody else's, noise as the law draws it, and one entry."""
    release, law = opened(), case.law
    found = release.sums(USERS, case.contribution(CROWD), NamedSum("sum", case.clip))
    check_released(case, found, CROWD[3:])
    assert release.ledger.entries == [GaussianRelease("sum", law.sensitivity, law.noise_sd * 1.7, 3, 9)]


@every_sum
def test_without_noise_a_sum_is_exact(case):
    """That of `clipped_sums`, with any clip that the kind takes, and without protection."""
    release = opened(0.0)
    found = release.sums(USERS, case.contribution(CROWD), NamedSum("sum", case.clip))
    exact = clipped_sums(USERS, case.contribution(CROWD), case.clip, over=SOME)
    for one, other in zip(as_tuple(found), exact, strict=True):
        np.testing.assert_array_equal(one.value, other)
        assert (one.sd, one.charge) == (0.0, math.inf)
    assert release.ledger.mu == math.inf


def test_a_choice_is_of_the_cut_scores():
    """Over the release handle's users; the same noise takes the same candidate from the sum of their shares."""
    release, rng = opened(), np.random.default_rng(0)
    (scores,) = CHOICE.sums(CROWD[3:])
    for _ in range(200):
        noise = rng.gumbel(0.0, 1.0, 3)
        chosen = release.choice("choice", USERS, CHOICE.contribution(CROWD), width=CHOICE.clip)
        assert chosen == np.argmax(noise - scores / (2 * CHOICE.clip * 1.7))
    assert release.ledger.entries == 200 * [PureRelease("choice", 1 / 1.7, 3, 9)]


def test_several_parts_are_released_in_their_order():
    """An entry for each, at its share, with the noise of that share, and the numbers that separate sums have."""
    names, shares = ("scalars", "moments", "semidefinite"), (0.2, 0.5, 0.3)
    parts = [NamedSum(name, CASES[name].clip, share) for name, share in zip(names, shares, strict=True)]
    together, apart = opened(), opened()
    found = together.sums(USERS, of_all(*names), *parts)
    separate = []
    for part in parts:
        alone, one = apart.share(part.share), NamedSum(part.name, part.clip)
        separate += alone.sums(USERS, CASES[part.name].contribution(CROWD), one)
    assert len(found) == len(separate) == 4
    for one, other in zip(found, separate, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
    rng = np.random.default_rng(0)
    for part, one in zip(parts, (found[0], found[1:3], found[3]), strict=True):
        check_released(CASES[part.name], one, CROWD[3:], 1.7 / math.sqrt(part.share), rng)
    assert together.ledger.entries == apart.ledger.entries
    assert [entry.name for entry in together.ledger.entries] == list(names)
    # The sensitivity of the moments is sqrt(9/8) in units of their noise, that of the others 1.
    assert together.ledger.mu**2 == pytest.approx((0.2 + 0.5 * 9 / 8 + 0.3) / 1.7**2, rel=1e-12)


def test_what_users_keep_is_not_summed():
    """One row each, of the release handle's users, behind the sum and with no entry of its own."""
    rows = CASES["rows"].contribution(CROWD)

    def with_own(block: Block) -> tuple[Rows, UserRows]:
        return rows(block), UserRows(CROWD[block.start :][: block.users], block.start)

    release = opened()
    found, own = release.sums(USERS, with_own, NamedSum("sum", 0.4))
    np.testing.assert_array_equal(found.value, opened().sum("sum", USERS, rows, clip=0.4).value)
    np.testing.assert_array_equal(own.rows, CROWD[3:])
    assert own.start == 3 and len(release.ledger.entries) == 1


def test_blocks_of_different_laws_are_refused():
    """What a sum is released by may not depend on whose data are in it."""
    kinds = [CASES[name].contribution(CROWD) for name in ("symmetric", "semidefinite", "all pairs", "one pair")]
    for usual, odd in (kinds[:2], kinds[2:]):
        release = opened()
        with pytest.raises(ValueError, match="blocks of users differ"):
            release.sum("sum", USERS, lambda block, kinds=(usual, odd): kinds[block.start == 6](block), clip=0.4)
        assert not release.ledger.entries


@pytest.mark.parametrize("shares", [(), (0.5,), (0.5, 0.4), (0.5, 0.6), (math.nan, 0.5), (2.0, -1.5)])
def test_shares_that_do_not_add_to_one_are_refused(shares):
    with pytest.raises(ValueError, match=r"^shares of mu\^2 are .*; they must add up to one$"):
        opened().split(*shares)


def test_a_split_is_its_shares():
    """Handles that differ in nothing from those of `share`, also within a share; all together cost what one does."""
    shares = (0.1, 0.2, 0.7)
    release = opened()
    for whole in (release, release.share(0.3), release.start(2.0)):
        assert whole.split(*shares) == tuple(map(whole.share, shares))
    for part in release.split(*shares):
        part.sum("sum", USERS, CASES["rows"].contribution(CROWD), clip=0.4)
    assert release.ledger.mu == pytest.approx(1 / 1.7, rel=1e-12)


def test_sampling_everybody_draws_nothing():
    coins = np.random.default_rng(1)
    state, release = str(coins.bit_generator.state), opened(participants=coins)
    assert release.sampled(1.0) is release.sampled(1) is release
    assert str(coins.bit_generator.state) == state and (release.present, release.rate) == (6, 1.0)


@pytest.mark.parametrize("told", [False, True])
@every_sum
def test_a_sampled_sum_is_of_those_who_take_part(case, told):
    """By their coins, whatever the blocks; the entry has the rate unless it is told how many took part."""
    for seed in range(5):
        release = opened(participants=np.random.default_rng(seed)).sampled(0.5, told)
        there = np.random.default_rng(seed).random(6) < 0.5
        np.testing.assert_array_equal(release.taking_part, there)
        assert release.present == there.sum()
        found = release.sums(USERS, case.contribution(CROWD), NamedSum("sum", case.clip))
        check_released(case, found, CROWD[3:][there])
        assert [entry.rate for entry in release.ledger.entries] == [1.0 if told else 0.5]


@dataclass(frozen=True)
class Counted:
    """Rows of a crowd by a name, and how often they were asked for."""

    key: str
    factor: float
    asked: list = field(default_factory=list, compare=False)

    def __call__(self, block: Block) -> Rows:
        self.asked.append(block.start)
        return Rows(self.factor * CROWD[block.start :][: block.users, :3])


class Watching:
    """Keeps what it sees."""

    def __init__(self):
        self.seen = []

    def lengths(self, norms, bound):
        self.seen.append((norms, bound))


def test_a_sum_with_a_key_is_taken_once():
    """For the same users, clip and key; another of these is another sum.
    Who is sampled is in no key, and whoever watches sees all users."""
    users = GivenUsers(Problem(9, 1, 1, 1).known, np.zeros((1, 9, 1)), np.zeros((1, 9)))
    one, again, other = Counted("one", 1.0), Counted("one", 1.0), Counted("other", 2.0)
    watching = Watching()
    release = opened(0.0, participants=np.random.default_rng(0))
    first = release.sum("sum", users, one, clip=0.4).value
    np.testing.assert_array_equal(release.sum("sum", users, again, clip=0.4).value, first)
    assert (len(one.asked), len(again.asked)) == (1, 0)
    for changed, contribution, clip in (
        (release, again, 0.5),
        (release.of(range(9)), again, 0.4),
        (release, other, 0.4),
        (release.sampled(0.5), again, 0.4),
        (release.sampled(0.5), again, 0.4),
        (replace(release, watch=watching.lengths), again, 0.4),
    ):
        before = len(contribution.asked)
        found = changed.sum("sum", users, contribution, clip=clip).value
        assert len(contribution.asked) == before + 1
        assert not np.array_equal(found, first) or changed.watch is not None
    np.testing.assert_array_equal(found, first)
    ((norms, bound),) = watching.seen
    np.testing.assert_allclose(norms, np.linalg.norm(CROWD[3:, :3], axis=1))
    assert bound == 0.4


def test_who_watches_changes_nothing():
    """Norms before the clip, of all parts in their order, and the same releases."""
    parts, watching = (NamedSum("rows", 0.4), NamedSum("outer", 0.7)), Watching()
    plain, watched = opened(), replace(opened(), watch=watching.lengths)
    found = [release.sums(USERS, of_all("rows", "outer"), *parts) for release in (plain, watched)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
    assert [bound for _, bound in watching.seen] == [0.4, 0.7]
    for (norms, _), kind in zip(watching.seen, ("rows", "outer"), strict=True):
        np.testing.assert_array_equal(norms, CASES[kind].make(CROWD[3:]).norms)
    assert plain.ledger.entries == watched.ledger.entries
