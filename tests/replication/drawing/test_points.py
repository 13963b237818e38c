# ruff: noqa: RUF001  (typographic signs are meant)
"""The numbers that a figure says it shows stand where it shows them."""

from __future__ import annotations

import html
import json
import re

import numpy as np
from stub_page import drawn_figure

from replication.drawing.points import MOST_IN_A_FIGURE, drawn_points
from replication.drawing.style import new_figure, save
from replication.report import pictures


def series(told: dict, panel: int = 0) -> dict[str, list]:
    return {entry["name"]: entry["points"] for entry in told["panels"][panel]["series"]}


def test_points_have_names_numbers_and_intervals():
    """Labels of axes without mathematical marks; an interval where one is drawn and none elsewhere."""
    told = drawn_points(drawn_figure())
    assert [(panel["title"], panel["x"], panel["y"]) for panel in told["panels"]] == [
        ("left", "epsilon", "error"),
        ("right", "n", "error"),
    ]
    found = series(told)
    assert [point[2:] for point in found["private sigma_F"]] == [
        [1, 0.5, 0.4, 0.6],
        [10, 0.05, 0.04, 0.06],
        [100, 0.005, 0.004, 0.006],
    ]
    assert [point[2:] for point in found["other"]] == [[1, 0.3], [10, 0.2], [100, 0.1]]
    assert [point[2:] for point in series(told, 1)[""]] == [[2, 1], [4, 3]]


def test_points_lie_where_the_file_has_their_marks(tmp_path):
    """Each place is that of a mark in the SVG, and each mark of the lines is a place."""
    save(drawn_figure(), tmp_path / "figure")
    svg = (tmp_path / "figure.svg").read_text()
    told = json.loads(html.unescape(pictures.POINTS.search(svg)[1]))
    assert told["width"] == float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    marks = {(float(x), float(y)) for x, y in re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', svg)}
    places = [tuple(point[:2]) for panel in told["panels"] for entry in panel["series"] for point in entry["points"]]
    assert len(places) == 8
    for left, top in places:
        assert min(np.hypot(left - x, top - y) for x, y in marks) < 0.1
        assert min(np.hypot(left + 2 - x, top - y) for x, y in marks) > 0.5


def test_points_reach_the_page(tmp_path):
    """With letters for the names of the configuration; a file that says nothing gives nothing."""
    save(drawn_figure(), tmp_path / "figure")
    told = pictures.points((tmp_path / "figure.svg").read_text())
    assert told["panels"][0]["x"] == "ε" and told["panels"][0]["series"][0]["name"] == "private σ_F"
    assert pictures.points("<svg></svg>") == {}
    assert "<metadata" not in pictures.inline_svg((tmp_path / "figure.svg").read_text(), "one", "one-caption")


def test_bands_are_intervals():
    """Of the line of their colour."""
    figure, two = new_figure(3, 3)
    two.plot([1, 2], [5, 6], "o-", color="#0173b2", label="line")
    two.plot([1, 2], [5, 6], "s", color="#de8f05", label="marks")
    two.fill_between([1, 2], [4, 5], [6, 7], color="#0173b2", alpha=0.2)
    two.fill_between([], [], [], color="#0173b2")
    two.axhline(5.5)
    told = drawn_points(figure)
    assert [point[2:] for point in series(told)["line"]] == [[1, 5, 4, 6], [2, 6, 5, 7]]
    assert [point[2:] for point in series(told)["marks"]] == [[1, 5], [2, 6]]
    assert len(series(told)) == 2


def test_what_lies_outside_or_is_no_number_is_left_out():
    figure, axis = new_figure(3, 3)
    axis.plot([1, 2, 3, 50], [1, np.nan, 2, 1], "o", label="line")
    axis.set(xlim=(0, 10), ylim=(0.5, 1.5))
    assert [point[2:] for point in series(drawn_points(figure))["line"]] == [[1, 1]]


def test_a_line_of_a_legend_names_the_marks_like_it():
    """Marks drawn one by one have no label of their own."""
    figure, axis = new_figure(3, 3)
    axis.plot([], [], "o-", color="#029e73", label="measured")
    axis.plot([1], [1], "o", color="#029e73")
    axis.plot([2], [1], "o", color="#d55e00")
    axis.legend()
    assert {name: len(points) for name, points in series(drawn_points(figure)).items()} == {"measured": 1, "": 1}


def test_crowded_figures_are_thinned():
    figure, axis = new_figure(3, 3)
    axis.plot(np.arange(4 * MOST_IN_A_FIGURE), np.ones(4 * MOST_IN_A_FIGURE), "o", label="cloud")
    assert 0.9 * MOST_IN_A_FIGURE <= len(series(drawn_points(figure))["cloud"]) <= MOST_IN_A_FIGURE


def test_an_interval_is_never_that_of_another_series():
    """Where several of one colour go through a point none is said; another colour is another series."""
    figure, axis = new_figure(3, 3)
    for shift, colour in ((0.0, "#0173b2"), (0.1, "#0173b2"), (0.2, "#de8f05")):
        axis.plot([1, 2], [5 + shift, 6 + shift], "o", color=colour, label=f"{shift:g}")
        axis.vlines([1, 2], [4 + shift, 5 + shift], [6 + shift, 7 + shift], color=colour)
    found = series(drawn_points(figure))
    assert [point[4:] for name in ("0", "0.1") for point in found[name]] == [[]] * 4
    assert [point[4:] for point in found["0.2"]] == [[4.2, 6.2], [5.2, 7.2]]
