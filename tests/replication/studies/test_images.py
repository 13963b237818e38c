"""The study of the image experiments: what it makes of the lines of the table, and of rows that were not run."""

import math
import re
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from images.table import listed
from replication.evidence.claims import judge
from replication.evidence.facts import Quantities
from replication.evidence.measured import NOT_RUN
from replication.evidence.quantities import checked_claims, measured
from replication.evidence.verdicts import Verdict
from replication.report import stub_run
from replication.report.chapters import text
from replication.report.stub_run import StubRun, stub_cells, study_of
from replication.run.config import ROOT
from replication.run.csv_tables import read_rows
from replication.run.settings import MeasureSettings
from replication.studies.images import analysis
from replication.studies.images.analysis import FIGURE_1, METHODS, MOVED, ON_MNIST, TABLE_1, TABLE_3, Lead

ACCURACY = {"centaur": 0.98, "ppsgd": 0.93, "pmtl": 0.89, "fedavg": 0.90, "stand_alone": 0.94}
PLANNED = pd.DataFrame([row.settings for row in listed(ROOT / "src/images/runs.toml")])
STUDY = study_of("images")
SETTINGS = MeasureSettings(
    study="images", quantities=tuple(measured(STUDY)), complete=True, figures=tuple(STUDY.figures)
)
CELLS = stub_cells("images", 0.5)


@pytest.fixture
def runs(monkeypatch):
    """All planned rows, with an accuracy for each method that a seed moves a little, and clients that differ."""
    table = PLANNED.assign(
        accuracy=PLANNED["method"].map(ACCURACY) + 1e-5 * PLANNED["seed"] * (PLANNED["method"] == "centaur"),
        validation=PLANNED["method"].map(ACCURACY) - PLANNED["clip"].sub(0.25).abs() / 10,
        **{"accuracy_once": 0.5, "accuracy_sd": 0.1, "tested": 1000, "clipped_share": 0.25, "seconds": 60.0},
        **{"accuracy_moved_last": math.nan, "device": "a machine"},
    )
    for part in range(1, 9):
        table[f"accuracy_{part}_8"] = table["accuracy"] - (8 - part) / 100
        table[f"length_{part}_8"] = table["method"].map({"centaur": 0.5}).fillna(1.25) + 0.01 * table["seed"]
        table[f"cut_{part}_8"] = 0.1
    spread = np.linspace(-0.05, 0.05, 200)
    table["by_client"] = [" ".join(f"{1000 * (one + off):.0f}" for off in spread) for one in table["accuracy"]]
    monkeypatch.setattr(analysis, "long_runs", lambda: table)
    return table


def found():
    """Measures by name."""
    return {one.quantity: one for one in analysis.analyse(CELLS, SETTINGS).measured}


def put(runs, value, column="accuracy", **where):
    """One value in the lines that match."""
    rows = np.logical_and.reduce([runs[name] == wanted for name, wanted in where.items()])
    assert rows.any()
    runs.loc[rows, column] = value


def test_every_judged_row_is_planned_with_all_methods(runs):
    """The list has a run of each method for all rows of the paper and on MNIST, five seeds there. All is shared but
    what the rules name: clip, batch, rounds, steps."""
    own = {"method", "key", "shift", "local_epochs", "momentum", "seed"}
    for row, setting in (TABLE_1 | TABLE_3 | ON_MNIST | FIGURE_1 | {"": analysis.best_clips(runs)}).items():
        images, shift = setting.where["images"], MOVED if setting.where["images"] == "emnist" else 0
        of = {method: analysis.lines(runs, setting, method, shift) for method in METHODS}
        seeds = {method: len(lines) for method, lines in of.items()}
        assert set(seeds.values()) <= ({5} if images == "mnist" else {1, 3}), (row, seeds)
        assert seeds["centaur"] == seeds["ppsgd"], (row, seeds)
        lines = pd.concat([of[method] for method in METHODS[:-1]])
        alike = [name for name in PLANNED if name not in own | {"clip" if setting.clips else ""}]
        assert (lines[alike].nunique() == 1).all() and set(lines["momentum"]) == {0.9}, row
        assert set(lines.loc[lines["shift"] > 0, "method"]) == ({"centaur"} if shift else set())
        longer = set(lines.loc[lines["local_epochs"] != lines["local_epochs"].min(), "method"])
        assert longer <= {"pmtl"} and bool(longer) == (images == "cifar10")


ROW = "CIFAR10, n = 1000, S = 5"
STATED = [claim for claim in checked_claims()["shen2023"] if claim.study == "images"]


def orders(row=ROW):
    return [one for one in analysis.orders(CELLS, Quantities([])) if one["row"] == row]


YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize("case", read_rows(Path(__file__).with_name("image_leads.csv")), ids=str)
def test_what_seeds_and_readings_may_say(runs, monkeypatch, case):
    """Rules 4, 9 and 11, each edge from both sides: verdict, seeds and reading of a row, and, where it stands there,
    what the chapter says of it."""
    leads, moved = ([float(one) for one in case[name].split()] for name in ("unmoved", "moved"))
    row = "CIFAR100, n = 1000, S = 5" if len(leads) == 2 or len(moved) == 3 else ROW
    first = [analysis.lines(runs, TABLE_1[row], method).loc[[0]].reset_index() for method in METHODS]
    table = [one.assign(seed=seed) for one in first[1:] for seed in range(max(len(leads), len(moved), 1))]
    for shift, values in ((0, leads), (MOVED, moved)):
        table += [first[0].assign(seed=seed, shift=shift, accuracy=0.94 + by / 100) for seed, by in enumerate(values)]
    monkeypatch.setattr(analysis, "long_runs", lambda: pd.concat(table, ignore_index=True))
    monkeypatch.setattr(stub_run, "stub_fact", stub_run.stub_fact.__wrapped__)
    some = {name: TABLE_1[name] for name in {ROW, row}}
    with patch.multiple(analysis, TABLE_1=some, TABLE_3={}, figure_1_measures=lambda _: []):
        one, said = judged()[row], [(one["reading"], one["seeds"]) for one in orders(row) if one["seeds"]]
    of_moved = analysis.OF_READING["rounds"] in one["reason"]
    known = of_moved or analysis.OF_READING["unmoved"] in one["reason"] or analysis.STILL_OPEN in one["reason"]
    assert (one["verdict"], known) == (case["verdict"], bool(leads or moved)) and (of_moved or one["verdict"] != NO)
    if decides := moved if of_moved else leads:
        assert (one["seeds"], one["measured"]) == (len(decides), pytest.approx(np.mean(decides), abs=1e-6))
    assert said == [("unmoved", len(leads))] * bool(leads) + [("rounds", len(moved))] * bool(moved)
    if case["says"]:
        told = text("images", StubRun(1.5))
        assert re.search(rf">{row}</th>(?:(?!</tr>).)*>{re.escape(case['says'])}</td></tr>", told)
        assert f"ran in {len(said[:1])} of the {len(TABLE_1 | TABLE_3)} rows" in told


def test_the_other_claims_leave_not_tested_with_their_rows(runs, monkeypatch):
    """B-T3, B-F1, B-F3 and B-R3.1i: one seed is INCONCLUSIVE, three decide, and only moved images may say no."""
    names = {one.quantity for claim in STATED for one in claim.quantities if "CIFAR10, Figure 1" in one.measured}
    names |= {one.quantity for claim in STATED[-2:] for one in claim.quantities} | {"n = 1000, S = 5"}
    scores = ["accuracy", *(f"accuracy_{part}_8" for part in range(1, 9))]
    once = runs[(runs["images"] == "cifar10") & (runs["seed"] == 0) & (runs["shift"] == 0)]

    def made(seeds, worse=0.0, shift=0):
        table = pd.concat([once.assign(seed=seed) for seed in range(seeds)], ignore_index=True)
        ours = table["method"] == "centaur"
        for name, by in (dict.fromkeys(scores, -worse) | {"length_8_8": 20 * worse}).items():
            table[name] += ours * (by + 1e-4 * table["seed"])
        return table[ours].assign(shift=shift) if shift else table

    cases = ([made(1)], OPEN), ([made(3)], YES), ([made(3, 0.13)], OPEN), ([made(3, 0.13), made(3, 0.13, MOVED)], NO)
    for tables, expected in cases:
        monkeypatch.setattr(analysis, "long_runs", lambda tables=tables: pd.concat(tables, ignore_index=True))
        assert {one["verdict"] for name, one in judged().items() if name in names} == {expected}


def test_a_rival_far_behind_needs_one_seed(runs):
    """Rule 12: four points behind the best rival at the first seed; a nearer one with one seed leaves the row open."""
    setting, row = TABLE_1["CIFAR10, n = 1000, S = 2"], "CIFAR10, n = 1000, S = 2"
    for accuracy, more, verdict in ((0.9, [], YES), (0.9001, ["pmtl"], OPEN)):
        put(runs, accuracy, method="pmtl", images="cifar10", rank=2, rounds=200)
        assert (analysis.rivals(runs, setting), judged()[row]["verdict"]) == (["ppsgd", *more, "stand_alone"], verdict)


def test_the_second_score_stands_beside_the_first_and_decides_nothing(runs):
    """Rule 10: lines that are older lack it; it moves CENTAUR's leads by what it is above the first score."""
    before = repr(found())
    put(runs, 0.1, seed=100)  # which judges nothing
    where = {"images": "cifar10", "method": "centaur", "rank": 5, "clients": 1000, "rounds": 200, "shift": 0}
    assert [one["reading"] for one in orders()] == ["unmoved", "rounds"]
    for seed, gain in ((0, 0.01), (1, -0.15)):
        put(runs, 0.98 + 1e-5 * seed + gain, "accuracy_moved_last", seed=seed, **where)
    assert repr(found()) == before
    points = analysis.accuracy_points(runs, TABLE_1)
    assert points["moved_last"].dropna().tolist() == pytest.approx([91], abs=0.01)
    assert points[points["moved_last_seeds"] > 0][["moved_last_seeds", "seeds"]].to_numpy().tolist() == [[2, 3]]
    first, last, _ = orders()
    assert [first["decided"], last["decided"], last["reading"], last["rival"]] == [1, 0, "last", "stand_alone"]
    assert [first["lead"], last["lead"], last["over_seeds"]] == pytest.approx([4, 4 - 14 / 2, 16 / 2**0.5], abs=0.01)


