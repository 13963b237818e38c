"""Replay of the whole estimator: told the answers of another fit, a fit with a table in which one user is another ends
with the same published things, byte for byte, and with the same heads of everybody else.

What is published is not listed here: it is all that comes out of a pickle, each file outside the private folder, and
what the commands print.
"""

import pickle
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from estimator_cases import ANOTHER, CONFIGURATIONS, FIRST, ONE, Fit, called, few_rounds, table
from made_up_cells import FOLDER, numbers_held, summed

from privrep.estimator.commands import release

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
EVERY = [*CONFIGURATIONS, {"unit": "row", "users": None}, {"random_state": None}]
EPSILONS = {"in memory": (1.0, 200.0), "on disk": (200.0,)}
"""At the second one shapes are released, too."""


def told(fit: Fit, folder: Path) -> dict[str, bytes]:
    """All that a fit may tell the world, by name, and the heads of all but the first user. It may tell all that stands
    in the estimator, but for what a pickle leaves out."""
    folder.mkdir()
    release.write(fit.model, folder)
    files = [path for path in folder.rglob("*") if path.is_file() and release.PRIVATE not in path.parts]
    found = {path.name: path.read_bytes() for path in files} | {"pickle": pickle.dumps(fit.model)}
    read = pickle.loads(found["pickle"])
    printed = f"{read!r} {read.privacy_} {read.summary()}"
    local = {name for name, value in vars(read).items() if value is None}
    found |= {name: pickle.dumps(value) for name, value in vars(fit.model).items() if name not in local}
    found |= {"printed": printed.encode()}
    assert len(files) >= 3 and not any(b"person 0" in part for part in found.values())
    heads = fit.model.local_
    same = heads.ids != (FIRST if fit.model.users else list(fit.rows.who).index(FIRST))
    return found | {"heads of the others": heads.vectors[same].tobytes(), "their doubts": heads.doubts[same].tobytes()}


PLACES = [(one, "in memory") for one in EVERY] + [(one, "on disk") for one in EVERY if one.get("unit") != "row"]
"""A table on disk has users."""


@pytest.mark.parametrize(
    ("configuration", "where"), PLACES, ids=lambda one: one if isinstance(one, str) else called(one)
)
@few_rounds()
def test_nothing_is_published_but_releases(configuration, where, tmp_path):
    """The journal, which is not published, knows the first user of the first world."""
    worlds = [first[:1] if configuration.get("unit") == "row" else first for first in (ONE, *ANOTHER.values())]
    for epsilon in EPSILONS[where]:
        settings, transcript, expected = configuration | {"epsilon": epsilon}, None, None
        for number, first in enumerate(worlds):
            folder = tmp_path / f"{epsilon} {number}"
            folder.mkdir()
            fit = Fit(settings, table(first), transcript, folder if where == "on disk" else None, worlds[0])
            found = told(fit, folder / "release")
            transcript, expected = transcript or fit.transcript, expected or found
            assert len(fit.transcript.records) == len(transcript.records) > 5
            assert {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)} == set()
    names = {record.name for record in transcript.records}
    assert ("mixed_shape" in names) == (configuration.get("structure") != "level" and "method" not in configuration)


def numeric(value: object) -> object:
    """The same without texts, each of which is 0."""
    if isinstance(value, Mapping):
        return {name: numeric(one) for name, one in value.items()}
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return [*map(numeric, value)] if isinstance(value, list | tuple) else value if isinstance(value, int | float) else 0


def test_numbers_of_seeded_fits_stay(file_regression):
    """Of each configuration, at both budgets: to a share of 1e-4 what tests/reference holds. The sign of a direction in
    doubts is that of the system's LAPACK, and nothing else hangs on it."""
    held = {}
    for configuration, epsilon in product(EVERY[:-1], EPSILONS["in memory"]):
        model, name = Fit(configuration | {"epsilon": epsilon}, table(ONE)).model, f"{called(configuration)}, {epsilon}"
        parts = {"local_": vars(model.local_) | {"doubts": np.abs(model.local_.doubts)}}
        parts |= {"shared_": vars(model.shared_), "summary": vars(model.summary())}
        held |= summed(numeric(parts | {"advice": model.advice_, "privacy": model.privacy_}), name)
    path = FOLDER.parent / "estimator.csv"
    file_regression.check(numbers_held(path, {place: one for place, one in held.items() if one}), fullpath=path)
