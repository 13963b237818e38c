"""What the words beside a number say it is, is what the number is called.

Words are those of a sentence or a cell, where these say nothing those before; a name has the methods of its series."""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, zip_longest
from typing import Any, cast

import pytest
from jinja2 import UndefinedError
from workflow_helpers import ROOT

from replication.drawing import METHODS
from replication.drawing.sweeps import AXES
from replication.evidence.facts import NotMeasured
from replication.report.chapter_numbers import ChapterNumbers
from replication.report.chapters import FRONT, TEXTS, Text, chapter_file, expression
from replication.report.run_tables import captions, study_of
from replication.report.stub_run import stub_runs
from replication.run.config import study_names
from replication.run.ingredients import method_of, published_methods

TAG = re.compile(r"\{\{-?(.*?)-?\}\}", flags=re.DOTALL)
MEASURED = re.compile(r"\b(?:[nqe]|value|law|fact|claims)\(|\.values\(\)")
MARK = re.compile(r"⟦(\d+)⟧")
TABLE = re.compile(r"\{% call\(\w+\) table\(\[?(.*?)[\])].*?%\}\n(.*?)\{% endcall %\}", flags=re.DOTALL)
SOURCES = {path.name.partition(".")[0]: path for path in sorted(TEXTS.glob("*.md*"))}
SOURCES |= {study: chapter_file(study) for study in study_names()}


@dataclass
class Asked(ChapterNumbers):
    """Numbers of a stub run, with a list of the quantities and sizes that were asked for; facts are none."""

    asked: list[tuple[str, str]] = field(default_factory=list)

    def row(self, quantity: str) -> Any:
        self.asked.append(self.place(quantity))
        return super().row(quantity)

    def values(self, series: str, column: str) -> str:
        study, name = self.place(series)
        self.asked.append((study, f"{name}.{column}"))
        return super().values(series, column)

    def size(self, series: str, column: str) -> str:
        self.values(series, column)
        return super().size(series, column)

    def fact(self, name: str) -> object:
        raise NotMeasured(name)


@dataclass(frozen=True)
class Tag:
    """What a tag puts in: its expression with all names written out, what it asks for, and its text if it is a size."""

    source: str
    asked: tuple[tuple[str, str], ...]
    size: str

    @property
    def name(self) -> str:
        called = [described(*one) for one in self.asked] or re.findall(r"[\"'](.*?)[\"']", self.source)
        return " ".join([*called, *re.findall(r"\| (min|max)\b", self.source)])


@cache
def described(study: str, name: str) -> str:
    """The name of a quantity or size of a series, with the methods of the series that it names."""
    settings, words = study_of(study), name
    fit = settings.fits.get(name.removeprefix("exponent "))
    for part in dict.fromkeys(re.findall(r"[\w-]+", f"{name} {fit.series if fit else ''}")):
        ends = {one.algorithm for key, one in settings.series.items() if key == part or key.endswith(f"-{part}")}
        for algorithm in ends if len({*map(method_of, ends)}) == 1 else ():
            method = re.sub("^(?:private|general|dp)_|_(?:steps|data)$", "", method_of(algorithm))
            label = f"{part} {METHODS[method].label}" if method in METHODS else part
            words = re.sub(rf"(?<![\w-]){part}(?![\w-])", label, words, count=1)
    return words


@cache
def tags(name: str) -> tuple[str, list[Tag]]:
    """A text, with the captions of its study, in which numbers stand in place of tags; and these tags."""
    path, study = SOURCES[name], name if name in captions() else ""
    source, found = FRONT.sub("", path.read_text(), count=1), []
    text = Text(path, Asked(stub_runs()[0], study), {"log": math.log})
    numbers, names = cast(Asked, text.numbers), {}
    with suppress(UndefinedError):  # tables of images
        names = text.names
    meant = text.parts[0].names | dict(re.findall(r"\{% set (\w+) = (.*?) %\}", source))
    known = re.compile(rf"""(?<![\w."'])({"|".join(meant) or "(?!)"})(?![\w"'(])""")
    source = "\n\n".join([source, *(caption["caption"] for caption in captions().get(study, {}).values())])
    source = re.sub(r"(?<![{\w])\{([A-Za-z][\w-]*)\.(\w+)\}", r'{{ values("\1", "\2") }}', source)
    source = re.sub(r"(?<![{\w^])\{([A-Z_]{3,})\}", r'{{ constant("\1") }}', source)

    def put(match: re.Match) -> str:
        whole = known.sub(lambda one: known.sub(lambda other: meant[other[1]], meant[one[1]]), match[1].strip())
        numbers.asked, value = [], None
        with suppress(Exception):  # a variable of a loop
            value = expression(whole)(**names)
        size = str(value) if isinstance(value, str | float | int) and not MEASURED.search(whole) else ""
        found.append(Tag(whole, tuple(dict.fromkeys(numbers.asked)), size))
        return f"⟦{len(found) - 1}⟧"

    marked = re.sub(r"\{% endmacro %\}", "\n\n", TAG.sub(put, source))
    marked = TABLE.sub(lambda one: "\n|".join(["", one[1].replace('", "', "|"), one[2].strip()]) + "|\n", marked)
    return re.sub(r"\{%.*?%\}", "", marked), found


