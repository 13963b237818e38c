"""The guide: laws of whole methods against their parts, hand numbers and simulations; its design, table and tool."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from stub_page import unpacked
from stub_runs import ChosenRun
from workflow_helpers import ROOT

from privrep.methods.unit_steps import schedule as unit_steps
from privrep.privacy.accounting import gdp_mu
from privrep.theory import choice as methods
from privrep.theory import whole_methods
from privrep.theory.rival_options import PASSES, ROUNDS
from privrep.theory.whole_methods import Regime, Rounds
from privrep.users.simulated import Problem
from replication.report.chapters import text
from replication.report.page import from_markdown, with_formulas
from replication.report.spelling import number
from replication.report.stub_run import stub_cells
from replication.run.config import read_config, read_study
from replication.run.registry import load_options
from replication.studies.guide import analysis as measures
from replication.studies.guide.analysis import AXES, EXAMPLE, KEYS, LABEL_NOISE, METHODS, PRIVATE, RUN, SLIDERS

SIZES = Regime(20_000, 10, 30, 3, 0.01)
MU = gdp_mu(1.0, 1e-6)
STUDY = read_study(read_config(), "guide")


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    """The planned cells, with a risk of its own for each method, seed and setting."""
    rows = stub_cells("guide", 1.0)
    order = {name: place for place, name in enumerate(RUN)}
    risk = 1e-3 * 3.0 ** rows["series"].map(order) * (1 + rows["seed"] / 10) * (rows["dim"] + rows["users"] / 1e4)
    return rows.assign(excess_risk=risk * rows["rank"])


@pytest.fixture(scope="module")
def run(cells) -> ChosenRun:
    return ChosenRun(table=cells)


# Laws


@pytest.mark.parametrize(
    ("users", "samples", "dim", "rank", "mu"),
    [(20_000, 10, 30, 3, MU), (3000, 6, 10, 1, 0.03), (5000, 40, 100, 5, 1.5), (1500, 10, 50, 2, 0.06)],
)
def test_the_recursion_of_unit_steps_is_the_schedule(users, samples, dim, rank, mu):
    """For many sizes at once, what `laws.unit_steps.schedule` finds for one."""
    sizes = unit_steps.Sizes(users, samples, dim, rank)
    left = sizes.isotropic_share(mu)
    path = unit_steps.schedule(sizes, math.sqrt(left) * mu, 1e-4).path
    both = Regime(np.array([users, 2 * users]), samples, dim, rank, 0.01)
    start, end = whole_methods.unit_recursion(both, np.array([mu, mu]))
    assert start[0] == pytest.approx((dim - rank) * path[0], rel=1e-9)
    assert end[0] == pytest.approx((dim - rank) * path[-1], rel=1e-9)
    assert end[1] < end[0]


@pytest.mark.parametrize("name", PRIVATE)
def test_risks_fall_with_users_and_budget(name):
    """On the whole grid, but for a hundredth where a clip or a schedule changes over."""
    risk = measures.guide()[0][name].to_numpy().reshape([len(values) for values in AXES.values()])
    finite = np.where(np.isfinite(risk), risk, 1e9)
    for axis in (0, 4):
        ordered = np.moveaxis(finite, axis, 0)
        assert (ordered[1:] <= 1.01 * ordered[:-1]).all()


def test_users_are_alone_where_users_or_budget_are_too_few():
    """Where the laws name own data they do so for fewer users and less budget, too; with the most of both never."""
    risk = measures.guide()[0]
    alone = (risk.idxmin(axis=1) == "own").to_numpy().reshape([len(values) for values in AXES.values()])
    assert alone.any() and not alone[-1, ..., -1].any()
    assert (alone[1:] <= alone[:-1]).all() and (alone[..., 1:] <= alone[..., :-1]).all()


def test_a_law_knows_where_its_assumptions_fail():
    """With few users for the start, no sample to spare for a head, and noise beyond the signal of the step."""
    few, many = {"users": 1500, "epsilon": 0.1, "dim": 100}, {"users": 100_000, "epsilon": 8.0, "samples": 6}
    risks, known = measures.predictions(pd.DataFrame([EXAMPLE, EXAMPLE | few, EXAMPLE | many]))
    assert known.loc[0, list(RUN)].all()
    assert not known.loc[1, list(PRIVATE)].any()
    assert known.loc[2, ["unit", "fedrep"]].all() and not known.loc[2, ["centaur", "altmin"]].any()
    assert (risks["zero"] == 1).all()


def test_a_method_that_cannot_run_is_not_named():
    """It needs as many samples in half as a head has coordinates; private FedRep can be run, beyond its law."""
    risks, known = measures.predictions(pd.DataFrame([EXAMPLE | {"samples": 6, "rank": 5}]))
    assert np.isinf(risks.loc[0, ["centaur", "altmin"]].astype(float)).all() and np.isfinite(risks.loc[0, "fedrep"])
    assert not known.loc[0, ["centaur", "altmin", "fedrep"]].any()


# Design


def points(series: str) -> list[dict]:
    return STUDY.grid_of(series)["together"]


def test_settings_lie_on_the_grid_of_the_guide():
    """Of all series the same ones, the example and all values among them; own data at no sizes twice."""
    assert all(point[key] in AXES[key] for point in points("unit") for key in KEYS)
    assert EXAMPLE in points("unit")
    for point, split, own in zip(points("unit"), points("centaur"), points("own"), strict=True):
        assert split == point | {"batch_samples": point["samples"] // 2}
        assert own == {key: point[key] for key in measures.SIZES}
    quick = read_study(read_config([ROOT / "config" / "scales" / "quick.yaml"]), "guide")
    assert all(point in points("centaur") for point in quick.grid_of("centaur")["together"])
    assert EXAMPLE in quick.grid_of("unit")["together"]
    for key in KEYS:
        assert {point[key] for point in points("unit")} == set(AXES[key])


TRIED = {"centaur": ROUNDS[40], "fedrep": ROUNDS[40], "altmin": PASSES[4]}


def options_of(name: str) -> dict:
    """Options of a method, one of its choices among them."""
    batch = {"batch_samples": 5} if name == "centaur" else {}
    return methods.METHODS[name][1] | TRIED.get(name, {}) | batch


def test_laws_are_told_the_options_of_the_study():
    """What is not chosen as the study has it."""
    for name, spec in STUDY.series.items():
        for options in [methods.METHODS[name][1], *(methods.choices(name, SIZES) if name == "own" else [])]:
            assert {key: options[key] for key in spec.options.keys() & options} == {
                key: value for key, value in spec.options.items() if key in options
            }
        assert spec.tuned == (name in TRIED)
        load_options(spec.algorithm, options_of(name) or spec.options)
    problem = Problem(100, 10, 30, 3, **{k: v for k, v in STUDY.problem.items() if k in ("label_noise_sd", "head_law")})
    assert (problem.label_noise_sd, STUDY.delta) == (measures.LABEL_NOISE, measures.DELTA)


@pytest.mark.parametrize(("name", "grid"), [("centaur", ROUNDS), ("fedrep", ROUNDS), ("altmin", PASSES)])
def test_a_law_takes_the_best_of_all_options(name, grid):
    """One at a time; of alternating minimisation with one pass. Another budget has another best."""
    mu = np.array([MU, MU / 8])
    some = [options for options in grid if options.get("epochs", 1) == 1]
    found = [methods.law(name, SIZES, mu, options) for options in some]
    risks = np.array([one.risk for one in found])
    best = methods.expected(name, SIZES, mu)
    np.testing.assert_allclose(best.risk, risks.min(axis=0), rtol=1e-12)
    assert list(best.known) == [found[place].known[column] for column, place in enumerate(risks.argmin(axis=0))]
    for options, place in zip(best.options, risks.argmin(axis=0), strict=True):
        assert some[place].items() <= options.items()
    assert name == "altmin" or risks[:, 0].argmin() != risks[:, 1].argmin()


@pytest.mark.parametrize("name", ["centaur", "fedrep", "altmin"])
def test_thresholds_and_multipliers_are_those_of_the_methods(name, monkeypatch):
    """What the law is told is what the method does, in absolute terms."""
    told = {}

    def method(sizes, mu, outside, share, steps):
        told.update(steps=steps)
        assert (outside, told["mu"]) == (0.125, np.sqrt(share) * mu)

    monkeypatch.setattr(methods, "models_outside", lambda sizes, mu: told.update(mu=mu) or 0.125)
    monkeypatch.setattr(methods, "by_rounds", method)
    monkeypatch.setattr(whole_methods, "altmin", method)
    sizes = whole_methods.Regime(np.array([100.0]), 10, 30, 3, 0.01)
    methods.law(name, sizes, np.array([MU]), options_of(name))
    known = Problem(100, 10, 30, 3, 0.01, "sphere").known
    method = load_options(STUDY.series[name].algorithm, options_of(name)).build(known)
    assert (method.init, method.init_pairs) == ("spectral", "models")
    if name != "altmin":
        batch, fall = (method.batch_samples if name == "centaur" else 0), method.last_clip / method.clip
        expected = Rounds(method.rounds, batch, method.step, method.clip, fall, method.average_last)
        assert vars(told["steps"]) == pytest.approx(vars(expected))
    if name == "altmin":
        products = [one * other for one, other in zip(told["steps"].factors, told["steps"].units, strict=True)]
        assert products == [method.clip.second, method.clip.first]
        assert told["steps"].cost == method.steps_cost.mu_squared
        assert (told["steps"].heads, told["steps"].samples) == (5, 5)


# Measures


def test_a_failed_run_is_worse_than_all_others(cells):
    broken = cells.assign(excess_risk=cells["excess_risk"].where(cells["series"] != "altmin"))
    assert np.isinf(measures.risks(broken)[0]["altmin"]).all()


# Table and tool


def test_the_tool_passes_through_the_page(run):
    """One block of HTML whose data come out as they went in, packed below 200 kB, hidden until a script shows it."""
    widget = re.search(r'<div class="guide-tool".*', text("opening", run))[0]
    page = with_formulas(from_markdown(f"Text $n$.\n\n{widget}\n\nMore."))
    data = re.search(r'<script type="application/gzip" id="guide-data">(.*?)</script>', page)[1]
    assert unpacked(data) == run.fact("guide", "tool")
    assert len(widget) < 200_000 and "\n\n" not in widget and "</" not in data
    assert '<div class="guide-tool" id="which-method" hidden>' in page
    sliders = re.findall(r'<input type="range" name="([\w-]+)" min="0" max="(\d+)" step="1" value="(\d+)">', page)
    assert [(name, int(most) + 1) for name, most, _ in sliders] == [
        (key, len(values)) for key, values in SLIDERS.items()
    ]
    at_first = {name: SLIDERS[name][int(value)] for name, _, value in sliders}
    assert at_first == EXAMPLE | {"label-noise": LABEL_NOISE}


MADE_UP_RISK = {"unit": 0.028, "centaur": 0.03, "fedrep": 0.04, "altmin": 0.05, "own": 0.06, "zero": 1.0}


def naming(names: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions that name these methods, setting by setting; the laws of the other ones are known."""
    named = np.asarray(names)[:, None] == list(METHODS)
    return pd.DataFrame(MADE_UP_RISK, range(len(names))).mask(named, 0.01), pd.DataFrame(~named, columns=list(METHODS))


