"""The prose on the rates follows the tables: conclusions stand only where the verdicts carry them, numbers come from measures."""

from __future__ import annotations

import importlib
from functools import cache

import pandas as pd
import pytest

from privrep.evidence.catalogue import read_claims
from privrep.report.rehearsal import ListedMeasures, made_up_cells, made_up_rows
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.run.config import ROOT

CLAIMS = ROOT / "config" / "claims"

STUDIES = (
    "init_rates",
    "local_convergence",
    "risk",
    "sample_complexity",
    "centaur_rates",
    "tradeoff",
    "clip_choice",
    "client_lemmas",
    "heterogeneity",
    "power_method",
)
STRONG = {
    "init_rates": ["Lemma 4.6 is tight", "The norm matters"],
    "local_convergence": ["Lemma 4.4 is tight", "Inside the proof"],
    "risk": ["not $\\Delta$", "$k^4$, not $k^5$", "a slip", "costs nothing"],
    "sample_complexity": ["Assumption 4.1 is too weak"],
    "centaur_rates": [
        "Theorem 5.1 is tight",
        "Much of the bound is the clip",
        "A power of the condition number to spare",
        "Faster than proved",
        "Eq. (20) does not follow from the cap on the noise",
    ],
    "tradeoff": [
        "The exponents differ as shen2023 says",
        "Half of the exponent is the clip",
        "Users, too, improve by √d",
    ],
    "clip_choice": [],
    "client_lemmas": [
        "has much to spare",
        "lack a constant",
        "bounds the wrong norm",
        "lacks $\\mu^2$",
        "does better than Lemma C.5",
        "Appendix D holds",
        "needs a factor $n$",
        "No distribution meets",
    ],
    "heterogeneity": [
        "vanish at the optimum, those of a model do not",
        "Limits of Remark 3.1",
        "moves the optimum only where",
    ],
    "power_method": [
        "Lemma F.1 is tight in n and d",
        "which would be an error of $k^{5/2}$",
        "In both settings at least 99 % of the starts arrive",
        "Its proof does not quite",
        "Runs on the same data are not independent",
        "one factor $\\sqrt{k}$ is spare",
    ],
}
"""Conclusions that need a verdict."""
AGREEING = {"rate": "RATE-EXACT"}


class StandIn(Run):
    """A run whose tables are given."""

    def __init__(self, claims: pd.DataFrame, measures: Measures, cells: pd.DataFrame):
        object.__setattr__(self, "claims", claims)
        self.__dict__["tables"] = (measures, cells)

    def measures(self, study):
        return self.__dict__["tables"][0]

    def cells(self, study):
        return self.__dict__["tables"][1]


STATED = [
    claim
    for paper in ("jain2021", "shen2023")
    for claim in read_claims(CLAIMS / f"{paper}.yaml")
    if "quantities" in claim
]
SPECIAL = {
    ("A-L4.6-F", "Frobenius over spectral distance of the start, k = 8"): "PROOF-GAP",
    ("B-T5.1", "exponent of kappa at s_k = 1, one clip"): "LOOSE",
    ("B-T5.1", "exponent of kappa at s_1 = 1, one clip"): "LOOSE",
    ("B-C5.1", "exponent of kappa, planted start, T_g = 24 kappa^2"): "LOOSE",
    ("B-LC.1", "exponent of k"): "LOOSE",
    ("B-LC.1", "exponent of the start's distance"): "LOOSE",
    ("B-LC.2", "exponent of k"): "LOOSE",
    ("B-LC.2", "median over runs of delta_1 over sqrt(k ln n / mbar)"): "FALSE-AS-PRINTED",
    ("B-LC.3", "median over runs of delta_2 over sqrt(k ln n / mbar)"): "FALSE-AS-PRINTED",
    ("B-LC.4", "share of runs beyond the bound as printed, mu at most kappa"): "FALSE-AS-PRINTED",
    (
        "B-LC.4",
        "with the mean subtracted, one head in 100 up to 20 times as long: share of runs beyond",
    ): "FALSE-AS-PRINTED",
    ("B-LD.2", "share of runs in which 1 - delta_1 exceeds it, H as printed"): "FALSE-AS-PRINTED",
    (
        "B-T5.1 noise",
        "share of runs that leave the start, a quarter of the printed cap, k = 4, d >= k^3 ln n",
    ): "PROOF-GAP",
    ("B-A5.1", "least subgaussian norm of a variable of variance 1"): "FALSE-AS-PRINTED",
    ("B-LF.1", "noise: exponent of k, one clip"): "LOOSE",
    ("B-LF.3-proof", "successes that (99) leaves over T_0 / 2"): "PROOF-GAP",
    ("B-LG.1", "largest norm over the bound without k^1.5: exponent of k"): "LOOSE",
}
LIMITS = (
    "representation over full model, median norm at distance 0.7, k = 8",
    "representation over full model, median norm at the optimum, label noise 1",
    "full model: the same for symmetric heads, b = 0",
)
SPECIAL |= {
    (claim["id"], quantity["quantity"]): "LIMIT"
    for claim in STATED
    if claim["id"] == "B-CF.1-shared"
    for quantity in claim["quantities"]
}
SPECIAL |= {
    (claim["id"], quantity["quantity"]): "LIMIT" if quantity["quantity"] in LIMITS else "REPRODUCED"
    for claim in STATED
    if claim["study"] == "heterogeneity"
    for quantity in claim["quantities"]
    if quantity["rule"] != "rate"
}
"""What was found where no law says what to expect."""


