"""Shared helpers of the test-suite. BLAS is held to one thread before numpy is imported. JAX compiles fast, and once
for all processes: what is compiled here, and in the runs that tests start, runs for seconds.

A test is marked by what it needs: `run` a finished run, `browser` Chromium, `slurm` a cluster; `slow` are those that
`slow.txt` names, for their seconds, and `long` the audits among them; `reference` are those that hold a file of
tests/reference. The targets of the Makefile choose by these marks.

Statistical tests state a false-alarm rate. They draw from fixed streams, so they pass or fail for good, and each comes
with a wrong target that must be rejected.
"""

# ruff: noqa: E402
import os
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(__file__).parents[1] / ".pytest_cache" / "jax")

import fcntl
import subprocess
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pytest
from first_lines import pytest_runtest_makereport  # noqa: F401
from hypothesis import HealthCheck, settings
from scipy import stats
from workflow_helpers import copy_project, environment, run_all_at_tiny

from privrep.methods.running.method import Task
from privrep.privacy.accounting import UNLIMITED, FixedNoise
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Truth
from privrep.users.given_users import GivenUsers
from privrep.users.rng import stream
from privrep.users.simulated import Problem, Users
from replication.run.memory import keep_freed_memory

keep_freed_memory()

settings.register_profile(
    "privrep",
    deadline=None,
    derandomize=True,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("privrep")

FALSE_ALARM = 1e-6
"""Probability with which one statistical check would fail on correct code, over the choice of its seed."""


def sd_matches(sample: np.ndarray, sd: float, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether independent N(0, sd^2) draws may have given this sample: two-sided chi-square test of the variance."""
    sample = np.ravel(sample)
    statistic = float((sample**2).sum() / sd**2)
    low, high = stats.chi2.ppf([false_alarm / 2, 1 - false_alarm / 2], len(sample))
    return bool(low <= statistic <= high)


def check_sd(sample: np.ndarray, sd: float) -> None:
    """The sample fits sd, and is large enough to reject sd times or over sqrt(2) and 2."""
    assert sd_matches(sample, sd), f"rms {np.sqrt(np.mean(np.square(sample))):.6g}, expected {sd:.6g}"
    for factor in (0.5, 2**-0.5, 2**0.5, 2.0):
        assert not sd_matches(sample, sd * factor), f"the sample is too small to reject {factor:.3g} times the sd"


def uncorrelated(left: np.ndarray, right: np.ndarray, false_alarm: float = FALSE_ALARM) -> bool:
    """Whether the correlation of two samples is within the normal range of independent ones."""
    left, right = np.ravel(left), np.ravel(right)
    score = abs(np.corrcoef(left, right)[0, 1]) * np.sqrt(len(left))
    return bool(score <= stats.norm.isf(false_alarm / 2))


def clopper_pearson(hits: int, runs: int) -> list[float]:
    """Both ends of the exact 95 % interval of a share, by quantiles of the beta law."""
    low = stats.beta.ppf(0.025, hits, runs - hits + 1) if hits else 0.0
    return [low, stats.beta.isf(0.025, hits + 1, runs - hits) if hits < runs else 1.0]


@dataclass(frozen=True, eq=False)
class FakeUsers(GivenUsers):
    """Given users with the problem that an experiment or an exact risk asks for, and no kept sums."""

    problem: Problem | None = None
    sums: None = None

    def __post_init__(self):
        object.__setattr__(self, "known", self.problem.known)


def fake_users(features, labels, heads, block_size: int | None = None, truth: Truth | None = None) -> FakeUsers:
    """Users from arrays: features (m, B, d), labels (m, B), heads (B, k). The truth defaults to the first k axes."""
    features, labels, heads = (np.asarray(array, dtype=np.float32) for array in (features, labels, heads))
    samples, users, dim = features.shape
    rank = heads.shape[1]
    truth = Truth(np.eye(dim, rank), np.eye(rank)) if truth is None else truth
    problem = Problem(users, samples, dim, rank)
    return FakeUsers(problem.known, features, labels, heads, truth, block_size=block_size, problem=problem)


def gather(users: Users) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All features (m, n, d), labels (m, n) and heads (n, k) of a problem as float64."""
    blocks = list(users.blocks())
    features = np.concatenate([block.features for block in blocks], axis=1).astype(np.float64)
    labels = np.concatenate([block.labels for block in blocks], axis=1).astype(np.float64)
    return features, labels, np.concatenate([block.heads for block in blocks]).astype(np.float64)


def recut(users: Users, block_size: int) -> FakeUsers:
    """The same users in blocks of another size."""
    features, labels, heads = gather(users)
    fake = fake_users(features, labels, heads, block_size, users.truth)
    return replace(fake, problem=users.problem)


@dataclass
class Recorder:
    """A generator that remembers the sd and shape of each call of `normal`: what a mechanism really added."""

    generator: np.random.Generator
    calls: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)

    def normal(self, loc, scale, size):
        assert loc == 0
        self.calls.append((float(scale), tuple(np.atleast_1d(size))))
        return self.generator.normal(loc, scale, size)

    def __getattr__(self, name):
        return getattr(self.generator, name)


def make_task(users, budget=None, noise_seed: int = 0) -> Task:
    """A task with a fresh ledger. `noise_seed` changes all streams of the algorithm and leaves the data alone."""
    return Task(users, budget, partial(stream, noise_seed, axes={"test": "task"}), Ledger())


def handle(users, multiplier: float = 0.0, rng=None, ledger: Ledger | None = None, participants=None) -> Release:
    """A release handle for all users, or for so many, whose noise comes from one generator, by default a fixed one."""
    count = users if isinstance(users, int) else users.known.users
    noise = np.random.default_rng(0) if rng is None else rng
    streams = {"noise": noise, "init_noise": noise, "participants": participants}
    return Release(multiplier, Ledger() if ledger is None else ledger, range(count), streams, UNLIMITED)


def fixed_noise(multiplier: float = 0.0, delta: float = 1e-6) -> FixedNoise:
    """A budget that prescribes the noise multiplier; 0 switches the noise off."""
    return FixedNoise(multiplier, delta)


MARKS = {"quick_run": "run", "tiny_run": "run", "browser": "browser", "slurm": "slurm", "file_regression": "reference"}
"""Fixture -> how those are marked that use it, themselves or through others."""
SLOW = frozenset(Path(__file__).with_name("slow.txt").read_text().splitlines())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        for mark in {MARKS[name] for name in MARKS.keys() & set(item.fixturenames)}:
            item.add_marker(mark)
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("long" if item.path.stem.endswith("audit") else "slow")
    # Those that read the quick run come last, since it is not ready at once; before them the files of slow tests come
    # first, so that a worker ends with short ones.
    slow = {item.path for item in items if any(map(item.get_closest_marker, ("slow", "long", "run")))}
    items.sort(key=lambda item: ("quick_run" in item.fixturenames, item.path not in slow))


def pytest_sessionfinish(session):
    """In CI a run fails that skips more tests for a reason than `skipped.txt` says."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and os.environ.get("CI") == "true":
        lines = Path(__file__).with_name("skipped.txt").read_text().splitlines()
        most = {reason: int(count) for count, reason in (line.split(maxsplit=1) for line in lines)}
        skipped = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reporter.getreports("skipped"))
        for reason, count in skipped.items():
            if count > most.get(reason, 0):
                reporter.write_line(f"{count} tests are skipped, more than tests/skipped.txt says: {reason}", red=True)
                session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def journal(tmp_path, monkeypatch) -> Path:
    """The journal of fits, which no test writes elsewhere."""
    monkeypatch.setenv("PRIVREP_JOURNAL", str(tmp_path / "journal.jsonl"))
    return tmp_path / "journal.jsonl"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20211020)


def begin(config, name: str, command: list[str]) -> Path:
    """Start a command in a copy of the project, once for all workers, and return the copy's folder. What it prints goes
    to `said`. It holds the lock beside the folder until it ends."""
    base = config._tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            copy_project(folder)
            with open(folder / "said", "w") as said, open(folder / "complained", "w") as complained:
                words = ["sh", "-c", '"$@" && touch finished', "sh", *command]
                given = {"stdout": said, "stderr": complained, "pass_fds": [lock.fileno()]}
                config.add_cleanup(subprocess.Popen(words, cwd=folder, env=environment(folder), **given).wait)
    return folder


def made_once(config, name: str, command: list[str]) -> Path:
    """A copy of the project in which a command was run, made once and shared by all workers.

    Nobody changes it: a test that would takes a copy (`workflow_helpers.copy_run`).
    """
    folder = begin(config, name, command)
    with open(folder.with_name(f"{name}.lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert (folder / "finished").exists(), (folder / "complained").read_text()
    return folder


QUICK = ("snakemake", "-j2", "results/quick/reports/claims.csv", "--configfile", "config/scales/quick.yaml")


def pytest_collection_finish(session):
    """Start the quick run at once if a test reads it, so that no worker waits for it."""
    if not session.config.option.collectonly and any("quick_run" in item.fixturenames for item in session.items):
        begin(session.config, "quick", [*QUICK])


@pytest.fixture(scope="session")
def quick_run(pytestconfig) -> Path:
    """A finished run at scale quick, up to its verdicts."""
    return made_once(pytestconfig, "quick", [*QUICK])


@pytest.fixture(scope="session")
def tiny_run(pytestconfig) -> Path:
    """What `make tiny` leaves."""
    return made_once(pytestconfig, "tiny", run_all_at_tiny(2))
