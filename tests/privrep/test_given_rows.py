"""Rows that are given meet noise of the system alone, by whatever door they come in."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import privrep.estimator
import privrep.simulate
from privrep.estimator.commands import main
from privrep.estimator.private_representation import noise_from
from privrep.estimator.stated import stated
from privrep.privacy.lattice import SystemNoise
from privrep.privacy.mechanisms import NOISE_ROLES, Release

pytestmark = pytest.mark.filterwarnings("ignore:users times mu")
ROWS = {"X", "y", "features", "labels", "table", "path", "rows"}
"""Names of parameters that take rows."""
RELEASING = {f"PrivateRepresentation{kind}.{name}" for kind in ("", "Classifier") for name in ("fit", "fit_table")}
RELEASING |= {"privrep fit"}
TABLE = pd.DataFrame({"who": np.repeat(np.arange(60), 4), "x": np.tile([-0.9, -0.2, 0.3, 0.8], 60)})
LABELS = pd.Series(np.arange(240) % 7 > 2, name="y").astype(float)
BOUNDS = "[label]\nlow = 0\nhigh = 1\n[features.x]\nlow = -1\nhigh = 1\n"
GIVEN = {"X": TABLE, "y": LABELS, "path": "table.csv", "user": "who", "label": "y", "groups": TABLE.who}
GIVEN |= {"table": "table.csv", "rows": "table.csv", "schema": stated(["x"], None, (-1, 1), (0, 1))}
GIVEN |= {"bounds": "bounds.toml", "epsilon": 1, "release": "fitted/public/release.json"}
COMMANDS = typer.main.get_command(main.app).commands


def doors() -> dict[str, inspect.Signature]:
    """All public functions, methods and commands of the library that take rows."""
    found = {f"privrep {name}": inspect.unwrap(one.callback) for name, one in COMMANDS.items()}
    for module in (privrep.estimator, privrep.simulate):
        for name, one in vars(module).items():
            if callable(one) and name[0] != "_" and str(one.__module__).startswith(module.__name__):
                methods = inspect.getmembers(one, inspect.isfunction) if inspect.isclass(one) else []
                found |= {f"{name}.{method}": function for method, function in methods if method[0] != "_"}
                found[name] = one.__init__ if inspect.isclass(one) else one
    signatures = {name: inspect.signature(one) for name, one in found.items()}
    return {name: one for name, one in signatures.items() if ROWS & set(one.parameters)}


def estimator(kind: str):
    bounds = {"label_bounds": (0, 1)} if kind == "PrivateRepresentation" else {}
    return getattr(privrep.estimator, kind)(users="who", feature_bounds=(-1, 1), **bounds)


def through(door: str, out: str) -> str:
    """Give the rows to a door, and return what may be published of what it makes."""
    kind, _, method = door.partition(".")
    if not method:
        options = {one.name: one for one in COMMANDS[door.removeprefix("privrep ")].params}
        named = [(one, GIVEN[name]) for name, one in options.items() if name in GIVEN] + [(options["out"], out)]
        words = [(*one.opts[:1], value) if one.param_type_name == "option" else (value,) for one, value in named]
        result = CliRunner().invoke(
            main.app, [door.removeprefix("privrep "), *(str(two) for one in words for two in one)]
        )
        assert result.exit_code == 0, result.output
        made = Path(out, "public", "release.json")
        return json.dumps(json.loads(made.read_text())["shared"]) if made.exists() else ""
    one = estimator(kind) if kind.startswith("Private") else getattr(privrep.estimator, kind)(2)
    if kind.startswith("Private") and door not in RELEASING:
        one.fit(TABLE, LABELS)
    found = getattr(one, method)(**{name: GIVEN[name] for name in doors()[door].parameters if name in GIVEN})
    list(found) if inspect.isgenerator(found) else found
    return one.shared_.to_json() if door in RELEASING else ""


@pytest.fixture
def sources(tmp_path, monkeypatch) -> list:
    """What drew the noise of each release, in a folder with the table and a fit of it."""
    monkeypatch.chdir(tmp_path)
    TABLE.assign(y=LABELS).to_csv("table.csv", index=False)
    Path("bounds.toml").write_text(BOUNDS)
    through("privrep fit", "fitted")
    drawn, gaussian = [], Release._gaussian
    monkeypatch.setattr(Release, "_gaussian", lambda self, *given: drawn.append(self.noise) or gaussian(self, *given))
    return drawn


def test_no_door_is_forgotten():
    assert {name for name in doors() if "." not in name} >= {"privrep bounds", "privrep fit", "privrep predict"}
    assert doors().keys() >= RELEASING


@pytest.mark.parametrize("door", sorted(doors()))
def test_noise_about_given_rows_is_the_systems(door, sources):
    """By default: the same table twice gives different bytes; a seed has no default. Other doors release nothing."""
    seeds = [one for name, one in doors()[door].parameters.items() if "seed" in name or name == "random_state"]
    assert all(one.default is None for one in seeds)
    released = {through(door, out) for out in ("one", "another")}
    if door in RELEASING:
        assert len(released) == 2 and sources and all(isinstance(one, SystemNoise) for one in sources)
    else:
        assert released == {""} and not [one for one in sources if not isinstance(one, SystemNoise)]


def test_no_stream_of_a_fit_is_public():
    """Of all roles that the library's methods ask for, those that hide people, and no others, are served."""
    sources = "".join(path.read_text() for path in Path(privrep.__file__).parent.rglob("*.py"))
    asked = set(re.findall(r"""streams\["(\w+)"\]""", sources))
    hiding = set(re.findall(r"""\brole(?:: str)?(?: = |=)"(\w+)\"""", sources))
    assert hiding == set(NOISE_ROLES) and asked >= {"init", "samples", "participants"}
    for seed in (None, 3):
        for role in asked - hiding | {"surprise"}:
            with pytest.raises(ValueError, match=f"^role is '{role}'; a fit of given rows draws from noise and init"):
                noise_from(seed)(role)
    assert all(isinstance(noise_from(None)(role), SystemNoise) for role in hiding)
