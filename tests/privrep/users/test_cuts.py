"""Where users, rows and sums are cut changes nothing: pieces of 1, 3 and 50 give the same bytes, whatever was asked for
before. Sizes of pieces are the whole numbers that are defined by modules which read users, found by running."""

import inspect
import re
import sys

import numpy as np
import pytest
from test_engines import METHODS
from test_scattered import COLUMNS, SCHEMA, people, written

from privrep.simulate import fit
from privrep.users.blocks import Block
from privrep.users.engines import running_on
from privrep.users.given_users import GivenUsers
from privrep.users.passes import UserRows, rows, total
from privrep.users.scattered import ScatteredUsers
from privrep.users.simulated import Problem, Users

pytestmark = pytest.mark.filterwarnings("ignore:column 'kind'.*not listed")
FIXED = {"HASHES", "HEAVY_EVERY", "QUADRATURE"}  # no sizes of pieces
STREAM = "FLOATS_PER_STREAM"
"""The size by which users are drawn."""
ROUND = {STREAM, "STREAMS_PER_BLOCK"}
"""Sizes by which sums of other than whole numbers round."""
SMALL = {STREAM: 2**6}  # so that few users fill several blocks
PROBLEM = {"users": 40, "samples": 8, "dim": 6, "rank": 2, "label_noise_sd": 0.5}


def sizes() -> set[str]:
    """Names of the whole numbers that modules define which read users."""
    found = set()
    for module in [module for name, module in sys.modules.items() if name.startswith("privrep.users.")]:
        defined = re.findall(r"^([A-Z_]+) = ", inspect.getsource(module), re.MULTILINE)
        found |= {name for name in defined if type(vars(module)[name]) is int}
    return found - FIXED


def whole(block: Block) -> tuple[np.ndarray, UserRows]:
    """A sum of whole numbers, which does not round, and rows that users keep."""
    features, labels = np.rint(8 * block.features).astype(float), np.rint(8 * block.labels)
    return np.einsum("mbd,mb->d", features, labels), UserRows(block.labels.T, block.start)


def results(path, **changed: int) -> dict[str, bytes]:
    """All results by name, with other sizes of pieces, which many modules may have imported."""
    with pytest.MonkeyPatch.context() as patch, running_on("threads"):
        for module in [module for key, module in sys.modules.items() if key.startswith("privrep.")]:
            for name in changed.keys() & vars(module).keys():
                patch.setattr(module, name, changed[name])
        table, frame = ScatteredUsers.of(path, max_samples=3, **COLUMNS), people(30)
        scaled = SCHEMA.scaled_labels(frame["y"]), SCHEMA.scaled(frame)
        memory = GivenUsers.capped(*scaled, frame["who"].to_numpy(), 30, 3, SCHEMA.dim)
        sources = {"users on disk": table, "users in memory": memory, "drawn users": Users(Problem(**PROBLEM))}
        found = {"sketch of labels": [table.label_sketch]}
        for name, users in sources.items():
            asked = [total(users, whole, range(over), "whole", over > 20) for over in (25, 8, 25, 3, 25)]
            found[name] = [one for sum_, own in asked for one in (sum_, own.rows)]
            found[name] += rows(users, lambda block: (block.features.swapaxes(0, 1), block.labels.T))
        found["fit"] = [np.array(str(fit("altmin", **PROBLEM, **METHODS["altmin"], epsilon=4.0, engine="threads")))]
        return {name: b"".join(one.tobytes() for one in parts) for name, parts in found.items()}


@pytest.mark.parametrize("size", [1, 3, 50])
def test_pieces_of_any_size_give_the_same_bytes(size, tmp_path):
    """All sizes at once, but for those that decide what is drawn, or how a sum rounds."""
    path = written(people(30), tmp_path / "people.parquet")
    plain = results(path, **SMALL)

    def changed(names: set[str], parts: set[str]) -> set[str]:
        again = results(path, **SMALL | dict.fromkeys(names, size))
        return {part for part in parts if again[part] != plain[part]}

    given = {*plain} - {"drawn users", "fit"}
    for names, parts in ((sizes() - ROUND, {"fit"}), (sizes() - {STREAM}, {*plain} - {"fit"}), (sizes(), given)):
        if found := changed(names, parts):
            who = [name for name in sorted(names) if changed({name}, parts)]
            pytest.fail(f"pieces of {size} change {sorted(found)}: {', '.join(who) or 'none of the sizes alone'}")
