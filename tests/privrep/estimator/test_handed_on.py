"""What a command or an estimator is given reaches what it calls: every option at once, each with a value of its own
that is not the default, and a recorder in place of the callee."""

from __future__ import annotations

import contextlib
import inspect
import json
from pathlib import Path
from unittest.mock import ANY, DEFAULT, Mock, call, patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

from privrep.estimator import PrivateRepresentation, journal, private_representation
from privrep.estimator.commands import main
from privrep.estimator.stated import from_toml, stated
from privrep.privacy.accounting import Budget, gdp_epsilon, gdp_mu
from privrep.privacy.mechanisms import Release

COMMANDS = typer.main.get_command(main.app).commands
TABLE = pd.DataFrame({"who": np.repeat(range(40), 5), "y": 1.0, "a": 0.5, "b": [0, 1] * 100})
BOUNDS = '[label]\nlow = 0\nhigh = 9\n[features.a]\nlow = -1\nhigh = 2\n[features.b]\nkind = "flag"\n'
ADVISED = {"dim": 31, "rank": 3, "users": 701, "samples": 13, "epsilon": 2.5, "target": 0.31, "delta": 0.0041}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bounds.toml").write_text(BOUNDS)
    TABLE.to_parquet("table.parquet", index=False)


def run(command: str, status: int = 0, **given: object) -> str:
    """Run a command with all of its options, none of which has its default."""
    options = {one.name: one for one in COMMANDS[command].params}
    assert given.keys() == options.keys() and not any(given[name] == one.default for name, one in options.items())
    named = {name: [] if one.param_type_name == "argument" else one.opts[:1] for name, one in options.items()}
    words = [str(word) for name, value in given.items() for word in (*named[name], value)]
    found = CliRunner().invoke(main.app, [command, *words])
    assert found.exit_code == status, found.output
    return found.output


def test_options_of_fit():
    given = {"epsilon": 3.5, "delta": 0.0123, "method": "m", "rank": 7, "family": "f", "max_samples": 11}
    given |= {"engine": "e", "scheduler": "s"}
    with patch.multiple(main, PrivateRepresentation=DEFAULT, write=DEFAULT) as called:
        model = called["PrivateRepresentation"].return_value
        model.advice_, model.privacy_ = {}, "what was spent"
        files = {"table": "table.parquet", "user": "who", "label": "y", "bounds": "bounds.toml", "out": "there"}
        assert "what was spent\nthere: public may be" in run("fit", **files, **given, seed=13)
    asked = called["PrivateRepresentation"].call_args
    bound = inspect.signature(PrivateRepresentation).bind(*asked.args, **asked.kwargs).arguments
    assert bound == given | {"random_state": 13}
    schema = from_toml(Path("bounds.toml"), ["a", "b"])
    assert model.fit_table.mock_calls == [call(Path("table.parquet"), user="who", label="y", schema=schema)]
    assert called["write"].mock_calls == [call(model, ANY)] and Path("there").is_dir()


def recorders(*names: str) -> dict[str, Mock]:
    """Callees of the commands, the first of which reads a release."""
    read = Mock(max_samples=11, error=0.3)
    read.schema.features = ["a"]
    return {"read_release": Mock(return_value=(read, "all"))} | {name: Mock() for name in names}


def test_options_of_personalise():
    called = recorders("ScatteredUsers", "local_heads", "write_heads")
    shared, users = called["read_release"].return_value[0], called["ScatteredUsers"].of.return_value
    ids = users.ids.to_numpy.return_value = np.arange(3)
    with patch.multiple(main, **called):
        assert "heads of 3 users" in run("personalise", release="r.json", rows="t.csv", user="u", label="l", out="o")
    assert called["read_release"].call_args == call(Path("r.json"))
    of = call(Path("t.csv"), user="u", label="l", schema=shared.schema, max_samples=11)
    assert called["ScatteredUsers"].of.call_args == of
    assert called["local_heads"].call_args == call(shared, ids, users)
    assert called["write_heads"].call_args == call(called["local_heads"].return_value, shared, Path("o"))


def test_options_of_predict():
    called = recorders("read_heads", "TableFile", "PrivateRepresentation", "write_private")
    shared, model = called["read_release"].return_value[0], called["PrivateRepresentation"].return_value
    called["TableFile"].return_value.batches.return_value = [pa.record_batch({"u": ["7", "8"], "a": [0.5, 0.6]})]
    model.predict.return_value = np.array([[1.0, 2.0], [3.0, 4.0]])
    with patch.multiple(main, **called):
        run("predict", release="r.json", rows="t.csv", user="u", heads="h.parquet", out="o")
    assert called["read_release"].call_args == call(Path("r.json"))
    assert called["read_heads"].call_args == call(Path("h.parquet"), shared)
    assert called["TableFile"].call_args == call(Path("t.csv"), "u", None, shared.schema)
    assert (model.shared_, model.local_) == (shared, called["read_heads"].return_value)
    ((rows,), given), ((table, out), _) = model.predict.call_args, called["write_private"].call_args
    assert (rows.to_dict("list"), list(given["users"]), given["return_std"]) == ({"a": [0.5, 0.6]}, ["7", "8"], True)
    assert out == Path("o") and table.to_pydict() == {"user": ["7", "8"], "prediction": [1, 2], "sd": [3, 4]}


