"""Every point that a figure says it shows, with its interval, stands in the table that is saved beside it, and every
label, legend entry and axis stands at what it names.

The cells are those of one run at scale quick, which other tests need anyway. Only what is drawn differs from scale to
scale, not how it comes from the table. Points are read as for the page (`replication.drawing.points`), to
four digits: some row has x, y and both ends of the interval. Sizes in titles and labels are those of what is drawn.
"""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.artist import Artist
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.text import Annotation

from replication.drawing import GREY, Look, Panel, Picture, exponent_text, short
from replication.drawing.points import plain, shared_label
from replication.report.run_tables import study_of
from replication.report.sizes import PLACEHOLDER
from replication.run.config import ROOT, read_yaml, study_names
from replication.run.csv_tables import read_rows
from replication.run.settings import PlotSettings, read_settings, settings_of
from replication.studies.drawn import draw

REFERENCE = ROOT / "tests" / "reference" / "figures"
CAPTIONS = {study: read_yaml(ROOT / settings_of(study))["figures"] for study in study_names()}


# What a figure computes from its table, restated here: tables whose rows hold what is drawn


def _ends(middle: pd.Series, half: pd.Series) -> dict[str, pd.Series]:
    return {"middle": middle, "low": middle - half, "high": middle + half}


def _collapse(numbers: pd.DataFrame) -> pd.DataFrame:
    shown = {name: numbers[name].clip(lower=1e-5) for name in ("largest", "without_floor")}
    return pd.DataFrame({"x": numbers["u"] ** 2, **shown})


def _breakdown(numbers: pd.DataFrame) -> pd.DataFrame:
    root = numbers["square"] ** 0.5
    return pd.DataFrame({"x": numbers["noise_ratio"], **_ends(root, numbers["spread"] / root)})


def _selection(numbers: pd.DataFrame) -> pd.DataFrame:
    shown = {name: numbers[name].clip(lower=1e-3) for name in ("failed", "ci_low", "ci_high")}
    return pd.concat([pd.DataFrame({"x": numbers["failure"] * shift, **shown}) for shift in (0.93, 1.07)])


def _samples(numbers: pd.DataFrame) -> pd.DataFrame:
    means = (numbers.groupby(["rank", "spare"])["square"].mean() ** 0.5).reset_index()
    return pd.concat([means, numbers])  # marks of the fit have the colour of k = 1 and are of all ranks


def _known_heads(numbers: pd.DataFrame) -> pd.DataFrame:
    means = [numbers.groupby("users")[name].agg(["mean", "sem"]) for name in ("known", "fitted")]
    return pd.concat([pd.DataFrame({"x": one.index, **_ends(one["mean"], 2 * one["sem"])}) for one in means])


def _side_by_side(x: str, factor: float, count: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    shifts = factor ** (np.arange(count) - (count - 1) / 2)
    return lambda numbers: pd.concat([numbers.assign(**{x: numbers[x] * shift}) for shift in shifts])


RESTATED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "jain2021/figure2_fallbacks": _side_by_side("x", 1.03, 3),
    "beyond/rivals": _side_by_side("epsilon", 1.05, 7),
    "beyond/map": _side_by_side("epsilon", 1.15, 4),
    "beyond/map_samples": _side_by_side("x", 1.08, 4),
    "snedeker2025/own_problem": _side_by_side("epsilon", 1.04, 7),
    "comparison/d_exponent": lambda t: t.assign(**t[["error", "ci_low", "ci_high"]].mul(t["epsilon n"], axis=0)),
    "jain2021/init_norms": lambda t: t.assign(**_ends(t["ratio"], 2 * t["standard_error"])),
    "jain2021/risk_known_heads": _known_heads,
    "shen2023/noisy_power_method": lambda t: t.assign(**_ends(t["iterations"], t["half"])),
    "shen2023/participation": lambda t: t.assign(**_ends(t["distF"], 2 * t["spread"])),
    "jain2021/init_collapse": _collapse,  # squares, cut at the lower edge
    "jain2021/local_breakdown": _breakdown,  # root of the mean square
    "jain2021/risk_heads": lambda t: t.assign(**{name: t["measured"] / t[name] for name in ("exact", "printed")}),
    "jain2021/samples_needed": _samples,  # root mean square over repetitions
    "shen2023/selection": _selection,  # marks side by side, shares cut at the lower edge
}

