"""Options are declared once: the declaration gives the checks, and the columns with their meaning."""

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

from privrep import options
from replication.run.registry import method_files, options_class


@dataclass(frozen=True)
class Rounds(options.Declared):
    """A part of the options of several methods."""

    rounds: int = options.option("rounds of the server", options.check_count)
    numbers: ClassVar = {"zeta": "clip in absolute terms"}


@dataclass(frozen=True)
class ExampleOptions(Rounds):
    """With options of its own."""

    kind: str = options.option("which", options.among(("one", "other")), "one")
    few: int | None = options.option("so many, or all", options.check_count, None)
    free: float = options.option("anything", default=math.nan)
    numbers: ClassVar = Rounds.numbers | {"length": "of the mean"}


def test_a_declaration_gives_columns():
    """Of the options first, inherited ones before, then of the numbers; of a class and of its instances."""
    expected = {
        "rounds": "rounds of the server",
        "kind": "which",
        "few": "so many, or all",
        "free": "anything",
        "zeta": "clip in absolute terms",
        "length": "of the mean",
    }
    assert list(ExampleOptions.columns.items()) == list(ExampleOptions(3).columns.items()) == list(expected.items())


def test_none_is_allowed_where_it_is_the_default():
    """And nowhere else."""
    assert ExampleOptions(3, few=None).few is None
    for given in ({"rounds": None}, {"rounds": 3, "few": 0}):
        with pytest.raises(ValueError, match="it must be an integer of at least 1"):
            ExampleOptions(**given)


def test_a_default_is_checked_too():
    @dataclass(frozen=True)
    class Wrong(options.Declared):
        share: float = options.option("of mu^2", options.check_share, 1.0)

    with pytest.raises(ValueError, match=r"^share is 1\.0; it must lie strictly between 0 and 1"):
        Wrong()


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (options.check_count, (1, 7, 10**9), (0, -1, 1.0, True, math.nan, "1")),
        (options.check_share, (1e-9, 0.5, 1 - 1e-9), (0, 1, -0.1, math.nan)),
        (options.check_positive, (1e-300, 3, 1e300), (0, -1, math.inf, math.nan)),
        (options.check_nonnegative, (0, 2.0, math.inf), (-1e-9, math.nan)),
        (options.check_sine, (0, 0.999), (-0.1, 1, math.nan)),
        (options.check_any_sine, (0, 0.5, 1), (-0.1, 1.1, math.nan)),
        (options.among(("a", "b")), ("a", "b"), ("", "ab", "c")),
        (options.requires(lambda value: value > 2, "be more than 2"), (3,), (2,)),
    ],
)
def test_what_a_check_lets_through(check, right, wrong):
    for value in right:
        check("name", value)
    for value in wrong:
        with pytest.raises(ValueError, match=r"^name is .*; it must "):
            check("name", value)


@pytest.mark.parametrize("name", method_files())
def test_every_option_says_what_it_means(name):
    """And every number beside them; a text is one of some choices, or checked with what depends on it."""
    kind = options_class(name)
    assert issubclass(kind, options.Declared)
    for one in fields(kind):
        assert one.metadata.get("meaning"), one.name
    assert all(kind.columns.values())
    assert not set(kind.numbers) & {one.name for one in fields(kind)}
