"""A text that names what does not exist is found without a run."""

from __future__ import annotations

import math

import pytest

from privrep.report import chapters, stub_run
from privrep.report.chapters import TEXTS, page_text, text
from privrep.report.stub_run import StubRun, check_chapter, check_page, stub_runs
from privrep.run.config import study_names
from privrep.run.settings import ConfigError


@pytest.mark.parametrize("study", study_names())
def test_chapters_name_what_exists(study):
    check_chapter(study)


def test_texts_on_the_whole_run_name_what_exists():
    check_page()


@pytest.mark.parametrize("study", study_names())
def test_chapters_hold_for_a_run_of_record(study):
    """Its series have more sizes, of which prose can name only one, and its grids more quantities."""
    for number in stub_run.NUMBERS[:2]:
        text(study, StubRun(number, True, "record"))


def test_texts_on_the_whole_run_hold_for_a_run_of_record():
    for path in sorted(TEXTS.glob("*.md")):
        page_text(path.stem, StubRun(stub_run.NUMBERS[1], True, "record"))


def test_all_stub_runs_are_checked():
    """With and without verdicts, on both sides of 1 and without numbers: a sentence stands or falls with any of
    these."""
    assert len(stub_runs()) == 6 and {run.agrees for run in stub_runs()} == {True, False}
    numbers = [run.number for run in stub_runs() if not math.isnan(run.number)]
    assert len(numbers) == 4 and min(numbers) < 1 < max(numbers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{% if judged("A-L4.6", "LOOSE") %}{{ q("known") }}{% endif %}', "'known' is not measured by this study"),
        ('{% if not judged("A-L4.6", "LOOSE") %}{{ q("known") }}{% endif %}', "'known' is not measured by this study"),
        ('{% call finding() %}{{ q("davis-kahan printed") }}{{ q("known") }}{% endcall %}', "'known' is not measured"),
        ('{% if known("davis-kahan printed") %}{{ nothing }}{% endif %}', "'nothing' is undefined"),
        (
            '{% call finding() %}{% if value("davis-kahan printed") > 1 %}{{ nothing }}{% endif %}{% endcall %}',
            "'nothing' is undefined",
        ),
        (
            '{% call finding() %}{% if value("davis-kahan printed") < 1 %}{{ nothing }}{% endif %}{% endcall %}',
            "'nothing' is undefined",
        ),
    ],
)
def test_a_name_of_nothing_is_found_wherever_it_stands(monkeypatch, tmp_path, text, words):
    """Behind a verdict and behind a number of either side, with the file."""
    path = tmp_path / "chapter.md"
    path.write_text(text)
    monkeypatch.setattr(chapters, "chapter_file", lambda study: path)
    with pytest.raises(ConfigError) as caught:
        check_chapter("init_rates")
    assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)


def test_a_number_that_a_smaller_run_lacks_is_found(monkeypatch, tmp_path):
    """Outside of a paragraph that may be left out."""
    path = tmp_path / "chapter.md"
    monkeypatch.setattr(chapters, "chapter_file", lambda study: path)
    path.write_text('{% call finding() %}{{ q("davis-kahan printed") }}{% endcall %}')
    check_chapter("init_rates")
    path.write_text('{{ q("davis-kahan printed") }}')
    with pytest.raises(ConfigError, match="davis-kahan printed"):
        check_chapter("init_rates")


def test_both_sides_of_a_verdict_are_written():
    """Whatever the stub numbers would give; a name of nothing is an error on both."""
    for agrees in (True, False):
        run = StubRun(stub_run.NUMBERS[0], agrees)
        assert run.judged("A-L4.6", "RATE-EXACT") == agrees
        for ask in (("A-L4.66", "LOOSE"), ("A-L4.6", "LOSE"), ("A-L4.6", "LOOSE", "expnent of n")):
            with pytest.raises(ValueError, match="the nearest is"):
                run.judged(*ask)
