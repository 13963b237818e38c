"""How a cell becomes a row."""

import inspect
import math
from dataclasses import replace
from unittest.mock import DEFAULT, Mock, call, patch

import dp_accounting
import numpy as np
import pytest

from privrep import simulate
from privrep.methods.running import scoring
from privrep.methods.running.columns import IDENTITY, RESULTS, option_column, own_columns
from privrep.methods.running.method import Candidates, Iterate, Outcome
from privrep.privacy.accounting import Budget, FixedNoise, gdp_epsilon
from privrep.privacy.ledger import GaussianRelease
from privrep.simulate import Cell, Row, fit, run_cell
from privrep.users.simulated import Problem, Users
from replication.run.csv_tables import read_rows, write_rows
from replication.run.registry import load_options

PROBLEM = Problem(60, 8, 6, 2)
RISK = "privrep.methods.running.runner.excess_risk"
NUMERICAL = {np.linalg.LinAlgError: "singular", ZeroDivisionError: "nobody", OverflowError: "too large"}
OPTIONS = {"init": "random", "split": "text", "clip_feature": 1.0, "clip_label": 1.0}


def cell(epsilon=2.0, seed=0, **options) -> Cell:
    problem = Problem(**PROBLEM.axes | {"seed": seed})
    return Cell("altmin", load_options("altmin", OPTIONS | options), problem, Budget(epsilon, 1e-6))


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


def fixed(multiplier: float, redraw: int = 0, **options) -> Cell:
    return Cell("altmin", load_options("altmin", OPTIONS | options), PROBLEM, FixedNoise(multiplier, 1e-6, redraw))


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
    assert one.key != other.key and draw(other, "init") == draw(one, "init")
    assert draw(other, "init_noise") != draw(one, "init_noise")
    users = Users(PROBLEM)
    rows = [run_cell(each, users)[0] for each in (one, other, fixed(0.8))]
    assert rows[0]["distF"] == rows[2]["distF"] != rows[1]["distF"]


@pytest.mark.parametrize("name", ["excess_risk", "mse"])
def test_a_row_says_why_it_has_no_risk(name):
    """A step that personalises nothing, by its name; a fit that failed, by its reason; another column as ever."""
    row, _ = fit("spectral_init", users=40, samples=8, dim=5, rank=2, epsilon=1.0, init_label_clip=1.0)
    with pytest.raises(KeyError, match=rf"spectral_init releases a subspace and .* it has no {name}; dist2 and"):
        row[name]
    with pytest.raises(KeyError, match=r"^'colour'$"):
        row["colour"]
    with pytest.raises(KeyError, match=rf"{name}; the fit failed: singular"):
        Row(status="failed", reason="singular")[name]


def turned(*angles: float) -> np.ndarray:
    """A subspace at these angles to the plane of the first two axes."""
    return np.vstack([np.diag(np.cos(angles)), np.diag(np.sin(angles)), np.zeros((2, 2))])


PLANE = turned(0, 0)


