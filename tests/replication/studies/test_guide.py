"""The guide: laws of whole methods against their parts, hand numbers and simulations; its design, table and tool."""

from __future__ import annotations

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
from privrep.theory import jain2021, shen2023, whole_methods
from privrep.theory.rival_options import PASSES, ROUNDS
from privrep.theory.whole_methods import Moments, Regime, Rounds, posterior_risk
from privrep.users.simulated import Problem
from replication.report.chapters import text
from replication.report.page import from_markdown, with_formulas
from replication.report.spelling import number
from replication.report.stub_run import stub_cells
from replication.run.config import read_config, read_study
from replication.run.registry import load_options
from replication.studies.guide import analysis as measures
from replication.studies.guide.analysis import AXES, EXAMPLE, KEYS, METHODS, PRIVATE, RUN

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


@pytest.mark.parametrize(
    ("p", "q", "penalty"), [(3, 10, 1.0), (3, 6, 0.1), (10, 10, 0.5), (30, 10, 0.2), (20, 40, 1e-9)]
)
def test_traces_of_inverses(p, q, penalty):
    """Against simulated Gaussian samples; in the last case against 1 / (q - p - 1), too."""
    draws = np.random.default_rng(0).standard_normal((4000, q, p))
    values = np.linalg.eigvalsh(draws.transpose(0, 2, 1) @ draws).clip(0) + penalty
    first, second = whole_methods.inverse_traces(p, q, penalty)
    assert first == pytest.approx((1 / values).mean(), rel=0.1)
    assert second == pytest.approx((1 / values**2).mean(), rel=0.25)
    if penalty < 1e-6:
        assert first == pytest.approx(1 / (q - p - 1), rel=1e-6)


def test_own_data_by_hand():
    """(1 - m/d) below as many samples as dimensions, sigma^2 d / (m - d - 1) over k above."""
    few, many = Regime(1, 10, 100, 2, 0.01), Regime(1, 40, 20, 2, 0.01)
    assert whole_methods.own_data(few, 1e-3).risk == pytest.approx(0.9, rel=1e-3)
    assert whole_methods.own_data(many, 1e-9).risk == pytest.approx(1e-4 * 20 / 19 / 2, rel=1e-6)
    assert not whole_methods.own_data(Regime(1, 20, 20, 2, 0.01), 1e-3).known


def test_noise_alone_gives_a_random_subspace():
    """Every start, round and step, at a budget of next to nothing."""
    nothing, rounds = 1e-9, Rounds(12, 0, 1.0, 1.0)
    for outside in (
        whole_methods.rounds_outside(SIZES, nothing**2, rounds, np.asarray(0.01)),
        whole_methods.moments_outside(SIZES, nothing**2, Moments(5, 5, (0.1, 0.1), (50.0, 50.0), 1.5), 0.5),
    ):
        assert outside == pytest.approx(0.9, rel=1e-6)
    assert 0.8 < whole_methods.models_outside(SIZES, nothing) <= 0.9  # its law is of all sizes


def test_many_rounds_end_in_the_steady_state():
    """F9: S of CENTAUR is (d - k) (noise times gain)^2, where nothing is clipped and users are many."""
    many, mu2, clip = Regime(1e8, 40, 30, 3, 0.0), 1e-2, 1e3
    found = whole_methods.rounds_outside(many, mu2, Rounds(200, 20, 0.25, clip), np.asarray(0.2))
    noise = shen2023.centaur_noise(1e8, math.sqrt(200 / mu2), clip)
    assert found == pytest.approx(27 * (float(noise) * float(shen2023.centaur_gain(1.0))) ** 2, rel=0.02)


def test_a_round_without_noise_contracts():
    """F8: the sine by 1 - eta near the truth; half as far with a clip at half of the typical norm."""
    many, square = Regime(1e15, 40, 30, 3, 0.0), np.asarray(1e-8)
    norm = float(whole_methods.gradient_norm(many, square, 20))
    for clip, left in ((1e3, 0.75), (norm / 2, 0.875)):
        found = whole_methods.rounds_outside(many, 1e12, Rounds(1, 20, 0.25, clip), square)
        assert math.sqrt(found / square) == pytest.approx(left, rel=1e-3)
    shared = whole_methods.rounds_outside(many, 1e12, Rounds(1, 0, 0.25, 1e3), square)
    assert math.sqrt(shared / square) == pytest.approx(1 - 0.25 * 37 / 40, rel=1e-3)


