# ruff: noqa: RUF001  (typographic signs are meant)
"""The numbers that a figure says it shows stand where it shows them."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from stub_page import drawn_figure

from replication.drawing import METHODS, Look, Picture, look
from replication.drawing.points import MOST_IN_A_FIGURE, drawn_points
from replication.drawing.style import save
from replication.report import pictures


def named_points(told: dict, panel: int = 0) -> dict[str, list]:
    return {entry["name"]: entry["points"] for entry in told["panels"][panel]["series"]}


def test_points_have_names_numbers_and_intervals():
    """Labels of axes without mathematical marks; an interval where one is drawn and none elsewhere."""
    told = drawn_points(drawn_figure())
    names = [(panel["title"], panel["x"], panel["y"]) for panel in told["panels"]]
    assert names == [("left", "epsilon", "error"), ("right", "n", "error")]
    found, expected = named_points(told), [[1, 0.5, 0.4, 0.6], [10, 0.05, 0.04, 0.06], [100, 0.005, 0.004, 0.006]]
    assert [point[2:] for point in found["private sigma_F"]] == expected
    assert [point[2:] for point in found["other"]] == [[1, 0.3], [10, 0.2], [100, 0.1]]
    assert [point[2:] for point in named_points(told, 1)[""]] == [[2, 1], [4, 3]]


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
    assert "metadata" not in pictures.as_data((tmp_path / "figure.svg").read_text())


def drawn_alone(x: list, y: list, name: str = "line", **limits) -> dict:
    figure = Picture()
    axis = figure.panel(3, 3)
    axis.series(pd.DataFrame({"x": x, "y": y}), "x", "y", Look(name, "#0072B2"))
    axis.set(**limits)
    return drawn_points(figure)


def test_what_lies_outside_or_is_no_number_is_left_out():
    told = drawn_alone([1, 2, 3, 50], [1, np.nan, 2, 1], xlim=(0, 10), ylim=(0.5, 1.5))
    assert [point[2:] for point in named_points(told)["line"]] == [[1, 1]]


def test_crowded_figures_are_thinned():
    told = drawn_alone(np.arange(4 * MOST_IN_A_FIGURE), np.ones(4 * MOST_IN_A_FIGURE), "cloud")
    assert 0.9 * MOST_IN_A_FIGURE <= len(named_points(told)["cloud"]) <= MOST_IN_A_FIGURE


def test_all_that_is_drawn_is_named_once_below_the_panels():
    """A level and a law, too; the legend lies outside of every panel."""
    figure = Picture()
    axes = figure.panels(6, 3, ncols=2)
    table = pd.DataFrame({"x": [1, 2, 3], "y": [3, 2, 1], "flag": [True, False, False]})
    for axis in axes:
        axis.series(table, "x", "y", look("unit"), hollow=table["flag"])
        axis.law(table, "x", "y")
        axis.level(2, "asked for")
    figure.finish()
    (found,) = figure.legends
    assert [text.get_text() for text in found.get_texts()] == ["unit steps", "law", "asked for"]
    figure.draw_without_rendering()
    box = found.get_window_extent()
    assert all(box.y1 <= axis.get_tightbbox().y0 for axis in axes)
    assert [len(axis.collections) for axis in axes] == [2, 2]  # filled and hollow marks


def test_methods_are_told_apart():
    """By colour, also in the eyes of those who see no red or no green, and by mark in grey."""
    looks = list(METHODS.values())
    assert len({one.marker for one in looks}) == len({one.colour for one in looks}) == len(looks)
    # Viénot, Brettel and Mollon (1999), in linear RGB: without the cones for red, and for green
    colours = np.array([to_rgb(one.colour) for one in looks]) ** 2.2
    for red, green in ((0.11238, 0.88762), (0.29275, 0.70725)):
        seen = np.column_stack([colours[:, :2] @ [red, green], colours[:, 2]]) ** (1 / 2.2)
        apart = np.abs(seen[:, None] - seen[None]).max(axis=2) + np.eye(len(looks))
        assert apart.min() > 0.04


@pytest.mark.parametrize(
    ("ends", "texts"),
    [
        ((1, 3), ["1", "1.5", "2", "2.5", "3"]),
        ((1, 50), ["1", "2", "5", "10", "20", "50"]),
        ((0.01, 1e4), ["0.01", "0.1", "1", "10", "100", "1000", "10k"]),
        ((1e-5, 1e-2), ["$10^{-5}$", "$10^{-4}$", "$10^{-3}$", "$10^{-2}$"]),
    ],
)
def test_an_axis_has_one_format_of_numbers(ends, texts):
    axis = Picture().panel(4, 3)
    axis.label(log="y", ylim=ends)
    ticks = [tick for tick in axis.get_yticks() if ends[0] <= tick * (1 + 1e-9) and tick <= ends[1] * (1 + 1e-9)]
    assert [axis.yaxis.get_major_formatter()(tick) for tick in ticks] == texts
