"""The estimator: scikit-learn's checks, what it states of its privacy, and what leaves it."""

import copy
import fcntl
import json
import os
import pickle
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from multiprocessing.reduction import ForkingPickler

import joblib
import numpy as np
import pandas as pd
import proofs
import pyarrow as pa
import pytest
import sklearn
from estimator_cases import CONFIGURATIONS, Fit, called, others
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from privrep.estimator import PrivateRepresentation, PrivateRepresentationClassifier, RowsWithinUsers, journal
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.stated import from_toml, stated
from privrep.estimator.statement import doubts, enough, statement
from privrep.methods.mixed_model.stacking import Candidates
from privrep.privacy.accounting import gdp_delta, gdp_mu
from privrep.privacy.lattice import SystemNoise
from privrep.privacy.mechanisms import Release

pytestmark = [
    pytest.mark.filterwarnings("ignore:random_state is:UserWarning"),
    pytest.mark.filterwarnings("ignore:users times mu:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* rows lie beyond:UserWarning"),
]


def table(users: int = 400, rows: int = 6, dim: int = 3, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and whose they are; labels follow one direction of each user's own."""
    rng = np.random.default_rng(seed)
    people = np.repeat([f"person {one}" for one in range(users)], rows)
    features = rng.uniform(-1, 1, (users * rows, dim))
    own = rng.standard_normal((users, 1))[np.repeat(np.arange(users), rows)]
    labels = 0.5 + own[:, 0] * features[:, 0] + 0.3 * rng.standard_normal(len(features))
    frame = pd.DataFrame(features, columns=[f"feature {one}" for one in range(dim)])
    return frame.assign(person=people), labels


def model(**settings) -> PrivateRepresentation:
    return PrivateRepresentation(
        **{"epsilon": 4.0, "feature_bounds": (-1, 1), "label_bounds": (-4, 4), "users": "person"} | settings
    )


@parametrize_with_checks(
    [
        PrivateRepresentation(feature_bounds=(-5, 5), label_bounds=(-5, 5), unit="row", random_state=0),
        PrivateRepresentationClassifier(classes="found", feature_bounds=(-5, 5), unit="row", random_state=0),
    ]
)
def test_scikit_learn_finds_nothing(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"label_bounds": None}, "label_bounds is None; state the least and largest label"),
        ({"feature_bounds": None}, "feature_bounds has none for 'feature 0'"),
        ({"label_bounds": (3, 1)}, "label_bounds: low is 3 and high 1; they must be finite, and low less than high"),
        ({"feature_bounds": {"age": (0, 1)}}, "'age' is no column of the table; the nearest is 'feature"),
        ({"kinds": ["number"]}, "kinds has 1 entries; the table has 3 features"),
        ({"kinds": {"feature 0": "text"}}, "kinds of 'feature 0': 'text' is no kind; the nearest is .* known are 'nu"),
        ({"kinds": {"feature 0": ["a"]}}, r"kinds of 'feature 0': levels is \['a'\]; it must be a list of two or more"),
        ({"feature_bounds": {"feature 0": 3}}, "feature_bounds of 'feature 0' is 3; it must be a low and a high"),
        ({"label_bounds": ("1", 2)}, "label_bounds: low is '1', a text; it must be a number"),
        *(
            (({"epsilon": one}, "epsilon is .*; it must be a number from"))
            for one in (0.0, "1", True, 1e308, None, [1])
        ),
        ({"method": "best"}, "method is 'best'; it must be one of prior, unit_steps"),
        ({"method": "unit_steps"}, "rank is None; unit steps need one"),
        ({"family": "best"}, "family is 'best'; it must be one of gaussian, binary"),
        ({"family": "binary"}, "family is 'binary'; it needs method 'prior' and labels from 0 to 1"),
        ({"rank": 9}, "rank is 9; the scaled features have 4 dimensions"),
        *(({"max_samples": one}, "max_samples is .*; it must be an int") for one in (0, True, 2.5, "9", 10**9)),
        *(({"delta": one}, "delta is .*; it must lie") for one in (1.5, "0.1", True, float("nan"))),
        *(({name: one}, f"{name} is .*; it must") for name in ("rank", "random_state") for one in (True, "1", 0.5, -1)),
        *(
            ({"label_bounds": ends}, "label_bounds: low is .* and high .*; they must be finite, and low less than high")
            for ends in ((-1e308, 1e308), (-1e151, 1e151), (-1e-151, 1e-151), (1, 1), (-np.inf, 0), (0, np.nan))
        ),
        ({"label_bounds": (pd.Timestamp("2020-01-01"), 1)}, "label_bounds: low is .*must be finite"),
        ({"structure": "levels"}, "structure is 'levels'; it must be 'full', 'level'"),
        ({"structure": ["c"]}, "structure: 'c' is no column"),
        ({"feature_bounds": 7}, "feature_bounds is 7; it must have an entry for each column"),
        ({"structure": 7}, "structure is 7; it must be 'full', 'level', or a list"),
        ({"users": None}, "users is None; say whose each row is"),
        ({"users": "who"}, "users is 'who'; the table has no such column"),
        ({"unit": "row"}, "users is given; with unit='row'"),
        ({"kinds": {"feature 0": ["a", np.nan]}}, "levels has nan; each must be a text, a number or true or false"),
        ({"kinds": {"feature 0": ["1", 1.0]}}, "levels is .*; it must be a list of two or more, each once"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    """Before anything is spent."""
    with pytest.raises(ValueError, match=words):
        model(**settings).fit(*table(users=20))
    assert not journal.place().exists()


@pytest.mark.parametrize("settings", [{}, {"rank": 1}, {"method": "unit_steps", "rank": 1}])
def test_noise_is_the_systems_and_lies_on_a_lattice(settings, monkeypatch):
    """No generator of numpy draws it; the ledger's mu is the budget's; two fits differ."""
    released = []
    gaussian = Release._gaussian

    def recording(self, name, exact, law):
        found = gaussian(self, name, exact, law)
        assert isinstance(self.noise, SystemNoise)
        released.extend((one.value, self.ledger.entries[-1].noise_sd) for one in found)
        return found

    monkeypatch.setattr(Release, "_gaussian", recording)
    fits = [model(**settings).fit(*table()) for _ in range(2)]
    assert len(released) >= 20
    for array, sd in released:
        steps = np.asarray(array) / 2.0 ** np.floor(np.log2(sd / 4) - 20)
        np.testing.assert_array_equal(steps, np.rint(steps))
    one, other = (fit.shared_.to_json() for fit in fits)
    assert one != other
    delta = 400**-2.0
    assert fits[0].ledger_.mu == pytest.approx(gdp_mu(4.0, delta), rel=1e-6)
    assert fits[0].privacy_["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert fits[0].privacy_["delta"] == delta and not fits[0].privacy_["seeded"]
    assert bool(fits[0].advice_) == (settings.get("method") != "unit_steps")


@pytest.mark.filterwarnings("ignore:this budget protects nobody")
@pytest.mark.parametrize("epsilon", [1e-6, 1e4])
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=called)
def test_whatever_the_budget_numbers_are_finite(configuration, epsilon):
    """Without a warning of numpy. The page on proofs, which `python tests/proofs.py` renews, has all releases."""
    for seed in range(4):
        with proofs.listening() as found:
            fitted = Fit(configuration | {"epsilon": epsilon, "random_state": seed}, others()).model
        assert proofs.unlisted(called(configuration), found) == []
        numbers = [value for value in fitted.advice_.values() if not isinstance(value, str)]
        for found in (numbers, fitted.local_.vectors, fitted.shared_.mean, fitted.shared_.covariance):
            assert np.isfinite(found).all()


@pytest.mark.parametrize("seed", [0, 1, np.int64(0)])
def test_a_seed_warns_and_repeats(seed):
    with pytest.warns(UserWarning, match=f"random_state is {seed}: noise can be drawn again") as told:
        fits = [model(random_state=seed).fit(*table(users=60)) for _ in range(2)]
    assert {one.filename for one in told} == {__file__}
    others = model(random_state=seed + 2).fit(*table(users=60)), model().fit(*table(users=60))
    assert fits[0].shared_.to_json() == fits[1].shared_.to_json()
    assert fits[0].shared_.to_json() not in [one.shared_.to_json() for one in others]
    assert [one.__sklearn_tags__().non_deterministic for one in (fits[0], *others)] == [False, False, True]
    assert fits[0].privacy_["seeded"] and "seed" in str(fits[0].privacy_)
    with pytest.raises(NotFittedError):
        model().summary()


def test_a_pickle_has_heads_where_that_is_asked_for():
    frame, labels = table(users=200)
    fitted = model(random_state=0).fit(frame, labels)
    with pytest.warns(UserWarning, match=r"200 of 200 users have no head.*heads stay where they were fitted"):
        pickle.loads(pickle.dumps(fitted)).predict(frame)
    kept = pickle.loads(pickle.dumps(fitted.set_params(heads="pickle")))
    np.testing.assert_array_equal(kept.predict(frame, None, True), fitted.predict(frame, None, True))


def test_heads_are_used_for_those_who_have_one():
    frame, labels = table()
    fitted = model(random_state=0, epsilon=8.0).fit(frame, labels)
    errors = labels - fitted.predict(frame)
    assert fitted.score(frame, labels) == pytest.approx(1 - (errors**2).mean() / labels.var()) and errors.std() < 0.6
    strangers = frame.assign(person="nobody")
    with pytest.warns(
        UserWarning, match="users is None: no row has a head. Such rows are predicted by the shared mean"
    ):
        mean = fitted.predict(frame.drop(columns="person"))
    with pytest.warns(UserWarning, match="1 of 1 users have no head; personalise makes one. Such rows"):
        np.testing.assert_array_equal(fitted.predict(strangers), mean)
    fitted.set_params(unseen="raise", max_samples=2)  # of the next fit
    for rows in (strangers, frame.drop(columns="person")):
        with pytest.raises(ValueError, match=r"a head|no head") as error:
            fitted.predict(rows)
        assert "nobody" not in str(error.value)
    some = frame.person == "person 7"
    before = fitted.predict(frame[some], return_std=True)
    again = pickle.loads(pickle.dumps(fitted)).personalise(frame[some], labels[some])
    np.testing.assert_allclose(again.predict(frame[some], return_std=True), before, rtol=1e-6)
    fitted.personalise(strangers[some], labels[some])
    np.testing.assert_allclose(fitted.predict(strangers[some], return_std=True), before, rtol=1e-6)
    newer = pd.concat([frame[some], frame[some].assign(person="somebody")]), np.r_[-labels[some], labels[some]]
    again, alone = fitted.personalise(*newer), pickle.loads(pickle.dumps(fitted)).personalise(*newer)
    np.testing.assert_array_equal(again.predict(newer[0]), alone.predict(newer[0]))


def test_a_row_without_a_label_is_dropped_and_its_user_counts():
    frame, labels = table(users=50)
    with pytest.warns(UserWarning, match=r"label: 7 of 300 rows have no label and are dropped \(2.33 %\)"):
        fitted = model(random_state=0).fit(frame, np.r_[[np.nan] * 7, labels[7:]])
    assert fitted.privacy_["users"] == 50
    there = fitted.score(frame[7:], labels[7:])
    assert fitted.score(frame, np.r_[[np.nan] * 7, labels[7:]]) == there
    assert fitted.score(frame, labels, sample_weight=np.arange(300) > 6) == pytest.approx(there)
    weights, there = np.arange(300), np.arange(300) % 7 > 0
    some = fitted.score(frame, np.where(there, labels, np.nan), sample_weight=weights)
    assert some == pytest.approx(fitted.score(frame[there], labels[there], sample_weight=weights[there]))


@pytest.mark.filterwarnings("ignore:.*have no head:UserWarning", "ignore:X (does not|has)")
def test_scikit_learns_tools():
    """Clones, pipelines, folds and searches, with users as metadata; in one process and in two."""
    frame, labels = table(users=120)
    features, people = frame.drop(columns="person"), frame.person.to_numpy()
    with sklearn.config_context(enable_metadata_routing=True):
        one = model(users=None, random_state=0, epsilon=8.0, feature_bounds=(-3, 3))
        one.set_fit_request(users=True).set_predict_request(users=True).set_score_request(users=True)
        assert clone(one).get_params() == one.get_params()
        scaler, data = StandardScaler().set_output(transform="pandas"), {"cv": RowsWithinUsers(3)}
        alone = clone(one).fit(scaler.fit_transform(features), labels, people)
        piped = make_pipeline(StandardScaler(), one).set_output(transform="pandas").fit(features, labels, users=people)
        expected = alone.predict(scaler.transform(features), people)
        for fitted in (piped, copy.deepcopy(piped)):
            np.testing.assert_array_equal(fitted.predict(features, users=people), expected)
            assert fitted.score(features, labels, users=people) == alone.score(
                scaler.transform(features), labels, people
            )
        strangers = cross_val_score(one, features, labels, cv=GroupKFold(3), params={"users": people, "groups": people})
        for jobs in (1, 2):
            params = {"users": people, "groups": people}
            within = cross_val_score(one, features, labels, **data, params=params, n_jobs=jobs)
            search = GridSearchCV(one, {"rank": [1, None]}, **data, n_jobs=jobs).fit(features, labels, **params)
            assert within.mean() > strangers.mean() + 0.2
            assert search.cv_results_["mean_test_score"][1] == within.mean()
            best = search.best_estimator_
            assert best.score(features, labels, people) == search.score(features, labels, users=people) > 0.5
    assert best.journal_["fits"] >= 2 + 3 + 3 + 2 * 3 + 1


def test_folds_within_users():
    people = np.repeat(np.arange(10), np.arange(1, 11))
    for seed in (None, 4):
        folds = [test for _, test in RowsWithinUsers(3, seed).split(people, groups=people)]
        np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(people)))
        assert all(set(people[fold]) >= set(range(2, 10)) for fold in folds)
    one_row_each = RowsWithinUsers(3).split(people, groups=np.arange(len(people)))
    assert [len(test) for _, test in one_row_each] == [19, 18, 18]
    with pytest.raises(ValueError, match="groups is None"):
        next(RowsWithinUsers(2).split(people))
    with pytest.raises(ValueError, match="n_splits is 1"):
        RowsWithinUsers(1)


