"""Numbers stand under their own names, and options reach what they are for: a made-up fit, in which every field has a
number that occurs nowhere else, is read back by name from each form; and a recorder stands in place of each callee."""

import contextlib
import html
import inspect
import json
import math
import re
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY, DEFAULT, Mock, call, patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from matplotlib.figure import Figure
from scipy.stats import norm
from typer.testing import CliRunner

from privrep.estimator import PrivateRepresentation, PrivateRepresentationClassifier, journal, private_representation
from privrep.estimator.commands import curves, main, release
from privrep.estimator.commands.main import app
from privrep.estimator.parameters import declared, documented
from privrep.estimator.private_representation import ADVICE, LocalHeads, advice
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.stated import from_toml, stated
from privrep.estimator.statement import SAFE, releases_of, statement
from privrep.methods.mixed_model.stacking import ANSWERS, SHARE
from privrep.methods.running.method import Iterate
from privrep.methods.steps.posterior import Mixture, Prior
from privrep.options import check_count, option
from privrep.privacy.accounting import Budget, gdp_epsilon, gdp_mu
from privrep.privacy.ledger import GaussianRelease, Ledger
from privrep.privacy.mechanisms import Release
from privrep.theory.advise import Setting
from privrep.theory.choice import NAMES
from privrep.users.schema import Category, Flag, Number, Schema

DIM, HALF, DELTA, USERS = 6, 7, 0.00789, 4123
RNG = np.random.default_rng(1)
SCHEMA = Schema({"age": Number(20, 80), "smokes": Flag(0.2), "city": Category(("a", "b", "c"))}, Number(-3, 11))
PRIOR = Prior(*(RNG.standard_normal(shape) for shape in (DIM, (DIM, 4))), np.array([1.3, 0.4]), np.array([0.25, 0.35]))
SHARED = SharedPrior(SCHEMA, RNG.standard_normal(DIM), Mixture((PRIOR,)), 17, RNG.uniform(0.1, 0.2, DIM), 5.3, 0.37)
LEDGER = Ledger([GaussianRelease(f"part <{s}>", s, sd, 0, USERS) for s, sd in ((0.31, 1.7), (0.53, 2.9), (0.11, 1.9))])
MU = math.hypot(0.31 / 1.7, 0.53 / 2.9, 0.11 / 1.9)
LOG = {"gain": 0.0041, "gain_low": 0.0023, "gain_high": 0.0067, "level": 0.19, "own_part": 0.28}
LAST = Iterate(None, SimpleNamespace(models=SimpleNamespace(level_noise=0.017)), LOG | {"answer": ANSWERS.index(SHARE)})
TOLD = {name: HALF**2 * LOG[name] for name in ("gain", "gain_low", "gain_high")}
TOLD |= {"typical_error": HALF * 0.19, "weight_of_own_data": 0.28, "typical_error_noise": HALF * 0.017}
"""What the advice is in the unit of labels."""
NUMBER = r"\d+(?:[.,]\d+)*"
KEPT = 0.25 * 1.3 / 2.3 + 0.35 * 0.4 / 1.4
EIGENVALUES = np.r_[KEPT / (1 - KEPT) * np.linalg.svd(PRIOR.root, compute_uv=False) ** 2, 0, 0]


@pytest.fixture
def files(tmp_path):
    """The folder of a release of the made-up fit."""
    fitted = PrivateRepresentation()
    fitted.shared_, fitted.ledger_, fitted.advice_ = SHARED, LEDGER, advice(LAST, SCHEMA)
    fitted.privacy_ = statement(releases_of(LEDGER), DELTA, USERS, "user", True)
    fitted.local_ = LocalHeads(np.arange(3), RNG.standard_normal((3, DIM)), RNG.standard_normal((3, 2 + DIM)))
    release.write(fitted, tmp_path)
    return fitted, tmp_path