def test_tables_show_all_settings_and_the_example(run, cells, monkeypatch):
    """The method of the least prediction, and prediction and median of all that are run, bold near the least."""
    where, median = measures.settings_of(cells), measures.risks(cells)[0]
    names = np.resize(["altmin", "centaur", "own", "fedrep", "zero", "unit"], len(where))
    monkeypatch.setattr(measures, "predictions", lambda settings: naming(names))
    told = {name: fact(cells, None) for name, fact in measures.FACTS.items()}
    monkeypatch.setattr(type(run), "fact", lambda self, study, name: told[name])
    example, table = re.findall('<table class="dense">.*?</table>', text("guide", run), flags=re.DOTALL)
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    assert len(rows) == len(points("unit")) == len(told["settings"])
    for place, row in enumerate(rows):
        assert row[:6] == [*(f"{size:,g}" for size in where.loc[place]), METHODS[names[place]]]
        for name, shown in zip(RUN, row[6:], strict=True):
            value, least = median.loc[place, name], median.loc[place].min()
            law = "(0.010)" if name == names[place] else f"{MADE_UP_RISK[name]:.3f}"
            bold = "<b>{}</b>" if value <= 1.1 * least else "{}"
            assert shown == f"{law} / {bold.format(number(value, 2))}"
    assert example.count("<tr>") == len(METHODS) + 1 and "n = 20,000, m = 10, d = 30, k = 3, ε = 1" in example
    named = names[(where == pd.Series(EXAMPLE)).all(axis=1)]
    assert re.findall("<b>(.*?)</b>", example) == [METHODS[name] for name in named]