def units(text: str) -> Iterator[tuple[str, list[str]]]:
    """Sentences, each with those before it in its paragraph; cells of tables, with head of column and of line."""
    for block in re.split(r"\n\s*\n|\n(?=- |\d+\. )", text):
        if block.lstrip().startswith("|"):
            head, *lines = [line.strip().strip("|").split("|") for line in block.strip().splitlines()]
            for line in lines:
                yield from ((cell, [f"{top} | {line[0]}"]) for top, cell in zip_longest(head, line, fillvalue=""))
            continue
        parts = re.split(r"(?<=[.?!:;])(?<!al\.)(?<!eq\.)\s+(?=[\w$`\\⟦(*])", block)
        yield from ((part, parts[:place]) for place, part in enumerate(parts))


PRONOUN = re.compile(r"\b(?:these|their|they|it)\b")


def any_of(words: Iterable[str]) -> str:
    return "|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in words)


ABOUT = {key: {look.label, key} for key, look in METHODS.items() if key not in ("own", "zero")}
ABOUT["exponential"] |= {"mechanism", "chain"}
for _method, _line in published_methods().items():
    ABOUT[_method.removeprefix("private_")] |= {_line["paper"], _method, _line["paper"][:-4]}
KINDS = {
    "method": {key: any_of(words) for key, words in ABOUT.items()},
    "beside": {
        "own": r"\bown(?: data)?\b|\balone\b",
        "zero": r"\bpredicting zero\b|\bzero's\b|\bzero model\b",
        "floor": r"\btrue subspace\b|\bfloor\b",
    },
    "neighbours": {"replaced": r"\breplac\w*", "removed": r"\bremov\w*|\badd(?:s|ed|ing)? or remov"},
    "extreme": {
        "most": r"\b(?:largest|at most|up to(?! constants)|max|worst|highest|most)\b",
        "least": r"\b(?:least|smallest|fewest|lowest|min|at best|down to)\b",
    },
    "thresholds": {"generous": r"\b(?:generous|uncut)\b", "printed": r"(?<!as )\bprinted\b"},
    "privacy": {"epsilon": r"\b(?:var)?epsilon\b|ε", "delta": r"\bdelta\b|δ(?! =)"},
}
SYMBOLS = {"Delta": {"sigma_g", "sigma_0", "mu", "varepsilon"}, "q": {"bar m"}, "epsilon": {"varepsilon", "ε"}}
SYMBOLS |= {"delta": {"δ"}, "sigma": {"the label noise"}, "kappa": {"the condition number"}}
SYMBOLS |= {"sine of the start": {"the distance"}}
LETTER = r"(d - k|m - k|[ndkmqTμζκεδ]|sigma(?:_\w)?|[dD]elta|kappa|(?:var)?epsilon|mu|zeta|bar m|"
LETTER += rf"{'|'.join(one for every in SYMBOLS.values() for one in every if one.startswith('the '))})(?![\w-])"
SIZE = re.compile(r"\b(?:(?:[nmdkp]|kappa|alpha|sigma|tau|epsilon)(?: =)?|at|rank|epochs) (\d[\d.]*)(?![\d/]| ?%)")


def said(text: str, kind: str) -> list[str]:
    """What a text says of a kind, in its order."""
    patterns = KINDS[kind].items()
    places = [(match.start(), what) for what, one in patterns for match in re.finditer(one, text, flags=re.IGNORECASE)]
    return list(dict.fromkeys(what for _, what in sorted(places)))


def plain(text: str) -> str:
    """A text without tags and signs of formulas; "from # to #" are the least and the most."""
    text = MARK.sub("#", re.sub(r"</?(?:sup|sub)>|[\\$*]", "", text))
    return re.sub(r"# to #", "# (least) to # (most)", text)


def in_order(words: list, names: list) -> bool:
    """Whether what words and names both have stands in one order."""
    return [one for one in words if one in names] == [one for one in names if one in words]