@pytest.mark.parametrize(("unit", "who"), [("user", "all rows of one user are"), ("row", "one row is")])
def test_of_the_statement(unit, who):
    """As numbers, and as a sentence, whose digits are few."""
    found = statement(releases_of(LEDGER), DELTA, USERS, unit, False)
    numbers = {"epsilon": gdp_epsilon(MU, DELTA), "delta": DELTA, "mu": MU, "users": USERS}
    numbers |= {"attack_advantage": 2 * norm.cdf(MU / 2) - 1}
    assert {name: found[name] for name in numbers} == pytest.approx(numbers)
    assert (found["neighbours"], found["seeded"]) == (f"{who} replaced", False)
    assert found["releases"] == [
        {"name": one.name, "sensitivity": one.sensitivity, "noise_sd": one.noise_sd} for one in LEDGER.entries
    ]
    words = (
        f"What is shared is (#, #)-differentially private where {who} replaced (#-GDP over # Gaussian releases about # "
        f"{unit}s): no attack distinguishes two such tables with an advantage over #."
        "\nStrength: users times mu is #; from # on a mixed model is hardly ever clearly worse than users' own data."
        f"\nUnit of privacy: {unit}.\nNeighbours: {who} replaced.\nTrust model: central"
    )
    text, numbers["releases"] = str(found).partition(", since")[0], len(LEDGER.entries)
    names = ("epsilon", "delta", "mu", "releases", "users", "attack_advantage")
    said = [float(one.replace(",", "")) for one in re.findall(NUMBER, text)]
    assert re.sub(NUMBER, "#", text) == words
    assert said == pytest.approx([*(numbers[name] for name in names), USERS * MU, SAFE], rel=0.011)


def test_of_the_advice(files):
    """In the unit of labels; in JSON, on the page, and in the line that commands print."""
    fitted, folder = files
    assert fitted.advice_ == pytest.approx({"answer": SHARE, "text": ADVICE[SHARE]} | TOLD)
    assert json.loads((folder / "public/release.json").read_text())["advice"] == fitted.advice_
    words = ("lower by ", "interval ", "to ", r"own data are off\s*by ", "for a typical user, and have weight ")
    pattern = r"[^<>]*?\s*".join(f"{one}({NUMBER})" for one in words)
    shown = CliRunner().invoke(app, ["show", str(folder / "public/release.json")]).output
    for text in ((folder / "public/report.html").read_text(), str(fitted.summary()), shown):
        said = re.search(pattern, text, re.S | re.I).groups()
        assert [*map(float, said)] == pytest.approx([*TOLD.values()][:5], rel=5e-3)


def test_of_the_releases_and_the_spectrum(files):
    """In ledger.csv and on the page, by the headings of columns; eigenvalues are those of the prior's root."""
    fitted, folder = files
    wanted = pd.DataFrame(
        [[one.name, one.sensitivity, one.noise_sd, one.sensitivity / one.noise_sd] for one in LEDGER.entries],
        columns=["release", "sensitivity", "noise_sd", "mu"],
    )
    pd.testing.assert_frame_equal(pd.read_csv(folder / "public/ledger.csv"), wanted)
    spectrum, releases = (folder / "public/report.html").read_text().split("<h2>Spectrum")[1].split("<h2>Releases")
    heads, *rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", releases)]
    shown = pd.DataFrame(rows, columns=[head.lower().replace(" ", "_") for head in heads])
    shown = shown.assign(release=shown.release.map(html.unescape))
    assert "part <" not in releases
    pd.testing.assert_frame_equal(shown.astype(wanted.dtypes), wanted, rtol=5e-3)
    np.testing.assert_allclose(fitted.shared_.spectrum, EIGENVALUES, atol=1e-12)
    shown, widths = (re.findall(start + r"([-\d.e]+)", spectrum) for start in ('"number">', '"bar" style="width: '))
    np.testing.assert_allclose(np.array(shown, float), EIGENVALUES, rtol=5e-3, atol=1e-12)
    np.testing.assert_allclose(np.array(widths, float), 100 * EIGENVALUES / EIGENVALUES[0], atol=0.051)


@pytest.mark.parametrize("count", [9, 10, 11])
def test_of_the_spectrum_that_is_shown(count):
    """The ten largest, and a sign that there are more."""
    read = SimpleNamespace(spectrum=100.0 + np.arange(count)), {"privacy": 0, "advice": 0}
    with patch.object(main, "read_release", return_value=read), patch.object(main.Summary, "of", return_value=""):
        shown = CliRunner().invoke(app, ["show", "any"]).output
    assert len(re.findall(r"\b1\d\d\b", shown)) == min(count, 10) and ("..." in shown) == (count > 10)


