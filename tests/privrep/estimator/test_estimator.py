"""The estimator: scikit-learn's checks, what it states of its privacy, and what leaves it."""

from __future__ import annotations

import json
import os
import pickle
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from privrep.estimator import PrivateRepresentation, RowsWithinUsers, journal
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.stated import from_toml, stated
from privrep.privacy.accounting import gdp_mu
from privrep.privacy.lattice import SystemNoise
from privrep.privacy.mechanisms import Release

SEEDED = "ignore:random_state is:UserWarning"


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


@pytest.mark.filterwarnings(SEEDED)
@parametrize_with_checks(
    [PrivateRepresentation(feature_bounds=(-5, 5), label_bounds=(-5, 5), unit="row", random_state=0)]
)
def test_scikit_learn_finds_nothing(estimator, check):
    check(estimator)


def test_a_fit_without_users_is_refused():
    frame, labels = table()
    with pytest.raises(ValueError, match=r"users is None; say whose each row is"):
        model(users=None).fit(frame.drop(columns="person"), labels)
    with pytest.raises(ValueError, match=r"users is 'who'; the table has no such column"):
        model(users="who").fit(frame, labels)
    with pytest.raises(ValueError, match=r"users has a missing value"):
        model(users=None).fit(frame.drop(columns="person"), labels, users=[None, *frame.person[1:]])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"label_bounds": None}, "label_bounds is None; state the least and largest label"),
        ({"feature_bounds": None}, "feature_bounds has none for 'feature 0'"),
        ({"label_bounds": (3, 1)}, "label: low is 3 and high 1; they must be finite, and low less than high"),
        ({"feature_bounds": {"age": (0, 1)}}, "'age' is no column of the table; the nearest is 'feature"),
        ({"kinds": ["number"]}, "kinds has 1 entries; the table has 3 features"),
        ({"kinds": {"feature 0": "text"}}, "features.feature 0: 'text' is no kind; the nearest is .* known are 'nu"),
        ({"kinds": {"feature 0": ["a"]}}, r"features.feature 0: levels is \['a'\]; it must be a list of two or more"),
        ({"feature_bounds": {"feature 0": 3}}, "feature_bounds of 'feature 0' is 3; it must be a low and a high"),
        ({"label_bounds": ("1", 2)}, "label: low is '1', a text; it must be a number"),
        ({"epsilon": 0.0}, r"epsilon is 0.0; it must be positive and finite"),
        ({"method": "best"}, "method is 'best'; it must be one of prior, unit_steps"),
        ({"method": "unit_steps"}, "rank is None; unit steps need one"),
        ({"rank": 9}, "rank is 9; the scaled features have 4 dimensions"),
        ({"max_samples": 0}, "max_samples is 0; it must be an integer of at least 1"),
        ({"delta": 1.5}, "delta"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        model(**settings).fit(*table())


@pytest.mark.parametrize("settings", [{}, {"rank": 1}, {"method": "unit_steps", "rank": 1}])
def test_noise_is_the_systems_and_lies_on_a_lattice(settings, monkeypatch):
    """No generator of numpy draws it; the ledger's mu is the budget's; two fits differ."""
    released = []
    gaussian = Release._gaussian

    def recording(self, name, exact, law):
        found = gaussian(self, name, exact, law)
        assert isinstance(self.noise, SystemNoise)
        released.extend((array, self.ledger.entries[-1].noise_sd) for array in found)
        return found

    monkeypatch.setattr(Release, "_gaussian", recording)
    fits = [model(**settings).fit(*table()) for _ in range(2)]
    assert len(released) >= 20
    for array, sd in released:
        steps = np.asarray(array) / 2.0 ** np.floor(np.log2(sd / 4) - 20)
        np.testing.assert_array_equal(steps, np.rint(steps))
    one, other = (fit.shared_.to_json() for fit in fits)
    assert one != other
    delta = 400**-1.1
    assert fits[0].ledger_.mu == pytest.approx(gdp_mu(4.0, delta), rel=1e-6)
    assert fits[0].privacy_["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert fits[0].privacy_["delta"] == delta and not fits[0].privacy_["seeded"]
    assert bool(fits[0].advice_) == (settings.get("method") != "unit_steps")


def test_a_seed_warns_and_repeats():
    with pytest.warns(UserWarning, match="random_state is 3: noise can be drawn again"):
        fits = [model(random_state=3).fit(*table()) for _ in range(2)]
    assert fits[0].shared_.to_json() == fits[1].shared_.to_json()
    assert fits[0].privacy_["seeded"] and "seed" in str(fits[0].privacy_)


def test_a_delta_above_one_over_n_warns():
    with pytest.warns(UserWarning, match="more than 1/n"):
        model(delta=0.1).fit(*table())


@pytest.mark.filterwarnings(SEEDED)
def test_what_is_pickled_or_published_holds_no_row():
    """No bit pattern of a label or feature, as given or as scaled, and no id."""
    frame, labels = table(users=200, dim=5)
    fitted = model(random_state=0).fit(frame, labels)
    pickled, published = pickle.dumps(fitted), fitted.shared_.to_json()
    d = fitted.shared_.schema.dim
    assert len(pickled) <= 8 * (d**2 + d) + 4096
    features = frame.drop(columns="person")
    schema = fitted.shared_.schema
    rows = [features.to_numpy().ravel(), labels, schema.scaled(frame)[:, 1:].ravel(), schema.scaled_labels(labels)]
    for value in np.concatenate([np.asarray(one, float) for one in rows]):
        for form in ("<d", ">d", "<f", ">f"):
            assert struct.pack(form, value) not in pickled
        assert repr(float(value)) not in published
    shown = published + repr(fitted) + json.dumps(fitted.privacy_) + str(fitted.get_params())
    assert "person 1" not in shown and b"person 1" not in pickled
    assert pickle.loads(pickled).local_ is None
    kept = pickle.loads(pickle.dumps(model(random_state=0, heads="pickle").fit(frame, labels)))
    np.testing.assert_array_equal(kept.predict(frame), fitted.predict(frame))


@pytest.mark.filterwarnings(SEEDED)
def test_what_is_published_is_read_back_to_the_last_bit():
    fitted = model(random_state=0, kinds={"feature 1": "flag"}).fit(*table())
    shared = SharedPrior.from_dict(json.loads(fitted.shared_.to_json()))
    assert shared.to_json() == fitted.shared_.to_json()
    assert shared.schema == fitted.shared_.schema
    with pytest.raises(ValueError, match="version is 7; this privrep reads 1"):
        SharedPrior.from_dict({"version": 7})


@pytest.mark.filterwarnings(SEEDED)
def test_heads_are_used_for_those_who_have_one():
    frame, labels = table()
    fitted = model(random_state=0, epsilon=8.0).fit(frame, labels)
    assert fitted.score(frame, labels) > 0.5
    strangers = frame.assign(person="nobody")
    mean = fitted.predict(frame.drop(columns="person"))
    np.testing.assert_array_equal(fitted.predict(strangers), mean)
    fitted.set_params(unseen="raise")
    with pytest.raises(ValueError, match="user 'nobody' has no head; call personalise"):
        fitted.predict(strangers)
    some = frame.person == "person 7"
    before = fitted.predict(frame[some])
    again = pickle.loads(pickle.dumps(fitted)).personalise(frame[some], labels[some])
    np.testing.assert_allclose(again.predict(frame[some]), before, rtol=1e-12)
    fitted.personalise(strangers[some], labels[some])
    np.testing.assert_allclose(fitted.predict(strangers[some]), before, rtol=1e-12)


@pytest.mark.filterwarnings(SEEDED)
def test_arrays_and_tables_say_the_same():
    frame, labels = table()
    by_table = model(random_state=0).fit(frame, labels)
    by_array = model(random_state=0, users=None).fit(frame.drop(columns="person").to_numpy(), labels, frame.person)
    np.testing.assert_array_equal(by_table.shared_.mean, by_array.shared_.mean)


@pytest.mark.filterwarnings(SEEDED)
def test_missing_values():
    """A missing feature counts as the middle; a row without a label is dropped, and its user counts."""
    frame, labels = table(users=50)
    empty = labels.copy()
    empty[:6] = np.nan
    fitted = model(random_state=0).fit(frame.assign(**{"feature 1": np.nan}), empty)
    assert fitted.privacy_["users"] == 50
    middle = model(random_state=0).fit(frame.assign(**{"feature 1": 0.0}), empty)
    np.testing.assert_array_equal(fitted.shared_.mean, middle.shared_.mean)


@pytest.mark.filterwarnings(SEEDED)
def test_scikit_learns_tools():
    """Clones, pipelines, folds and searches, with users as metadata."""
    frame, labels = table(users=120)
    features, people = frame.drop(columns="person").to_numpy(), frame.person.to_numpy()
    with sklearn.config_context(enable_metadata_routing=True):
        one = model(users=None, random_state=0, epsilon=8.0)
        one.set_fit_request(users=True).set_predict_request(users=True).set_score_request(users=True)
        assert clone(one).get_params() == one.get_params()
        piped = make_pipeline(FunctionTransformer(), one)
        assert len(piped.fit(features, labels, users=people).predict(features, users=people)) == len(labels)
        splits = list(RowsWithinUsers(3).split(features, labels, people))
        within = cross_val_score(one, features, labels, cv=splits, params={"users": people})
        strangers = list(GroupKFold(3).split(features, labels, people))
        between = cross_val_score(one, features, labels, cv=strangers, params={"users": people})
        assert within.mean() > between.mean() + 0.2
        search = GridSearchCV(one, {"rank": [1, None]}, cv=splits)
        search.fit(features, labels, users=people)
    assert search.best_estimator_.privacy_["fits_on_record"] == 1 + 3 + 3 + 2 * 3 + 1


def test_folds_within_users():
    people = np.repeat(np.arange(10), np.arange(1, 11))
    for seed in (None, 4):
        folds = [test for _, test in RowsWithinUsers(3, seed).split(people, groups=people)]
        np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(people)))
        assert all(set(people[fold]) >= set(range(2, 10)) for fold in folds)
    with pytest.raises(ValueError, match="groups is None"):
        next(RowsWithinUsers(2).split(people))
    with pytest.raises(ValueError, match="n_splits is 1"):
        RowsWithinUsers(1)