def test_every_score_is_its_own():
    """By hand, from angles and norms that all differ; with one round the second half is that round."""
    angles, pairs = np.array([0.7, 0.2, 0.3, 0.5]), [(1.2, 1.3), (0.1, 0.9), (0.8, 0.2), (0.4, 0.1), (0.3, 0.25)]
    candidates = Candidates(np.array([turned(one, 0.15) for one in angles]), 1, 0.3)
    path = scoring.Path([Iterate(turned(*pair), None, {}, candidates) for pair in pairs], PLANE, scoring.NormWatch())
    path.watch.lengths(np.array([0.5, 3, 1]), 1)
    path.watch.lengths(np.array([2.0]), 4)
    late, sine = np.sin(pairs[-2:]), np.sin(angles)
    wanted = {"steady_dist2": late.max(axis=1) ** 2, "steady_distF": (late**2).sum(axis=1), "runs_dist2": sine**2}
    wanted = {
        name: math.sqrt(one.mean()) for name, one in (wanted | {"runs_distF": sine**2 + np.sin(0.15) ** 2}).items()
    }
    wanted |= {"largest_dist2": math.sin(0.9), "start_dist2": sine[1], "runs_dist2_max": sine[0], "runs_within": 0.5}
    wanted |= dict.fromkeys(("start_dist2_median", "runs_dist2_median"), np.median(sine))
    wanted |= {"runs_log_tangent": np.log(np.tan(angles)).mean(), "product_norm_max": 3, "clipped_share": 0.25}
    average = math.atan2(np.sin(2 * angles).sum(), np.cos(2 * angles).sum()) / 2
    wanted |= {"average_dist2": math.sin(average), "excess_loss": 0.77}
    path = replace(path, excess_loss=lambda: 0.77)
    assert scoring.scores(tuple(scoring.SCORES), path) == pytest.approx(wanted)
    assert wanted.keys() == scoring.SCORE_COLUMNS.keys()
    assert replace(path, iterates=path.iterates[:2]).steady(scoring.dist2) == pytest.approx(math.sin(0.9))


def test_each_number_of_a_row_stands_under_its_name():
    """Of a made-up outcome, whose numbers all differ; times stand beside the row."""
    one = Cell("altmin", cell().options, Problem(60, 8, 6, 2, label_noise_sd=0.7), Budget(2.0, 1e-6))
    outcome = Outcome(0.31, turned(0.3, 0.8), "theorem", 0.57, {"noise_multiplier": 1.9})

    def made_up(options, task):
        task.ledger.entries.extend(GaussianRelease(f"{moved}", moved, 1.0, 0, 60) for moved in (0.3, 0.4, 1.2))
        return outcome

    clocks = Mock(process_time=Mock(side_effect=[1, 4]), perf_counter=Mock(side_effect=[10, 15]))
    with patch.multiple(simulate, runner=Mock(fit=made_up), time=clocks):
        row, timing, ledger = run_cell(one, Mock(truth=Mock(basis=PLANE), master_seed=0))
    wanted = {"status": "ok", "excess_risk": 0.31, "mse": 0.31 + 0.7**2, "theorem": "theorem", "epsilon_paper": 0.57}
    wanted |= {"dist2": math.sin(0.8), "distF": math.hypot(math.sin(0.3), math.sin(0.8)), "noise_multiplier": 1.9}
    wanted |= {"releases": 3, "mu": 1.3, "epsilon_exact": gdp_epsilon(1.3, 1e-6), "ledger": ledger.summary}
    assert row == pytest.approx(one.row | wanted)
    assert timing == {"key": one.key, "cpu_seconds": 3, "wall_seconds": 5}


GIVEN = {"epsilon": 3.5, "delta": 0.01, "master_seed": 7, "engine": "dask", "scheduler": "s:1"}


@pytest.mark.parametrize("calibration", ["paper", "exact"])
def test_every_argument_of_a_fit_is_handed_on(calibration):
    """None has its default; recorders stand in place of what is called."""
    options, given = OPTIONS | {"epochs": 3}, GIVEN | {"calibration": calibration}
    asked = inspect.signature(fit).parameters.values()
    assert {one.name for one in asked if one.kind is one.KEYWORD_ONLY} == given.keys()
    with patch.multiple(simulate, running_on=DEFAULT, run_cell=DEFAULT) as callee:
        callee["run_cell"].return_value = {"status": "ok"}, {}, "ledger"
        assert fit("altmin", **vars(PROBLEM), **given, **options) == ({"status": "ok"}, "ledger")
    one, users = callee["run_cell"].call_args.args
    assert one == Cell("altmin", load_options("altmin", options), PROBLEM, Budget(3.5, 0.01, calibration))
    assert (users.problem, users.master_seed) == (PROBLEM, 7)
    assert callee["running_on"].call_args == call("dask", "s:1")


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