UNSEEN = {
    ("beyond/rates", "n-base"): "a cell of the sizes that all panels share",
    **{("comparison/cost", series): "arithmetic of sizes" for series in ("A-uncut", "B-uncut", "B-random")},
    **{("shen2023/start_cost", series): "the cost of runs by their sizes" for series in ("main", "select")},
}
"""Figure, series in its caption -> why other numbers in the series do not change the figure."""


def series_of(caption: dict[str, str]) -> set[str]:
    """The series of which a caption says sizes."""
    return {name.rpartition(".")[0] for name in PLACEHOLDER.findall(caption["caption"])} - {""}


SIZES = {"n": "users", "m": "samples", "d": "dim", "k": "rank", "ε": "epsilon", "κ": "kappa"}


def of_sizes(table: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows of the sizes that a title and a label name, as far as the table has these columns."""
    for sign, value in re.findall(r"\b([nmdkεκ]) = ([\d.,]*\d)", words):
        if SIZES[sign] in table:
            table = table[np.isclose(table[SIZES[sign]], float(value.replace(",", "")))]
    return table


@dataclass(eq=False)
class Line:
    """A series, curve or level as its drawing was asked for, and what it left in the panel."""

    axis: Panel
    rows: pd.DataFrame
    columns: tuple[str, str]
    ends: tuple[str, ...]
    look: Look
    hollow: pd.Series | None
    artists: list[Artist]

    def source(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of the figure's table that are drawn, if their numbers say so, else what was given."""
        own, given = table[table.index.isin(self.rows.index)], self.rows
        alike = [one for one in given.select_dtypes("number") if one in table]
        same = alike and len(own) == len(given) and np.array_equal(own[alike], given[alike], equal_nan=True)
        return own.assign(**given[[name for name in given if name not in table]]) if same else given

    def told(self, table: pd.DataFrame) -> str:
        """Label, marks, drawn columns, and what alone the rows are of: texts, and numbers that label or title has."""
        rows, label, title = self.source(table), plain(self.look.label), plain(self.axis.get_title("left"))
        numbers = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", f"{title} {label}")}
        of = [*filter(None, self.columns)]
        for name in (one for one in rows if one not in (*LEFT_OUT, *self.columns)):
            value, alone = rows[name].iloc[0], name not in table or table[name].nunique(dropna=False) > 1
            if rows[name].nunique(dropna=False) == 1 and alone:
                kept = isinstance(value, str) or value in numbers or (name not in table and value % 1 == 0)
                of += [f"{name} {value if isinstance(value, str) else format(value, 'g')}"] if kept else []
        if self.hollow is not None:
            flags = rows[self.hollow.name].to_numpy(float) > 0
            of.append(f"hollow {'' if (flags == self.hollow).all() else 'not '}{self.hollow.name}")
        if "level" in rows:
            of += [f"{one:g}" for one in rows["level"] if math.isclose(one, float(f"{one:.2g}"))]
        if not self.look.marker and self.columns == ("x", "y") and len(rows) == 2:
            log, diagonal = self.axis.get_xscale() == "log", rows["x"].equals(rows["y"])
            of += [f"power {power(self):.2g}"] if log else ["diagonal"] * diagonal
        marks = " ".join(filter(None, (self.look.marker, "" if self.look.filled else "hollow", self.look.dash)))
        return f"{label} ({marks}): {', '.join(of)}"


def missing(lines: list[Line], table: pd.DataFrame, name: str) -> list[str]:
    """The drawn marks that the figure's table lacks, one line each; a place on an axis of names stands in no table."""
    tables = [table, RESTATED[name](table)] if name in RESTATED else [table]
    known, found = [one.select_dtypes("number").to_numpy(float) for one in tables], []
    for line in (line for line in lines if line.look.marker):
        axes = line.axis.xaxis, line.axis.yaxis
        ticks = [plain(" ".join(axis.get_major_formatter().format_ticks(axis.get_ticklocs()))) for axis in axes]
        columns = [one for one, told in zip(line.columns, ticks, strict=True) if not NAME.search(told)]
        for point in line.rows[[*columns, *line.ends]].to_numpy(float):
            near = [[np.isclose(one, value).any(axis=1) for value in point[~np.isnan(point)]] for one in known]
            if not any(np.logical_and.reduce(rows).any() for rows in near):
                found.append(f"{line.look.label}: {point}")
    return found


NAME = re.compile("[A-Za-z]{2}")
LEFT_OUT = {"parameter", "response", "left out", "place", "above", "below", "ci_low", "ci_high"}
LEFT_OUT |= {"exponent", "exponent_low", "exponent_high", "selected", "seeds", "lost", "printed"}
EXPONENT = r"[\d.]+ ± [\d.]+"


def power(line: Line) -> float:
    """The power of x by which a straight line on logarithmic axes rises."""
    (x, y), *_, (last_x, last_y) = line.rows[[*line.columns]].to_numpy(float)
    return math.log(last_y / y) / math.log(last_x / x) if x != last_x else math.nan


@pytest.fixture
def lines(monkeypatch) -> list[Line]:
    """All that is drawn into panels, in its order."""
    found: list[Line] = []

    def given(name: str, rows=None, x="x", y="y", look=None, hollow=None, **more) -> tuple:
        """Rows, columns, look and flags of what is drawn; a curve's columns have the names of its numbers."""
        if name == "level":
            look = Look(more["label"], more["colour"], "", more["dash"])
            return (
                pd.DataFrame({"level": [more["value"]]}),
                ("level", "")[:: 1 if more["along"] == "y" else -1],
                (),
                look,
                None,
            )
        if name == "series":
            return rows, (x, y), more["ends"] or (), look, hollow
        names = tuple(getattr(one, "name", None) or sign for one, sign in ((x, "x"), (y, "y")))
        columns = dict(zip(names, (np.asarray(one, float) for one in (x, y)), strict=True))
        return pd.DataFrame(columns, y.index if isinstance(y, pd.Series) else None), names, (), look, None

    def recording(name: str) -> Callable[..., None]:
        method = getattr(Panel, name)

        def recorded(axis: Panel, *args, **words) -> None:
            before, place = {*axis.get_children()}, len(found)
            method(axis, *args, **words)
            bound = inspect.signature(method).bind(axis, *args, **words)
            bound.apply_defaults()
            words = {key: value for key, value in bound.arguments.items() if key != "self"}
            artists = [one for one in axis.get_children() if one not in before]
            found[place:] = [Line(axis, *given(name, **words), artists)] if artists else []

        return recorded

    for name in ("series", "curve", "level"):
        monkeypatch.setattr(Panel, name, recording(name))
    return found


def check_legend(figure: Picture, lines: list[Line]) -> None:
    """Colour, dash and mark of each handle are those of what is drawn under its label, grey for several colours; all
    is named."""
    handles = {one.get_label(): one for legend in figure.legends for one in legend.legend_handles}
    assert handles.keys() >= {line.look.label for line in lines} - {""}
    for label, handle in handles.items():
        artists = [one for line in lines if line.look.label == label for one in line.artists]
        curves, marks = ([one for one in artists if isinstance(one, kind)] for kind in (Line2D, PathCollection))
        colours = {to_hex(one.get_color()) for one in curves} | {to_hex(one.get_edgecolor()[0]) for one in marks}
        colour, grey = to_hex(handle.get_color()), len(colours) > 1
        assert not artists or colour == (to_hex(GREY) if grey else colours.pop()), label
        assert {one.get_linestyle() for one in curves} <= {handle.get_linestyle()}, label
        style = MarkerStyle(handle.get_marker())
        outline = style.get_path().transformed(style.get_transform()).vertices
        assert not marks or any(np.array_equal(one.get_paths()[0].vertices, outline) for one in marks), label
        marks = [one for line in lines if line.hollow is None for one in line.artists if one in marks]
        fills = {to_hex(colour) for one in marks for colour in one.get_facecolor()}
        fill = to_hex(handle.get_markerfacecolor()) if style.is_filled() else colour
        assert not fills or fill in fills or grey, label


def check_exponents(figure: Picture, lines: list[Line], table: pd.DataFrame) -> None:
    """Those of a label or title, with half of the interval, are of the fits that are drawn; lines rise by them."""
    fits = dict(iter(table.groupby("fit"))) if "exponent_low" in table else {}
    for axis in figure.axes:
        rows = [(line, line.source(table)) for line in lines if line.axis is axis]
        drawn = {line: one["fit"].iloc[0] for line, one in rows if fits and "fit" in one and one["fit"].nunique() == 1}
        texts = {line: exponent_text(fits[fit]) for line, fit in drawn.items()}
        title = axis.get_title("left")
        assert re.findall(EXPONENT, title) in ([], [*dict.fromkeys(texts.values())]), title
        for line, _ in rows:
            label, claimed = line.look.label, title.rpartition("claimed ")[2]
            assert re.findall(EXPONENT, label) in ([], [texts.get(line)]), label
            if label == "claimed exponent":
                assert f"{power(line):.3g}".replace("-", "\N{MINUS SIGN}") in ("nan", claimed), title
            if label == "fitted power":
                assert f"{power(line):.2f}" in {"nan", *(text.split()[0] for text in texts.values())}, title


def check_marks(figure: Picture, lines: list[Line], table: pd.DataFrame, caption: str) -> None:
    """What a caption calls solid, dashed, dotted or hollow is drawn so; a number beside a mark is that of its place,
    and those of a field are the risks of both methods there."""
    said = re.findall(r"(?<![-\w])(?:dash-)?(?:solid|dashed|dotted)\b", caption.lower())
    assert {STYLES[one] for one in said} <= {line.look.dash for line in lines}
    for text in filter(None, sum(re.findall(r"\bgrey(?: cross)?: ([^.;]*)|([^.;:,]*) \(grey\)", caption.lower()), ())):
        shared = {line.look: len(stems(text, 2) & stems(line.look.label, 2)) for line in lines}
        greys = [len({*to_rgb(look.colour)}) == 1 for look, most in shared.items() if most == max(shared.values())]
        assert any(greys) and any(shared.values()), f"{text} is not grey"
    for text in (text for axis in figure.axes if len(table) for text in axis.texts):
        if isinstance(text, Annotation):
            assert float(text.get_text().replace(",", "")) == pytest.approx(text.xy[0], rel=0.05, nan_ok=True)
            continue
        names = text.axes.get_xticklabels(), text.axes.get_yticklabels()
        at = [name[int(place)].get_text() for name, place in zip(names, text.get_position(), strict=True)]
        here = table[["epsilon", "users"]].map(short).eq(at).all(axis=1)
        (risks,) = of_sizes(table[here], plain(text.axes.get_title("left")))[["A", "B"]].to_numpy()
        assert re.split(r"\s*[JS] ", text.get_text())[1:] == [f"{risk:.2g}" for risk in risks]


def words(figure: Picture, lines: list[Line], table: pd.DataFrame, several: bool) -> Iterator[str]:
    """What stands at the panels and lines of a figure, and what it stands for; of several fits the points alone."""
    for axis in (axis for axis in figure.axes if axis.axison):
        title, *labels = (plain(text) for text in (axis.get_title("left"), *(shared_label(axis, one) for one in "xy")))
        yield f"  {' | '.join([title, *labels])}"
        own = [line for line in lines if line.axis is axis]
        told = [line.told(table) for line in own if not several or line.look.label == "measured"]
        named = [look for label, look in axis.looks.items() if label not in {line.look.label for line in lines}]
        told += [f"{look.label} ({look.marker}{'' if look.filled else ' hollow'})" for look in named]
        told += [name for line in own for name in named_places(line, table)]
        yield from (f"    {one}" for one in dict.fromkeys(told))


def named_places(line: Line, table: pd.DataFrame) -> Iterator[str]:
    """Names that stand at places of an axis, with texts of the row that is drawn there."""
    rows = line.source(table).select_dtypes(exclude="number")
    for column, axis in zip(line.columns, (line.axis.xaxis, line.axis.yaxis), strict=False):
        texts = [plain(text.get_text()) for text in axis.get_ticklabels()]
        ticks = [*zip(axis.get_ticklocs(), texts, strict=False)]
        for place, (_, row) in zip(line.rows.get(column, ()), rows.iterrows(), strict=False):
            name = next((name for at, name in ticks if abs(at - place) < 0.5), "")
            texts = [text for text in row if isinstance(text, str)]
            if NAME.search(name) and not any(text in name for text in texts):
                yield f"at {name}: {', '.join(texts)}"


def unseen(lines: list[Line]) -> Iterator[str]:
    """The names of marked series of which no point lies within its panel."""
    for line in (line for line in lines if line.look.marker):
        points = line.rows[[*line.columns]].dropna().to_numpy(float)
        if len(points) and not any(line.axis.viewLim.contains(*point) for point in points):
            yield line.look.label


def with_exponents(table: pd.DataFrame) -> pd.DataFrame:
    """A table of fits in which each has an exponent of its own, with an interval."""
    if "exponent_low" not in table:
        return table
    middle = 1.11 + 0.13 * pd.factorize(table["fit"])[0]
    return table.assign(exponent=middle, exponent_low=2 * middle / 3, exponent_high=4 * middle / 3)


@pytest.mark.parametrize("study", CAPTIONS)
def test_drawn_points_stand_in_the_table(quick_run: Path, study: str, lines: list[Line], file_regression):
    """Each figure of the study as it is, with exponents for all fits; a table whose numbers are a hundredth larger is
    not its own. Its words are those of tests/reference/figures, which a person has read."""
    folder, found = quick_run / "results" / "quick", []
    settings = read_settings(PlotSettings, folder / study / "plot.json")
    assert {*settings.figures} == {*CAPTIONS[study]}
    for name in settings.figures:
        table = with_exponents(pd.read_csv(folder / "figures" / f"{name}.csv"))
        lines.clear()
        figure = draw(name, table, settings)
        assert missing(lines, table, name) == [], name
        assert [*unseen(lines)] == [], name
        check_legend(figure, lines)
        check_exponents(figure, lines, table)
        check_marks(figure, lines, table, CAPTIONS[study][name]["caption"])
        others = table.assign(**table.select_dtypes("number") * 1.01)
        assert missing(lines, others, name) or not any(line.look.marker for line in lines), name
        found += [name, *words(figure, lines, table, name in settings.sweeps)]
    file_regression.check("\n".join([*found, ""]), fullpath=REFERENCE / f"{study}.txt")


STYLES = {"solid": "-", "dashed": "--", "dotted": ":", "dash-dotted": "-.", "hollow": "hollow", "pluses": "+"}
STYLES |= dict.fromkeys(("cross", "crosses"), "x X")
SIDES = {"top left": 0, "top right": 1, "bottom left": 2, "bottom right": 3, "left": 0, "middle": 1, "right": -1}
SIDES |= {"top": 0, "bottom": -1}
STYLED = re.compile(
    rf"(?<![-\w])({'|'.join(STYLES)}): ([^.;:]*)|([^.;:,]*) \(({'|'.join(STYLES)})\)", flags=re.IGNORECASE
)
SIDED = re.compile(rf"\b({'|'.join(SIDES)})(?=:| as| with| the)", flags=re.IGNORECASE)
SWEEP = {"law": [":"], "claimed exponent": ["--"], "least squares": ["-"], "left out": ["hollow"]}
SMALL = re.compile(
    r"the|and|for|with|that|this|its|over|are|was|one|all|not|from|under|of|by|as|in|at|to|is|on|delta|epsilon"
)


def told_panels(study: str) -> dict[str, list[tuple[str, list[tuple[str, set[str]]]]]]:
    """Figure -> the words at each of its panels, and the label and the marks of each of its lines, of the reference."""
    found = {}
    for line in (REFERENCE / f"{study}.txt").read_text().splitlines():
        if not line.startswith(" "):
            panels = found[line] = []
        elif not line.startswith("    "):
            swept = [*found][-1] in {fit.figure for fit in study_of(study).fits.values() if fit.panel}
            panels.append((line, [(label, {*marks}) for label, marks in SWEEP.items() if swept]))
        elif named := re.match(r" +(.*?) \(([^()]*)\)(?:: |$)", line):
            panels[-1][1].append((named[1], {*named[2].split()}))
    return found


def stems(text: str, least: int) -> set[str]:
    """The beginnings of the words of a text that have so many letters, without small ones and the plural."""
    words = re.findall(rf"[^\W\d_]{{{least},}}", re.sub(r"\{.*?\}", "", text).lower())
    return {word.rstrip("s")[:5] or word for word in words if not SMALL.fullmatch(word)}


@pytest.mark.parametrize("study", CAPTIONS)
def test_captions_name_sides_and_styles(study: str):
    """What a caption says of a side is about that panel rather than another, and drawn in the style that it names; of
    all labels those that share most words with what is said of a style have it."""
    for name, panels in told_panels(study).items():
        caption = CAPTIONS[study][name]["caption"]
        rest = SIDED.split(caption)[1:]
        sides = [(SIDES[side.lower()] % len(panels), text) for side, text in zip(rest[::2], rest[1::2], strict=True)]
        words = [stems(" ".join([title, *(label for label, _ in lines)]), 1) for title, lines in panels]
        alone = [own - set().union(*(other for other in words if other is not own)) for own in words]
        about = [stems(re.split("[,;.]", text)[0], 1) for _, text in sides]
        orders = [*itertools.permutations(place for place, _ in sides)]
        shared = [sum(len(said & alone[at]) for said, at in zip(about, order, strict=True)) for order in orders]
        assert shared[0] == max(shared), f"{name}: what is said of the sides is about the panels {orders}: {shared}"
        for place, text in sides:
            drawn = set().union(*(marks for _, marks in panels[place][1]))
            said = [one for one in STYLES if re.search(rf"(?<![-\w]){one}\b", text.lower())]
            assert all(drawn & {*STYLES[one].split()} for one in said), (
                f"{name}: {said} is not drawn in {panels[place]}"
            )
        lines = [line for _, lines in panels for line in lines]
        for style, text, before, behind in STYLED.findall(caption):
            marks, said = {*STYLES[(style or behind).lower()].split()}, stems(text or before, 2)
            most = max((len(said & stems(label, 2)) for label, _ in lines), default=0)
            alike = [line for line in lines if most and len(said & stems(line[0], 2)) == most]
            known = any(marks & drawn for _, drawn in lines)
            assert not (known and alike) or any(marks & drawn for _, drawn in alike), (
                f"{name}: {text or before}: {alike}"
            )


@pytest.mark.parametrize("study", CAPTIONS)
def test_captions_name_series_that_are_drawn(study: str):
    """Other numbers in a series move the numbers of each figure whose caption has a size of it, says
    tests/reference/analyses."""
    moved = {row["name"]: row["moved by"].split() for row in read_rows(REFERENCE.parent / "analyses" / f"{study}.csv")}
    for name, caption in CAPTIONS[study].items():
        own = {series for row, every in moved.items() if row.startswith(f"figure {name},") for series in every}
        own |= {fit.series for fit in study_of(study).fits.values() if fit.figure == name}
        missing = series_of(caption) - {series.partition("/")[0] for series in own}
        assert missing == {series for figure, series in UNSEEN if figure == name}, name
