"""How a cell becomes a row."""

from __future__ import annotations

import math
from unittest.mock import Mock

import dp_accounting
import numpy as np
import pytest

from privrep.methods.running.columns import IDENTITY, RESULTS, option_column, own_columns
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.simulate import Cell, Row, fit, run_cell
from privrep.users.problem import Problem, Users
from replication.run.csv_tables import read_rows, write_rows
from replication.run.registry import load_options

PROBLEM = Problem(60, 8, 6, 2)
RISK = "privrep.methods.running.runner.excess_risk"
NUMERICAL = {np.linalg.LinAlgError: "singular", ZeroDivisionError: "nobody", OverflowError: "too large"}
OPTIONS = {
    "altmin": {"init": "random", "split": "text", "clip_feature": 1.0, "clip_label": 1.0},
    "spectral_init": {"init_label_clip": 1.0},
    "step_lemmas": {"split": "text", "clip_feature": 3.0, "clip_label": 3.0},
}


def cell(epsilon=2.0, seed=0, **options) -> Cell:
    problem = Problem(**PROBLEM.axes | {"seed": seed})
    return Cell("altmin", load_options("altmin", OPTIONS["altmin"] | options), problem, Budget(epsilon, 1e-6))


def draw(one: Cell, role: str, master_seed: int = 0) -> float:
    return one.stream(role, master_seed).random()


def test_starts_belong_to_the_repetition_and_noise_to_the_cell():
    """Budgets and epochs are compared from the same random start, under noise of their own."""
    one, others = cell(), [cell(epsilon=3.0), cell(epochs=2), cell(clip_label=2.0)]
    for other in others:
        assert draw(other, "init") == draw(one, "init")
        assert draw(other, "noise") != draw(one, "noise")
        assert draw(other, "init_noise") != draw(one, "init_noise")
    assert draw(cell(seed=1), "init") != draw(one, "init")
    assert draw(one, "init", 1) != draw(one, "init")
    assert draw(one, "init") != draw(one, "noise")


def test_an_option_with_a_common_name_has_a_column_of_its_own():
    """The seed of a repetition is not overwritten by an option of that name."""
    assert option_column("clip") == "clip"
    assert option_column("seed") == "option.seed"
    assert option_column("mse") == "option.mse"


@pytest.mark.parametrize(
    ("risk", "reason"),
    [
        *((risk, f"the excess risk is {risk}") for risk in (math.nan, math.inf)),
        *((error(said), said) for error, said in NUMERICAL.items()),
    ],
)
def test_a_risk_that_cannot_be_had_fails_the_row(risk, reason, monkeypatch):
    """Status and reason, with the ledger of what was released before."""
    monkeypatch.setattr(RISK, Mock(side_effect=[risk]))
    row, _, _ = run_cell(cell(), Users(PROBLEM))
    assert (row["status"], row["reason"], row["releases"]) == ("failed", reason, 1)
    assert "excess_risk" not in row


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, IndexError, MemoryError])
def test_an_error_in_the_code_stops_the_run(error, monkeypatch):
    """It is no result: a row that says `failed` would pass for one."""
    monkeypatch.setattr(RISK, Mock(side_effect=error))
    with pytest.raises(error):
        run_cell(cell(), Users(PROBLEM))


def test_tables_keep_every_bit(tmp_path):
    """Numbers read back are the numbers written; an unlisted column is refused."""
    values = [0.1 + 0.2, 1e-300, float(np.float64(1) / 3)]
    write_rows(tmp_path / "t.csv", [{"a": value, "b": 'x,"y"'} for value in values], ("a", "b"))
    rows = read_rows(tmp_path / "t.csv")
    assert [float(row["a"]) for row in rows] == values
    assert rows[0]["b"] == 'x,"y"'
    with pytest.raises(ValueError, match="'c' is not among its columns"):
        write_rows(tmp_path / "t.csv", [{"c": 1}], ("a",))
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def fixed(multiplier: float, redraw: int = 0, algorithm: str = "altmin", **options) -> Cell:
    return Cell(
        algorithm, load_options(algorithm, OPTIONS[algorithm] | options), PROBLEM, FixedNoise(multiplier, 1e-6, redraw)
    )