def entered(ids: np.ndarray, mu_squared: float) -> tuple[int, float]:
    found = journal.entered(ids, np.empty(0, np.uint64), mu_squared, 1e-5)
    return found["fits"], pytest.approx(found["mu"] ** 2)


def test_fits_add_up_where_they_share_users(tmp_path):
    assert entered(np.arange(100), 0.5) == (1, 0.5)
    assert entered(np.arange(1000, 1100), 0.25) == (1, 0.25)
    assert entered(np.arange(50, 150), 0.5) == (2, 1.0)
    assert os.stat(journal.place()).st_mode & 0o777 == 0o600


def no_home(monkeypatch, tmp_path):
    monkeypatch.delenv(journal.PLACE)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["uid"])


def no_folder(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(journal.PLACE, str(tmp_path / "file" / "journal"))


def no_locks(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fcntl", None)


@pytest.mark.parametrize("lacking", [no_home, no_folder, no_locks])
def test_a_journal_that_cannot_be_used_is_kept_by_the_process(lacking, monkeypatch, tmp_path):
    """And says so, in a warning and beside the count."""
    lacking(monkeypatch, tmp_path)
    monkeypatch.setattr(journal, "_unwritten", [])
    with pytest.warns(UserWarning, match="cannot be used .*this process alone; PRIVREP_JOURNAL names another file"):
        found = [journal.entered(np.arange(9), np.arange(3), 0.5, 1e-5) for _ in range(2)]
    assert [one["fits"] for one in found] == [1, 2] and "this process alone" in found[1]["text"]


def test_all_is_there_where_a_system_has_no_fcntl():
    code = "import sys; sys.modules['fcntl'] = None; import privrep.estimator.commands.main"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bounds_are_read_from_a_file(tmp_path):
    path = tmp_path / "bounds.toml"
    path.write_text(
        '[label]\nlow = 1\nhigh = 6\n[features.age]\nlow = 0\nhigh = 100\n[features.sex]\nkind = "flag"\n'
        '[features.item]\nkind = "category"\nlevels = ["a", "b"]\n'
    )
    kinds = {"sex": "flag", "item": ["a", "b"]}
    assert from_toml(path) == stated(["age", "sex", "item"], kinds, {"age": (0, 100)}, (1, 6))
    label = "[label]\nlow = 1\nhigh = 6\n"
    for text, words in (
        (label, r"bounds.toml: \[features\] is None; it must be a table"),
        ("[label]\n[features]\n", "bounds.toml: label: low is missing; a number needs least value"),
        (f'{label}[features.x]\nkind = "word"', "bounds.toml: features.x: 'word' is no kind; the nearest is"),
        (f"{label}[features.x]\nlow = 1\nhihg = 2", "features.x: hihg is no option of a number; the nearest is high"),
        (f'{label}[features.x]\nkind = "flag"\nshare = 1', "features.x: share is 1; it must lie strictly between 0"),
        (label.replace("1", "7") + "[features]", "bounds.toml: label: low is 7 and high 6; they must be finite"),
        ("[label", r"bounds.toml: .*\(at end of document\)"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            from_toml(path)


LINES = [b"text", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"when": "2026-', b'{"users": []}', b'{"mu_squared": 1}', b"7"]
LINES += [b'{"users": %s, "mu_squared": %s}' % pair for pair in ((b"[]", b"Infinity"), (b"7", b"1"), (b'["x"]', b"1"))]
LINES += [b'{"users": [], "mu_squared": %s}' % one for one in (b"NaN", b"-1", b'"1"', b"null")]


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_no_fit_stops_the_next_one_before_it_spends(line):
    """Its place is said; a line that was not ended, and blank ones, do no harm."""
    frame, labels = table(users=60)
    assert entered(np.arange(9), 0.5) == (1, 0.5)
    whole = journal.place().read_bytes()
    journal.place().write_bytes(whole + b"\n" + line + b"\n")
    with pytest.raises(
        ValueError, match=r"journal.jsonl has no fit in line 3, .* correct or remove the line, or"
    ) as error:
        model(epsilon=1.0).fit(frame, labels)
    assert "\n" not in str(error.value) and journal.place().read_bytes() == whole + b"\n" + line + b"\n"
    journal.place().write_bytes(whole + b"\n" + whole.rstrip())
    assert [entered(np.arange(9), 0.5) for _ in range(2)] == [(3, 1.5), (4, 2.0)]


@pytest.mark.parametrize("tries", [9, 1200])
def test_a_lock_that_is_held_is_waited_for_with_a_word_and_not_for_ever(tries, monkeypatch):
    monkeypatch.setattr(journal, "PATIENCE", tries)
    monkeypatch.setattr(journal, "SOON", 1)
    with open(journal.place(), "a") as held, ThreadPoolExecutor(1) as pool, pytest.warns(UserWarning) as told:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = pool.submit(entered, np.arange(9), 0.5)
        if tries == 9:
            with pytest.raises(ValueError, match=r"journal.jsonl is locked by another process: end it, or name"):
                found.result()
        else:
            while not told:
                time.sleep(0.01)
            fcntl.flock(held, fcntl.LOCK_UN)
            assert found.result() == (1, 0.5)
    assert [str(one.message).partition("is ")[2] for one in told] == [
        f"locked by another process; this fit waits for {tries / 20:.0f} seconds at most"
    ]


def test_what_the_journal_says_is_no_more_than_it_knows():
    """It never gives a count alone, and names what parts people of equal ids."""
    frame, labels = table(users=60)
    by_row = model(unit="row", users=None, epsilon=1.0).fit(frame.drop(columns="person"), labels)
    for fitted in (by_row, model(epsilon=1.0).fit(frame, -labels)):
        said, spent = fitted.journal_["text"], fitted.journal_
        assert said.startswith("Not to be published. Fits on record that may be of these people, with this one: 1,")
        assert "another label do not count" in said and "unless PRIVREP_JOURNAL names another file" in said
        assert spent["epsilon"] == pytest.approx(fitted.privacy_["epsilon"], rel=1e-6)
        assert pickle.loads(pickle.dumps(fitted)).journal_ is None
    assert pickle.loads(pickle.dumps(by_row.set_params(heads="pickle"))).journal_ == by_row.journal_


def test_of_fits_at_once_each_sees_those_before_it():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: entered(np.arange(200), 0.5), range(40)))
    assert sorted(found) == [(count, count / 2) for count in range(1, 41)]
    assert len(journal.place().read_text().splitlines()) == 40


class Foreign(list):
    """Values of another library, such as a column of polars, with a type that is none of numpy's."""

    dtype = "Int64"


INPUTS = {
    "text": (["1", "2"], lambda rows: rows.astype(str).replace("nan", "NA"), lambda ids: ids.astype(str)),
    "objects": (
        [1, 2],
        lambda rows: rows.astype(object),
        lambda ids: np.array([*ids[:180], *ids[180:].astype(str)], "O"),
    ),
    "nullable": (
        [1.0, 2.0],
        lambda rows: rows.astype({"whole": "Int64", "flag": "boolean", "level": "Int64", "told": "boolean"}),
        lambda ids: pd.array(ids, "Int64"),
    ),
    "strings": (
        ["1", "2"],
        lambda rows: rows.astype({"level": "string", "told": str}).astype({"told": "string"}),
        lambda ids: pd.array(ids.astype(str), "string[pyarrow]"),
    ),
    "categories": (
        np.array([1, 2]),
        lambda rows: rows.astype({"whole": "category", "level": pd.CategoricalDtype([2, 1]), "told": "category"}),
        lambda ids: pd.Categorical(ids, categories=range(59, -1, -1)),
    ),
    "arrow": (
        [1, 2],
        lambda rows: rows.convert_dtypes(dtype_backend="pyarrow"),
        lambda ids: pd.array(ids, "int64[pyarrow]"),
    ),
    "single precision": ([1, 2], lambda rows: rows.astype({"x": np.float32}), lambda ids: ids.astype(np.float32)),
    "another library": ([1, 2], pa.Table.from_pandas, lambda ids: Foreign(f" {one}.0" for one in ids)),
    "array": ([1, 2], lambda rows: rows.fillna({"whole": 1}).to_numpy(float), lambda ids: ids.astype(bytes)),
}
"""Kinds of input: stated levels, a table, and ids."""


@pytest.mark.filterwarnings("ignore:X (does not have|has).*feature names:UserWarning")
@pytest.mark.parametrize(("levels", "features", "ids"), INPUTS.values(), ids=INPUTS)
def test_input_of_all_kinds_gives_the_same_fit_and_predictions(levels, features, ids):
    """Users stand in the order of their ids, whatever the order of the rows; what is stated by name or in order is the
    same, a missing number is the middle, and the journal counts the same people."""
    rng, number, place = np.random.default_rng(0), np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, 360).astype(np.float32).astype(float)})
    frame = frame.assign(whole=rng.choice([0, 1, 2, np.nan], 360), flag=rng.choice([0, 1], 360))
    frame = frame.assign(level=rng.choice([1, 2], 360), told=rng.choice([True, False], 360))
    labels = frame.x.to_numpy() + 0.3 * rng.standard_normal(360) + rng.standard_normal(60)[number]
    bounds = {"x": (-1, 1), "whole": (0, 2)}
    named = {"flag": "flag", "level": ["1", "2"], "told": ["true", "false"]}
    settings = {"users": None, "random_state": 0, "max_samples": np.int64(9)}
    plain = model(**settings, kinds=named, feature_bounds=bounds).fit(frame, labels, number)
    told = [1, 0] if isinstance(features(frame), np.ndarray) else [True, False]
    settings |= {"kinds": ["number", "number", "flag", levels, told], "feature_bounds": [*bounds.values(), *3 * [None]]}
    table, people, turn = features(frame), ids(number), np.lexsort((-number, place))
    found = model(**settings).fit(table, labels, people)
    turned = model(**settings).fit(features(frame.iloc[turn].reset_index(drop=True)), labels[turn], ids(number[turn]))
    np.testing.assert_array_equal(found.shared_.mean, plain.shared_.mean)
    assert turned.shared_.to_json() == found.shared_.to_json()
    assert found.journal_["fits"] == 2 and turned.journal_["fits"] == 3
    expected = plain.predict(frame, number)
    for one in (plain, found, turned)[isinstance(table, np.ndarray) :]:  # of which 1 is no true
        assert [*map(str, one.local_.ids)] == sorted(map(str, one.local_.ids))
        for rows in product(((frame, table)[isinstance(table, np.ndarray) :]), (number, people)):
            np.testing.assert_array_equal(one.predict(*rows), expected)
        assert one.score(table, labels, people) == plain.score(frame, labels, number)
    assert SharedPrior.from_dict(json.loads(found.shared_.to_json())).schema == found.shared_.schema
    assert [len(test) for _, test in RowsWithinUsers(3).split(table, groups=people)] == [120, 120, 120]
    if isinstance(table, pd.DataFrame):
        with pytest.warns(UserWarning, match="column 'level': 360 of 360 rows have a level that is not listed"):
            found.predict(table.assign(level="other"), people)