def test_a_step_of_moments_is_that_of_the_clipped_law():
    """F3 from a start at the truth, over its whole range, and random beyond x = 1."""
    step = Moments(20, 20, (0.1, 0.1), (3 * math.sqrt(20 * 30 * 51), 3 * math.sqrt(20 * 51)), 1.5)
    sizes = Regime(1e6, 40, 30, 3, 0.0)
    for mu2 in (1e-2, 1e-3):
        found = whole_methods.moments_outside(sizes, mu2, step, 0.0)
        law = whole_methods.user_step(1e6, 20, math.sqrt(1.5 / mu2), step.factors, step.units)
        assert law.ratio(30, 3) < 1
        assert 3 * found == pytest.approx(law.frobenius(30, 3) ** 2, rel=1e-6)
    assert whole_methods.moments_outside(sizes, 1e-9, step, 0.0) == pytest.approx(0.9)


@pytest.mark.parametrize(("share", "fall"), [(0.25, 1.0), (0.0, 0.1)])
def test_averages_and_falling_clips_lower_what_privacy_leaves(share, fall):
    """Both by about what was counted: of T/4 rounds that contract by half to their errors; of noise ten times less."""
    many, mu2 = Regime(1e8, 40, 30, 3, 0.0), 1e-2
    plain, found = (
        whole_methods.rounds_outside(many, mu2, Rounds(200, 20, 0.5, 300.0, *more), np.asarray(0.2))
        for more in ((), (fall, share))
    )
    left, rounds = 0.5, 50
    averaged = ((1 - left**2) / (1 - left) ** 2) / rounds  # leading order
    assert found / plain == pytest.approx(averaged if share else 0.01, rel=0.1)


def test_label_noise_leaves_a_floor_under_the_rounds():
    """Noise of a round is drawn once: S is (d - k) / (n d k) (step norm gain)^2 at the norm of label noise alone."""
    noisy = Regime(1e6, 40, 30, 3, 0.5)
    norm = float(shen2023.representation_update(0.0, 30, 3, 20, 0.5))
    found = whole_methods.rounds_outside(noisy, 1e12, Rounds(100, 20, 0.25, 1e3), np.asarray(0.01))
    steady = 27 / 90e6 * (0.25 * norm * float(shen2023.centaur_gain(1.0))) ** 2
    assert found == pytest.approx(steady, rel=0.02)


def test_norms_on_the_same_samples_are_those_of_unit_steps():
    """Near the truth, where heads are as long as they should be; for m samples the mean gradient is the sum over m."""
    sizes = unit_steps.Sizes(100, 10, 30, 3)
    for error2 in (1e-10, 1e-9):  # there C = s^2 I
        found = whole_methods.gradient_norm(SIZES, np.asarray(27 * error2), 0)
        gradient2, head2 = sizes.lengths2(error2, 1e-4)
        assert found == pytest.approx(math.sqrt(gradient2 * head2) * 1e-4 / 10, rel=2e-3)


def test_heads_fitted_in_a_poor_start_weaken_the_signal():
    """In b alone: with S = 1/2 and k S / spare of scatter, c^2 / (c^2 + nu) of its power is left."""
    sizes, step = Regime(1e9, 40, 30, 3, 0.0), Moments(19, 20, (0.1, 0.1), (700.0, 300.0), 1.5)
    near, far = (whole_methods.moments_outside(sizes, 1e-6, step, start) for start in (0.0, 0.5))
    cut = whole_methods.user_step(1e9, 20, math.sqrt(1.5 / 1e-6), step.factors, step.units)
    second, first = 3 * cut.second**2, cut.first**2
    weaker = (0.5 + 3 * 0.5 / 15) / 0.5
    sampling = (jain2021.contraction(2e10, 30, 3, 19)) ** 2 * 0.5
    assert (far - sampling) / near == pytest.approx((second + first * weaker) / (second + first), rel=1e-3)


def test_label_noise_leaves_a_floor_under_the_step():
    """F5, and F4 from the start's error."""
    step = Moments(20, 20, (0.1, 0.1), (700.0, 300.0), 1.5)
    found = whole_methods.moments_outside(Regime(1e6, 40, 30, 3, 0.5), 1e12, step, 0.01)
    floor = float(jain2021.step_floor(2e7, 30, 3, 20, 0.5)) ** 2 / 3
    assert found == pytest.approx(floor + jain2021.contraction(2e7, 30, 3, 20) ** 2 * 0.01, rel=1e-6)


