"""Settings of published methods that were chosen on public simulations: the table, and what takes options from it."""

from __future__ import annotations

import pytest
import yaml
from workflow_helpers import script

from privrep.users.problem import Problem
from replication.run.config import ROOT, read_config, read_study, study_names
from replication.run.csv_tables import read_rows
from replication.run.grids import expand
from replication.run.rivals import COLUMNS, REALS, SIZES, TABLE, chosen_options
from replication.studies.unit_map import analysis as unit_map

ROWS = read_rows(ROOT / TABLE)
STUDIES = {name: read_study(read_config(), name) for name in study_names()}
TUNED = [(study, name) for study, one in STUDIES.items() for name, series in one.series.items() if series.tuned]


CHOOSE = script("choose_rivals")
DEPARTURES = tuple(f"{name}-" for name in unit_map.MISSPECIFICATIONS)


def synthetic(**values) -> dict:
    sizes = {"users": 100, "samples": 5, "dim": 10, "rank": 2, "label_noise_sd": 0.0, "epsilon": 1.0}
    return {"series": "a", "options": {}} | sizes | values


@pytest.mark.parametrize(("study", "name"), TUNED)
def test_cells_have_what_the_table_says(study, name):
    """Of the default scale: each tuned cell has the options of its own row, which are options of the grid."""
    table = {
        tuple(float(row[column]) for column in (*SIZES, *REALS)): yaml.safe_load(row["options"])
        for row in ROWS
        if (row["study"], row["series"]) == (study, name)
    }
    grid = [*CHOOSE.ROUNDS, *CHOOSE.PASSES]
    for cell in (cell for cell in expand(STUDIES[study]) if cell.series == name):
        sizes = (float(getattr(cell.problem, size)) for size in (*SIZES, "label_noise_sd"))
        setting = (*sizes, cell.budget.epsilon)
        assert table[setting].items() <= vars(cell.options).items()
        assert table[setting] in grid


def test_rows_are_of_tuned_series():
    assert {(row["study"], row["series"]) for row in ROWS} == set(TUNED)
    assert tuple(ROWS[0]) == COLUMNS


def test_no_public_data_set_is_judged():
    judged = {cell.problem.seed for study in STUDIES.values() for cell in expand(study) if cell.problem}
    assert not judged & set(CHOOSE.SEEDS)
    assert len(CHOOSE.SEEDS) >= 5


def test_what_is_not_in_the_table_takes_the_nearest_row():
    """In logarithms, among the rows of the series alone."""
    rows = [
        synthetic(users=100, options={"clip": 1}),
        synthetic(users=1000, options={"clip": 2}),
        synthetic(users=400, series="b", options={"clip": 3}),
    ]
    setting = {"samples": 5, "dim": 10, "rank": 2, "label_noise_sd": 0.0, "epsilon": 1.0}
    assert chosen_options(rows, "a", setting | {"users": 300}) == {"clip": 1}
    assert chosen_options(rows, "a", setting | {"users": 330}) == {"clip": 2}
    with pytest.raises(ValueError, match="has no row of 'c'"):
        chosen_options(rows, "c", setting | {"users": 300})


def test_the_choice_is_the_least_median_with_the_fewest_rounds(monkeypatch):
    """Of those near the least; one that is best on the first data sets and fails later is not chosen."""
    (cell, *_) = (one for one in CHOOSE.settings("unit_map") if one.series == "centaur")
    risks = {12: [1.005] * 5, 24: [1.0] * 5, 48: [0.5, 0.5, 9.0, 9.0, 9.0], 3: [8.0] * 5, 4: [2.0] * 5, 5: [3.0] * 5}
    monkeypatch.setattr(CHOOSE, "candidates", lambda cell: [{"rounds": rounds} for rounds in risks])
    monkeypatch.setattr(CHOOSE, "Users", lambda problem, master_seed: problem)

    def run(cell, users):
        risk = risks[vars(cell.options)["rounds"]][users.seed - CHOOSE.SEEDS[0]]
        return {"status": "ok", "excess_risk": risk}, None, None

    monkeypatch.setattr(CHOOSE, "run_cell", run)
    found = CHOOSE.choice(cell)
    assert (found["options"], found["value"], found["failed"]) == ("{rounds: 12}", 1.005, 5)


def test_the_shortlist_is_that_of_the_law_and_the_former_setting():
    for cell in (one for one in CHOOSE.settings("unit_map") if one.series in ("altmin", "centaur", "fedrep")):
        tried = CHOOSE.candidates(cell)
        if cell.series == "altmin":
            assert tried == CHOOSE.PASSES
            continue
        assert CHOOSE.FORMER[cell.algorithm] in tried
        worst = max(CHOOSE.expected(cell, options) for options in tried[: CHOOSE.SHORTLIST])
        assert all(CHOOSE.expected(cell, options) >= worst for options in CHOOSE.ROUNDS if options not in tried)


def test_where_data_depart_from_the_law_each_clip_has_its_best():
    """Two of each clip by the law, and the former setting; at a problem of the model the law's shortlist."""
    for cell in CHOOSE.settings("unit_map"):
        departs = any(getattr(cell.problem, name) != getattr(Problem, name) for name in CHOOSE.MISSPECIFICATIONS)
        told = cell.series.startswith(("small-", "large-"))  # the size, so that nothing departs
        assert departs == (cell.series.startswith(DEPARTURES) and not told)
        if departs and not cell.series.endswith("altmin"):
            tried = CHOOSE.candidates(cell)
            assert CHOOSE.FORMER[cell.algorithm] in tried
            for clip in CHOOSE.CLIPS:
                of_clip = [one for one in CHOOSE.ROUNDS if one["clip"] == clip]
                best = sorted(of_clip, key=lambda options: CHOOSE.expected(cell, options))[: CHOOSE.AT_EACH_CLIP]
                assert all(one in tried for one in best)
            assert len(tried) <= CHOOSE.AT_EACH_CLIP * len(CHOOSE.CLIPS) + 1


def test_other_series_stay(monkeypatch, tmp_path):
    """With --series only these are chosen anew: rows of all others are written as they were."""
    table = tmp_path / TABLE
    table.parent.mkdir(parents=True)
    table.write_bytes((ROOT / TABLE).read_bytes())
    monkeypatch.setattr(CHOOSE, "ROOT", tmp_path)
    monkeypatch.setattr(CHOOSE, "choice", lambda cell: {"options": "{}", "value": 1.0, "runs": 5, "failed": 0})
    monkeypatch.setattr("sys.argv", ["choose_rivals.py", "--study", "unit_map", "--series", "rare-centaur"])
    CHOOSE.main()
    found = read_rows(table)
    anew = [row for row in found if row["series"] == "rare-centaur"]
    assert len(anew) == 3 and all(row["options"] == "{}" for row in anew)
    others = [row for row in found if row["series"] != "rare-centaur"]
    assert others == [row for row in ROWS if row["series"] != "rare-centaur"]