def test_fixed_noise_is_accounted_exactly():
    """epsilon of one Gaussian of multiplier Delta / sqrt(cost), by dp_accounting; all columns are listed."""
    one, mu_squared = fixed(0.8, init="spectral", batches=2), 17 / 8
    row, _, ledger = run_cell(one, Users(PROBLEM))
    assert row["status"] == "ok"
    assert set(row) <= {*IDENTITY, *own_columns(one.options), *RESULTS}
    assert row["mu"] == ledger.mu == pytest.approx(math.sqrt(mu_squared) / 0.8, rel=1e-12)
    expected = dp_accounting.get_epsilon_gaussian(0.8 / math.sqrt(mu_squared), 1e-6)
    assert row["epsilon_exact"] == pytest.approx(expected, rel=1e-8)
    assert (row["noise_multiplier"], row["delta"], row["redraw"]) == (0.8, 1e-6, 0)
    assert "epsilon" not in row
    assert row["head_condition"] == 1


def test_a_redraw_changes_the_noise_alone():
    """Key and noise differ, data and starts do not."""
    one, other = fixed(0.8), fixed(0.8, redraw=1)
    assert one.key != other.key
    assert one.problem == other.problem
    assert draw(other, "init") == draw(one, "init")
    assert draw(other, "noise") != draw(one, "noise")
    assert draw(other, "init_noise") != draw(one, "init_noise")
    users = Users(PROBLEM)
    rows = [run_cell(each, users)[0] for each in (one, other, fixed(0.8))]
    assert rows[0]["distF"] == rows[2]["distF"] != rows[1]["distF"]


@pytest.mark.parametrize("algorithm", ["spectral_init", "step_lemmas"])
def test_a_step_without_a_risk_is_a_row_without_one(algorithm):
    """Distances stand in the row, risk and MSE do not; a risk that is NaN still fails the row."""
    row, _, _ = run_cell(fixed(0.1, algorithm=algorithm), Users(PROBLEM))
    assert row["status"] == "ok"
    assert not {"excess_risk", "mse"} & set(row)
    assert 0 < row["dist2"] <= row["distF"] <= 2**0.5
    assert {"excess_risk", "mse"} <= set(run_cell(fixed(0.1), Users(PROBLEM))[0])


@pytest.mark.parametrize("name", ["excess_risk", "mse"])
def test_a_row_says_why_it_has_no_risk(name):
    """A step that personalises nothing, by its name; a fit that failed, by its reason; another column as ever."""
    row, _ = fit("spectral_init", users=40, samples=8, dim=5, rank=2, epsilon=1.0, init_label_clip=1.0)
    with pytest.raises(KeyError, match=rf"spectral_init releases a subspace and .* there is no {name}; dist2 and"):
        row[name]
    with pytest.raises(KeyError, match=r"^'colour'$"):
        row["colour"]
    with pytest.raises(KeyError, match=rf"{name}; the fit failed: singular"):
        Row(status="failed", reason="singular")[name]


# Drawn before fixed noise, head_condition and the newer options existed: key, and first numbers of three streams.
OLDER = Cell(
    "altmin",
    load_options(
        "altmin", {"init": "random", "split": "halves-then-all", "clip_feature": 1e-4, "clip_label": 1e-4, "epochs": 1}
    ),
    Problem(50_000, 10, 50, 2, label_noise_sd=0.01, truth_law="unit-columns"),
    Budget(1.0, 1e-6),
)


def test_older_cells_keep_their_key_and_streams():
    """The first cell of Figure 2. A parameter that enters the name at its default would move all published numbers."""
    assert OLDER.key == "bd76ef37ae65"
    expected = {"init": 0.49519348726462187, "noise": 0.3760842132586818, "init_noise": 0.5325865540265892}
    assert {role: draw(OLDER, role) for role in expected} == expected
    aniso = Problem(**vars(OLDER.problem) | {"head_law": "aniso"})
    steep = Problem(**vars(aniso) | {"head_condition": 2.0})
    keys = {Cell("altmin", OLDER.options, each, OLDER.budget).key for each in (OLDER.problem, aniso, steep)}
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("algorithm", "settings", "words"),
    [
        ("centuar", {}, "algorithm is 'centuar'; .*the nearest is centaur"),
        ("centaur", {"userz": 5}, "userz is no option of centaur, .*; the nearest is users"),
        ("centaur", {"smaples": 5}, "smaples is no option of centaur, .*; the nearest is samples"),
        ("centaur", {"ruonds": 5}, "ruonds is no option of centaur, .*; the nearest is rounds"),
    ],
)
def test_what_is_misspelt_is_told_before_what_is_missing(algorithm, settings, words):
    with pytest.raises(ValueError, match=words):
        fit(algorithm, epsilon=1.0, **settings)