@pytest.mark.filterwarnings("ignore:.*have no head:UserWarning")
def test_intervals_of_predictions_cover_new_rows():
    """95 %, of users who took part and of others with rows or without: cover of 2,000 rows of 200 users has a standard
    deviation of about 1 %, and half the width covers less."""
    frame, labels = table(users=400, rows=14)
    known, took_part = np.tile(np.arange(14) < 4, 400), np.arange(len(frame)) < 14 * 200
    both, late = known & took_part, ~took_part
    fitted = model(random_state=0, epsilon=16.0).fit(frame[both], labels[both])

    def cover(rows: np.ndarray, part: float = 1.0) -> float:
        means, sds = fitted.predict(frame[rows & ~known], return_std=True)
        return (np.abs(labels[rows & ~known] - means) <= 1.96 * part * sds).mean()

    assert cover(late) > 0.9
    fitted.personalise(frame[known & late], labels[known & late])
    for rows in (took_part, late):
        assert cover(rows, 0.5) < 0.85 < 0.92 < cover(rows) < 0.99
    steps = model(random_state=0, method="unit_steps", rank=1).fit(frame, labels)
    with pytest.raises(ValueError, match="return_std is True; this method releases no errors of labels"):
        steps.predict(frame, return_std=True)
    assert steps.summary().components.sd.isna().all()


