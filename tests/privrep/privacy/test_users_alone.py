"""What a user adds to a sum depends on that user alone, to the byte, in every release of every method and of the
estimator, which are found by running. tests/images/test_image_methods.py has the images' one release."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import proofs
import pytest
from estimator_cases import CONFIGURATIONS, ONE, Fit, called, table
from method_cases import ONE as USERS
from method_cases import PROBLEM, REPLAYED

from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import ClippedSums, Release
from privrep.users.blocks import Block
from privrep.users.passes import UserRows
from replication.experiments.auditing.replay import streams
from replication.run.registry import load_options

FEW = 5
"""Users of a block that are looked at."""
HOSTILE = (1.0, 1e11, -1e6, 1e-11, np.nan)
"""Factors on the rows of these users."""


def hostile(block: Block) -> Block:
    """The same users with samples and labels that are enormous, tiny, or no numbers, in turn."""
    factors = np.resize(HOSTILE, block.users).astype(np.float32)
    return Block(block.start, block.features * factors[:, None], block.labels * factors[::-1], block.heads)


def bytes_of(found: tuple) -> list:
    """Specifications, sums and rows of a statistic."""
    return [found[0], *(np.asarray(getattr(one, "rows", one)).tobytes() for one in found[1:])]


def of_one(statistic: ClippedSums, real: Callable, block: Block, place: int) -> list[np.ndarray]:
    """What the user at this place of a block adds to each sum, and the rows that this user keeps."""
    there = np.arange(block.users) == place
    found = real(replace(statistic, taking_part=UserRows(there, block.start)), block)[1:]
    return [one.rows[place] if isinstance(one, UserRows) else np.asarray(one) for one in found]


def check_alone(statistic: ClippedSums, real: Callable, block: Block, name: str) -> None:
    """Each user's part of a sum is the same to the byte whatever the others' rows, near that of the user alone, and
    within the clip."""
    specs, bounds = real(statistic, block)[0], []
    for spec, clip in zip(specs, statistic.clips, strict=True):
        bounds += (
            [(bound, noise.form) for bound, noise in zip(spec.bounds, spec.noises, strict=True)] if spec else [clip]
        )
    spoilt = hostile(block)
    for place in range(block.users):
        mixed = Block(block.start, *(np.array(getattr(spoilt, part)) for part in ("features", "labels")), block.heads)
        mixed.features[:, place], mixed.labels[:, place] = block.features[:, place], block.labels[:, place]
        parts = of_one(statistic, real, block, place)
        alone = of_one(statistic, real, block.take(block.start + place, block.start + place + 1), 0)
        for one, other, by_itself in zip(parts, of_one(statistic, real, mixed, place), alone, strict=True):
            gap = np.abs(one.astype(float) - other).max()
            assert one.tobytes() == other.tobytes(), (
                f"{name}: what user {place} adds moves with others' rows by {gap:.3g}"
            )
            np.testing.assert_allclose(by_itself, one, rtol=1e-3, atol=1e-5, err_msg=f"{name}: user {place} alone")
        for one, bound in zip(of_one(statistic, real, spoilt, place), bounds, strict=False):
            bound, form = bound if isinstance(bound, tuple) else (bound, "score")
            size = np.abs(one).max() if form == "score" else np.linalg.norm(np.triu(one) if form == "copied" else one)
            assert size <= bound * (1 + 1e-6), f"{name}: user {place} adds {size:.6g}, and the clip is {bound:.6g}"


@pytest.fixture
def looked_at(monkeypatch) -> set[str]:
    """The contributions that were looked at, by name, while a test runs."""
    real, seen = ClippedSums.__call__, set()

    def checked(self, block):
        name = getattr(self.contribution, "__qualname__", type(self.contribution).__qualname__)
        few = block.take(block.start, block.start + FEW)
        check_alone(self, real, few, name)
        again = real(pickle.loads(pickle.dumps(replace(self, taking_part=None))), few)
        assert bytes_of(again) == bytes_of(real(replace(self, taking_part=None), few)), f"{name} differs after pickling"
        seen.add(name)
        return real(self, block)

    monkeypatch.setattr(ClippedSums, "__call__", checked)
    return seen


@pytest.mark.parametrize("case", REPLAYED, ids=str)
def test_a_user_of_a_method_adds_the_same_alone(case, looked_at):
    """And docs/proofs.md, which `python tests/proofs.py` renews, has each release."""
    release = Release(1.0, Ledger(), range(PROBLEM.users), streams(0, 5), UNLIMITED)
    with proofs.listening() as found:
        for _ in load_options(case.name, case.options).build(PROBLEM.known).fit(replace(USERS), release):
            pass
    assert looked_at
    assert proofs.unlisted(case.name, found) == []


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=called)
def test_a_user_of_the_estimator_adds_the_same_alone(configuration, looked_at):
    Fit(configuration, table(ONE))
    assert looked_at


@pytest.mark.parametrize("cheat", ["mean of others", "last digit", "no clip", "rows kept"])
def test_a_user_who_depends_on_others_is_seen(cheat):
    """Planted faults: what a user adds, or keeps, moves with the other users' rows; a clip that is none."""

    @dataclass(frozen=True, eq=False)
    class Unclipped(Rows):
        def clipped(self, clip, participating=None):
            return super().clipped(np.inf, participating)

    def added(block: Block) -> tuple:
        rows, others = block.features[0].astype(float), float(np.isnan(block.labels).any() + block.labels.max())
        if cheat in ("mean of others", "last digit"):
            rows += others * (1.0 if cheat == "mean of others" else 1e-15)
        kept = UserRows(block.labels.T + others * (cheat == "rows kept"), block.start)
        return (Unclipped if cheat == "no clip" else Rows)(rows), kept

    (block,) = USERS.blocks(0, FEW)
    with pytest.raises(AssertionError, match=r"user \d"):
        check_alone(ClippedSums(added, (0.1,)), ClippedSums.__call__, block, cheat)
