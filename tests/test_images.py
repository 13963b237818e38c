"""The studies of the image experiments: what they measure from cells, and what becomes of rows that were not run."""

import math

import numpy as np
import pandas as pd
import pytest

from privrep.evidence.claims import judge
from privrep.evidence.measured import NOT_RUN
from privrep.evidence.quantities import checked_claims, measured
from privrep.evidence.verdicts import Verdict
from privrep.privacy.accounting import gdp_epsilon
from privrep.report.stub_run import stub_cells, study_of
from privrep.run.config import read_config, read_study
from privrep.run.settings import MeasureSettings, PlotSettings
from privrep.studies.drawn import drawn
from privrep.studies.images import analysis as measures
from privrep.studies.images.analysis import Scores
from privrep.studies.real_images import analysis as real

ACCURACY = {"centaur": 0.95, "fedavg": 0.90, "pmtl": 0.91, "ppsgd": 0.93, "stand_alone": 0.94}


@pytest.fixture
def cells():
    """The planned cells of the default run, with an accuracy for each method; those of 100 clients have sd 0.1."""
    table = stub_cells("images", 0.5).copy()
    accuracy = table["method"].map(ACCURACY)
    return table.assign(accuracy=accuracy, validation=accuracy, accuracy_sd=0.1, tested=100.0, parameters=100.0)


def found(cells):
    """Measures by name."""
    return {one.quantity: one for one in measures.analyse(cells, settings("images")).measured}


def settings(name):
    """What the measuring job gets at the default scale."""
    study = study_of(name)
    return MeasureSettings(study=name, quantities=tuple(measured(study)), complete=True, figures=tuple(study.figures))


def tables_of(study, analysis, cells):
    """Tables of the figures of a study, each of which is drawn."""
    numbers = analysis.analyse(cells, settings(study)).tables
    plot = PlotSettings(study=study, claimed={}, figures=tuple(numbers))
    assert set(drawn(numbers, plot)) == set(numbers) == set(study_of(study).figures)
    return numbers


def put(cells, value, column="accuracy", **where):
    """One value in the rows that match."""
    rows = np.ones(len(cells), bool)
    for name, wanted in where.items():
        rows &= cells[name] == wanted
    assert rows.any()
    cells.loc[rows, column] = value


def test_differences_are_of_the_named_methods(cells):
    """In points, with the standard errors of both."""
    got = found(cells)
    for other in measures.OTHERS:
        one = got[f"lead of centaur over {other}, n = 1000"]
        assert one.measured == pytest.approx(100 * (ACCURACY["centaur"] - ACCURACY[other]))
        assert one.ci_high - one.measured == pytest.approx(1.959964 * math.sqrt(2) * 100 * 0.1 / 10, rel=1e-5)
    best = got["best other method over stand_alone, n = 1000"]
    assert best.measured == pytest.approx(-1) and best.ci_low < best.measured < best.ci_high
    put(cells, 0.99, series="table", method="pmtl")
    assert found(cells)["best other method over stand_alone, n = 1000"].measured == pytest.approx(5)


def test_what_a_scale_leaves_out_is_not_run(cells):
    """The row of 2,000 clients is that of scale record: its claims are not tested."""
    one = found(cells)["lead of centaur over stand_alone, n = 2000"]
    assert math.isnan(one.measured) and one.note.startswith(NOT_RUN)


def test_several_repetitions_have_an_interval_over_them():
    """Student's, of the differences of each repetition; below five there is none."""
    first, second = (
        Scores(np.array([95.0, 96, 94, 95, 95]), np.ones(5)),
        Scores(np.array([94.0, 95, 93, 94, 94]), np.ones(5)),
    )
    assert measures.lead(first, second).measured("x").ci_low == pytest.approx(1)
    assert measures.lead(first, first - second).half() == pytest.approx(
        2.776445 * np.std(first.values, ddof=1) / 5**0.5
    )
    three = Scores(first.values[:3], first.errors[:3])
    assert math.isnan(three.measured("x").ci_low)
    assert math.isnan(measures.lead(first, three).mean)


@pytest.mark.parametrize(
    ("leads", "epsilon"),
    [
        ([-1, 1, 2], math.sqrt(0.5)),
        ([-3, -1, 1], math.sqrt(2)),
        ([1, 2, 3], math.nan),
        ([-3, -2, -1], math.nan),
        ([-1, 0, 1], 1.0),
    ],
)
def test_where_a_lead_turns_positive(leads, epsilon):
    """Half way on the logarithm where both sides are as far."""
    assert measures.crossing([0.5, 1.0, 2.0], leads) == pytest.approx(epsilon, nan_ok=True)


