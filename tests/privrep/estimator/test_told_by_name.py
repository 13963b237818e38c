"""Numbers stand under their own names: a made-up fit, in which every field has a number that occurs nowhere else, is
written in each form, and each number is read back by its name."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

from privrep.estimator import PrivateRepresentation
from privrep.estimator.commands import release
from privrep.estimator.commands.main import app
from privrep.estimator.private_representation import ADVICE, LocalHeads, advice
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.statement import statement
from privrep.methods.running.method import Iterate
from privrep.methods.steps.posterior import Mixture, Prior
from privrep.methods.steps.stacking import ANSWERS, SHARE
from privrep.privacy.accounting import gdp_epsilon
from privrep.privacy.ledger import GaussianRelease, Ledger
from privrep.users.schema import Category, Flag, Number, Schema

DIM, HALF, DELTA, USERS = 6, 7, 0.00789, 4123
RNG = np.random.default_rng(1)
SCHEMA = Schema({"age": Number(20, 80), "smokes": Flag(0.2), "city": Category(("a", "b", "c"))}, Number(-3, 11))
PRIOR = Prior(*(RNG.standard_normal(shape) for shape in (DIM, (DIM, 4))), np.array([1.3, 0.4]), np.array([0.25, 0.35]))
SHARED = SharedPrior(SCHEMA, RNG.standard_normal(DIM), Mixture((PRIOR,)), 17, RNG.uniform(0.1, 0.2, DIM), 0.37)
LEDGER = Ledger([GaussianRelease(f"part {s}", s, sd, 0, USERS) for s, sd in ((0.31, 1.7), (0.53, 2.9), (0.11, 1.9))])
MU = math.hypot(0.31 / 1.7, 0.53 / 2.9, 0.11 / 1.9)
LOG = {"gain": 0.0041, "gain_low": 0.0023, "gain_high": 0.0067, "level": 0.19, "own_part": 0.28}
LAST = Iterate(None, SimpleNamespace(models=SimpleNamespace(level_noise=0.017)), LOG | {"answer": ANSWERS.index(SHARE)})
TOLD = {name: HALF**2 * LOG[name] for name in ("gain", "gain_low", "gain_high")}
TOLD |= {"typical_error": HALF * 0.19, "weight_of_own_data": 0.28, "typical_error_noise": HALF * 0.017}
"""What the advice is in the unit of labels."""
NUMBER = r"\d+(?:[.,]\d+)*"
KEPT = 0.25 * 1.3 / 2.3 + 0.35 * 0.4 / 1.4
EIGENVALUES = np.r_[KEPT / (1 - KEPT) * np.linalg.svd(PRIOR.root, compute_uv=False) ** 2, 0, 0]


@pytest.fixture
def files(tmp_path):
    """The folder of a release of the made-up fit."""
    fitted = PrivateRepresentation()
    fitted.shared_, fitted.ledger_, fitted.advice_ = SHARED, LEDGER, advice(LAST, SCHEMA)
    fitted.privacy_ = statement(LEDGER, DELTA, USERS, "user", True, (5, 0.97))
    fitted.local_ = LocalHeads(np.arange(3), RNG.standard_normal((3, DIM)), RNG.standard_normal((3, 2 + DIM)))
    release.write(fitted, tmp_path)
    return fitted, tmp_path


@pytest.mark.parametrize(("unit", "who"), [("user", "all rows of one user are"), ("row", "one row is")])
def test_of_the_statement(unit, who):
    """As numbers, and as a sentence, whose digits are few."""
    found, wide = statement(LEDGER, DELTA, USERS, unit, False, (5, 0.97)), math.sqrt(0.97)
    numbers = {"epsilon": gdp_epsilon(MU, DELTA), "delta": DELTA, "mu": MU, "users": USERS, "fits_on_record": 5}
    numbers |= {"attack_advantage": 2 * norm.cdf(MU / 2) - 1, "mu_on_record": wide}
    numbers |= {"epsilon_on_record": gdp_epsilon(wide, DELTA)}
    assert {name: found[name] for name in numbers} == pytest.approx(numbers)
    assert (found["unit"], found["neighbours"], found["seeded"]) == (unit, f"{who} replaced", False)
    assert found["releases"] == [entry.name for entry in LEDGER.entries]
    words = (
        f"What is shared is (#, #)-differentially private where {who} replaced (#-GDP over # Gaussian releases about # "
        f"{unit}s): no attack distinguishes two such tables with an advantage over #. With # fits on record that share "
        "users it is #-GDP, (#, #)-differentially private.\nNot covered: "
    )
    text, numbers["releases"] = str(found).partition("heads")[0], len(LEDGER.entries)
    names = ("epsilon", "delta", "mu", "releases", "users", "attack_advantage", "fits_on_record", "mu_on_record")
    said = [float(one.replace(",", "")) for one in re.findall(NUMBER, text)]
    assert re.sub(NUMBER, "#", text) == words
    assert said == pytest.approx([numbers[name] for name in (*names, "epsilon_on_record", "delta")], rel=0.011)


def test_of_the_advice(files):
    """In the unit of labels; in JSON, on the page, and in the line that commands print."""
    fitted, folder = files
    assert fitted.advice_ == pytest.approx({"answer": SHARE, "text": ADVICE[SHARE]} | TOLD)
    assert json.loads((folder / "public/release.json").read_text())["advice"] == fitted.advice_
    words = ("lower by ", "interval ", "to ", r"own data are off\s*by ", "for a typical user, and have weight ")
    pattern = r"[^<>]*?\s*".join(f"{one}({NUMBER})" for one in words)
    shown = CliRunner().invoke(app, ["show", str(folder / "public/release.json")]).output
    for text in ((folder / "public/report.html").read_text(), str(fitted.summary()), shown):
        said = re.search(pattern, text, re.S | re.I).groups()
        assert [*map(float, said)] == pytest.approx([*TOLD.values()][:5], rel=5e-3)


def test_of_the_releases_and_the_spectrum(files):
    """In ledger.csv and on the page, by the headings of columns; eigenvalues are those of the prior's root."""
    fitted, folder = files
    wanted = pd.DataFrame(
        [[one.name, one.sensitivity, one.noise_sd, one.sensitivity / one.noise_sd] for one in LEDGER.entries],
        columns=["release", "sensitivity", "noise_sd", "mu"],
    )
    pd.testing.assert_frame_equal(pd.read_csv(folder / "public/ledger.csv"), wanted)
    spectrum, releases = (folder / "public/report.html").read_text().split("<h2>Spectrum")[1].split("<h2>Releases")
    heads, *rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", releases)]
    shown = pd.DataFrame(rows, columns=[head.lower().replace(" ", "_") for head in heads])
    pd.testing.assert_frame_equal(shown.astype(wanted.dtypes), wanted, rtol=5e-3)
    np.testing.assert_allclose(fitted.shared_.spectrum, EIGENVALUES, atol=1e-12)
    shown, widths = (re.findall(start + r"([-\d.e]+)", spectrum) for start in ('"number">', '"bar" style="width: '))
    np.testing.assert_allclose(np.array(shown, float), EIGENVALUES, rtol=5e-3, atol=1e-12)
    np.testing.assert_allclose(np.array(widths, float), 100 * EIGENVALUES / EIGENVALUES[0], atol=0.051)


