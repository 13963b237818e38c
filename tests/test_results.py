"""How a cell becomes a row."""

from __future__ import annotations

import numpy as np
import pytest

from privrep.grids import Cell
from privrep.privacy.accounting import Budget
from privrep.problem import Problem, Users
from privrep.results import COLUMNS, cell_stream, run_cell
from privrep.tables import read_rows, write_rows

PROBLEM = Problem(60, 8, 6, 2)
OPTIONS = {"init": "random", "split": "text", "clip_feature": 1.0, "clip_label": 1.0}


def cell(epsilon=2.0, seed=0, **options) -> Cell:
    problem = Problem(**PROBLEM.axes | {"seed": seed})
    return Cell("s", "a", "altmin", tuple((OPTIONS | options).items()), problem, Budget(epsilon, 1e-6))


def draw(one: Cell, role: str, master_seed: int = 0) -> float:
    return cell_stream(one, role, master_seed).random()


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


def test_a_row_holds_listed_columns_and_both_epsilons():
    """The exact epsilon is computed from the ledger and lies below the printed one."""
    row, timing, ledger = run_cell(cell(), Users(PROBLEM))
    assert set(row) <= set(COLUMNS)
    assert row["status"] == "ok"
    assert row["epsilon_paper"] == pytest.approx(2.0)
    assert row["epsilon_exact"] == ledger.epsilon(1e-6) < 2.0
    assert timing["key"] == row["key"]


def test_a_numerical_failure_is_a_row(monkeypatch):
    """Status and reason, with the ledger of what was released before."""
    monkeypatch.setattr("privrep.algorithms.altmin.personalised_risk", lambda *_: float("nan"))
    row, _, _ = run_cell(cell(), Users(PROBLEM))
    assert row["status"] == "failed"
    assert row["reason"] == "the excess risk is nan"
    assert "excess_risk" not in row
    assert row["releases"] == 1


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