@pytest.mark.parametrize(
    "missing", [None, np.nan, pd.NA, pd.NaT, "", " ", "NA", "NaN", "NULL", "<NA>", "#N/A", "#REF!"]
)
def test_a_missing_id_is_missing_however_it_is_written(missing):
    frame, labels = table(users=4)
    frame["person"] = frame.person.astype(object)
    frame.loc[9, "person"] = missing
    with pytest.raises(ValueError, match="users has a missing value in row 10; each row needs a user"):
        model().fit(frame, labels)
    assert not journal.place().exists()


def test_copies_have_heads():
    """Whatever copies: also what goes to worker processes and comes back from them."""
    frame, labels = table(users=120)
    fitted = model(random_state=0).fit(frame, labels)
    expected, fitted.itself_ = fitted.predict(frame, return_std=True), fitted
    copies = [copy.copy(fitted), copy.deepcopy(fitted), *copy.deepcopy([fitted])]
    with joblib.parallel_config("loky", n_jobs=2):
        copies += joblib.Parallel()(joblib.delayed(copy.copy)(one) for one in (fitted, fitted))
    copies.append(ForkingPickler.loads(ForkingPickler.dumps(fitted)))
    for one in copies:
        assert one is not fitted and vars(one.itself_).keys() == vars(fitted).keys()
        np.testing.assert_array_equal(one.predict(frame, return_std=True), expected)


