"""The study of the image experiments: what it makes of the lines of the table, and of rows that were not run."""

import math

import numpy as np
import pandas as pd
import pytest

from images.table import listed
from replication.evidence.claims import judge
from replication.evidence.measured import NOT_RUN
from replication.evidence.quantities import checked_claims, measured
from replication.evidence.verdicts import Verdict
from replication.report.stub_run import stub_cells, study_of
from replication.run.config import ROOT
from replication.run.settings import MeasureSettings
from replication.studies.images import analysis
from replication.studies.images.analysis import EPSILONS, FIGURE_1, METHODS, MNIST, ON_MNIST, TABLE_1, TABLE_3, Lead

ACCURACY = {"centaur": 0.95, "ppsgd": 0.93, "pmtl": 0.89, "fedavg": 0.90, "stand_alone": 0.94}
LIST = [row.settings for row in listed(ROOT / "src/images/runs.toml")]
PLANNED = pd.DataFrame(LIST)
STUDY = study_of("images")
SETTINGS = MeasureSettings(
    study="images", quantities=tuple(measured(STUDY)), complete=True, figures=tuple(STUDY.figures)
)
CELLS = stub_cells("images", 0.5)


@pytest.fixture
def runs(monkeypatch):
    """All planned rows, with an accuracy for each method that a seed moves a little, clients that differ."""
    table = PLANNED.assign(
        accuracy=PLANNED["method"].map(ACCURACY) + 1e-5 * PLANNED["seed"] * (PLANNED["method"] == "centaur"),
        validation=PLANNED["method"].map(ACCURACY) - PLANNED["clip"].sub(0.25).abs() / 10,
        **{"accuracy_once": 0.5, "accuracy_sd": 0.1, "tested": 1000, "clipped_share": 0.25, "seconds": 60.0},
        device="a machine",
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
    """The list has a run of each method for all rows of the paper and on MNIST, five seeds there."""
    for row, setting in (TABLE_1 | TABLE_3 | ON_MNIST | FIGURE_1 | {"": analysis.best_clips(runs)}).items():
        seeds = {method: len(analysis.lines(runs, setting, method)) for method in METHODS}
        assert set(seeds.values()) <= ({5} if setting.where["images"] == "mnist" else {1, 3}), (row, seeds)
        assert seeds["centaur"] == seeds["ppsgd"], (row, seeds)


def test_methods_of_a_row_differ_in_what_is_theirs_alone(runs):
    """All else is shared: clip, batch, rounds, steps; the rules name the exceptions."""
    own = {"method", "key", "shift", "local_epochs", "momentum", "seed"}
    for row, setting in (TABLE_1 | TABLE_3 | ON_MNIST).items():
        lines = pd.concat([analysis.lines(runs, setting, method) for method in METHODS[:-1]])
        alike = [name for name in PLANNED if name not in own]
        assert (lines[alike].nunique() == 1).all(), row
        assert set(lines["momentum"]) == {0.9}
        moved = set(lines.loc[lines["shift"] > 0, "method"])
        assert moved == ({"centaur"} if setting.where["images"] == "emnist" or "moved" in row else set())
        longer = set(lines.loc[lines["local_epochs"] != lines["local_epochs"].min(), "method"])
        assert longer <= {"pmtl"} and bool(longer) == (setting.where["images"] == "cifar10")


def test_the_tuning_seed_judges_nothing(runs):
    before = found()
    put(runs, 0.1, seed=100)
    assert found() == before


def test_one_seed_decides_no_row(runs):
    """The lead stands there with its interval over clients, and the verdict is INCONCLUSIVE; three seeds decide."""
    one = found()["CIFAR10, n = 1000, S = 5, T = 400: least lead of centaur"]
    assert one.measured == pytest.approx(1) and math.isnan(one.ci_low) and one.note.startswith("too few seeds")
    verdicts = {row["quantity"]: row["verdict"] for row in judged() if row["id"] in ("B-T1", "B-T3")}
    assert verdicts["n = 1000, S = 5"] == Verdict.INCONCLUSIVE
    assert verdicts["CIFAR10, n = 1000, S = 5"] == Verdict.REPRODUCED


def test_a_row_without_moved_images_says_no_only_with_them(runs):
    """Rule 9: where CENTAUR is behind, its runs with moved images decide, and nothing before they are there."""
    row = (runs["images"] == "cifar10") & (runs["method"] == "centaur") & (runs["rounds"] == 200)

    def verdict():
        return {one["quantity"]: one["verdict"] for one in judged()}["CIFAR10, n = 1000, S = 5"]

    runs.loc[row & (runs["shift"] == 0), "accuracy"] -= 0.03
    assert verdict() == Verdict.REPRODUCED
    runs.loc[row & (runs["shift"] == 4), "accuracy"] -= 0.02
    assert verdict() == Verdict.NOT_REPRODUCED
    runs.loc[row & (runs["shift"] == 4), "clients"] = 7
    assert verdict() == Verdict.INCONCLUSIVE
    one, other = (f"CIFAR10, Figure 1: lead of centaur over stand_alone, epsilon = {e}" for e in (1, 4))
    assert found()[one].note == analysis.STILL_OPEN and found()[other].note.startswith("too few seeds")


def test_a_rival_far_behind_needs_one_seed(runs):
    """Rule 12: four points behind the best rival at the first seed; a nearer one with one seed leaves the row open."""
    setting = TABLE_1["CIFAR10, n = 1000, S = 2"]
    assert analysis.rivals(runs, setting) == ["ppsgd", "stand_alone"]
    put(runs, 0.901, method="pmtl", images="cifar10", rank=2, rounds=200)
    assert analysis.rivals(runs, setting) == ["ppsgd", "pmtl", "stand_alone"]
    assert math.isnan(found()["CIFAR10, n = 1000, S = 2: least lead of centaur"].ci_low)


def judged():
    """Rows of the study's claims."""
    rows = {name: {k: str(v) for k, v in vars(one).items()} | {"note": one.note} for name, one in found().items()}
    claims = [claim for claim in checked_claims()["shen2023"] if claim.study == "images"]
    return judge(claims, "shen2023", {"images": rows}, "default", "figures")


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
    """Its ends are the least ends of wider intervals; one that did not run leaves nothing."""
    near, far = Lead(np.array([0.0, 1.0, 2.0])), Lead(np.array([9.0, 9.5, 10.0]))
    alone, both = analysis.least("x", [near]), analysis.least("x", [near, far])
    assert alone.measured == both.measured == 1 and both.ci_low < alone.ci_low < alone.ci_high < both.ci_high
    assert math.isnan(analysis.least("x", [near, Lead(np.empty(0))]).measured)


def test_clips_are_chosen_on_validation_of_the_tuning_seed(runs):
    """Not on a test score, and not on a seed that judges."""
    put(runs, 0.99, seed=100, method="fedavg", clip=1.0, batch=18)
    put(runs, 0.99, "validation", seed=3, method="fedavg", clip=0.5)
    assert analysis.best_clips(runs).clips == dict.fromkeys(analysis.TOGETHER, 0.25)
    put(runs, 0.99, "validation", seed=100, method="fedavg", clip=0.5, batch=18)
    assert analysis.best_clips(runs).clips == dict.fromkeys(analysis.TOGETHER, 0.25) | {"fedavg": 0.5}
    put(runs, 0.80, method="fedavg", clip=0.5, batch=18)
    assert found()["MNIST, best clips: lead of centaur over fedavg"].measured == pytest.approx(15, abs=0.3)


@pytest.mark.parametrize(
    ("leads", "epsilon"),
    [([-1, 1, 2], 0.5**0.5), ([-3, -1, 1], 2**0.5), ([1, 2, 3], math.nan), ([-3, -2, -1], math.nan), ([-1, 0, 1], 1.0)],
)
def test_where_a_lead_turns_positive(leads, epsilon):
    """Half way on the logarithm where both sides are as far."""
    assert analysis.crossing([0.5, 1.0, 2.0], leads) == pytest.approx(epsilon, nan_ok=True)


def test_printed_leads_are_those_of_the_tables():
    claims = {claim.id: claim for claim in checked_claims()["shen2023"]}
    rows = TABLE_1 | TABLE_3
    for one in (*claims["B-T1"].quantities, *claims["B-T3"].quantities):
        row = rows[one.measured.removesuffix(": least lead of centaur")]
        printed = {method: mean for method, (mean, _) in row.printed.items()}
        best = max(mean for method, mean in printed.items() if method != "centaur")
        assert one.predicted == pytest.approx(printed["centaur"] - best, abs=0.006)
    emnist = TABLE_1["EMNIST, n = 1000, S = 5"].printed
    for one in claims["B-T1m"].quantities[:4]:
        assert one.predicted == pytest.approx(emnist["centaur"][0] - emnist[one.measured.split()[-1]][0], abs=0.006)


def test_table_2_is_what_figure_1_takes():
    for method, clips in analysis.TABLE_2.items():
        assert [FIGURE_1[f"CIFAR10, Figure 1, epsilon = {e:g}"].clips[method] for e in EPSILONS] == list(clips)
    assert FIGURE_1["MNIST, epsilon = 1"].where == MNIST.where


def test_without_a_run_nothing_is_tested_and_the_page_still_stands(monkeypatch):
    nothing = analysis.long_runs().iloc[:0]
    monkeypatch.setattr(analysis, "long_runs", lambda: nothing)
    assert all(one.note.startswith(NOT_RUN) for name, one in found().items() if not name.startswith("digits"))
    rows = judged()
    assert {row["verdict"] for row in rows} == {Verdict.NOT_TESTED}
    assert all("src/images/runs.toml" in row["reason"] for row in rows)
    tables = analysis.analyse(CELLS, SETTINGS).tables
    assert all(table.empty for table in tables.values())
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
