"""Statements of a table's columns, and users in memory whose rows move nobody else's."""

import json

import numpy as np
import pandas as pd
import pytest

from privrep.users.given_users import GivenUsers
from privrep.users.schema import Category, Flag, Number, Oddities, Schema

pytestmark = pytest.mark.filterwarnings("ignore:column 'item'.*not listed")
SCHEMA = Schema({"age": Number(0, 100), "sex": Flag(0.2), "item": Category(("a", "b", "c"))}, Number(1, 6))
FRAME = pd.DataFrame({"item": ["c", "a", "z"], "sex": [True, False, True], "age": [0.0, 50.0, 100.0]})
CAP = 4


def test_columns_are_scaled_by_the_statements_alone():
    one = SCHEMA.scaled(FRAME)
    assert one.dtype == np.float32 and one.shape == (3, SCHEMA.dim) == (3, 6)
    root = 3**0.5
    expected = [
        [1, -root, 2, -1 / root, -1 / root, 2 / root],
        [1, 0, -0.5, 2 / root, -1 / root, -1 / root],
        [1, root, 2, 0, 0, 0],
    ]
    np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("value", "counts_as"), [(-5, 0), (1e300, 100), (np.inf, 100), (-np.inf, 0), (np.nan, 50), (None, 50)]
)
def test_numbers_out_of_range_count_as_the_nearest_and_missing_ones_as_the_middle(value, counts_as):
    given, meant = (Number(0, 100).scaled(pd.Series([one, 7.0]), "x", Oddities()) for one in (value, counts_as))
    np.testing.assert_array_equal(given, meant)


def test_flags_and_levels_that_are_missing_count_as_nothing():
    odd = Oddities(3)
    assert not Flag(0.2).scaled(pd.Series([None, np.nan]), "flag", odd).any()
    np.testing.assert_array_equal(Flag().scaled(pd.Series([5, -3]), "flag", odd), [[1.0], [-1.0]])
    assert not Category(("a", "b")).scaled(pd.Series([None, "A", 3]), "item", odd).any()
    with (
        pytest.warns(UserWarning, match="item: 2 of 3 rows have a level that is not listed"),
        pytest.warns(UserWarning, match="flag: 2 of 3 rows lie beyond"),
    ):
        odd.tell()


def test_labels_come_back_in_their_own_unit():
    labels = np.array([1.0, 2.5, 6.0])
    scaled = SCHEMA.scaled_labels(labels)
    np.testing.assert_allclose(scaled[[0, 2]], [-1, 1])
    np.testing.assert_allclose(SCHEMA.labels(scaled), labels)
    np.testing.assert_array_equal(SCHEMA.scaled_labels([-np.inf, np.inf, np.nan]), [-1, 1, np.nan])


def test_what_is_stated_is_read_back():
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA


def test_columns_without_sense_are_named():
    with pytest.raises(ValueError, match="the table has no column 'sex'; it has 'item', 'age'"):
        SCHEMA.scaled(FRAME.drop(columns="sex"))
    with pytest.raises(ValueError, match=r"column 'age' has something else than a number in row 1$"):
        SCHEMA.scaled(FRAME.assign(age="old"))


def rows_of(seed: int, users: int = 30) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels and features of each user, of whom every third has more rows than the cap."""
    rng = np.random.default_rng(seed)
    return [
        (rng.uniform(-1, 1, count), rng.uniform(-1, 1, (count, 2))) for count in np.resize([2, CAP, 3 * CAP], users)
    ]


def blocks(users: list, shuffled: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of all blocks, user last but one and last."""
    number = np.repeat(np.arange(len(users)), [len(labels) for labels, _ in users])
    labels, features = (np.concatenate(arrays) for arrays in zip(*users, strict=True))
    turn = interleaved(number) if shuffled else np.arange(len(number))
    found = list(GivenUsers.capped(labels[turn], features[turn], number[turn], len(users), CAP, 1).blocks())
    return np.concatenate([one.features for one in found], axis=1), np.concatenate([one.labels for one in found], 1)


def interleaved(number: np.ndarray) -> np.ndarray:
    """Rows in turns: the first of each user, then the second of each."""
    return np.lexsort((number, np.arange(len(number)) - np.searchsorted(number, number)))


FULL = (np.full(3 * CAP, 1.0), np.ones((3 * CAP, 2)))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(
    "new",
    [
        FULL,
        (FULL[0], -FULL[1]),
        (np.full(5, np.nan), np.ones((5, 2))),
        (np.empty(0), np.empty((0, 2))),
        (np.ones(1), -np.ones((1, 2))),
        (np.ones(50), np.ones((50, 2))),
    ],
    ids=["many", "extreme", "unlabelled", "none", "one", "fifty"],
)
@pytest.mark.parametrize("user", [0, 13])
def test_another_users_rows_move_nobody_elses(new, shuffled, user):
    """Bytes of the others' blocks are the same, whatever one user has, and wherever its rows stand."""
    users = rows_of(0)
    changed = [*users[:user], new, *users[user + 1 :]]
    for before, after in zip(blocks(users, shuffled), blocks(changed, shuffled), strict=True):
        assert before.shape == after.shape
        assert np.delete(before, user, axis=1).tobytes() == np.delete(after, user, axis=1).tobytes()


def test_the_cap_keeps_a_choice_of_a_users_own_rows():
    """It is no prefix, and differs between users; the choice does not look at values."""
    users = [(np.arange(1.0, 41.0), np.ones((40, 1))) for _ in range(200)]
    kept = blocks(users)[1]
    assert all(len(set(column)) == CAP for column in kept.T)
    assert len({tuple(column) for column in kept.T}) > 190
    assert abs(kept.mean() - 20.5) < 5 * (40**2 / 12 / kept.size) ** 0.5
    halves = kept[::2].mean() - kept[1::2].mean()
    assert abs(halves) < 5 * (40**2 / 12 * 4 / kept.size) ** 0.5