def test_rows_that_are_people_add_up_with_users_of_the_same_table(monkeypatch):
    """Whatever the unit, features, ranges and the order of rows; another table's fits do not count."""
    frame, labels = table(users=120)
    features, turn = frame.drop(columns="person"), np.random.default_rng(1).permutation(len(frame))
    by_row = model(unit="row", users=None)
    assert by_row.fit(features, labels).journal_["fits"] == 1
    again = clone(by_row).set_params(label_bounds=(-5, 5)).fit(features.iloc[turn], labels[turn])
    assert again.journal_["fits"] == 2
    assert model().fit(frame[["feature 0", "person"]], labels).journal_["fits"] == 3
    part = clone(by_row).fit(features[:400], labels[:400])
    assert part.journal_["fits"] == 4
    assert part.journal_["mu"] > 1.9 * part.privacy_["mu"]
    other, others_labels = table(users=120, seed=7)
    assert clone(by_row).fit(other.drop(columns="person"), others_labels).journal_["fits"] == 1


@pytest.mark.parametrize(
    "broken",
    [
        lambda frame, labels: (frame.assign(**{"feature 1": pd.Timedelta("2s")}), labels),
        lambda frame, labels: (frame, np.full(len(labels), 7, "timedelta64[s]")),
        lambda frame, labels: (frame, labels * 1j),
        lambda frame, labels: (frame, pd.Series(labels)[::-1]),
        lambda frame, labels: (frame.drop(columns="person"), labels, frame.person[::-1]),
        lambda frame, labels: (frame[:0], labels[:0]),
        lambda frame, labels: (pd.concat([frame, frame[["feature 1"]]], axis=1), labels),
        lambda frame, labels: (frame.assign(person=[["secret"]] * len(frame)), labels),
        lambda frame, labels: ([["secret"]] * len(frame), labels, frame.person),
        lambda frame, labels: ([[[1], [2, 3]]] * len(frame), labels, frame.person),
        lambda frame, labels: (frame.assign(**{"feature 1": [["secret"]] * len(frame)}), labels),
    ],
)
def test_wrong_tables_are_named_and_quote_nobody(broken):
    """In one line, before anything is spent."""
    frame, labels = table()
    with pytest.raises(ValueError, match=r"feature 1|users|y|X has|0 sample") as error:
        model().fit(*broken(frame, labels))
    words = str(error.value)
    assert "secret" not in words and "\n" not in words and len(words) < 160
    assert not journal.place().exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "users times mu is .*; epsilon .* would reach 150, and so would [0-9,]+ users"),
        ({"label_bounds": (100, 101)}, "label: 108 of 108 rows lie beyond the stated range"),
        ({"feature_bounds": (100, 101)}, "column 'feature 2': 108 of 108 rows lie beyond its range"),
    ],
)
@pytest.mark.filterwarnings("always")
def test_what_says_nothing_is_said_in_words(settings, words):
    with pytest.warns(UserWarning, match=words):
        model(**settings).fit(*table(users=18))