def wrong_kinds(unit: str, context: list[str], found: list[Tag]) -> Iterator[str]:
    """Numbers of another method, extreme and the like than their words, or in another order."""
    names = [one.name for one in found if not one.size]
    for kind in KINDS:
        words, before = said(plain(unit), kind), [said(plain(part), kind) for part in context]
        words = list(dict.fromkeys([*before[0], *words])) if "|" in "".join(context) else words
        known = {*words, *(next(filter(None, reversed(before)), ()) if not words or PRONOUN.search(unit) else ())}
        known |= {*chain(*before)} if kind == "beside" else set()
        about = [said(name, kind) for name in names]
        ones = [values[0] for values in about if len(values) == 1]
        some = len(ones) == len(words) and kind == "method" and all(one.asked for one in found)
        for name, values in zip(names, about, strict=True):
            wrong = known and values and not {*values} & known
            pair = " over " in name and len(values) == 2 and {*values} <= {*words} and not in_order(words, values)
            if wrong or pair:
                yield f"{kind}: the number is {name!r}, the words say {', '.join(words or known)}"
        if (some and {*ones} != {*words}) or not in_order(words, list(dict.fromkeys(ones))):
            yield f"{kind}: numbers of {', '.join(ones)}, but the words say {', '.join(words)}"


def wrong_letters(unit: str, found: dict[str, Tag]) -> Iterator[str]:
    """Exponents of another parameter than their words say, and sizes of another column."""
    clean = re.sub(r"</?su[pb]>|[\\$*]", "", unit)
    for match in MARK.finditer(clean):
        before, after, tag = clean[: match.start()], clean[match.end() :], found[match[1]]
        follows = re.match(rf"(?: and ⟦\d+⟧)?\s*(?:\(|in |of )(?:1/)?{LETTER}", after)
        told = [follows[1]] if follows else re.findall(rf"(?:with|as|in|of|for|measure) {LETTER}", before)[-1:]
        told = re.findall(rf"(?<![\w/]){LETTER} = $", before) if tag.size else told
        for study, name in tag.asked:
            fit = study_of(study).fits.get(name.removeprefix("exponent "))
            column = name.rpartition(".")[2] if tag.size else fit.axis if fit else ""
            letter = AXES.get(column, column).strip("$\\")
            if column and {*told} - {letter, *SYMBOLS.get(letter, ())}:
                yield f"a letter: {name} is of {letter}, the words say {', '.join(told)}"


def wrong_sizes(unit: str, context: list[str], found: dict[str, Tag]) -> Iterator[str]:
    """Numbers at other sizes than their words say, or in another order."""

    def numbers_in(text: str) -> list[float]:
        text = MARK.sub(lambda match: f" = {found[match[1]].size} ", text).replace(",", "")
        text = re.sub(r"\bone\b", "1", re.sub(r"\btwo\b", "2", text))
        return [*dict.fromkeys(map(float, re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)))]

    numbers = numbers_in(" ".join([unit, *context]))
    own = [tag for key, tag in found.items() if not tag.size and f"⟦{key}⟧" in unit]
    sizes = [float(one.rstrip(".")) for tag in own for _, name in tag.asked for one in SIZE.findall(name)]
    if not {*sizes} <= {*numbers}:
        yield f"a size: {[tag.asked for tag in own]}, the words say {numbers}"
    if not in_order(numbers_in(unit), list(dict.fromkeys(sizes))):
        yield f"a size: numbers at {sizes}, the words say {numbers}"


@pytest.mark.parametrize("name", SOURCES)
def test_a_number_is_what_its_words_say(name):
    """Method, extreme, neighbours, thresholds, parameter of an exponent and sizes, and their order in a sentence."""
    text, every = tags(name)
    wrong = []
    for unit, context in units(text):
        found = {key: every[int(key)] for key in MARK.findall(" ".join([unit, *context]))}
        own = [found[key] for key in MARK.findall(unit)]
        faults = chain(wrong_kinds(unit, context, own), wrong_letters(unit, found), wrong_sizes(unit, context, found))
        wrong += [f"{fault}, in: {plain(unit)[:160]}" for fault in faults]
    assert not wrong, "\n".join([f"{len(wrong)} numbers of {name} are not what the words beside them say", *wrong])


def test_numbers_stand_at_their_words(file_regression):
    """All sentences and cells with numbers, with what puts each in; tests/reference/numbers.txt, read by a person."""
    lines = []
    for name in SOURCES:
        text, every = tags(name)
        for unit, context in units(text):
            head = f"{context[0]}: " if "|" in "".join(context) else ""
            told = MARK.split(head + unit)
            put_in = [every[int(at)] for at in told[1::2]]
            told[1::2] = (f"[{tag.source}{f' = {tag.size}' if tag.size else ''}]" for tag in put_in)
            lines += [f"{name}: {' '.join(''.join(told).split())}"] if MARK.search(unit) else []
    file_regression.check("\n".join([*dict.fromkeys(lines), ""]), fullpath=ROOT / "tests" / "reference" / "numbers.txt")