def test_clips_are_chosen_on_validation(cells):
    """Not on the test score, among the sweep's clip and those of the grid; the method is then tested there."""
    put(cells, 0.99, "validation", series="clips", method="fedavg", epsilon=1.0, clip=1.0)
    put(cells, 0.92, series="clips", method="fedavg", epsilon=1.0, clip=1.0)
    put(cells, 0.98, series="clips", method="fedavg", epsilon=1.0, clip=0.0625)
    put(cells, 0.97, "validation", series="clips", method="fedavg", epsilon=4.0, clip=1.0)
    put(cells, 0.97, "validation", series="clips", method="fedavg", epsilon=0.25, clip=0.0625)
    got = found(cells)
    assert got["best clip of fedavg, epsilon = 1"].measured == 1
    assert got["lead of centaur over fedavg, best clips"].measured == pytest.approx(3)
    assert got["best clip at the largest epsilon over that at the smallest, fedavg"].measured == 16


def test_changes_are_against_the_sweep_at_the_same_epsilon(cells):
    put(cells, 0.96, series="long", method="fedavg")
    put(cells, 0.93, series="replaced", method="centaur")
    put(cells, 0.5, series="sweep", method="fedavg", epsilon=4.0)
    put(cells, 0.80, series="few", method="fedavg")
    put(cells, 0.85, series="pmtl", neighbours="replace-one")
    got = found(cells)
    assert got["gain of fedavg by twice the rounds"].measured == pytest.approx(6)
    assert got["gain by twice the rounds, fedavg over centaur"].measured == pytest.approx(6)
    assert got["loss of centaur by replace-one neighbours"].measured == pytest.approx(2)
    assert got["loss of pmtl by replace-one neighbours"].measured == pytest.approx(6)
    assert got["lead of centaur over stand_alone, replace-one neighbours"].measured == pytest.approx(-1)
    assert got["lead of centaur over fedavg, two classes less five"].measured == pytest.approx(10)


def test_the_law_of_the_noise(cells):
    """The loss over the next, and the square of the ratio of the noises at these epsilons."""
    put(cells, 0.90, series="sweep", method="centaur", epsilon=0.25)
    put(cells, 0.94, series="sweep", method="centaur", epsilon=0.5)
    got = found(cells)
    assert got["loss of centaur at the smallest epsilon over the next"].measured == pytest.approx(5)
    assert 3 < got["loss of centaur at the smallest epsilon over the next, law"].measured < 4


def test_noise_is_that_of_the_mean(cells):
    """2 zeta Delta sqrt(p) / n."""
    row = pd.Series({"clip": 0.25, "noise_multiplier": 10.0, "parameters": 400, "users": 50})
    assert measures.noise_length(row) == pytest.approx(2 * 0.25 * 10 * 20 / 50)


def test_epsilon_spent_grows_to_the_whole():
    row = pd.Series({"epsilon": 1.0, "delta": 1e-5})
    spent = [measures.spent_epsilon(row, share) for share in (0.25, 0.5, 1)]
    assert spent[2] == pytest.approx(1, rel=1e-6) and spent[0] < spent[1] < 1


def test_moments_accounting_asks_for_more():
    """Its noise spends epsilon by its own count, and less by the exact one. 25.59 is what Opacus gives for these
    rounds."""
    multiplier = measures.moments_multiplier(1.0, 1e-5, 40)
    assert multiplier == pytest.approx(25.59, abs=0.02)
    assert gdp_epsilon(math.sqrt(40) / multiplier, 1e-5) < 1


def test_printed_numbers_are_those_of_the_claims():
    claims = {claim.id: claim for claim in checked_claims()["shen2023"]}
    printed = {one.measured: one.predicted for one in claims["B-T1g"].quantities}
    for users, row in measures.PRINTED.items():
        for method, accuracy in row.items():
            assert real.ROWS[f"emnist-{users}-5"][method] == accuracy
    row = measures.PRINTED[1000]
    for other in measures.OTHERS:
        lead = printed[f"lead of centaur over {other}, n = 1000"]
        assert lead == pytest.approx(row["centaur"] - row[other], abs=0.005)
    best = max(row[other] for other in ("fedavg", "pmtl", "ppsgd"))
    assert printed["best other method over stand_alone, n = 1000"] == pytest.approx(
        best - row["stand_alone"], abs=0.005
    )
    assert sorted(row for rows in real.GROUPS.values() for row in rows) == sorted(real.ROWS)
    for claim in (claims["B-T1"], claims["B-T3"]):
        for one in claim.quantities:
            rows = [real.ROWS[name] for name in real.GROUPS[one.measured.split(":")[0]]]
            leads = [row["centaur"] - max(row[other] for other in measures.OTHERS) for row in rows]
            assert one.predicted == pytest.approx(min(leads), abs=0.005)