@pytest.mark.parametrize("given", [{"label_noise": 0.7}, {"signal": 0.2}], ids=str)
def test_options_of_advise(given):
    """But for the plot, whose file another test reads; label noise and signal are told apart."""
    both = {"label_noise": 0.7, "signal": 0.2}
    with patch("privrep.theory.advise.advise", side_effect=ValueError("asked")) as called:
        run("advise", 2, **ADVISED, **both, plot="curves.svg")
        alone = [
            word for name, value in (ADVISED | given).items() for word in (f"--{name.replace('_', '-')}", str(value))
        ]
        CliRunner().invoke(main.app, ["advise", *alone])
    assert called.mock_calls == [call(**ADVISED, **both), call(**ADVISED, **dict.fromkeys(both) | given)]


SETTINGS = {
    **{"epsilon": 3.5, "delta": 0.0041, "method": "prior", "rank": 2, "family": "poisson", "structure": ["b"]},
    **{
        "kinds": {"b": "flag"},
        "feature_bounds": {"a": (-1, 2)},
        "label_bounds": (0, 9),
        "unit": "user",
        "users": "who",
    },
    **{"max_samples": 3, "unseen": "raise", "heads": "pickle", "random_state": 0, "engine": "dask", "scheduler": "s:1"},
}


STATED = [SETTINGS[name] for name in ("kinds", "feature_bounds", "label_bounds")]
CALLEES = (
    "stated",
    "in_memory",
    "noise_from",
    "doubts",
    "open_release",
    "entered",
    "statement",
    "MixedModel",
    "UnitSteps",
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("where", ["in memory", "on disk"])
@pytest.mark.parametrize(("method", "family"), [("prior", "poisson"), ("unit_steps", "gaussian")])
def test_parameters_of_a_fit(method, family, where):
    """The journal, too, has what the ledger has; `method` and `unit` alone have the default."""
    model = PrivateRepresentation(**SETTINGS | {"method": method, "family": family})
    assert model.get_params().keys() == SETTINGS.keys()
    recorded = {name: Mock(wraps=getattr(private_representation, name)) for name in CALLEES}
    recorded["running_on"] = Mock(side_effect=lambda *_: contextlib.nullcontext())
    kind = private_representation.ScatteredUsers
    with (
        patch.multiple(private_representation, **recorded),
        patch.object(kind, "of", side_effect=kind.of) as scattered,
    ):
        if where == "in memory":
            model.fit(TABLE.drop(columns="y"), TABLE.y)
        else:
            schema = stated(["a", "b"], *STATED)
            model.fit_table("table.parquet", user="who", label="y", schema=schema)
    asked = {name: one.call_args for name, one in recorded.items()}
    assert asked["running_on"] == call("dask", "s:1") and asked["noise_from"] == call(0)
    if where == "in memory":
        assert asked["stated"].args == (["a", "b"], *STATED) and asked["in_memory"].args[4:] == (3, 2)
    else:
        given = {"user": "who", "label": "y", "schema": schema, "max_samples": 3, "rank": 2, "elsewhere": True}
        assert scattered.mock_calls == [call("table.parquet", **given)]
    if method == "prior":
        _, rank, constant, varying, family = asked["MixedModel"].args
        assert (rank, constant, list(varying), family) == (2, True, [True, False, True], "poisson")
    else:
        assert asked["UnitSteps"].args[0] == 2
    mu = gdp_mu(3.5, 0.0041)
    assert asked["open_release"].args[1].budget == Budget(3.5, 0.0041, "exact")
    assert asked["doubts"] == call(pytest.approx(mu), 0.0041, 40, 3)
    ids, _, mu_squared = asked["entered"].args
    assert sorted(ids) == list(range(40)) and mu_squared == pytest.approx(model.ledger_.mu**2)
    assert asked["statement"] == call(model.ledger_, 0.0041, 40, "user", True, (1, mu_squared))
    assert model.shared_.max_samples == 3


@pytest.mark.filterwarnings("ignore:there are")
def test_the_journal_has_every_fit_and_one_that_fails():
    """What is on record is the sum of all that shares users, at the delta of the last one."""
    kinds, features, label = STATED
    settings = {"kinds": kinds, "feature_bounds": features, "label_bounds": label, "users": "who"}
    fits = [PrivateRepresentation(one, 0.001 * one, **settings).fit(TABLE.drop(columns="y"), TABLE.y) for one in (1, 2)]
    with patch.object(Release, "_gaussian", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        PrivateRepresentation(3, 0.003, **settings).fit(TABLE.drop(columns="y"), TABLE.y)
    spent = [json.loads(line)["mu_squared"] for line in journal.place().read_text().splitlines()]
    assert spent == pytest.approx([*(one.ledger_.mu**2 for one in fits), gdp_mu(3, 0.003) ** 2])
    mu = fits[1].privacy_["mu_on_record"]
    assert mu**2 == pytest.approx(sum(spent[:2]))
    assert fits[1].privacy_["epsilon_on_record"] == pytest.approx(gdp_epsilon(mu, 0.002))
