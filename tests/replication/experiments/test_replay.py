"""Replay: told the answers of one run, a fit on data in which one user is another must end as that run did,
but for this user's own head.

Subspaces, logged numbers, candidates and the heads of everybody else are compared bit for bit: whatever reaches them
past a release is seen, however little it weighs. How far the statistics lie apart under one history is held against the
ledger, so that a clip that is left out, or wider than what is charged, is seen too. Every private method that stands in
`CASES` is run, with all its cases; a method cannot be excused.
"""

import sys
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from method_cases import CASES, ONE, OTHER_USERS, OTHERS, PROBLEM, REPLAYED, world

from privrep.methods.mixed_model.calibration import BINARY, GAUSSIAN
from privrep.methods.mixed_model.method import MixedModel
from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.running.runner import is_private, prepared
from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST, NamedSum, clipped_sums
from privrep.users.blocks import Block
from privrep.users.given_users import GivenUsers
from privrep.users.passes import UserRows, total
from privrep.users.simulated import Problem
from privrep.users.subspace import orthonormalise
from replication.experiments.auditing.distinguishing import PrivacyClaim
from replication.experiments.auditing.mutants import NO_CLIP, clipped_by
from replication.experiments.auditing.replay import RecordingRelease, Transcript, attained_mu, loss, streams
from replication.run.registry import load_options, method_files, options_class

MULTIPLIERS = (1e-3, 1.0)
ROUNDING = 1e-5
"""Of float32 data, in the distance of two worlds over what is charged."""


def iterates(method, users: GivenUsers, multiplier: float, replayed: Transcript | None = None) -> tuple:
    """What a fit yields, its transcript and its ledger; the copy keeps no sum of a fit that had another clip."""
    users = replace(users)
    transcript, ledger = Transcript(replayed), Ledger()
    given = multiplier, ledger, range(PROBLEM.users), streams(0, 5), UNLIMITED
    return list(method.fit(users, RecordingRelease(*given, transcript=transcript))), transcript, ledger


def told(iterate: Iterate, users: GivenUsers) -> dict[str, bytes]:
    """All that an iterate tells the world, and what users but the first make of it among these users, by name."""
    found = {name: np.float64(value).tobytes() for name, value in iterate.log.items()}
    if iterate.subspace is not None:
        found["subspace"] = iterate.subspace.tobytes()
    if iterate.candidates is not None:
        found |= {"candidates": iterate.candidates.bases.tobytes(), "chosen": bytes([iterate.candidates.chosen])}
    if iterate.personal is not None:
        low = isinstance(iterate.personal, LowRank)
        (block,) = users.blocks()
        heads = iterate.personal.heads(block) if low else iterate.personal.models(block)
        found["heads of the others"] = np.ascontiguousarray(heads[1:]).tobytes()
        calibration = None if low else getattr(iterate.personal.models, "calibration", None)
        if calibration is not None:
            found["calibration"] = np.concatenate([calibration.knots, calibration.values]).tobytes()
        if low:
            found["basis of the heads"] = np.ascontiguousarray(iterate.personal.basis).tobytes()
    return found


def leaks(method, multiplier: float) -> set[str]:
    """What depends on the first user past the releases; "more than is charged" where a release depends on it more than
    the ledger says."""
    found: set[str] = set()
    path, transcript, ledger = iterates(method, ONE, multiplier)
    for users in OTHERS:
        again, other, _ = iterates(method, users, multiplier, transcript)
        if len(path) != len(again):
            found.add("number of iterates")
        if len(transcript.records) != len(other.records):
            found.add("number of releases")
            continue
        for pair in zip(path, again, strict=False):
            one, two = map(told, pair, (ONE, users))
            found |= {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
        if PrivacyClaim(ledger).attained(attained_mu(transcript, other), loss(transcript, other)) > 1 + ROUNDING:
            found.add("more than is charged")
    return found


@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@pytest.mark.parametrize("case", REPLAYED, ids=str)
def test_nothing_passes_a_release(case, multiplier):
    assert leaks(prepared(load_options(case.name, case.options), PROBLEM), multiplier) == set()


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("samples", "dim"), [(1, 1), (1, 5), (4, 16), (16, 5)])
def test_nothing_passes_a_release_of_the_mixed_model_in_other_shapes(monkeypatch, samples, dim, constant):
    """One sample, one dimension, fewer samples than dimensions and more, the first feature a constant; also for users
    with no sample, or at the ends of what a number may be; for each family of labels."""
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "PROBLEM", Problem(60, samples, dim, 1, label_noise_sd=0.1))
    monkeypatch.setattr(here, "ONE", world())
    ends = ((np.nan, 1.0), (0.0, 0.0), (1e11, 1e11), (1e-11, 1e11))
    monkeypatch.setattr(here, "OTHERS", [world(*factors) for factors in (*OTHER_USERS, *ends)])
    for multiplier, family in product(MULTIPLIERS, (GAUSSIAN, BINARY)):
        assert leaks(MixedModel(1.0, constant=constant, family=family), multiplier) == set()