def test_fits_add_up_where_they_share_users(tmp_path):
    assert journal.entered(np.arange(100), 0.5) == (1, 0.5)
    assert journal.entered(np.arange(1000, 1100), 0.25) == (1, 0.25)
    assert journal.entered(np.arange(50, 150), 0.5) == (2, 1.0)
    assert os.stat(journal.place()).st_mode & 0o777 == 0o600


def test_a_journal_that_cannot_be_written_is_kept_by_the_process(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(journal.PLACE, str(tmp_path / "file" / "journal"))
    monkeypatch.setattr(journal, "_unwritten", [])
    with pytest.warns(UserWarning, match="cannot be written"):
        assert [journal.entered(np.arange(9), 0.5)[0] for _ in range(2)] == [1, 2]


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


def test_a_broken_line_of_the_journal_is_skipped():
    """It warns, and what is written after it stands on a line of its own."""
    journal.entered(np.arange(9), 0.5)
    with open(journal.place(), "a") as file:
        file.write('{"when": "2026-')
    with pytest.warns(UserWarning, match="has a broken line, which does not count"):
        assert journal.entered(np.arange(9), 0.5) == (2, 1.0)
    with pytest.warns(UserWarning, match="broken line"):
        assert journal.entered(np.arange(9), 0.5) == (3, 1.5)


def test_of_fits_at_once_each_sees_those_before_it():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: journal.entered(np.arange(200), 0.5), range(40)))
    assert sorted(found) == [(count, count / 2) for count in range(1, 41)]
    assert len(journal.place().read_text().splitlines()) == 40