def judged():
    """Rows of the study's claims by quantity."""
    rows = {name: {k: str(v) for k, v in vars(one).items()} | {"note": one.note} for name, one in found().items()}
    return {one["quantity"]: one for one in judge(STATED, "shen2023", {"images": rows}, "default", "figures")}


def test_intervals_are_students_over_seeds_and_paired_over_clients():
    values = np.array([1.0, 2.0, 4.0])
    low, high = Lead(values).ends()
    assert high - values.mean() == pytest.approx(4.302653 * values.std(ddof=1) / math.sqrt(3))
    assert low + high == pytest.approx(2 * values.mean())
    assert Lead(values[:1], 0.5).ends() == pytest.approx((1 - 0.9799820, 1 + 0.9799820))
    frame = pd.DataFrame({"accuracy": [0.5], "tested": [400], "by_client": ["100 300 500"]})
    other = frame.assign(accuracy=0.4, tested=3, by_client="90 310 440")
    # Where one tested fewer clients, the lead is of those: 1, -1 and 6 points
    assert analysis.difference(frame, other).values == pytest.approx([2.0])
    assert analysis.difference(frame, other).error == pytest.approx(np.std([1, -1, 6], ddof=1) / math.sqrt(3))
    assert analysis.difference(frame, other.assign(tested=400)).values == pytest.approx([10.0])


def test_the_least_has_a_simultaneous_interval():
    """`test_intervals` has its level; one that did not run leaves nothing."""
    near, far = Lead(np.array([0.0, 1.0, 2.0])), Lead(np.array([9.0, 9.5, 10.0]))
    assert analysis.least("x", [near, far]).measured == 1
    assert math.isnan(analysis.least("x", [near, Lead(np.empty(0))]).measured)


def test_clips_are_chosen_on_validation_of_the_tuning_seed(runs):
    """Not on a test score, and not on a seed that judges."""
    put(runs, 0.99, seed=100, method="fedavg", clip=1.0, batch=18)
    put(runs, 0.99, "validation", seed=3, method="fedavg", clip=0.5)
    assert analysis.best_clips(runs).clips == dict.fromkeys(analysis.TOGETHER, 0.25)
    put(runs, 0.99, "validation", seed=100, method="fedavg", clip=0.5, batch=18)
    assert analysis.best_clips(runs).clips == dict.fromkeys(analysis.TOGETHER, 0.25) | {"fedavg": 0.5}


def test_printed_leads_are_those_of_the_tables():
    claims = {claim.id: claim for claim in checked_claims()["shen2023"]}
    rows = TABLE_1 | TABLE_3
    for one in (*claims["B-T1"].quantities, *claims["B-T3"].quantities):
        row = rows[one.measured.removesuffix(": least lead of centaur")]
        printed = {method: mean for method, (mean, _) in row.printed.items()}
        best = max(mean for method, mean in printed.items() if method != "centaur")
        assert one.predicted == pytest.approx(printed["centaur"] - best, abs=0.006)


def test_without_a_run_nothing_is_tested_and_the_page_still_stands(monkeypatch):
    nothing = analysis.long_runs().iloc[:0]
    monkeypatch.setattr(analysis, "long_runs", lambda: nothing)
    assert all(one.note.startswith(NOT_RUN) for name, one in found().items() if not name.startswith("digits"))
    rows = judged().values()
    assert {row["verdict"] for row in rows} == {Verdict.NOT_TESTED}
    assert all("src/images/runs.toml" in row["reason"] for row in rows)
    assert all(table.empty for table in analysis.analyse(CELLS, SETTINGS).tables.values())
    for fact in analysis.FACTS.values():
        fact(CELLS, {})


def test_the_committed_table_is_of_the_list():
    """Every line is a planned row with the settings of its key and says where it ran; a set has one checksum."""
    table = analysis.long_runs()
    planned = {row.key: row for row in listed(ROOT / "src/images/runs.toml")}
    assert table["key"].is_unique and set(table["key"]) <= set(planned)
    for _, line in table.iterrows():
        settings = planned[line["key"]].settings
        assert {name: line[name] for name in settings} == settings
    assert (table.groupby("images")["checksum"].nunique() == 1).all()
    assert table[["device", "commit", "seconds"]].notna().all(axis=None) and (table["commit"].str.len() >= 7).all()
    noisy = table[table["method"] != "stand_alone"]
    np.testing.assert_allclose(noisy["epsilon_add_remove"], noisy["epsilon"], rtol=1e-6)
