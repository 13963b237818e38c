"""A finding that names what does not exist stops the run before any other job."""

from __future__ import annotations

import importlib

import pytest

from privrep.report import rehearsal
from privrep.report.rehearsal import Rehearsal, rehearse
from privrep.run.config import study_names
from privrep.run.settings import ConfigError


@pytest.mark.parametrize("study", study_names())
def test_findings_name_what_exists(study):
    rehearse(study)


def asking(ask):
    """The findings of init_rates with one more question."""
    return lambda run: ask(run, run.measures("init_rates"))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda run, m: "exponent privacy nn dist2" in m, "the nearest is 'exponent privacy n dist2'"),
        (lambda run, m: m.value("davis-kahan print"), "the nearest is 'davis-kahan printed'"),
        (lambda run, m: m.text("davis-kahan print"), "the nearest is 'davis-kahan printed'"),
        (lambda run, m: m.numbered("distF over dist2 at rnak"), "'distF over dist2 at rnak' is the beginning of no"),
        (lambda run, m: run.judged("A-L4.6", "LOOSE", "expnent of n"), "'expnent of n' is no quantity of claim A-L4.6"),
        (lambda run, m: run.judged("A-L4.66", "LOOSE"), "'A-L4.66' is no claim; the nearest is 'A-L4.6"),
        (lambda run, m: run.judged("A-L4.6", "LOSE"), "'LOSE' is no verdict; the nearest is 'LOOSE'"),
    ],
)
def test_a_name_of_nothing_is_found(monkeypatch, ask, words):
    """With the file of the finding, the name and the nearest right one."""
    module = importlib.import_module("privrep.report.findings.init_rates")
    monkeypatch.setattr(module, "findings", asking(ask))
    with pytest.raises(ConfigError) as caught:
        rehearse("init_rates")
    message = str(caught.value)
    assert message.startswith("src/privrep/report/findings/init_rates.py: ") and words in message


def test_both_sides_of_a_verdict_are_written():
    """A paragraph that stands only with its verdict is written too."""
    for agrees in (True, False):
        run = Rehearsal(rehearsal.NUMBERS[0], agrees)
        assert run.judged("A-L4.6", "RATE-EXACT") == agrees
