"""The chapters follow the tables: conclusions stand only where the verdicts carry them, numbers come from measures,
and nothing that a run has is left off the page."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from difflib import unified_diff
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from number_places import LISTED, TAG, places, places_in
from stub_runs import BEYOND, BROKEN, CLAIMS, SPARE, ChosenRun, all_open, as_found, own

from privrep.evidence.cells import sizes_of
from privrep.report import chapters, spelling
from privrep.report.captions import PLACEHOLDER
from privrep.report.chapters import (
    LEAD_END,
    OPENING_FIGURE,
    TAGS,
    TEXTS,
    Words,
    chapter,
    chapter_file,
    filled,
    page_text,
    text,
)
from privrep.report.run_tables import Run, listed
from privrep.report.sizes import size
from privrep.report.stub_run import NUMBERS, facts_of, stub_cells
from privrep.run.config import ROOT, study_names
from privrep.run.settings import ConfigError

SOURCE = ROOT / "src" / "privrep"
STUDIES = study_names()
STRONG = {
    "accounting": [
        "All hold.",
        "The printed chain holds",
        "The guarantees stand",
        "explains every printed digit",
        "is explained digit by digit",
    ],
    "centaur_rates": [
        "Theorem 5.1 is tight",
        "Twice the users bear twice the noise",
        "Much of the bound is the clip",
        "Let the clip grow no faster",
        "Loose in the condition number",
        "The noise of the rounds adds in squares",
        "Faster than proved",
        "Eq. (20) does not follow from the cap on the noise",
        "Keep $\\sigma_g$ to the order of",
        "Eq. (18) loses a factor $k$",
    ],
    "client_lemmas": [
        "The clip of Lemma C.1 is loose",
        "are for samples of norm one",
        "before the bounds of Lemmas C.2 and C.3",
        "bounds the wrong norm",
        "Subtract the mean in Lemma C.4",
        "and let its constant depend on",
        "As printed $\\delta_3$ has no $\\mu$",
        "does better than Lemma C.5",
        "Rounds contract faster than proved",
        "a fixed clip gets looser round by round",
        "for its probability alone",
        "add, they do not multiply",
        "Appendix D holds",
        "the conclusions do not need it",
        "needs a factor $n$",
        "No distribution meets",
    ],
    "exponential": [
        "Leave out the $n$ of the box",
        "the largest that is private",
        "keeps $\\varepsilon$ in its limit only",
        "The box of Algorithm 4 is not private",
        "so that no fixed $\\varepsilon$ holds",
        "the rest is given away",
        "A chain that is stopped can spend more than its limit",
        "So a finite chain is private approximately",
    ],
    "exponential_risk": [
        "the extra $\\sqrt d$ is the clip's",
        "Clip at $\\sqrt{k \\ln(nm)}$",
        "The mechanism is for budgets without",
        "The $d^{3/2}$ of the information-theoretic bound comes from the clip",
        "it leaves privacy untouched",
        "the mechanism as printed returns a subspace at random",
        "the mechanism beats alternating minimisation",
        "heads have a fast rate",
        "Their first terms cross where it says",
    ],
    "fedrep": [
        "Prefer it to alternating minimisation",
        "need far less budget",
        "the public code's rounds spend a part of their budget",
        "It beats alternating minimisation on its own problem",
        "Both are behind others",
        "The factor $dk$ is there",
        "The rounds' noise is more than is needed",
        "these are the second-hand bound's",
    ],
    "figure2": ["The published shape comes out", "it improves, and beats both baselines"],
    "guide": [
        "Choose by the laws before any data are touched",
        "That is near enough to plan with",
        "The laws rank the published methods, too.",
    ],
    "heterogeneity": [
        "share a representation.",
        "vanish at the optimum, those of a model do not",
        "Limits of Remark 3.1",
        "moves the optimum only where",
        "pulls to one side cancel",
    ],
    "init_rates": [
        "Lemma 4.6 is tight",
        "The norm matters",
        "a gap in the proof",
        "For Lemma 4.4 take",
        "are those of Lemma B.1",
    ],
    "local_convergence": [
        "Lemma 4.4 is tight",
        "belongs to the algorithm",
        "Rounds are not free",
        "Take few rounds",
        "Inside the proof",
        "Lemma B.4 has no $m$",
        "Lemma B.6 has $m^{-1/2}$",
        "the norm itself does not",
        "faster than the proof of Lemma B.3 has it",
    ],
    "noisy_power_method": [
        "Count iterations as the theorem does",
        "The constant $C = 1$ is enough",
        "Theorem G.1 holds with $C = 1$",
    ],
    "power_method": [
        ": the lemma is tight in $d$",
        "Lemma F.1 is tight in $d$",
        "which would be an error of $k^{5/2}$",
        "Starts succeed as often as the lemma says",
        "Lemma G.1 is loose",
        "it is loose by $\\sqrt{k}$",
    ],
    "risk": [
        "not $\\Delta$",
        "the first is a slip",
        "$k^4$, not $k^5$",
        "lose a factor $k$",
        "costs nothing",
        "Twice the users quarter",
    ],
    "sample_complexity": [
        "Assumption 4.1 is too weak for the proof",
        "stay below $1/64$",
        "times what Assumption 4.1 asks for",
        "fewer than Remark 2 has",
    ],
    "selection": [
        "Agreement of runs says nothing of the sampling error",
        "Runs on the same data are not independent",
        "The lemma holds, its proof does not quite",
        "selection fails no more often than the lemma says",
        "mends it (E48)",
    ],
    "tradeoff": [
        "The exponents differ as shen2023 says**.",
        "Take shen2023's method",
        "Half of shen2023's exponent is the clip",
        "Users, too, improve by $\\sqrt d$",
    ],
    "unit_figure2": [
        "Take unit steps wherever users share a subspace",
        "take the full prior",
        "Privacy is free on Figure 2's problem",
        "A prior beats a subspace where heads decay",
    ],
    "unit_map": ["Take unit steps; features may be of any law", "Nowhere behind"],
    "unit_rates": [
        "The recursion predicts the users needed",
        "That is more than the none",
        "which is known beforehand",
        "there is no price of the heads' length",
        "The rates are those of the recursion",
        "They grow in proportion to the dimension",
        "No such threshold is seen",
    ],
}
"""Conclusions of a chapter that need a verdict."""
ON_THE_PAGE = {
    "opening": [
        "Check privacy before use, in both papers.",
        ": a slip that its proof does not share",
        "The powers of the dimension are as claimed, with clips that cut nothing.",
        "One power of Theorem 4.2 is a slip, one is loose.",
        "A shared subspace**: unit steps",
        "many dimensions**: shen2023.",
        ": shen2023, as measured; its theory has none",
        "choice among releases**: the exponential mechanism",
    ]
}
"""The same for the texts that belong to no study."""
SMALL = "This run is too small to say what it found."


def lead(written: str) -> str:
    """What a chapter opens with."""
    found = re.findall(r'<div class="lead">\n\n(.*?)\n\n</div>', written, flags=re.DOTALL)
    assert len(found) == 1
    return found[0]


def asks_for_verdicts(path: Path) -> bool:
    return "judged(" in path.read_text()


CONCLUDING = STRONG | ON_THE_PAGE
TEXT_NAMES = [*STUDIES, *sorted(path.stem for path in TEXTS.glob("*.md"))]
"""All that is written: chapters of studies, and texts on the whole run."""


@cache
def as_written(name: str, number: float, verdict_of=as_found, denied: tuple = ()) -> tuple[str, frozenset]:
    """A text at one number and with verdicts, and what it asked of them."""
    run = ChosenRun(number, verdict_of, denied=denied)
    return chapter(name, run) if name in STUDIES else page_text(name, run), frozenset(run.asked)


def ways(name: str) -> dict[str, str]:
    """A text with the verdicts as found and with none, with numbers on both sides of 1 and without any."""
    return {
        f"{verdict_of.__name__} at {number}": as_written(name, number, verdict_of)[0]
        for verdict_of, number in itertools.product((as_found, all_open), NUMBERS)
    }


# Conclusions


@pytest.mark.parametrize("name", CONCLUDING)
def test_conclusions_follow_the_verdicts(name):
    """Present with the verdicts that carry them, absent when all is open, whatever the numbers are."""
    found = [as_written(name, number)[0] for number in NUMBERS]
    unsure = [as_written(name, number, all_open)[0] for number in NUMBERS]
    for words in CONCLUDING[name]:
        assert any(words in written for written in found), words
        assert not any(words in written for written in unsure), words


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_each_verdict_that_is_asked_for_carries_a_conclusion(name):
    """Without any one of them at least one conclusion falls: a condition that carries nothing would be a leftover,
    and one whose conclusion is not listed above could be lost."""
    for asked in set().union(*(as_written(name, number)[1] for number in NUMBERS)):
        assert any(
            words in as_written(name, number)[0] and words not in as_written(name, number, denied=(asked,))[0]
            for number, words in itertools.product(NUMBERS, CONCLUDING.get(name, ()))
        ), asked


def test_every_text_that_asks_for_verdicts_is_looked_at():
    """A new chapter with conclusions needs its list."""
    asking = {study for study in STUDIES if asks_for_verdicts(chapter_file(study))}
    assert asking == set(STRONG)
    assert {path.stem for path in TEXTS.glob("*.md") if asks_for_verdicts(path)} == set(ON_THE_PAGE)


def test_verdicts_as_found_name_quantities():
    """An entry whose claim has gone would decide nothing."""
    places = {(claim.id, quantity.quantity) for claim in CLAIMS for quantity in claim.quantities}
    assert places >= BROKEN | SPARE | BEYOND


# Numbers, formulas and sentences


def test_each_place_has_the_number_that_is_listed_for_it():
    """Two names that have changed places, or the words beside them, are no longer those of the list."""
    changed = list(unified_diff(LISTED.read_text().splitlines(), places(), "listed", "found", n=0, lineterm=""))
    shown = "\n".join(changed[:30])
    assert not changed, f"{shown}\nDo the words speak of what is put in? If so: python tests/number_places.py"


def test_places_of_a_template():
    template = (
        '{% set c = law("c").least %}With {# why #}$k$ as {{ e("k") }}{% if c > 1 %},{% endif %} $d$: '
        '{{ q("d")\n}}{{ sep(loop) }}.'
    )
    assert places_in(template, TAG) == ['| set c = law("c").least', 'With $k$ as | e("k")', ', $d$: | q("d")']
    assert places_in("n = {a.users}, k: {b.rank}", PLACEHOLDER) == ["n = | a.users", ", k: | b.rank"]


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_come_from_the_measures(study):
    """A name gives the value and the ends of its own quantity.
    Without any measure there is no number that was to be one, and no exponent."""
    words = Words(ChosenRun(values={name: own(name) for name in listed(study)}), study)
    for name in listed(study):
        assert (words.value(name), words.low(name), words.high(name)) == own(name)
        for found, spelled in ((words.q(name), spelling.interval(*own(name))), (words.n(name), f"{own(name)[0]:.2f}")):
            assert re.sub("<[^>]+>", "", found) == re.sub("<[^>]+>", "", spelled)
        assert not name.startswith("exponent ") or words.e(name.removeprefix("exponent ")) == words.q(name)
    for verdict_of in (as_found, all_open):
        bare = as_written(study, math.nan, verdict_of)[0]
        assert 'class="q"' not in bare and spelling.number(math.nan) not in bare


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_formulas_and_tags_are_closed(name):
    """An odd number of dollar signs would swallow text, a tag that is left would be read, and so would a missing
    number."""
    for way, found in ways(name).items():
        for paragraph in found.split("\n\n"):
            assert paragraph.count("$") % 2 == 0, (way, paragraph)
        assert not re.search(r"\{\{|\{%|%\}|\{#|\b(?:nan|NaN|inf)\b|\bNone\b(?! of)", found), way
        assert found.count("**") % 2 == 0, way
        for tag in ("details", "div"):
            assert found.count(f"<{tag}") == found.count(f"</{tag}>"), way


BROKEN_OFF = re.compile(r"(?:^|\s)[.,;:](?!\d)|\.\.|,,|[,;:]\.|\(\)|[a-z]  [a-z]")
"""A mark after nothing, two marks, a bracket around nothing, two blanks."""


def sentences(found: str) -> list[str]:
    """The paragraphs of a text without tags, with x for formulas and code."""
    plain = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "x", found, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", plain).split("\n\n")


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_sentences_are_whole(name):
    """A condition that leaves out its words leaves no bracket open and no mark alone, also where a run lacks some of
    its numbers."""
    for found in (*ways(name).values(), *in_part(name)):
        for paragraph in sentences(found):
            assert paragraph.count("(") == paragraph.count(")"), paragraph
            assert not BROKEN_OFF.search(paragraph), paragraph


def kind(quantity: str) -> str:
    """What quantities have in common that differ by a number at their end."""
    return re.sub(r"[\d.]+$", "", quantity)


@cache
def in_part(name: str) -> list[str]:
    """A text on runs that lack some of their numbers.
    Of any two kinds of quantities each is missing once where the other is not."""
    quantities = [quantity for study in STUDIES if name in (study, *ON_THE_PAGE) for quantity in listed(study)]
    places = {one: place for place, one in enumerate(dict.fromkeys(map(kind, quantities)))}
    found = []
    for digit, left in itertools.product(range(len(places).bit_length()), (0, 1)):
        gone = [quantity for quantity in quantities if places[kind(quantity)] >> digit & 1 == left]
        run = ChosenRun(0.5, values=dict.fromkeys(gone, math.nan))
        found.append(chapter(name, run) if name in STUDIES else page_text(name, run))
    return found


# Words that follow numbers


SURE, UNSURE, WORSE = (0.5, 0.4, 0.6), (0.9, 0.7, 1.2), (1.5, 1.3, 1.7)
"""A ratio with the ends of its interval: significantly below 1, on both sides of it, and significantly above."""
CURVE = {f"deciding reading at {epsilon}": 0.5 for epsilon in (1, 2, 3, 5, 7, 10)}
SINGLE = {f"single at {epsilon}": 2.0 for epsilon in (1, 2, 3, 5, 7, 10)}
PROMISED = {
    f"{claim} {what}": 0.8
    for claim in ("A-L4.3", "A-L4.5", "A-T4.2(i)")
    for what in ("worst ratio", "exact epsilon at 1")
}
PROMISED |= {f"{claim} limit": 2.0 for claim in ("A-L4.3", "A-L4.5", "A-T4.2(i)")}
COLLAPSE = {
    f"collapse {end} ratio {where}": 1.1 for end in ("smallest", "largest") for where in ("below", "around", "beyond")
}
PRINTED = next(name for name in listed("tradeoff") if name.startswith("A over B, printed at d ="))
DEFINITE = "positive definite at 1, epochs {}".format


@pytest.mark.parametrize(
    ("study", "words", "given", "otherwise"),
    [
        # Comparable on a linear axis, on both, or on none
        (
            "figure2",
            "Comparable on a linear axis, not on a logarithmic one",
            {"i": 0.01, "over nonprivate at 5": 400},
            {"i": 0.5},
        ),
        ("figure2", "the curves coincide", {"i": 0.01}, {"i": 0.5}),
        ("figure2", "the gap is visible", {"i": 0.5}, {"i": 0.01}),
        ("figure2", "Neither axis supports", {"i": 0.5, "over nonprivate at 5": 400}, {"i": 0.01}),
        ("figure2", "holds on either axis", {"over nonprivate at 5": 1.1}, {"over nonprivate at 5": 400}),
        # The baselines can go either way
        ("figure2", "Own data does better than a single model", {"own": 1.4}, {"own": 1.6}),
        ("figure2", "A single model does better than own data", {"own": 1.6}, {"own": 1.4}),
        ("figure2", "no better than predicting zero", SINGLE | {"zero": 2.0}, SINGLE | {"zero": 3.0}),
        ("figure2", "Predicting zero has", {"zero": 3.0}, {"zero": 1.5}),
        ("figure2", "below both at every", CURVE, CURVE | {"deciding reading at 1": 1.6}),
        (
            "figure2",
            "below both at $\\varepsilon$ = 2, 3, 5, 7 and 10 alone",
            CURVE | {"deciding reading at 1": 1.6},
            CURVE,
        ),
        ("figure2", "beats neither at any", {}, CURVE),
        # Epochs lose the minimum, or do not
        ("figure2", "More epochs lose the minimum", {DEFINITE(1): 1.0, DEFINITE(10): 0.0}, {DEFINITE(1): 1.5}),
        ("figure2", "minimum is kept at every number", {DEFINITE(e): 1.0 for e in (1, 2, 5, 10)}, {}),
        ("figure2", "More epochs do not make it rarer", {DEFINITE(1): 0.4, DEFINITE(10): 0.4}, {DEFINITE(1): 1.6}),
        ("figure2", "lost at every number", {DEFINITE(1): 0.0, DEFINITE(10): 0.0}, {DEFINITE(1): 0.0}),
        # Advice
        ("figure2", "stay with `solve` at $\\varepsilon$ = 1, 2, 3, 5 and 10", {}, {"ridge over solve at 1": UNSURE}),
        ("figure2", "take `ridge` at $\\varepsilon$ = 2, where the MSE is", {"ridge over solve at 2": SURE}, {}),
        (
            "figure2",
            "at $\\varepsilon$ = 3 neither rule is significantly better",
            {"eigclip over solve at 3": UNSURE},
            {},
        ),
        (
            "figure2",
            "the noisy matrix's eigenvalues (`ridge`)",
            {"ridge over solve at 1": SURE},
            {"ridge over solve at 1": UNSURE},
        ),
        ("figure2", "the noisy matrix's eigenvalues (`eigclip`)", {"eigclip over solve at 1": SURE}, {}),
        ("figure2", "`solve` does not get as low as `eigclip`", {"eigclip at 1": 0.1}, {}),
        (
            "figure2",
            "`solve` needs $\\varepsilon = 5$ for what `ridge` has",
            {"ridge at 1": 1.2, "deciding reading at 5": 1.1},
            {},
        ),
        (
            "figure2",
            "the MSE of `ridge` grows from $\\varepsilon = 2$ to $\\varepsilon = 3$.",
            {"ridge at 2": SURE, "ridge at 1": SURE},
            {},
        ),
        # Statements on privacy can be exceeded
        ("accounting", "none is exceeded", PROMISED, {"A-L4.3 worst ratio": 1.3}),
        ("accounting", "Lemma 4.3 can be exceeded", PROMISED | {"A-L4.3 worst ratio": 1.3}, PROMISED),
        ("accounting", "the printed range is smaller than it need be", PROMISED, PROMISED | {"A-L4.5 limit": 0.7}),
        ("accounting", "Lemma 4.5 ends before the printed range does", PROMISED | {"A-L4.5 limit": 0.7}, PROMISED),
        ("accounting", "at least 20\u00a0% of the claimed", PROMISED, PROMISED | {"A-T4.2(i) exact epsilon at 1": 1.2}),
        ("accounting", "Theorem 4.2 (i) promises more", PROMISED | {"A-T4.2(i) exact epsilon at 1": 1.2}, PROMISED),
        ("accounting", "Exact accounting allows less noise", PROMISED, PROMISED | {"A-L4.3 exact epsilon at 1": 1.2}),
        ("accounting", "a joint release costs 50\u00a0% of what", {"joint change": 4.0}, {"joint change": 8.0}),
        ("accounting", "The bound is attained", {"joint change": 8.0}, {"joint change": 4.0}),
        # Limits of laws and proofs
        ("init_rates", "All settings follow one curve", COLLAPSE, {}),
        (
            "init_rates",
            "The settings do not follow one curve",
            COLLAPSE | {"collapse smallest ratio around": 0.5},
            COLLAPSE,
        ),
        ("init_rates", "Stay well above", COLLAPSE, {}),
        ("init_rates", "**Lemma B.2** is broken", {"davis-kahan printed": 1.1}, {"davis-kahan printed": 0.9}),
        ("local_convergence", "The start may be far away", {}, {"basin with noise": 0.03}),
        ("local_convergence", "Starts up to a sine of", {}, {"basin without noise": 0.03}),
        ("local_convergence", "A limit: $x = 1$", {"definite beyond": 0.1}, {}),
        (
            "local_convergence",
            "the printed minimiser does not exist",
            {"definite beyond": 0.9},
            {"definite beyond": 1.0},
        ),
        (
            "local_convergence",
            "raising the small eigenvalues makes the error 3 times less",
            {"beyond, eigclip": 0.5},
            {},
        ),
        (
            "centaur_rates",
            "Fresh samples are not needed",
            {"distF of fresh over reused samples": UNSURE},
            {"distF of fresh over reused samples": WORSE},
        ),
        (
            "centaur_rates",
            "and no such guarantee",
            {"epsilon, realised, p = 0.1": 1.6},
            {"epsilon, realised, p = 0.1": 1.5},
        ),
        ("client_lemmas", "is at least 2 times too wide", {"C.1, largest ratio": 0.5}, {}),
        ("client_lemmas", "every run misses it by a factor", {}, {"Remark C.1 least ratio, other runs": 0.9}),
        # Between the papers
        ("tradeoff", "the lead is lost", {PRINTED: SURE}, {PRINTED: UNSURE}),
        ("tradeoff", "The factor is a property of the clips", {"least factor over clips at d = 80": SURE}, {}),
        (
            "tradeoff",
            "cost rounds, and error",
            {"exponent kappa distF": WORSE},
            {"exponent kappa distF": (0.1, -0.1, 0.2)},
        ),
        ("tradeoff", "cost rounds, hardly error", {"exponent kappa distF": (0.1, -0.1, 0.2)}, {}),
        (
            "clip_choice",
            "the comparison uses a setting with 2 times the least",
            {"chosen over best, B": 2.0},
            {"chosen over best, B": 1.0},
        ),
        ("heterogeneity", "No one rule for the clip suits all", {"centaur, small bound over rule": SURE}, {}),
        (
            "heterogeneity",
            "Heterogeneity is what DP-FedAvg suffers from",
            {"loss of dp_fedavg by heterogeneity": WORSE},
            {"loss of dp_fedavg by heterogeneity": UNSURE},
        ),
        ("heterogeneity", "DP-FedAvg is slow more than wrong", {"dp_fedavg over own data, more rounds": 0.9}, {}),
        ("opening", "the lead is lost", {PRINTED: SURE}, {PRINTED: UNSURE}),
        (
            "opening",
            "do not fit each user alone",
            {"general_centaur over own data": SURE},
            {"general_centaur over own data": UNSURE},
        ),
    ],
)
def test_words_follow_numbers(study, words, given, otherwise):
    """A sentence that judges stands with the numbers that carry it, and goes where they do not."""
    assert words in given_numbers(study, *given.items())
    assert words not in given_numbers(study, *otherwise.items())


@cache
def given_numbers(name: str, *values: tuple) -> str:
    """A text on a run in which some quantities have values of their own."""
    run = ChosenRun(1.5, values=dict(values))
    return text(name, run) if name in STUDIES else page_text(name, run)


def test_no_advice_without_intervals():
    """Too few repetitions say nothing of a rule; nor does a run without the two rules."""
    rules = [name for name in listed("figure2") if name.startswith(("ridge", "eigclip"))]
    ends = dict.fromkeys((name for name in rules if "over" in name), (0.5, math.nan, math.nan))
    cells = stub_cells("figure2", 1.5)
    printed = cells[cells["fallback"].fillna("solve") == "solve"]
    for run in (ChosenRun(values=ends), ChosenRun(values=dict.fromkeys(rules, math.nan), table=printed)):
        found = text("figure2", run)
        assert "In practice" not in found and "eigenvalues (`" not in found and "Why more epochs can hurt" in found


# The tables behind the chapter of Figure 2


def scored(**scores: Callable) -> ChosenRun:
    """A run of figure2 in which all cells score 1 but those of some series (blanks as _), which score what a function
    of epsilon, epochs and seed says."""
    cells = stub_cells("figure2", 1.0).copy()
    for series, score in scores.items():
        rows = cells["series"] == series.replace("_", "-")
        assert rows.any()
        cells.loc[rows, "mse"] = [score(*row) for row in cells.loc[rows, ["epsilon", "epochs", "seed"]].to_numpy()]
    return ChosenRun(1.0, table=cells)


def table_in(written: str, caption: str) -> str:
    """The table of a chapter whose caption begins so."""
    return re.search(rf"<table[^>]*><caption><div>{caption}.*?</table>", written)[0]


def test_epochs_are_chosen_by_the_mean():
    """At each epsilon for the plot, and one number for all."""
    run = scored(
        random_s2_a=lambda epsilon, epochs, seed: (
            2 if epochs == (5 if epsilon > 3 else 1) else 3 + (epochs == 5) + seed % 2
        )
    )
    assert dict(run.fact("figure2", "chosen epochs")) == {1: 1, 2: 1, 3: 1, 5: 5, 7: 5, 10: 5}
    assert run.fact("figure2", "fixed epochs") == {"tried": 4, "epochs": 1, "cost": 3.5 / 2}
    assert "$E = 1$ at $\\varepsilon$ = 1, 2 and 3; $E = 5$ at $\\varepsilon$ = 5, 7 and 10" in text("figure2", run)
    table = table_in(text("figure2", run), "Mean MSE of the deciding reading")
    assert table.count("<b>2</b>") == 6 and "†<" not in table


def test_runs_without_a_minimum_are_marked():
    """In the table of epochs, where one of the runs had none."""
    run = scored()
    lost = (run.table[["series", "epochs", "epsilon", "seed"]] == ["random-s2-a", 10, 1, 3]).all(axis=1)
    run.table.loc[lost, "min_eigenvalue"] = -1.0
    assert table_in(text("figure2", run), "Mean MSE of the deciding reading").count("†<") == 1
    assert run.fact("figure2", "worst epochs") == {"solve": 1, "ridge": 1, "eigclip": 1}
    worst = scored(random_s2_a_ridge=lambda epsilon, epochs, seed: epochs * epsilon + seed)
    assert worst.fact("figure2", "worst epochs")["ridge"] == 10 + 2


def test_exact_accounting_may_not_help():
    """The factor in noise is arithmetic, what it gains in error is measured."""

    def run(gain: Callable) -> ChosenRun:
        found = scored(random_s2_a_exact=lambda epsilon, epochs, seed: 1 / gain(epsilon))
        found.table.loc[found.table["series"] == "random-s2-a-exact", "noise_multiplier"] = 0.5
        return found

    found = run(lambda epsilon: epsilon).fact("figure2", "exact accounting")
    assert (found["least"], found["most"]) == (2, 2) and found["spent"] == [[1, 1], [10, 1]]
    assert (found["least_gain"], found["most_gain"]) == (1, pytest.approx(10))
    for gain, words in (
        (lambda _: 2, "The MSE is then 2 to 2 times smaller, at every"),
        (lambda epsilon: epsilon / 4, "smaller at some $\\varepsilon$ alone, by up to 2.5 times"),
        (lambda _: 0.5, "does not become smaller"),
    ):
        assert words in text("figure2", run(gain))


def test_a_bad_start_shows_in_the_worst_run():
    """Its ratio to the median one, with its epsilon, and whether the mean still falls."""
    run = scored(random_s2_a=lambda epsilon, epochs, seed: (30 if (epsilon, seed) == (5, 3) else 2) / epsilon)
    found = run.fact("figure2", "uneven runs")
    assert found["random"]["random-s2-a"] == {"ratio": 15, "epsilon": 5, "falls": False}
    assert found["random"]["random-s2-a-exact"]["ratio"] == found["spectral"] == 1
    assert "In `random-s2-a` and `random-s2-a-exact` the mean does not fall at every step" in text("figure2", run)


def test_other_steps_are_compared_where_both_ran():
    """Gradient descent, and user-level clipping."""
    run = scored(random_s2_gradient=lambda epsilon, *_: epsilon / 4, random_s2_user=lambda *_: 0.25)
    found = run.fact("figure2", "other steps")
    assert (found["below"], found["most"], found["least"], found["largest"]) == ([1, 2], 4, 0.25, 2.5)
    assert found["user_least"] == found["user_most"] == 4
    written = text("figure2", run)
    assert "below the deciding reading at $\\varepsilon$ = 1 and 2, by up to 4 times" in written
    assert "divides the MSE by 4 to 4" in written and "it hardly depends" not in written
    worse = text("figure2", scored(random_s2_gradient=lambda *_: 2.0, random_s2_user=lambda *_: 2.0))
    assert (
        "below the deciding reading at no" in worse
        and "does not lower the MSE" in worse
        and "it hardly depends" in worse
    )


def test_readings_that_miss_a_criterion_are_counted():
    """Those of the paper alone: what is ours has a mark, and does not count."""
    run = scored(random_model=lambda *_: 100, random_s2_c=lambda epsilon, *_: epsilon, random_s2_user=lambda *_: 9)
    found, written = run.fact("figure2", "readings"), text("figure2", run)
    assert found["failing"] == ["random-s2-c"] and found["missed"] == {"i": 0, "ii": 1, "iii": 1}
    assert found["passing"] == found["whole"] - 1
    assert f"{found['passing']} of {found['whole']} readings pass all three criteria" in written
    assert "Criterion (ii) is missed by one reading and (iii) by one." in written
    assert "These are `random-s2-c`." in written
    table = table_in(written, "MSE of every reading")
    assert table.count("<small>ours</small>") == 4 and table.count("<small>deciding</small>") == 1
    assert "<b><code>random-s2-a</code></b>" in table and "<b><code>random-s2-c</code></b>" not in table
    assert table.index("<code>faithful</code>") < table.index("<code>random-s2-user</code>")
    assert run.fact("figure2", "repetitions") == 10


def test_no_criterion_is_missed_by_any_reading():
    run = scored(random_model=lambda *_: 100)
    assert "No criterion is missed by any reading." in text("figure2", run)
    assert "One of" not in text("figure2", run) and "These are" not in text("figure2", run)


# What a chapter consists of


@pytest.mark.parametrize("study", STUDIES)
def test_a_chapter_opens_with_heading_and_lead(study):
    """What is claimed, what was found and what to do, a line each; without numbers that the run is too small."""
    for way, found in ways(study).items():
        assert found.startswith("## ") and found.count("\n## ") == 0, way
        opening = lead(found)
        if way.endswith("nan"):
            assert opening == SMALL
            continue
        lines = opening.split("\n")
        starts = [f"- **{word}.** " for word in ("Claimed", "Found", "Use")]
        assert len(lines) == 3 and all(map(str.startswith, lines, starts)), (way, lines)


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_and_claim_of_a_study_is_on_the_page_once(study):
    """Placed by the text, or folded after it; a paragraph that is left out must not take its figure along."""
    run = ChosenRun()
    for found in (*ways(study).values(), *in_part(study)):
        assert Counter(re.findall(r"\[figure ([^\]]+)\]", found)) == Counter(
            run.captions[study].keys() - {OPENING_FIGURE}
        )
        assert Counter(re.findall(r"\[claim ([^\]]+)\]", found)) == Counter(run.claims_of(study))


def test_figures_and_claims_that_no_text_places_are_folded(monkeypatch):
    """With their number, and with how many verdicts there are of each."""
    monkeypatch.setattr(
        chapters, "text", lambda study, run, words: "## Risk" + LEAD_END + words.figure("jain2021/risk_privacy")
    )
    run = ChosenRun()
    placed, verdicts, figures = chapter("risk", run).split("<details>")
    start, rest = placed.split('<details class="chapter">')
    assert "[figure jain2021/risk_privacy]" in start and "[figure" not in rest
    assert verdicts.startswith("\n<summary>Verdicts: ") and "[claim A-T4.2]" in verdicts
    assert "further figure" in figures and figures.count("[figure ") == len(run.captions["risk"]) - 1


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_that_did_not_run_has_its_heading(study):
    """And one sentence, with no number and no figure."""
    run = ChosenRun()
    run.provenance["config"] = {"scale": "default", "studies": [name for name in STUDIES if name != study]}
    heading, sentence = chapter(study, run).split("\n\n")
    assert sentence == "This study is not part of this run."
    assert "{" not in heading and as_written(study, 1.5)[0].startswith(f"{heading}\n")


def test_the_opening_stands_where_studies_did_not_run():
    """What it says of a study is left out with it, and the other sentences stay."""
    run = ChosenRun()
    run.provenance["config"] = {"scale": "default", "studies": ["risk"]}
    found = page_text("opening", run)
    assert "Theorem 4.2" in found and "Theorem 5.2" not in found
    assert found.count('class="q"') == 4 and not any(map(BROKEN_OFF.search, sentences(found)))


# How a text is filled


def written(tmp_path: Path, template: str, run: Run | None = None, study: str = "init_rates", **facts: object) -> str:
    """A template of its own, filled for a study."""
    source = tmp_path / "chapter.md"
    source.write_text(template)
    return filled(source, Words(run or ChosenRun(), study), facts)


def test_a_paragraph_without_its_number_is_left_out(tmp_path):
    """The others stay, and a sentence that may be missing leaves its paragraph."""
    template = """First.