def test_of_the_prior_and_the_heads(files):
    """In JSON, as it stands there and as it is read back; and in the columns of heads.parquet."""
    fitted, folder = files
    found, read = release.read_release(folder / "public/release.json")
    for name in ("mean", "mean_noise", "mean_reach", "error", "max_samples"):
        stated = getattr(SHARED, name)
        np.testing.assert_array_equal(np.array(read["shared"][name], float), stated)
        np.testing.assert_array_equal(getattr(found, name), stated)
    for name, stated in vars(PRIOR).items():
        np.testing.assert_array_equal(np.array(read["shared"]["priors"][0][name], float), stated)
        np.testing.assert_array_equal(getattr(found.heads.priors[0], name), stated)
    assert found.schema == SCHEMA and read["privacy"] == fitted.privacy_
    heads, local = pd.read_parquet(folder / "private/heads.parquet"), fitted.local_
    for name, columns in (("head", local.vectors.T), ("doubt", local.doubts.T), ("user", None)):
        for number, column in enumerate([local.ids] if columns is None else columns):
            np.testing.assert_array_equal(heads[name if columns is None else f"{name}_{number}"], column)


def test_of_the_summary(files):
    """In units of the table, by hand; and as text, row by row."""
    found = files[0].summary()
    units = np.eye(DIM)
    units[1] *= math.sqrt(12) / 60
    units[2] *= 1 / math.sqrt(0.2 * 0.8)
    units[3:, 3:] = math.sqrt(3) * (np.eye(3) - 1 / 3)
    units *= HALF
    noise = np.sqrt(units**2 @ SHARED.mean_noise**2)
    spread = np.sqrt(0.37 * np.diag(units @ SHARED.covariance @ units.T))
    names = ["Intercept", "age", "smokes", "city[a]", "city[b]", "city[c]"]
    means = pd.DataFrame({"estimate": units @ SHARED.mean + 4 * np.eye(DIM)[0], "noise_sd": noise}, names).assign(
        reach=5.3 * noise
    )
    spread = [*spread, HALF * math.sqrt(0.37), TOLD["typical_error"]]
    parts = pd.DataFrame({"sd": spread, "variance": np.square(spread)}, [*names, "Residual", "Own data"])
    parts = parts.assign(noise_sd=[math.nan] * 7 + [TOLD["typical_error_noise"]])
    for middle, wanted, table in (("estimate", means, found.coefficients), ("sd", parts, found.components)):
        pd.testing.assert_frame_equal(table, wanted, check_like=True)
        lines = str(found).split("Between users\n" if middle == "sd" else "Shared mean\n")[1].splitlines()
        for line, (name, row) in zip(lines[1:], wanted.iterrows(), strict=False):
            assert line.startswith(name)
            read = dict(zip(lines[0].split(), map(float, line.removeprefix(name).split()), strict=False))
            assert read == pytest.approx(row[list(read)].to_dict(), rel=5e-3) and len(read) == row.count()


def test_of_the_curves(tmp_path):
    """Each is that of its method, in a band between its ends; a line stands at the given users."""
    setting, some, drawn = Setting(5000, 20, 20, 2, 1.0, 1.4), ("unit", "own"), []
    saved = patch.object(Figure, "savefig", lambda self, path, **_: drawn.append(self) or path.touch())
    with saved, patch.object(curves, "METHODS", some):
        curves.draw_curves(setting, tmp_path / "curves.svg")
    (axis,) = drawn[0].axes
    assert set(axis.lines[-1].get_xdata()) == {5000}
    assert [text.get_text() for text in axis.get_legend().texts] == [NAMES[name] for name in some]
    for name, line, band in zip(some, axis.lines[:-1], axis.collections, strict=True):
        users = line.get_xdata()
        assert (users[0], users[-1]) == (625, 40_000) and np.ptp(np.diff(np.log(users))) < 0.01
        rows = pd.DataFrame([replace(setting, users=int(one)).row(name) for one in users])
        np.testing.assert_array_equal(line.get_ydata(), rows.risk)
        ends = band.get_paths()[0].vertices[:, 1]
        assert set(rows[np.isfinite(rows.high)][["low", "high"]].to_numpy().ravel()) <= set(ends)
    assert (axis.get_xscale(), axis.get_yscale(), axis.get_xlabel(), axis.get_ylim()[1]) == ("log", "log", "users", 3)


# Options and facts are handed on: every option at once, with a value of its own that is not the default


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
    given |= {"engine": "e", "scheduler": "s", "random_state": 13}
    with patch.multiple(main, PrivateRepresentation=DEFAULT, write=DEFAULT) as called:
        model = called["PrivateRepresentation"].return_value
        model.advice_, model.privacy_, model.journal_ = {}, "what was spent", {"text": "before, too"}
        files = {"table": "table.parquet", "user": "who", "label": "y", "bounds": "bounds.toml", "out": "there"}
        assert "what was spent\nbefore, too\nthere: public may be" in run("fit", **files, **given)
    assert called["PrivateRepresentation"].mock_calls[0] == call(**given)
    schema = from_toml(Path("bounds.toml"), ["a", "b"])
    assert model.fit_table.mock_calls == [call(Path("table.parquet"), user="who", label="y", schema=schema)]
    assert called["write"].mock_calls == [call(model, ANY)] and Path("there").is_dir()


