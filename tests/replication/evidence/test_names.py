"""Names of quantities: what a study's file lists is what it measures, and claims and fits name nothing else."""

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
from replication.run.settings import MeasureSettings


@pytest.fixture(scope="module")
def studies() -> dict:
    config = read_config()
    return {name: read_study(config, name) for name in study_names()}


def test_patterns_stand_for_alternatives_and_values_of_a_grid(studies):
    """In their order, without repetition; points that vary together count too."""
    risk = studies["risk"]
    assert [*dict(choices(risk, "{a|b|} c {d|e}"))] == ["a c d", "a c e", "b c d", "b c e", " c d", " c e"]
    assert dict(choices(risk, "{a|b} c {d|e}"))["a c e"] == ("a", "e")
    assert [*dict(choices(risk, "rank {k.rank}"))] == [f"rank {value:g}" for value in risk.grid_of("k")["rank"]]
    ranks = dict.fromkeys(point["rank"] for point in risk.grid_of("premise")["together"])
    assert [*dict(choices(risk, "{premise.rank}"))] == [f"{rank:g}" for rank in ranks]


@pytest.mark.parametrize("study", study_names())
def test_names_are_listed_once(studies, study):
    names = measured(studies[study])
    assert len(names) == len(set(names)) > 0


def run_of(*names: str, complete: bool = True) -> None:
    """Check what a run has measured against what a study lists."""
    study = MeasureSettings(study="risk", figures=("a",), quantities=("exponent n", "ratio"), complete=complete)
    check_names([exact(name, 1.0) for name in names], study)


def listed_in(ids: list[str], order: list[str]) -> list[str]:
    """Claims of these ids in the order of a paper's file."""
    stated = [Claim(id=name, whose="paper", place="here", statement="so", not_tested="needs data") for name in ids]
    return [claim.id for claim in in_order(stated, order, "config/papers/x.yaml")]


def changed(studies: dict, study: str, key: str, value: str) -> list[Claim]:
    """The claims of a study with another value of a key of its first claim with quantities of its own, of the first of
    these, or of its whole."""
    claims = copy.deepcopy(studies[study].claims)
    own, key = key.startswith("own "), key.removeprefix("own ")
    claim = next(one for one in claims if "quantities" in one)
    places = claim, claim["quantities"][0], claim.get("whole", {})
    place = places[1] if own else next(one for one in places if key in one)
    place[key] = value
    return checked_claims_of(studies[study].model_copy(update={"claims": claims}), studies)


def fit_of(studies: dict, key: str) -> None:
    """Check a study with a fit of another column."""
    fits = {"privacy n dist2": studies["init_rates"].fits["privacy n dist2"].model_copy(update={key: "privacy_3"})}
    check_columns(studies["init_rates"].model_copy(update={"fits": fits}))


FIGURE2, INIT, RISK = (f"src/replication/studies/{name}/settings.yaml: " for name in ("figure2", "init_rates", "risk"))
FIGURE2 += "claims.A-F2"
OF_CLAIMS, OF_FIT = "config/papers/x.yaml: claims: ", f"{INIT}fits.privacy n dist2."
SLIPS = [
    (lambda s: choices(s["risk"], "{kk.rank}"), RISK + "{", "'kk' is no series; the nearest is 'k'"),
    (lambda s: choices(s["risk"], "{k.rnak}"), RISK + "{", "'rnak' is no axis of its grid, which has 'rank'"),
    (lambda s: run_of("exponent n"), RISK + "quantities: ", "'ratio' is listed and not measured"),
    (lambda s: run_of("ratio", "ratoi", complete=False), RISK, "'ratoi' is measured and not listed; the nearest is 'r"),
    (lambda s: changed(s, "figure2", "figure", "jain2021/figure3"), FIGURE2, "figure3' is no figure; the nearest is"),
    (lambda s: changed(s, "figure2", "own figure", "jain2021/figure3"), FIGURE2, "figure3' is no figure; the nearest"),
    (lambda s: changed(s, "figure2", "other_readings", "other reading"), FIGURE2, "is 'other readings that pass'"),
    (lambda s: changed(s, "figure2", "rule", "at_mots"), FIGURE2, "'at_mots' must be one of rate, at_most, at_least"),
    (lambda s: changed(s, "figure2", "value", "high"), FIGURE2, "'high' must be a number for this rule"),
    (lambda s: changed(s, "init_rates", "measured", "exponent dist3"), INIT, "dist3' is not measured by study"),
    (lambda s: listed_in(["A", "B"], ["B"]), OF_CLAIMS, "'A' is missing; a study decides it"),
    (lambda s: listed_in(["A", "A"], ["A"]), OF_CLAIMS, "two claims have the id 'A'"),
    (lambda s: listed_in(["A-1"], ["A-1", "A-2"]), OF_CLAIMS, "'A-2' is no claim; the nearest is 'A-1'"),
    *(
        (lambda s, key=key: fit_of(s, key), f"{OF_FIT}{key}: 'privacy_3' is no column", "the nearest is 'privacy_")
        for key in ("axis", "response", "prediction")
    ),
]


@pytest.mark.parametrize(("call", "start", "words"), SLIPS)
def test_a_name_of_nothing_is_named(studies, call, start, words):
    """File, place, value and the nearest right name, in one line; what is right is taken."""
    with pytest.raises(ConfigError) as caught:
        call(studies)
    assert str(caught.value).startswith(start) and words in str(caught.value) and "\n" not in str(caught.value)
    check_columns(studies["init_rates"])
    run_of("exponent n", "ratio")
    run_of("exponent n", complete=False)
    assert listed_in(["A-1", "A-2"], ["A-2", "A-1"]) == ["A-2", "A-1"]


def test_a_claim_that_no_paper_lists_is_named(monkeypatch):
    papers = read_papers()
    left = papers["shen2023"].model_copy(update={"claims": papers["shen2023"].claims[1:]})
    monkeypatch.setattr("replication.evidence.quantities.read_papers", lambda root: papers | {"shen2023": left})
    with pytest.raises(ConfigError, match=f"claims: {papers['shen2023'].claims[0]!r} is in no list of config/papers"):
        checked_claims()