{% call finding() %}
From {{ e("privacy n dist2") }}.
{% endcall %}

{% call finding() %}
Second{% if known("exponent privacy n dist2") %}, with {{ e("privacy n dist2") }}{% endif %}.
{% endcall %}

{% call folded("More") %}
{{ e("privacy n dist2") }}
{% endcall %}
"""
    known, missing = (written(tmp_path, template, ChosenRun(number)) for number in (0.25, math.nan))
    linked = '<a class="q" href="#claim-A-L4.6">0.250</a>'
    assert f"From {linked}." in known and f"Second, with {linked}." in known
    assert f"<summary>More</summary>\n\n{linked}" in known
    assert missing.split() == ["First.", "Second."]


def test_a_number_outside_of_a_paragraph_that_may_go_is_an_error(tmp_path):
    """At a smaller run the page would fail."""
    with pytest.raises(ConfigError, match=r"chapter\.md: exponent privacy n dist2"):
        written(tmp_path, '{{ e("privacy n dist2") }}', ChosenRun(math.nan))


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('{{ q("davis-kahan print") }}', "the nearest is 'davis-kahan printed'"),
        ('{{ n("davis-kahan print") }}', "the nearest is 'davis-kahan printed'"),
        ('{{ e("privacy nn dist2") }}', "the nearest is 'exponent privacy n dist2'"),
        ('{% if value("davis-kahan print") > 1 %}more{% endif %}', "the nearest is 'davis-kahan printed'"),
        ('{% if known("davis-kahan print") %}more{% endif %}', "the nearest is 'davis-kahan printed'"),
        ('{{ q("davis-kahan printed", study="risk") }}', "'davis-kahan printed' is not measured by this study"),
        ('{{ numbered("distF over dist2 at rnak") }}', "'distF over dist2 at rnak' is the beginning of no quantity"),
        ('{{ law("privcy").least }}', "'constant privcy' is the beginning of no quantity; the nearest is"),
        ('{{ judged("A-L4.66", "LOOSE") }}', "'A-L4.66' is no claim; the nearest is 'A-L4.6"),
        ('{{ judged("A-L4.6", "LOSE") }}', "'LOSE' is no verdict; the nearest is"),
        (
            '{{ judged("A-L4.6", "LOOSE", "expnent of n") }}',
            "'expnent of n' is no quantity of claim A-L4.6; the nearest",
        ),
        ('{{ size("n-anisotropic", "head_condition") }}', "there is no series 'n-anisotropic'"),
        ('{{ size("n-aniso", "head_conditions") }}', "the series 'n-aniso' has no 'head_conditions'"),
        ('{{ values("n-anisotropic", "users") }}', "there is no series 'n-anisotropic'"),
        (
            '{{ constant("RANGE") }}',
            "'RANGE' is no constant of privrep.studies.init_rates.analysis; the nearest is 'RANGES'",
        ),
        (
            '{{ figure("jain2021/init_privcy") }}',
            "'jain2021/init_privcy' is no figure of study init_rates; the nearest is",
        ),
        ("{{ exponent }}", "'exponent' is undefined"),
        ("{{ 1.5 | nubmer }}", "line 1: No filter named 'nubmer'"),
        ('One.\n\n{% if judged("A-L4.6", "LOOSE") %}\nTwo.\n', "line 3: Unexpected end of template"),
        ("One.\n\nTwo {{ q( }}.\n", "line 3: unexpected '}'"),
    ],
)
def test_a_name_of_nothing_is_found(tmp_path, template, words):
    """With the file, the name and the nearest right one, or the line of an error in the template."""
    for run in (ChosenRun(1.5), ChosenRun(math.nan, all_open)):
        with pytest.raises(ConfigError) as caught:
            written(tmp_path, template, run)
        message = str(caught.value)
        assert message.startswith(str(tmp_path / "chapter.md")) and words in message


def test_an_error_in_a_chapter_names_its_file(monkeypatch):
    """From the root of the project, as all other messages do, and with its line where there is one."""
    monkeypatch.setattr(chapters, "FILTERS", {})
    with pytest.raises(ConfigError, match=r"^src/privrep/studies/risk/chapter\.md, line \d+: No filter named"):
        text("risk", ChosenRun())


@pytest.mark.parametrize(
    ("template", "filled_in"),
    [
        ("One.\n{% if true %}\nTwo.\n{% endif %}\nThree.\n", "One.\nTwo.\nThree.\n"),
        ("One.\n  {% set a = 1 %}{% set b = 2 %}\nTwo.\n", "One.\nTwo.\n"),
        ("One.\n{# Why. #}\nTwo.\n", "One.\nTwo.\n"),
        ("- One{% if true %} and more{% endif %}\n- Two\n", "- One and more\n- Two\n"),
        ("- One{% if false %} and more{% endif %}\n- Two\n", "- One\n- Two\n"),
        ("{% if true %}One{% endif %}\nTwo\n", "One\nTwo\n"),
        ("{% if true %}\n\nOne\n\n{% endif %}\nTwo\n", "\nOne\n\nTwo\n"),
        ("{% for i in [1, 2] %}\n{{ i }}\n{% endfor %}\nEnd\n", "1\n2\nEnd\n"),
    ],
)
def test_a_condition_on_a_line_of_its_own_leaves_no_line(tmp_path, template, filled_in):
    """One at the end of a line of text keeps the end of that line: items of a list and sentences would run together."""
    assert written(tmp_path, template) == filled_in


def test_lines_of_text_are_no_tags():
    for line in ("One {% if a %}\n", "{{ a }}\n", "{% if a %}One{% endif %}\n"):
        assert not TAGS.match(line)


@pytest.mark.parametrize(("size", "word"), [(1.05, "with"), (1.2, "up to"), (0.7, "up to")])
def test_a_law_holds_with_its_constant_near_one(size, word):
    """From the ratios of measured and predicted errors."""
    assert f"the law holds {word} its constant" in text("risk", ChosenRun(size))
    found = Words(ChosenRun(size), "risk").law("privacy")
    assert found["least"] == found["largest"] == size and found["sweeps"] > 1


def test_a_size_that_differs_is_not_named():
    """A text names the one value of a series; a sweep or no series at all is an error, not a wrong number."""
    cells = pd.DataFrame({"series": ["a", "a", "b"], "users": [100, 100, 7], "rank": [1, 2, 3]})
    table = sizes_of(cells, cells.columns)
    assert size(table, "a", "users") == "100"
    with pytest.raises(ValueError, match="can name only one"):
        size(table, "a", "rank")
    with pytest.raises(ValueError, match="no series 'c'"):
        size(table, "c", "users")


# No English in Python


TOLD = [study for study in STUDIES if facts_of(study)]
SENTENCE = re.compile(r"(?:[A-Za-z{}][\w{}'-]*[,;:]?\s+){3,}[\w{}'-]+\.(?:\s|$)")
"""Four words or more that end in a full stop."""
LONGEST_LABEL = 4
"""Words that an f-string may have: a name of a quantity or of a column, no clause."""


def spoken(source: str) -> tuple[list[str], list[str]]:
    """The strings and the f-strings of a module, docstrings left out; what is put in is shown as {}."""
    tree = ast.parse(source)
    skipped = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    joined = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    nodes = [node for node in ast.walk(tree) if node not in skipped]
    plain = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in joined]
    filled_in = [
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
    ]
    return [value for value in plain if isinstance(value, str)], filled_in


def prose_in(source: str) -> list[str]:
    """Sentences among the strings of a module, and clauses among its f-strings."""
    plain, filled_in = spoken(source)
    sentences = [value for value in plain + filled_in if SENTENCE.search(value)]
    clauses = [
        value for value in filled_in if len(re.findall(r"[A-Za-z]{2,}", re.sub("<[^>]+>", "", value))) > LONGEST_LABEL
    ]
    return sentences + clauses


@pytest.mark.parametrize("study", TOLD)
def test_no_english_is_assembled_in_python(study):
    """Facts are numbers, lists and tables; sentences stand in the chapter, where a writer finds them.
    A whole run has all of them."""
    for name, fact in facts_of(study).items():
        function = getattr(fact, "func", fact)
        assert prose_in(inspect.getsource(function)) == [], name
        assert function.__doc__, f"{study}: {name} does not say what it returns"
        assert ChosenRun(1.5).fact(study, name) is not None


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f(run):\n    """It says what it is."""\n    return "Settings"\n', 0),
        ('def f(run):\n    return "The error falls with more users."\n', 1),
        ('def f(run):\n    return f"The error falls by {run.value} for twice the users"\n', 1),
        ('def f(run):\n    return f"{run.name} at d = {run.dim:g}"\n', 0),
        ('def f(run):\n    caption = "Mean over the seeds of a series. Bold: least."\n    return caption\n', 1),
    ],
)
def test_english_in_python_is_found(source, found):
    assert len(prose_in(source)) == found


# What measures need


PLOTTING = ("matplotlib", "seaborn", "privrep.drawing")


@cache
def imported(module: str) -> frozenset[str]:
    """What the import statements of a module of this project name, with the packages around each."""
    path = SOURCE.parent / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return frozenset()
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found | {name.rpartition(".")[0] for name in found if "." in name})


def needed_by(module: str) -> set[str]:
    """All that a module imports, directly or through modules of this project."""
    found, waiting = set(), [module]
    while waiting:
        for name in imported(waiting.pop()) - found:
            found.add(name)
            if name.startswith("privrep."):
                waiting.append(name)
    return found


@pytest.mark.parametrize("study", STUDIES)
def test_measures_need_no_plotting(study):
    """Numbers of a run can be taken where nothing can be drawn, and a change of a picture recomputes no measure."""
    drawn = [name for name in needed_by(f"privrep.studies.{study}.analysis") if name.startswith(PLOTTING)]
    assert drawn == []


def test_plotting_is_found_where_it_is_needed():
    """The same walk over the modules that draw."""
    drawing = [f"privrep.studies.{path.parent.name}.figures" for path in SOURCE.glob("studies/*/figures.py")]
    for module in [*drawing, "privrep.studies.drawn"]:
        assert any(name.startswith(PLOTTING) for name in needed_by(module)), module
    assert importlib.util.find_spec("privrep.drawing") is not None