def test_every_private_method_is_replayed():
    """Also one that is added later: each file of the algorithms with a cost has a case that is run here."""
    tried = {case.name: load_options(case.name, case.options) for case in CASES}
    methods = {one for one in tried.keys() & method_files() if ".methods." in options_class(one).__module__}
    private = {name for name in methods if is_private(prepared(tried[name], PROBLEM))}
    assert private <= {case.name for case in REPLAYED}
    assert len(private) >= 16


# Methods that cheat, each seen by what it leaks


def products(block: Block) -> np.ndarray:
    """Mean y x of each user, (B, d)."""
    return (block.features * block.labels[:, :, None]).mean(axis=0).astype(float)


@dataclass(frozen=True, eq=False)
class Unclipped(Rows):
    """A kind of its own that says that it clips."""

    def clipped(self, clip, there=None):
        return (self.values.sum(axis=0),)


@dataclass(frozen=True, eq=False)
class Quiet(Rows):
    """A kind of its own with half the noise for what it clips."""

    def noise_spec(self, clip):
        return super().noise_spec(clip / 2)


@dataclass(frozen=True)
class Direction:
    """The leading direction of the users' clipped y x, and the ways in which it can cheat."""

    clip: float = 1.0
    cheat: str = ""
    cost = GAUSSIAN_COST
    theorem = None

    def added(self, block: Block) -> Rows | tuple[Rows, UserRows]:
        rows = (Unclipped if self.cheat == "no clip" else Rows)(products(block))
        return (rows, UserRows(block.labels.T, block.start)) if self.cheat == "what users keep" else rows

    def fit(self, users, release):
        released, *own = release.sums(users, self.added, NamedSum("direction", self.clip))
        mean = released.value
        if self.cheat == "what users keep":
            mean = mean + own[0].rows.mean()
        if self.cheat == "exact covariance":
            moments = total(users, lambda block: block.features[0].T.astype(float) @ block.features[0])
            mean = np.linalg.solve(moments, mean)
        if self.cheat == "a generator of its own":
            mean = mean + np.random.default_rng().standard_normal(len(mean))
        if self.cheat == "a label beside":
            mean = mean + 1e-13 * total(users, lambda block: float(block.labels.sum()))
        if self.cheat == "through the contribution":
            largest = []
            seen = lambda block: largest.append(block.labels.max()) or Rows(0 * products(block))  # noqa: E731
            release.share(1e-12).sum("nothing", users, seen, clip=1.0)
            mean = mean + max(largest)
        basis = orthonormalise(mean[:, None])
        (sums,) = clipped_sums(users, self.added, self.clip) if "exact" in self.cheat else [mean]
        shown = sums if self.cheat == "exact numbers" else mean
        scale = float(np.linalg.norm(sums)) if self.cheat == "exact head" else 1.0
        beside = 1e-12 * (self.cheat == "heads from others")
        personal = LowRank(basis, lambda block: np.full((block.users, 1), scale) + beside * block.labels.mean())
        iterate = Iterate(basis, personal, {"length": float(np.linalg.norm(shown))})
        if self.cheat == "stops by the data" and total(users, lambda block: float(block.labels.max())) > 50:
            yield iterate
        yield iterate


ALL = {"subspace", "length", "basis of the heads"}


@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@pytest.mark.parametrize(
    ("cheat", "seen"),
    [
        ("", set()),
        ("no clip", {"more than is charged"}),
        ("exact covariance", ALL),
        ("what users keep", ALL),
        ("through the contribution", ALL),
        ("a generator of its own", ALL),
        ("exact numbers", {"length"}),
        ("exact head", {"heads of the others"}),
        ("heads from others", {"heads of the others"}),
        ("stops by the data", {"number of iterates"}),
    ],
)
def test_a_cheat_is_seen(cheat, seen, multiplier):
    assert leaks(Direction(cheat=cheat), multiplier) == seen


def test_the_smallest_leak_is_seen():
    """A label that moves the last digits alone."""
    assert "subspace" in leaks(Direction(cheat="a label beside"), 1.0)


@dataclass(frozen=True)
class Opposite(Direction):
    """Two users with opposite contributions attain the sensitivity, so that noise for half of it is seen."""

    def fit(self, users, release):
        kind = Quiet if self.cheat else Rows
        for sign in (1.0, -1.0):  # both at once: what the first user adds is +-clip, by the sign of its first label
            added = lambda block, sign=sign: kind(sign * 9 * np.sign(block.labels[0, :, None]))  # noqa: E731
            found = release.share(0.5).sum("sign", users, added, clip=self.clip)
            yield Iterate(np.eye(PROBLEM.dim)[:, :1], log={"sign": float(found.value[0])})


def test_half_the_bound_is_seen():
    assert leaks(Opposite(), 1.0) == set()
    assert leaks(Opposite(cheat="half the bound"), 1.0) == {"more than is charged"}


CLIPPED = [case for case in REPLAYED if not case.name.startswith(("unit_steps", "full_prior")) and not case.pure]
"""Those whose sensitivity rests on the clips of the library: units are of norm one, and shares of a score are cut once
more."""


@pytest.mark.parametrize("case", CLIPPED, ids=str)
def test_a_method_without_its_clip_is_seen(case):
    with clipped_by(NO_CLIP):
        found = leaks(prepared(load_options(case.name, case.options), PROBLEM), 1.0)
    assert "more than is charged" in found