@pytest.mark.parametrize("users", [60, 10**4, 10**6])
@pytest.mark.parametrize(
    ("limit", "changed", "below", "words"),
    [
        ("users times mu", {"mu": 150}, True, "; below 150 one mixed model in 25 is clearly worse"),
        ("users times mu", {"mu": 75}, True, "; below 75 one mixed model in five is clearly worse"),
        ("advantage", {"advantage": 0.9}, False, "this budget protects nobody"),
        ("delta times users", {"delta": 1}, False, "delta is .*, more than 1/n"),
        ("samples", {"samples": 1000}, False, "max_samples is 1001"),
    ],
)
def test_doubts_begin_at_their_limits(users, limit, changed, below, words):
    """On both sides of each."""
    for step in (-1, 1):
        given = {"mu": 160, "delta": 1e-3, "samples": 8} | {
            name: value * (1 + step * 1e-3) for name, value in changed.items()
        }
        mu = 2 * norm.ppf((1 + given["advantage"]) / 2) if "advantage" in given else given["mu"] / users
        found = doubts(mu, given["delta"] / users, users, round(given["samples"]))
        assert any(re.search(words, one) for one in found) == ((step < 0) == below), f"{limit}: {found}"
        assert found[1:] == []


@pytest.mark.parametrize(("users", "epsilon"), [(12, 1.0), (300, 0.5), (545, 0.5), (90, 5.0), (5000, 0.01)])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_what_is_said_to_be_enough_is_enough(users, epsilon, delta):
    """The named epsilon at these users, and the named users at this epsilon, with delta by default or as it is; a
    tenth less is too little."""
    spent = users**-2.0 if delta is None else delta
    at_users, more = enough(spent, users, gdp_mu(epsilon, spent))
    assert users * gdp_mu(at_users, spent) == pytest.approx(150, rel=1e-6)
    for count, right in ((more, True), (int(0.9 * more), False)):
        assert (count * gdp_mu(epsilon, count**-2.0 if delta is None else delta) >= 150) == right