def test_of_the_prior_and_the_heads(files):
    """In JSON, as it stands there and as it is read back; and in the columns of heads.parquet."""
    fitted, folder = files
    found, read = release.read_release(folder / "public/release.json")
    for name in ("mean", "mean_noise", "error", "max_samples"):
        stated = getattr(SHARED, name)
        np.testing.assert_array_equal(np.array(read["shared"][name], float), stated)
        np.testing.assert_array_equal(getattr(found, name), stated)
    for name, stated in vars(PRIOR).items():
        np.testing.assert_array_equal(np.array(read["shared"]["priors"][0][name], float), stated)
        np.testing.assert_array_equal(getattr(found.heads.priors[0], name), stated)
    assert found.schema == SCHEMA and read["privacy"] == dict(fitted.privacy_.public)
    heads, local = pd.read_parquet(folder / "private/heads.parquet"), fitted.local_
    for name, columns in (("head", local.vectors.T), ("doubt", local.doubts.T), ("user", None)):
        for number, column in enumerate([local.ids] if columns is None else columns):
            np.testing.assert_array_equal(heads[name if columns is None else f"{name}_{number}"], column)


def test_of_the_summary(files):
    """In units of the table, by hand; and as text, row by row."""
    found = files[0].summary()
    units = np.eye(DIM)
    units[1] *= math.sqrt(12) / 60
    units[2] *= 1 / math.sqrt(0.2 * 0.8)
    units[3:, 3:] = math.sqrt(3) * (np.eye(3) - 1 / 3)
    units *= HALF
    noise = np.sqrt(units**2 @ SHARED.mean_noise**2)
    spread = np.sqrt(0.37 * np.diag(units @ SHARED.covariance @ units.T))
    names = ["Intercept", "age", "smokes", "city[a]", "city[b]", "city[c]"]
    means = pd.DataFrame({"estimate": units @ SHARED.mean + 4 * np.eye(DIM)[0], "noise_sd": noise}, names)
    spread = [*spread, HALF * math.sqrt(0.37), TOLD["typical_error"]]
    parts = pd.DataFrame({"sd": spread, "variance": np.square(spread)}, [*names, "Residual", "Own data"])
    parts = parts.assign(noise_sd=[math.nan] * 7 + [TOLD["typical_error_noise"]])
    for middle, wanted, table in (("estimate", means, found.coefficients), ("sd", parts, found.components)):
        half = 1.96 * wanted.noise_sd
        wanted = wanted.assign(low=wanted[middle] - half, high=wanted[middle] + half)
        pd.testing.assert_frame_equal(table, wanted, check_like=True)
        lines = str(found).split("Between users\n" if middle == "sd" else "Shared mean\n")[1].splitlines()
        for line, (name, row) in zip(lines[1:], wanted.iterrows(), strict=False):
            assert line.startswith(name)
            read = dict(zip(lines[0].split(), map(float, line.removeprefix(name).split()), strict=False))
            assert read == pytest.approx(row[list(read)].to_dict(), rel=5e-3) and len(read) == row.count()
