"""Configurations of the estimator, tables in which one user is another, and fits that hear given answers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Recorder

from privrep.estimator import PrivateRepresentation, PrivateRepresentationClassifier, journal, private_representation
from privrep.estimator.stated import stated
from privrep.methods.running.method import Method, Task
from privrep.methods.running.runner import open_release
from privrep.methods.unit_steps import schedule
from privrep.privacy.mechanisms import Release
from privrep.users.identity import hashed_numbers, sketch
from privrep.users.rng import Streams
from replication.experiments.auditing.replay import RecordingRelease, Transcript

CONFIGURATIONS: list[dict] = [
    {"structure": "full"},
    {"structure": "level"},
    {"structure": ["c"]},
    {"rank": 1},
    {"method": "unit_steps", "rank": 2},
    {"kind": PrivateRepresentationClassifier, "labels": lambda numbers: numbers.gt(0.3).where(numbers.notna())},
]
"""What is replayed and audited: arguments of an estimator, the class `kind`, and what `labels` makes of numbers."""


def called(configuration: Mapping) -> str:
    """Name a configuration."""
    return ", ".join(f"{name} {getattr(value, '__name__', value)}" for name, value in configuration.items())


@contextmanager
def few_rounds() -> Iterator[None]:
    """Let unit steps take eight rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "ROUNDS", (8,))
        schedule.schedule.cache_clear()
        yield
    schedule.schedule.cache_clear()


STATED = {
    "kinds": {"c": ["u", "v"]},
    "feature_bounds": {"a": (-1, 1)},
    "label_bounds": (-1, 1),
    "users": "who",
    "max_samples": 6,
    "random_state": 0,
}
USERS, ROWS = 30, 4


def rows_of(who: object, a: object, c: object, y: object) -> pd.DataFrame:
    """A table of these columns."""
    return pd.DataFrame({"a": a, "c": c, "who": who, "y": np.asarray(y, float)})


def others() -> pd.DataFrame:
    """All users but the first: none at an end of a range, or with as many rows as may be."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(1, USERS), ROWS)
    a, own = rng.uniform(-0.9, 0.9, len(who)), rng.standard_normal(USERS)[who]
    labels = (0.3 + 0.3 * own + 0.3 * a + 0.2 * rng.standard_normal(len(who))).clip(-0.9, 0.9)
    return rows_of([f"person {one:02}" for one in who], a, rng.choice(["u", "v"], len(who)), labels)


def table(first: pd.DataFrame) -> pd.DataFrame:
    """The others, and the rows of the first user among them."""
    return pd.concat([OTHERS[:7], first, OTHERS[7:]], ignore_index=True)


FIRST, OTHERS = "person 00", others()
ONE = rows_of(FIRST, [0.1, 0.5, -0.7, 0.2], list("uvvu"), [0.31, -0.12, 0.55, 0.08])
ANOTHER = {
    "other rows": rows_of(FIRST, [0.9, -0.2, 0.4, -1.0], list("vvuu"), [-0.9, 0.77, -0.41, 0.3]),
    "many more rows": rows_of(FIRST, np.linspace(-1, 1, 50), list("uv") * 25, np.linspace(0.9, -0.5, 50)),
    "one row": rows_of(FIRST, [0.25], ["v"], [0.6]),
    "values out of range": rows_of(FIRST, [1e30, -np.inf, np.nan, 7], ["w", None, "u", "v"], [1e30, -1e30, 2, -3]),
    "labels that are alike": rows_of(FIRST, [0.3, 0.1, 0.8], list("vuv"), [0.5, 0.5, 0.5]),
    "no label": rows_of(FIRST, [0.3, 0.1], list("vu"), [np.nan, np.nan]),
}
"""Rows of the first user in the other worlds."""


@dataclass(frozen=True)
class Charged(RecordingRelease):
    """Enters in the ledger where answers are given, too, and counts exact sums in units of the noise that is drawn."""

    def _gaussian(self, name, exact, spec):
        if self.transcript.given:
            Release._gaussian(self, name, exact, spec)
        answer = super()._gaussian(name, exact, spec)
        if isinstance(self.noise, Recorder):
            drawn, record = self.noise.calls[-1][0], self.transcript.records[-1]
            claimed = spec.noises[0].sd * self.noise_multiplier
            self.transcript.records[-1] = replace(record, exact=record.exact * claimed / drawn)
        return answer


@dataclass
class Fit:
    """A fit with a table, the answers that it heard, and the method and users behind it."""

    configuration: Mapping
    rows: pd.DataFrame
    replayed: Transcript | None = None
    folder: Path | None = None  # for a table on disk
    known: pd.DataFrame | None = None  # of whom the journal has a fit
    transcript: Transcript = field(init=False)
    method: Method = field(init=False)
    task: Task = field(init=False)

    def __post_init__(self):
        self.transcript = Transcript(self.replayed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(private_representation, "open_release", self.open)
            journal.place().unlink(missing_ok=True)
            if self.known is not None:
                journal.entered(None, sketch(hashed_numbers(self.known.y.to_numpy())), 1.0, 1e-5)
            self.model = self.fitted()

    def open(self, method: Method, task: Task) -> Release:
        self.method, self.task = method, task
        handle = open_release(method, task)
        if self.model_of().random_state is not None:
            handle = replace(handle, streams=Streams(lambda role: Recorder(task.stream(role))))
        return Charged(**vars(handle), transcript=self.transcript)

    def model_of(self) -> PrivateRepresentation:
        settings = STATED | dict(self.configuration)
        kind = settings.pop("kind", PrivateRepresentation)
        return kind(**{name: value for name, value in settings.items() if name in kind._get_param_names()})

    def fitted(self) -> PrivateRepresentation:
        model, labels = self.model_of(), self.configuration.get("labels", lambda numbers: numbers)(self.rows.y)
        features = self.rows.drop(columns="y" if model.users else ["y", "who"])
        if self.folder is None:
            return model.fit(features, labels)
        features.assign(y=labels).to_parquet(self.folder / "table.parquet", index=False)
        schema = stated(["a", "c"], model.kinds, model.feature_bounds, model.label_bounds)
        return model.fit_table(self.folder / "table.parquet", user="who", label="y", schema=schema)
