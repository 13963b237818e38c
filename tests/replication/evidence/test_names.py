"""Names of quantities: what a study's file lists is what it measures, and claims and fits name nothing else."""

from __future__ import annotations

import copy

import pytest

from replication.evidence.claims import Claim
from replication.evidence.measured import check_names, exact
from replication.evidence.quantities import (
    check_columns,
    checked_claims,
    checked_claims_of,
    choices,
    in_order,
    measured,
)
from replication.run.config import read_config, read_papers, read_study, study_names
from replication.run.models import ConfigError
from replication.run.settings import MeasureSettings, Study


@pytest.fixture(scope="module")
def studies() -> dict:
    config = read_config()
    return {name: read_study(config, name) for name in study_names()}


def test_patterns_stand_for_alternatives_and_values_of_a_grid(studies):
    """In their order, without repetition; points that vary together count too."""
    risk = studies["risk"]
    assert [*dict(choices(risk, "{a|b|} c {d|e}"))] == ["a c d", "a c e", "b c d", "b c e", " c d", " c e"]
    assert dict(choices(risk, "{a|b} c {d|e}"))["a c e"] == ("a", "e")
    assert [*dict(choices(risk, "rank {k.rank}"))] == [f"rank {value:g}" for value in risk.grids["k"]["rank"]]
    ranks = dict.fromkeys(point["rank"] for point in risk.grids["premise"]["together"])
    assert [*dict(choices(risk, "{premise.rank}"))] == [f"{rank:g}" for rank in ranks]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{kk.rank}", "'kk' is no grid; the nearest is 'k'"),
        ("{k.rnak}", "'rnak' is no axis of this grid; the nearest is 'rank'"),
    ],
)
def test_a_pattern_of_nothing_is_named(studies, pattern, words):
    with pytest.raises(ConfigError, match=r"^src/replication/studies/risk/settings\.yaml: \{") as caught:
        choices(studies["risk"], pattern)
    assert words in str(caught.value)


@pytest.mark.parametrize("study", study_names())
def test_names_are_listed_once(studies, study):
    names = measured(studies[study])
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize(
    ("found", "complete", "words"),
    [
        (["exponent n", "ratio"], True, ""),
        (["exponent n"], False, ""),
        (["exponent n"], True, "'ratio' is listed and not measured"),
        (["exponent n", "ratio", "ratoi"], False, "'ratoi' is measured and not listed; the nearest is 'ratio'"),
    ],
)
def test_a_run_measures_what_is_listed(found, complete, words):
    """Nothing else, and all of it unless the scale overrides the study."""
    study = MeasureSettings(study="risk", figures=("a",), quantities=("exponent n", "ratio"), complete=complete)
    if not words:
        return check_names([exact(name, 1.0) for name in found], study)
    with pytest.raises(ConfigError, match=r"^src/replication/studies/risk/settings\.yaml: quantities: ") as caught:
        check_names([exact(name, 1.0) for name in found], study)
    assert words in str(caught.value)


def changed(study: Study, key: str, value: str) -> Study:
    """A study with another value of a key of its first claim, of that one's first quantity, or of its whole."""
    claims = copy.deepcopy(study.claims)
    for entry in (claims[0], claims[0]["quantities"][0], claims[0].get("whole", {})):
        if key in entry:
            entry[key] = value
            return study.model_copy(update={"claims": claims})
    raise AssertionError(f"no claim has {key}")


@pytest.mark.parametrize(
    ("study", "key", "value", "words"),
    [
        ("figure2", "figure", "jain2021/figure3", "'jain2021/figure3' is no figure; the nearest is 'jain2021/figure2'"),
        ("init_rates", "measured", "exponent privacy n dist3", "'exponent privacy n dist3' is not measured by study"),
        ("figure2", "other_readings", "other reading", "figure2; the nearest is 'other readings that pass'"),
        ("figure2", "rule", "at_mots", "'at_mots' must be one of rate, at_most, at_least, equals"),
        ("figure2", "value", "high", "'high' must be a number for this rule"),
    ],
)
def test_a_claim_that_names_nothing_is_named(studies, study, key, value, words):
    """File, claim, key, value and the nearest right name."""
    with pytest.raises(ConfigError) as caught:
        checked_claims_of(changed(studies[study], key, value), studies)
    start = f"src/replication/studies/{study}/settings.yaml: claims.{studies[study].claims[0]['id']}"
    assert str(caught.value).startswith(start) and words in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "order", "words"),
    [
        (["A", "B"], ["B"], "'A' is missing; a study decides it"),
        (["A", "A"], ["A"], "two claims have the id 'A'"),
        (["A-1"], ["A-1", "A-2"], "'A-2' is no claim; the nearest is 'A-1'"),
    ],
)
def test_a_paper_lists_each_claim_once(ids, order, words):
    """Its file gives the order."""
    stated = [Claim(id=name, whose="paper", place="here", statement="so", not_tested="needs data") for name in ids]
    with pytest.raises(ConfigError, match=r"^config/papers/x\.yaml: claims: ") as caught:
        in_order(stated, order, "config/papers/x.yaml")
    assert words in str(caught.value)
    assert [claim.id for claim in in_order(stated[:1], ids[:1], "x")] == ids[:1]


def test_a_claim_that_no_paper_lists_is_named(monkeypatch):
    papers = read_papers()
    left = papers["shen2023"].model_copy(update={"claims": papers["shen2023"].claims[1:]})
    monkeypatch.setattr("replication.evidence.quantities.read_papers", lambda root: papers | {"shen2023": left})
    with pytest.raises(ConfigError, match=f"claims: {papers['shen2023'].claims[0]!r} is in no list of config/papers"):
        checked_claims()


@pytest.mark.parametrize("key", ["axis", "response", "prediction"])
def test_a_fit_of_no_column_is_named(studies, key):
    """Before its cells are run."""
    study = studies["init_rates"]
    fit = study.fits["privacy n dist2"]
    broken = study.model_copy(update={"fits": {"privacy n dist2": fit.model_copy(update={key: "privacy_3"})}})
    check_columns(study)
    with pytest.raises(ConfigError) as caught:
        check_columns(broken)
    start = f"src/replication/studies/init_rates/settings.yaml: fits.privacy n dist2.{key}: 'privacy_3' is no column"
    assert str(caught.value).startswith(start)
    assert "the nearest is 'privacy_" in str(caught.value)
