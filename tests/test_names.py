"""Names of quantities: what a study's file lists is what it measures, and claims and fits name nothing else."""

from __future__ import annotations

import copy

import pytest
from workflow_helpers import ROOT

from privrep.evidence.catalogue import read_claims
from privrep.evidence.measured import check_names, exact
from privrep.evidence.quantities import check_claims, check_fits, checked_claims, expanded, measured
from privrep.run.config import read_config, read_study, study_names
from privrep.run.csv_tables import read_rows
from privrep.run.settings import ConfigError, MeasureSettings

SOURCE = "config/claims/jain2021.yaml"


@pytest.fixture(scope="module")
def studies() -> dict:
    config = read_config()
    return {name: read_study(config, name) for name in study_names()}


@pytest.fixture(scope="module")
def claims() -> list[dict]:
    return read_claims(ROOT / SOURCE)


def test_patterns_stand_for_alternatives_and_values_of_a_grid(studies):
    """In their order, without repetition; points that vary together count too."""
    risk = studies["risk"]
    assert expanded(risk, "{a|b|} c {d|e}") == ["a c d", "a c e", "b c d", "b c e", " c d", " c e"]
    assert expanded(risk, "rank {k.rank}") == [f"rank {value:g}" for value in risk.grids["k"]["rank"]]
    ranks = dict.fromkeys(point["rank"] for point in risk.grids["premise"]["together"])
    assert expanded(risk, "{premise.rank}") == [f"{rank:g}" for rank in ranks]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{kk.rank}", "'kk' is no grid; the nearest is 'k'"),
        ("{k.rnak}", "'rnak' is no axis of this grid; the nearest is 'rank'"),
    ],
)
def test_a_pattern_of_nothing_is_named(studies, pattern, words):
    with pytest.raises(ConfigError, match=r"^config/studies/risk\.yaml: quantities: ") as caught:
        expanded(studies["risk"], pattern)
    assert words in str(caught.value)


@pytest.mark.parametrize("study", study_names())
def test_names_are_listed_once(studies, study):
    names = measured(studies[study])
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize("study", study_names())
def test_the_default_run_has_just_the_listed_names(studies, study):
    """Where its tables are at hand; a run checks the same by itself."""
    path = ROOT / "results" / "default" / study / "measures.csv"
    if not path.exists():
        pytest.skip("no default run")
    assert {row["quantity"] for row in read_rows(path)} == set(measured(studies[study]))


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
    study = MeasureSettings(study="risk", quantities=("exponent n", "ratio"), complete=complete)
    if not words:
        return check_names([exact(name, 1.0) for name in found], study)
    with pytest.raises(ConfigError, match=r"^config/studies/risk\.yaml: quantities: ") as caught:
        check_names([exact(name, 1.0) for name in found], study)
    assert words in str(caught.value)


def test_all_claims_name_what_exists():
    assert set(checked_claims()) == {"jain2021", "shen2023"}


def changed(claims: list[dict], key: str, value: str) -> list[dict]:
    """The claims with another value of a key of a claim, of its first quantity, or of its whole."""
    found = copy.deepcopy(claims)
    for claim in found:
        for entry in (claim, *claim.get("quantities", ())[:1], claim.get("whole", {})):
            if key in entry:
                entry[key] = value
                return found
    raise AssertionError(f"no claim has {key}")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("study", "figur2", "'figur2' is no study; the nearest is 'figure2'"),
        ("figure", "jain2021/figure3", "'jain2021/figure3' is no figure; the nearest is 'jain2021/figure2'"),
        ("measure", "exponent privacy n dist3", "'exponent privacy n dist3' is not measured by study"),
        ("other_readings", "other reading", "not measured by study figure2; the nearest is 'other readings that pass'"),
    ],
)
def test_a_claim_that_names_nothing_is_named(studies, claims, key, value, words):
    """File, claim, key, value and the nearest right name."""
    with pytest.raises(ConfigError, match=rf"^{SOURCE}: [^:]+.*\.?{key}: ") as caught:
        check_claims(changed(claims, key, value), SOURCE, studies)
    assert words in str(caught.value)


def test_only_a_claim_that_says_so_is_not_tested(studies, claims):
    """A reason in its entry makes it NOT-TESTED; a measure that nobody makes does not."""
    untested = {"id": "X", "place": "here", "statement": "so", "not_tested": "needs data"}
    check_claims([*claims, untested], SOURCE, studies)


@pytest.mark.parametrize("key", ["axis", "response", "prediction"])
def test_a_fit_of_no_column_is_named(studies, key):
    """Before its cells are run."""
    study = studies["init_rates"]
    fit = study.fits["privacy n dist2"]
    broken = study.model_copy(update={"fits": {"privacy n dist2": fit.model_copy(update={key: "privacy_3"})}})
    check_fits(study)
    with pytest.raises(ConfigError) as caught:
        check_fits(broken)
    start = f"config/studies/init_rates.yaml: fits.privacy n dist2.{key}: 'privacy_3' is no column"
    assert str(caught.value).startswith(start)
    assert "the nearest is 'privacy_" in str(caught.value)