@pytest.mark.filterwarnings(SEEDED)
@pytest.mark.parametrize(
    "kind",
    [
        lambda number: number,
        lambda number: np.array([f"{one:03d}" for one in number]),
        lambda number: np.array([one if one < 30 else f"{one:03d}" for one in number], object),
        lambda number: pd.Categorical(number, categories=range(59, -1, -1)),
    ],
    ids=["integers", "text", "both", "categorical"],
)
def test_ids_of_all_kinds_give_the_same_fit(kind):
    """Users stand in the order of their ids, whatever the order of the rows."""
    frame, labels = table(users=60)
    features, number = frame.drop(columns="person"), np.repeat(np.arange(60), 6)
    plain = model(users=None, random_state=0).fit(features, labels, number)
    fitted = model(users=None, random_state=0).fit(features, labels, kind(number))
    assert fitted.shared_.to_json() == plain.shared_.to_json()
    np.testing.assert_array_equal(fitted.predict(features, kind(number)), plain.predict(features, number))
    turn = np.argsort(np.tile(np.arange(6), 60), kind="stable")
    turned = model(users=None, random_state=0).fit(features.iloc[turn], labels[turn], kind(number[turn]))
    assert turned.shared_.to_json() == plain.shared_.to_json()
    splits = RowsWithinUsers(3).split(features, groups=kind(number))
    assert [len(test) for _, test in splits] == [120, 120, 120]


@pytest.mark.filterwarnings(SEEDED)
def test_an_array_is_predicted_by_a_model_of_a_table():
    frame, labels = table(users=60)
    features = frame.drop(columns="person")
    fitted = model(random_state=0).fit(frame, labels)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = fitted.predict(features.to_numpy(), users=frame.person)
    np.testing.assert_array_equal(found, fitted.predict(frame))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        fitted.predict(frame[frame.columns[::-1]])


def test_rows_that_are_people_take_no_users():
    frame, labels = table(users=20)
    with pytest.raises(ValueError, match="users is given; with unit='row'"):
        model(unit="row").fit(frame, labels)


@pytest.mark.filterwarnings(SEEDED)
def test_advice_has_intervals():
    advice = model(random_state=0, epsilon=8.0).fit(*table()).advice_
    assert set(advice) == {"answer", "text", "over_own_data", "over_shared_mean"}
    for gain in (advice["over_own_data"], advice["over_shared_mean"]):
        assert gain["low"] < gain["gain"] < gain["high"] < 1


def test_noise_of_the_system_is_drawn_fast():
    """As much as the second moments of 100 features take."""
    began = time.process_time()
    found = SystemNoise().integers(2.0**20, 100 * 101 // 2)
    assert time.process_time() - began < 1
    assert 0.9 < found.std() / 2.0**20 < 1.1