def test_the_least_has_a_simultaneous_interval():
    """Its ends are the least ends of wider intervals; what did not run does not count."""
    near, far = (measures.Scores(np.array([mean]), np.array([1.0])) for mean in (1.0, 9.0))
    alone, both = (measures.least("x", found) for found in ([near], [near, far, measures.Scores(*[np.empty(0)] * 2)]))
    assert alone.measured == both.measured == 1
    assert both.ci_low < alone.ci_low and alone.ci_high < both.ci_high
    assert both.ci_high == pytest.approx(1 + 2.2414, abs=1e-3)  # the normal quantile of 1 - 0.05 / 4
    assert math.isnan(measures.least("x", []).measured)


def test_figures_draw_what_was_run(cells):
    numbers = tables_of("images", measures, cells)
    table, epsilon, clips, updates = (
        numbers[f"shen2023/image_{name}"] for name in ("methods", "epsilon", "clips", "updates")
    )
    assert set(table.loc[table["panel"] == "table", "method"]) == set(measures.METHODS)
    assert set(table.loc[table["panel"] == "way", "epsilon"].groupby(table["method"]).count()) == {8}
    assert set(epsilon["panel"]) == {"added or removed", "replaced", "no noise", "alone"}
    assert clips.loc[clips["panel"] == "clips"].groupby(["method", "epsilon"])["chosen"].sum().eq(1).all()
    assert set(updates["method"]) == set(measures.METHODS) - {"stand_alone"}


# Rows that were not run


def not_there(cells, series):
    """Rows of these series without numbers, as a run without files writes them."""
    rows = cells["series"].isin(series)
    cells = cells.astype({"reason": object})
    cells.loc[rows, ["status", "reason", "accuracy"]] = ["not run", "put it\nthere", np.nan]
    return cells


def verdicts(study, measures_found):
    """Verdicts and reasons of the paper's claims on a study."""
    rows = {
        one.quantity: {name: str(value) for name, value in vars(one).items()} | {"note": one.note}
        for one in measures_found
    }
    claims = [claim for claim in checked_claims()["shen2023"] if claim.study == study]
    return judge(claims, "shen2023", {study: rows}, "record", "figures")


def test_without_its_packages_the_study_is_not_tested_and_still_drawn(cells):
    absent = not_there(cells, set(cells["series"]))
    judged = verdicts("images", measures.analyse(absent, settings("images")).measured)
    assert {row["verdict"] for row in judged} == {Verdict.NOT_TESTED}
    assert all(row["reason"] == f"{NOT_RUN}put it" for row in judged)
    assert all(table.empty for table in tables_of("images", measures, absent).values())


def test_rows_of_real_images_are_tested_where_their_files_are():
    cells = stub_cells("real_images", 0.5).copy()
    cells = cells.assign(accuracy=cells["method"].map(ACCURACY), accuracy_sd=0.1, tested=1000.0)
    absent = not_there(cells, [series for series in cells["series"].unique() if "cifar" in series])
    judged = verdicts("real_images", real.analyse(absent, settings("real_images")).measured)
    by_row = {row["quantity"]: row for row in judged}
    emnist = by_row["CENTAUR over the best other, EMNIST, least of two rows"]
    assert emnist["measured"] == pytest.approx(1) and emnist["verdict"] != Verdict.NOT_TESTED
    assert {row["verdict"] for name, row in by_row.items() if "EMNIST" not in name} == {Verdict.NOT_TESTED}
    (numbers,) = tables_of("real_images", real, absent).values()
    assert set(numbers["row"]) == {"emnist-1000-5", "emnist-2000-5", "mnist", "mnist, no noise"}
    nothing = not_there(cells, set(cells["series"]))
    assert all(table.empty for table in tables_of("real_images", real, nothing).values())


def test_rows_of_real_images_have_the_sizes_of_the_paper():
    """Clients, classes and rounds of Tables 1 and 3 at scale record, and all images of a set partitioned."""
    study = read_study(read_config().model_copy(update={"scale": "record"}), "real_images")
    training = {"emnist": 240_000, "cifar10": 50_000, "cifar100": 50_000}
    for row in real.ROWS:
        images, users, classes = row.removesuffix("-long").split("-")
        for name in (row, f"{row.removesuffix('-long')}-alone"):
            problem = study.problem | study.series[name].problem
            assert (problem["users"], problem["rank"]) == (int(users), int(classes))
            assert problem["users"] * problem["samples"] == training[images]
        rounds = study.series[row].options["rounds"]
        assert rounds == (400 if row.endswith("-long") else {"emnist": 40, "cifar10": 200, "cifar100": 100}[images])
