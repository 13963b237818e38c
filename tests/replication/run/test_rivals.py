"""Settings of published methods that were chosen on public simulations: the table, and what takes options from it."""

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from joblib import parallel_config
from workflow_helpers import script

from privrep.methods.running.runner import prepared
from replication.run.config import ROOT, read_config, read_study, study_names
from replication.run.csv_tables import read_rows
from replication.run.grids import expand
from replication.run.rivals import BY_TRIALS, COLUMNS, REALS, SIZES, TABLE, chosen_options

ROWS = read_rows(ROOT / TABLE)
STUDIES = {name: read_study(read_config(), name) for name in study_names()}
TUNED = [(study, name) for study, one in STUDIES.items() for name, series in one.series.items() if series.tuned]


CHOOSE = script("choose_rivals")
cells_of = cache(lambda study: tuple(expand(STUDIES[study])))


def synthetic(**values) -> dict:
    sizes = {"users": 100, "samples": 5, "dim": 10, "rank": 2, "label_noise_sd": 0.0, "epsilon": 1.0}
    return {"series": "a", "options": {}} | sizes | values


@pytest.mark.parametrize(("study", "name"), TUNED)
def test_cells_have_what_the_table_says(study, name):
    """Of the default scale: each tuned cell has the options of its own row."""
    table = {
        tuple(float(row[column]) for column in (*SIZES, *REALS)): yaml.safe_load(row["options"])
        for row in ROWS
        if (row["study"], row["series"]) == (study, name)
    }
    for cell in (cell for cell in cells_of(study) if cell.series == name):
        sizes = (float(getattr(cell.problem, size)) for size in (*SIZES, "label_noise_sd"))
        assert table[*sizes, cell.budget.epsilon].items() <= vars(cell.options).items()


def test_rows_are_of_tuned_series():
    assert {(row["study"], row["series"]) for row in ROWS} == set(TUNED)
    assert tuple(ROWS[0]) == COLUMNS


def test_no_public_data_set_is_judged():
    judged = {cell.problem.seed for study in STUDIES for cell in cells_of(study) if cell.problem}
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


SETTINGS = list(CHOOSE.settings("unit_map"))
PUBLISHED = {
    "users-altmin-published": {"init_pairs": "disjoint", "fallback": "solve"},
    "users-centaur-published": {"average_last": 0, "last_clip": None},
    "users-fedrep-published": {"init_pairs": "all", "average_last": 0, "last_clip": None},
}
"""What series state that are as published."""


@pytest.mark.parametrize(
    "series",
    ["altmin", "centaur", "fedrep", "users-altmin", "users-centaur", "users-fedrep", "rival-pairs", *PUBLISHED],
)
def test_drawn_options_can_be_run(series):
    """As many for each method, no two alike, with clips that fall; an ingredient that a series states is in each, and
    one that is as published stays so."""
    cell, now, stated = next(one for one in SETTINGS if one[0].series == series)
    constant = {"average_last": 0, "last_clip": None}
    assert stated == {"rival-pairs": {"init_pairs": "all", **constant}, **PUBLISHED}.get(series, {})
    ranges, rng = CHOOSE.ranges_of(cell), np.random.default_rng(0)
    drawn = CHOOSE.uniform(ranges, rng)
    drawn += CHOOSE.around(ranges, drawn[0], rng)
    several = {str(one): one | stated for one in drawn}
    assert len(several) == CHOOSE.TRIALS
    for options in several.values():
        prepared(replace(cell.options, **options), cell.problem)
        assert (options.get("last_clip") or 0) <= options.get("clip", 0) and stated.items() <= options.items()
        assert not CHOOSE.foreign(cell.algorithm, vars(cell.options) | now | options) or series not in PUBLISHED