def test_printed_guarantees_hold():
    """The printed pair is no smaller than what holds, for any budget."""
    for mu in np.geomspace(0.01, 5, 60):
        made = {"name": "x", "sensitivity": mu, "noise_sd": 1.0}
        for delta in (0.0123456, 1e-5 / 3, 400**-1.1):
            words = str(statement([made], delta, 1000, "user", False))
            epsilon, printed, gdp = map(float, re.search(r"is \(([^,]+), ([^)]+)\).*?\(([^-]+)-GDP", words).groups())
            assert gdp_delta(epsilon, mu) <= printed and gdp >= mu * (1 - 1e-8)


@pytest.mark.parametrize(("structure", "free"), [("level", 1), (["b"], 2), ("full", 3)])
def test_people_differ_from_the_mean_in_the_stated_columns_alone(structure, free):
    """In priors about the mean; those of own data have all columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (1200, 2)), columns=["a", "b"]).assign(person=np.repeat(np.arange(200), 6))
    labels = frame.a + rng.standard_normal(1200) / 5 + np.repeat(rng.standard_normal(200) / 3, 6)
    ranges = {"feature_bounds": (-1, 1), "label_bounds": (-2, 2)}
    fitted = PrivateRepresentation(4.0, structure=structure, users="person", random_state=0, **ranges)
    fitted.fit(frame, labels)
    about = [one for one in fitted.shared_.heads.priors if one.mean.any() and one.strengths.any()]
    assert sum(np.abs(one.root).sum(axis=1) for one in about).astype(bool).sum() == free
    own = Candidates.of(np.ones(3), [], True, np.array([True, False, False])).kinds[0][0]
    assert np.abs(own.root).sum(axis=1).all()


def of_classes(**settings) -> PrivateRepresentationClassifier:
    given = {"epsilon": 8.0, "feature_bounds": (-1, 1), "users": "person", "random_state": 0}
    return PrivateRepresentationClassifier(**given | settings)


NAMES = {
    "integers": (None, lambda ones: ones.astype(int)),
    "floats": (None, lambda ones: ones.astype(float)),
    "truth": (None, lambda ones: pd.array(ones, "boolean")),
    "texts": (["yes", "no"], lambda ones: np.where(ones, "yes", "no")),
    "categories": (("no", "yes"), lambda ones: pd.Categorical(np.where(ones, "yes", "no"))),
    "numbers": ((7, -3.5), lambda ones: np.where(ones, 7, -3.5)),
    "found": ("found", lambda ones: np.where(ones, "b", "a")),
}


@pytest.mark.parametrize(("classes", "kind"), NAMES.values(), ids=NAMES)
def test_two_classes_may_have_any_names(classes, kind):
    """The same probabilities, which rise with the head's product; scores and pickles know the names."""
    frame, labels = table(users=200)
    ones, there = labels > 0.5, np.arange(len(labels)) > 6
    names = pd.Series(kind(ones))
    fitted = of_classes(classes=classes, heads="pickle").fit(frame, names)
    probabilities = fitted.predict_proba(frame)
    np.testing.assert_array_equal(probabilities, of_classes().fit(frame, ones).predict_proba(frame))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    place = fitted.local_.places(frame.person)
    products = (fitted.shared_.schema.scaled(frame) * fitted.local_.vectors[place]).sum(axis=1)
    assert (np.diff(probabilities[np.argsort(products), 1]) >= -1e-6).all() and 0.01 <= probabilities.min() < 0.2
    assert list(fitted.classes_) == sorted(set(names))
    right = fitted.predict(frame) == np.asarray(names)
    given = names.astype(object).where(there)
    with pytest.warns(UserWarning, match="7 of 1,200 rows have no label"):
        score = fitted.personalise(frame, given).score(frame, given)
    assert 0.6 < score == pytest.approx(right[there].mean(), abs=0.02)
    assert score == pytest.approx(fitted.score(frame, names, sample_weight=there))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(frame), fitted.predict(frame))
    assert ("which labels occur" in fitted.privacy_["assumed_public"]) == (classes == "found")