def recorders(*names: str) -> dict[str, Mock]:
    """Callees of the commands, the first of which reads a release."""
    read = Mock(max_samples=11, error=0.3)
    read.schema.features = ["a"]
    return {"read_release": Mock(return_value=(read, {"sha256": "all"}))} | {name: Mock() for name in names}


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
    assert called["write_heads"].call_args == call(called["local_heads"].return_value, shared, "all", Path("o"))


def test_options_of_predict():
    called = recorders("read_heads", "TableFile", "predicted")
    shared, local = called["read_release"].return_value[0], called["read_heads"].return_value
    shared.schema.dim, local.places.return_value = 2, np.array([1, 0])
    called["TableFile"].return_value.batches.return_value = [pa.record_batch({"u": ["7", "8"], "a": [0.5, 0.6]})]
    called["predicted"].return_value = np.array([[1.0, 2.0], [3.0, 4.0]])
    with patch.multiple(main, **called):
        run("predict", release="r.json", rows="t.csv", user="u", heads="h.parquet", out="o")
    assert called["read_release"].call_args == call(Path("r.json"))
    assert called["read_heads"].call_args == call(Path("h.parquet"), shared, "all")
    assert called["TableFile"].call_args == call(Path("t.csv"), "u", None, shared.schema, 2**18 // 34)
    *given, rows, place, with_sd, _ = called["predicted"].call_args.args
    assert given == [shared, local] and rows.a.tolist() == [0.5, 0.6] and with_sd
    assert list(place) == [1, 0] and list(local.places.call_args.args[0]) == ["7", "8"]
    assert pd.read_parquet("o").to_dict("list") == {"user": ["7", "8"], "prediction": [1, 2], "sd": [3, 4]}


@pytest.mark.parametrize("given", [{"label_noise": 0.7}, {"signal": 0.2}], ids=str)
def test_options_of_advise(given):
    """But for the plot, whose file another test reads; label noise and signal are told apart."""
    both = {"label_noise": 0.7, "signal": 0.2}
    with patch("privrep.theory.advise.advise", side_effect=ValueError("asked")) as called:
        run("advise", 2, **ADVISED, **both, plot="curves.svg")
        named = ((f"--{name.replace('_', '-')}", str(value)) for name, value in (ADVISED | given).items())
        CliRunner().invoke(main.app, ["advise", *chain(*named)])
    assert called.mock_calls == [call(**ADVISED, **both), call(**ADVISED, **dict.fromkeys(both) | given)]


SETTINGS = {"epsilon": 3.5, "delta": 0.0041, "method": "prior", "rank": 2, "family": "binary", "structure": ["b"]}
SETTINGS |= {"kinds": {"b": "flag"}, "feature_bounds": {"a": (-1, 2)}, "label_bounds": (0, 1), "unit": "user"}
SETTINGS |= {"users": "who", "max_samples": 3, "unseen": "raise", "heads": "pickle", "random_state": 0}
SETTINGS |= {"engine": "dask", "scheduler": "s:1"}
STATED = [SETTINGS[name] for name in ("kinds", "feature_bounds", "label_bounds")]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class Wider(PrivateRepresentationClassifier):
    """With one parameter more.

    {parameters}
    """

    width: int = option("number of things", check_count, 7)


@pytest.mark.parametrize("kind", [PrivateRepresentation, PrivateRepresentationClassifier, Wider])
def test_a_parameter_is_declared_once(kind):
    """The constructor, which keeps it, the table of the docstring and the command have it, with its default; the
    command has no default of epsilon."""
    known, constructor = {one.name: one for one in declared(kind)}, inspect.signature(kind).parameters
    given = {name: object() for name in known}
    assert kind(**given).get_params(deep=False) == given and ("width" in known) == (kind is Wider)
    with patch.object(main, "PrivateRepresentation", kind):
        options = inspect.signature(main.with_parameters(lambda *, out, **_: None)).parameters
    assert set(options) == {"out"} | set(known) - main.ELSEWHERE
    assert (options["epsilon"].default, constructor["epsilon"].default) == (inspect.Parameter.empty, 1)
    for name, one in known.items():
        assert constructor[name].default == one.default and constructor[name].default != inspect.Parameter.empty
        assert f"\n{name} : {one.metadata['meaning'][:40]}" in kind.__doc__
        if name in options and name != "epsilon":
            (option,) = options[name].annotation.__metadata__
            assert options[name].default == one.default and option.help[1:-1] == one.metadata["meaning"][1:]


@pytest.mark.parametrize("name", [one.name for one in declared(Wider) if one.metadata["check"]])
def test_a_fit_checks_what_is_declared(name):
    """And a constructor checks nothing."""
    model = Wider(**{name: -1})
    with pytest.raises(ValueError, match=f"^{name} is -1; it must "):
        model.fit(TABLE[["a"]], TABLE.b)


CALLEES = ["stated", "in_memory", "noise_from", "doubts", "open_release", "entered", "statement"]
CALLEES += ["MixedModel", "UnitSteps"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("where", ["in memory", "on disk"])
@pytest.mark.parametrize(("method", "family"), [("prior", "binary"), ("unit_steps", "gaussian")])
def test_parameters_of_a_fit(method, family, where):
    """The journal, too, has what the ledger has; `method` and `unit` alone have the default."""
    model = PrivateRepresentation(**SETTINGS | {"method": method, "family": family})
    assert model.get_params().keys() == SETTINGS.keys()
    recorded = {name: Mock(wraps=getattr(private_representation, name)) for name in CALLEES}
    recorded["running_on"] = Mock(side_effect=lambda *_: contextlib.nullcontext())
    users = private_representation.ScatteredUsers
    recording = patch.multiple(private_representation, **recorded)
    with recording, patch.object(users, "of", side_effect=users.of) as scattered:
        if where == "in memory":
            model.fit(TABLE.drop(columns="y"), TABLE.y)
        else:
            schema = stated(["a", "b"], *STATED)
            model.fit_table("table.parquet", user="who", label="y", schema=schema)
    asked = {name: one.call_args for name, one in recorded.items()}
    assert asked["running_on"] == call("dask", "s:1") and asked["noise_from"] == call(0)
    if where == "in memory":
        assert asked["stated"].args == (["a", "b"], *STATED) and asked["in_memory"].args[4:] == (3, 2, True)
    else:
        given = {
            "user": "who",
            "label": "y",
            "schema": schema,
            "max_samples": 3,
            "rank": 2,
            "elsewhere": True,
            "strict": True,
        }
        assert scattered.mock_calls == [call("table.parquet", **given)]
    if method == "prior":
        *numbers, constant, varying, family = asked["MixedModel"].args
        assert (*numbers, constant, list(varying), family) == (0.55, 2, True, [True, False, True], "binary")
    else:
        assert asked["UnitSteps"].args == pytest.approx((2, math.sqrt(0.242 / 2), math.sqrt(0.242) / 2))
    mu = gdp_mu(3.5, 0.0041)
    assert asked["open_release"].args[1].budget == Budget(3.5, 0.0041, "exact")
    assert asked["doubts"] == call(pytest.approx(mu), 0.0041, 40, 3)
    ids, _, mu_squared, delta = asked["entered"].args
    assert sorted(ids) == list(range(40)) and (mu_squared, delta) == (pytest.approx(model.ledger_.mu**2), 0.0041)
    assert asked["statement"] == call(releases_of(model.ledger_), 0.0041, 40, "user", True)
    assert (model.shared_.max_samples, model.n_features_in_) == (3, 2)


@pytest.mark.filterwarnings("ignore:users times mu")
def test_the_journal_has_every_fit_and_one_that_fails():
    """What is on record is the sum of all that shares users, at the delta of the last one."""
    kinds, features, label = STATED
    settings = {"kinds": kinds, "feature_bounds": features, "label_bounds": label, "users": "who"}
    fits = [PrivateRepresentation(one, 0.001 * one, **settings).fit(TABLE.drop(columns="y"), TABLE.y) for one in (1, 2)]
    with patch.object(Release, "_gaussian", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        PrivateRepresentation(3, 0.003, **settings).fit(TABLE.drop(columns="y"), TABLE.y)
    spent = [json.loads(line)["mu_squared"] for line in journal.place().read_text().splitlines()]
    assert spent == pytest.approx([*(one.ledger_.mu**2 for one in fits), gdp_mu(3, 0.003) ** 2])
    found, mu = fits[1].journal_, math.sqrt(sum(spent[:2]))
    assert found | {"text": ""} == pytest.approx({"fits": 2, "mu": mu, "epsilon": gdp_epsilon(mu, 0.002), "text": ""})
    said = [float(one) for one in re.findall(NUMBER, found["text"])]
    assert said[:4] == pytest.approx([2, mu, found["epsilon"], 0.002], rel=1e-3)