def test_options_are_drawn_around_others():
    """Numbers are near them, and what is in a list is theirs for the most part; places in a range are inverted."""
    ranges = CHOOSE.RANGES["private_fedrep"]
    first = CHOOSE.uniform(ranges, np.random.default_rng(3))[0]
    near = pd.DataFrame(CHOOSE.around(ranges, first, np.random.default_rng(1)))
    for name in ("clip", "step", "rounds", "init_share"):
        low, high = ranges[name]
        assert abs(np.log(near[name] / first[name])).median() < 0.15 * math.log(high / low)
        assert near[name].between(low, high).all()
    assert (near["init_pairs"] == first["init_pairs"]).mean() > 0.5
    for values in ranges.values():
        for place in (0.05, 0.5, 0.95):
            value = CHOOSE.at_place(values, place)
            assert CHOOSE.at_place(values, CHOOSE.place_of(values, value) + 1e-9) == value


@pytest.mark.parametrize(("now", "chosen"), [(0.9, "rounds: 3"), (0.3, "rounds: 9")])
def test_the_choice_is_the_least_median(monkeypatch, now, chosen):
    """Also of what was chosen before; one that is best on the first data sets and fails later is not chosen; fewer
    trials find what the same rule finds among them."""
    cell = next(cell for cell, *_ in SETTINGS if cell.series == "centaur")
    risks = {1: [2.0] * 5, 2: [0.5, 0.5, 9.0, 9.0, 9.0], 3: [0.7, 0.7, 0.7, math.inf, 0.8], 4: [3.0] * 5, 9: [now] * 5}
    monkeypatch.setattr(CHOOSE, "TRIALS", 4)
    monkeypatch.setattr(CHOOSE, "uniform", lambda ranges, rng: [{"rounds": 1}, {"rounds": 2}])
    monkeypatch.setattr(CHOOSE, "around", lambda ranges, best, rng: [{"rounds": 3}, {"rounds": 4}])
    monkeypatch.setattr(CHOOSE, "Users", lambda problem, master_seed: SimpleNamespace(problem=problem))

    def run(cell, users):
        risk = risks[cell.options.rounds][users.problem.seed - CHOOSE.SEEDS[0]]
        return {"status": "ok" if risk < math.inf else "failed", "excess_risk": risk}, None, None

    monkeypatch.setattr(CHOOSE, "run_cell", run)
    _, found, by_trials = CHOOSE.choice(cell, {"rounds": 9}, {})
    assert found["options"] == f"{{{chosen}}}"
    assert found["failed"] == 5
    assert [(one["trials"], one["value"]) for one in by_trials] == [(0, now), (1, 2.0), (2, 2.0), (4, 0.7)]


def test_other_series_stay_and_a_search_goes_on(monkeypatch, tmp_path):
    """With --series only these are chosen: rows of all others are written as they were. What was searched stays."""
    (tmp_path / TABLE).parent.mkdir(parents=True)
    for table in (TABLE, BY_TRIALS):
        (tmp_path / table).write_bytes((ROOT / table).read_bytes())
    monkeypatch.setattr(CHOOSE, "ROOT", tmp_path)
    command, calls = ["choose_rivals.py", "--study", "unit_map", "--series", "rare-centaur"], []

    def choice(cell, present, stated):
        calls.append(present)
        row = {"options": "{}", "value": 1.0, "runs": 5, "failed": 0}
        return (cell.key, str(stated)), row, [{"trials": CHOOSE.TRIALS, "value": 1.0}]

    monkeypatch.setattr(CHOOSE, "choice", choice)
    for more, searched in (["--anew"], 3), ([], 3), (["--anew"], 6):
        monkeypatch.setattr("sys.argv", command + more)
        with parallel_config("threading"):
            CHOOSE.main()
        assert len(calls) == searched
    found = read_rows(tmp_path / TABLE)
    anew = [row for row in found if row["series"] == "rare-centaur"]
    assert len(anew) == 3 and all(row["options"] == "{}" for row in anew)
    others = [row for row in found if row["series"] != "rare-centaur"]
    assert others == sorted((row for row in ROWS if row["series"] != "rare-centaur"), key=CHOOSE.named)
    assert {row["value"] for row in read_rows(tmp_path / BY_TRIALS) if row["series"] == "rare-centaur"} == {"1.0"}