def claims_with(verdict_of) -> pd.DataFrame:
    """All quantities of both papers as rows of claims.csv, with verdicts from a function of claim id and quantity."""
    rows = [
        {"id": claim["id"], "quantity": quantity["quantity"], "rule": quantity["rule"], "study": claim["study"]}
        | {"verdict": verdict_of(claim["id"], quantity)}
        for claim in STATED
        for quantity in claim["quantities"]
    ]
    return pd.DataFrame(rows)


def as_found(claim: str, quantity: dict) -> str:
    """Exponents whose law has another exponent than the bound: LOOSE below, VIOLATED above; all else agrees."""
    if (claim, quantity["quantity"]) in SPECIAL:
        return SPECIAL[claim, quantity["quantity"]]
    if quantity["rule"] != "rate":
        return "HOLDS"
    gap = quantity.get(
        "expected", {"B.4 norm n": 0}.get(quantity["measure"].removeprefix("exponent "), quantity["value"])
    )
    gap -= quantity["value"]
    if quantity["measure"] == "exponent samples k":
        return "LOOSE"
    if gap > 0.3 and claim == "A-4.1":
        return "PROOF-GAP"
    return "VIOLATED" if gap > 0.3 else "LOOSE" if gap < -0.3 else "RATE-EXACT"


@cache
def measures_with(study: str, value: float) -> Measures:
    """Every quantity that the study lists, with one value."""
    return ListedMeasures(pd.DataFrame(made_up_rows(study, value)).set_index("quantity"))


def findings(study: str, claims: pd.DataFrame, value: float) -> str:
    module = importlib.import_module(f"privrep.report.findings.{study}")
    return module.findings(StandIn(claims, measures_with(study, value), made_up_cells(study, value)))


@pytest.mark.parametrize("study", STUDIES)
def test_conclusions_follow_the_verdicts(study):
    """Present with the verdicts that carry them, absent when all is open."""
    carried = findings(study, claims_with(as_found), 1.5)
    open_ended = findings(study, claims_with(lambda *_: "INCONCLUSIVE"), 1.5)
    for words in STRONG[study]:
        assert words in carried, words
        assert words not in open_ended, words


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_come_from_the_measures(study):
    """Another measured value changes the text; no measured value leaves no exponent in it."""
    claims = claims_with(as_found)
    assert "1.23" in findings(study, claims, 1.2345) and "1.23" not in findings(study, claims, 1.5)
    assert "nan" not in findings(study, claims, float("nan"))


@pytest.mark.parametrize("study", STUDIES)
def test_formulas_are_balanced(study):
    """An odd number of dollar signs would swallow text."""
    for paragraph in findings(study, claims_with(as_found), 1.5).split("\n\n"):
        assert paragraph.count("$") % 2 == 0, paragraph


def test_a_size_that_differs_is_not_named():
    """Prose names the one value of a series; a sweep or no series at all is an error, not a wrong number."""
    cells = pd.DataFrame({"series": ["a", "a", "b"], "users": [100, 100, 7], "rank": [1, 2, 3]})
    assert sizes(cells, "a", "users") == ("100",)
    with pytest.raises(ValueError, match="can name only one"):
        sizes(cells, "a", "rank")
    with pytest.raises(ValueError, match="no series 'c'"):
        sizes(cells, "c", "users")