def test_a_table_on_disk_has_users_and_its_classes_are_numbers():
    """Said before it is read."""
    for made, words in (
        (model(unit="row", users=None), "unit is 'row'"),
        (of_classes(classes="ab"), "classes is 'ab'"),
        (of_classes(classes=("no", "yes")), "classes is .*; of a table on disk it must be 0 and 1"),
    ):
        with pytest.raises(ValueError, match=words):
            made.fit_table("none.parquet", user="who", label="y", schema=None)


NOT_TWO = ("ab", ["a"], ["a", "b", "c"], [1, "a"], [1, True], ["a", None], 7, "found")


@pytest.mark.parametrize(
    ("classes", "label", "words"),
    [
        *((one, 1, "classes is .*; it must be two names of one kind, not one class. Only binary") for one in NOT_TWO),
        (("no", "yes"), "secret", "y has in row 1 none of the two classes; more are not served"),
        (None, 2, "y has in row 1 none of the two classes"),
        (None, "secret", "y has something else than a number in row 1"),
        (None, np.nan, "y has no label that is a number"),
        ("found", 1j, "y has complex numbers"),
    ],
)
def test_wrong_classes_end_in_one_line(classes, label, words):
    frame, _ = table(users=20)
    with pytest.raises(ValueError, match=words) as error:
        of_classes(classes=classes).fit(frame, [label] * len(frame))
    assert "secret" not in str(error.value) and "\n" not in str(error.value) and not journal.place().exists()
