"""Which paper each option of a published method is from, and what series and texts are called by it."""

import re

import pytest

from replication.report.chapters import TEXTS, chapter_file
from replication.run.config import ROOT, read_config, read_study, study_names
from replication.run.csv_tables import read_rows
from replication.run.grids import expand
from replication.run.ingredients import TABLE, foreign, method_of, options_of, published_methods

ROWS = read_rows(ROOT / TABLE)
STUDIES = study_names()
PAPERS = {"jain2021", "shen2023", "snedeker2025", "all", "ours"}
CELLS = {cell.series: cell for cell in expand(read_study(read_config(), "unit_map"))}


@pytest.mark.parametrize("study", STUDIES)
def test_every_option_of_a_published_method_has_a_line(study):
    """In each cell of each series, also options at their defaults."""
    for cell in expand(read_study(read_config(), study)):
        if method_of(cell.algorithm) in published_methods():
            foreign(cell.algorithm, options_of(cell))


def test_lines_have_a_paper_a_place_and_words_for_what_is_foreign():
    """No line twice; a method's own options need no words, since nothing is called by them."""
    assert len({(row["method"], row["option"], row["value"]) for row in ROWS}) == len(ROWS)
    own = {row["method"]: row["paper"] for row in ROWS if not row["option"]}
    for row in ROWS:
        assert row["paper"] in PAPERS and row["place"], row
        assert bool(row["called"]) == (not row["option"] or row["paper"] not in ("all", own.get(row["method"]))), row


def test_ours_is_where_it_is_said_to_be():
    """A line of ours names a module that exists."""
    for row in (row for row in ROWS if row["paper"] == "ours"):
        assert (ROOT / "src" / f"{row['place'].replace('.', '/')}.py").exists(), row


STARTS = [("init", "spectral"), ("init", "planted"), ("init_pairs", "disjoint"), ("init_pairs", "models")]
CLIPS = [("last_clip", 0.01), ("average_last", 0.25), ("final_heads", "ridge")]
FOREIGN = {
    "users-altmin-published": [
        ("init_pairs", "all"),
        ("clip_unit", "user"),
        ("fallback", "eigclip"),
        ("split", "fifths"),
    ],
    "users-centaur-published": [*STARTS[:2], *CLIPS],
    "users-fedrep-published": [*STARTS[1:], *CLIPS, ("features", "whitened")],
}


@pytest.mark.parametrize(
    ("series", "option", "value"), [(name, *one) for name, some in FOREIGN.items() for one in some]
)
def test_one_foreign_option_is_seen(series, option, value):
    cell = CELLS[series]
    assert foreign(cell.algorithm, options_of(cell)) == []
    assert len(foreign(cell.algorithm, options_of(cell) | {option: value})) == 1


@pytest.mark.parametrize(("option", "value"), [("invented", 1), ("split", "invented"), ("features", "scaled")])
def test_an_option_without_a_line_is_an_error(option, value):
    cell = CELLS["users-fedrep-published"]
    with pytest.raises(ValueError, match=rf"csv: it must have a line for {option} = {value} of private_fedrep"):
        foreign(cell.algorithm, options_of(cell) | {option: value})


BY_HAND = re.compile(r"as (?:is )?(?:it was )?published", re.IGNORECASE)
NAMES = re.compile(r'"users of \w+ as published at d = 100"|" as published"|users¹, as published')
"""Names of quantities of series that are as published, and a heading above them."""


@pytest.mark.parametrize("path", [*map(chapter_file, STUDIES), *sorted(TEXTS.iterdir())], ids=str)
def test_no_text_calls_a_series_published_by_hand(path):
    assert not BY_HAND.search(NAMES.sub("", path.read_text()))
