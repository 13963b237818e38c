"""A text that names what does not exist is found without a run."""

from __future__ import annotations

import pytest

from replication.report import chapters
from replication.report.chapters import TEXTS, page_text, text
from replication.report.stub_run import StubRun, check_chapter, check_page
from replication.run.config import study_names
from replication.run.models import ConfigError


@pytest.mark.parametrize("study", study_names())
def test_chapters_hold_for_a_run_of_record(study):
    """Its series have more sizes, of which prose can name only one, and its grids more quantities."""
    text(study, StubRun(1.5, "record"))


def test_texts_on_the_whole_run_hold_for_a_run_of_record():
    check_page()
    for path in sorted(TEXTS.glob("*.md")):
        page_text(path.stem, StubRun(1.5, "record"))


def test_a_number_that_a_smaller_run_lacks_is_found(monkeypatch, tmp_path):
    """Outside of a paragraph that may be left out."""
    path = tmp_path / "chapter.md"
    path.write_text('{{ q("davis-kahan printed") }}')
    monkeypatch.setattr(chapters, "chapter_file", lambda study: path)
    with pytest.raises(ConfigError, match=f"^{path}: .*davis-kahan printed"):
        check_chapter("init_rates")