def ridge_error(samples: int, rank: int, variance: float, noise2: float, penalty: float) -> float:
    """Mean square error of an entry of ridge heads over 20,000 simulated users."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20_000, samples, rank))
    heads = math.sqrt(variance) * rng.standard_normal((20_000, rank))
    labels = np.einsum("bmk,bk->bm", features, heads) + math.sqrt(noise2) * rng.standard_normal((20_000, samples))
    system = features.transpose(0, 2, 1) @ features + penalty * np.eye(rank)
    fitted = np.linalg.solve(system, np.einsum("bmk,bm->bk", features, labels)[:, :, None])[:, :, 0]
    return float(((fitted - heads) ** 2).mean())


def test_models_in_a_subspace_that_is_half_right(monkeypatch):
    """Unit steps at S = 1/2: a prior of two variances, against one that has each of the 30 in its place."""
    monkeypatch.setattr(whole_methods, "unit_recursion", lambda sizes, mu: (np.array([0.4, 0.1]), np.array([0.5, 0.0])))
    found = whole_methods.unit_steps(SIZES, MU)
    outside = np.full(27, 3 * 0.5 / 27)
    spread, squares = (np.concatenate([np.full(3, one), outside]) for one in (1.0, 0.5))
    assert found.risk[0] == pytest.approx(posterior_risk(spread / 1e-4, squares, 10, 1e-4) / 3, rel=1e-9)
    assert found.risk[1] == pytest.approx(ridge_error(10, 3, 1.0, 1e-4, 1e-4), rel=0.05)
    assert list(found.known) == [False, True]


def test_a_start_takes_its_share_of_the_budget():
    """What is left of mu^2 is that of the steps; a start that is mostly noise is no law's."""
    step = Moments(5, 5, (0.1, 0.1), (300.0, 150.0), 1.5)
    ended = whole_methods.moments_outside(SIZES, 0.6 * 9, step, 0.2)
    assert whole_methods.altmin(SIZES, 3.0, 0.2, 0.4, step).risk == whole_methods.personal(SIZES, ended)
    rounds, starts = Rounds(30, 5, 0.25, 5.0), np.array([0.4, 0.6])
    ended = whole_methods.rounds_outside(SIZES, 0.6 * 9, rounds, starts)
    found = whole_methods.by_rounds(SIZES, 3.0, starts, 0.4, rounds)
    assert list(found.risk) == list(whole_methods.personal(SIZES, ended))
    assert (ended <= whole_methods.NEAR).all() and list(found.known) == [True, False]


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


@pytest.mark.parametrize(("outside", "rank", "samples"), [(0.0, 3, 10), (0.02, 3, 10), (0.3, 5, 20)])
def test_ridge_heads_have_the_label_noise_as_penalty(outside, rank, samples):
    """Against a simulation; with label noise as large as heads the penalty is worth something against least squares."""
    for noise in (0.01, 1.0):
        found = whole_methods.personal(Regime(1, samples, 30, rank, noise), outside)
        error = ridge_error(samples, rank, 1 - outside, rank * outside + noise**2, noise**2)
        assert found == pytest.approx(outside + error, rel=0.05)
        if noise == 1:
            assert found < 0.96 * jain2021.personal_risk(rank * outside, rank, samples, noise) / rank


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
    """One block of HTML whose data come out as they went in, packed below 50 kB, hidden until a script shows it."""
    widget = re.search(r'<div class="guide-tool".*', text("opening", run))[0]
    page = with_formulas(from_markdown(f"Text $n$.\n\n{widget}\n\nMore."))
    data = re.search(r'<script type="application/gzip" id="guide-data">(.*?)</script>', page)[1]
    assert unpacked(data) == run.fact("guide", "tool")
    assert len(widget) < 50_000 and "\n\n" not in widget and "</" not in data
    assert '<div class="guide-tool" id="which-method" hidden>' in page
    sliders = re.findall(r'<input type="range" name="(\w+)" min="0" max="(\d+)" step="1" value="(\d+)">', page)
    assert [(name, int(most) + 1) for name, most, _ in sliders] == [(key, len(AXES[key])) for key in KEYS]
    assert {name: AXES[name][int(value)] for name, _, value in sliders} == EXAMPLE


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
