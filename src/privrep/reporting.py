# ruff: noqa: RUF001  (typographic signs are meant)
"""The report's building blocks: tables in, HTML or Markdown out.

Nothing here simulates or judges. Numbers and verdicts come from the tables of a run; the words around them are chosen
by what the numbers say. The findings of a study are in privrep.findings, the page around them in workflow/notebooks.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pandas as pd

from privrep.config import read_yaml

FULL_SCALES = ("default", "paper")
"""Scales at which every verdict can be reached."""

EMBEDDED_BYTES = 200_000
"""Tables up to this size are put into the page for download."""

PARAMETERS = "PRIVREP_REPORT"
"""Environment variable with the name of the JSON file that says where the tables are."""


PAPERS = {
    "jain2021": "P. Jain, J. K. Rush, A. Smith, S. Song, A. Thakurta: "
    "<cite>Differentially Private Model Personalization</cite>. NeurIPS 2021.",
    "shen2023": "Z. Shen, J. Ye, A. Kang, H. Hassani, R. Shokri: "
    "<cite>Share Your Representation Only: Guaranteed Improvement of the Privacy-Utility Tradeoff in Federated "
    "Learning</cite>. ICLR 2023.",
}


def papers(names: Iterable[str]) -> str:
    """What the papers are, in the order given."""
    entries = "".join(f"<dt><code>{name}</code></dt><dd>{PAPERS.get(name, '')}</dd>" for name in dict.fromkeys(names))
    return f'<dl class="papers">{entries}</dl>'


# Verdicts


@dataclass(frozen=True)
class Word:
    """A verdict: its mood (for colour), a sign that needs no colour, and what it means."""

    mood: str
    sign: str
    meaning: str


VERDICTS = {
    "RATE-EXACT": Word("good", "✓", "The measured exponent is the claimed one, within the tolerance."),
    "LOOSE": Word("fair", "↓", "The error grows more slowly than the upper bound allows."),
    "VIOLATED": Word("bad", "✗", "The error grows faster than the upper bound allows."),
    "INCONCLUSIVE": Word("open", "?", "The interval lies on both sides of the limit."),
    "HOLDS": Word("good", "✓", "The identity, inequality or arithmetic is right as printed."),
    "FALSE-AS-PRINTED": Word("bad", "✗", "It is wrong as printed; a corrected statement is given."),
    "PROOF-GAP": Word("open", "∅", "The proof has a step that does not follow."),
    "REPRODUCED": Word("good", "✓", "The experiment gives what the paper says."),
    "PARTIAL": Word("fair", "~", "Some of it, or only in another reading of the set-up."),
    "NOT-REPRODUCED": Word("bad", "✗", "The result differs, in every reading that was tried."),
    "NOT-TESTED": Word("none", "–", "Not run, at too small a scale, or without its data; the reason is given."),
}
"""All verdicts. A result that has another one is an error."""

KINDS = {
    "Rates": ("RATE-EXACT", "LOOSE", "VIOLATED", "INCONCLUSIVE"),
    "Statements": ("HOLDS", "FALSE-AS-PRINTED", "PROOF-GAP"),
    "Experiments": ("REPRODUCED", "PARTIAL", "NOT-REPRODUCED"),
    "Any claim": ("NOT-TESTED",),
}


def badge(verdict: str) -> str:
    """A verdict as a small label.

    Raises
    ------
    ValueError
        If the word is not in `VERDICTS`.
    """
    if verdict not in VERDICTS:
        raise ValueError(f"{verdict!r} is not a verdict; it must be one of {', '.join(VERDICTS)}")
    word = VERDICTS[verdict]
    return f'<span class="badge {word.mood}"><span aria-hidden="true">{word.sign}</span> {verdict}</span>'


def verdict_guide() -> str:
    """What each verdict means, by kind of claim."""
    groups = []
    for kind, words in KINDS.items():
        entries = "".join(f"<dt>{badge(word)}</dt><dd>{VERDICTS[word].meaning}</dd>" for word in words)
        groups.append(f"<div><p>{kind}</p><dl>{entries}</dl></div>")
    return f'<div class="guide">{"".join(groups)}</div>'


# Text and numbers

GREEK = {
    "epsilon": "ε",
    "eps": "ε",
    "delta": "δ",
    "Delta": "Δ",
    "zeta": "ζ",
    "eta": "η",
    "rho": "ρ",
    "sigma": "σ",
    "mu": "μ",
    "sqrt": "√",
}
SIGNS = {
    " %": "\u00a0%",
    "||": "‖",
    "&lt;=": "≤",
    "&gt;=": "≥",
    "^2": "²",
    "^T": "<sup>⊤</sup>",
    "D triangle D": "D △ D",
    "$": "&#36;",
    " -> ": " → ",
}


def typeset(text: str) -> str:
    """Plain text of the configuration as HTML: escaped, with letters, subscripts and signs in place of their names.

    A relation keeps its sides on one line.

    >>> typeset("rho <= eps^2/(8 ln(1/delta)), delta = 1e-6")
    'ρ\\xa0≤\\xa0ε²/(8 ln(1/δ)), δ\\xa0=\\xa010<sup>−6</sup>'
    """
    text = html.escape(str(text), quote=False)
    for plain, sign in SIGNS.items():
        text = text.replace(plain, sign)
    text = re.sub(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])", lambda match: GREEK[match[1]], text)
    text = re.sub(r"(?<![\w-])([A-Za-zσ])_([A-Za-z0-9]+)(?![A-Za-z0-9_-])", r"\1<sub>\2</sub>", text)
    text = re.sub(r"(?<![\w.-])1(?:\.0)?e-0?(\d+)\b", r"10<sup>−\1</sup>", text)
    text = re.sub(r"(?<=\S) ([=≤≥]) (?=\S)", "\u00a0\\1\u00a0", text)
    return re.sub(r"(?<![\w)-])-(?=\d)", "−", text)


def number(value: float | str, digits: int = 3) -> str:
    """A number to the given significant digits.

    >>> number(1.3837), number(0.000128), number(12068.8), number(1.9969), number(2.0), number(1e-4)
    ('1.38', '1.28 × 10<sup>−4</sup>', '12,100', '2.00', '2', '10<sup>−4</sup>')
    """
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if not -4 < exponent < 7:
        mantissa = f"{value / 10.0**exponent:.12g}"
        mantissa = mantissa if mantissa.isdigit() else _rounded(value / 10.0**exponent, digits - 1)
        power = f"10<sup>{exponent}</sup>"
        text = power if mantissa == "1" else f"{mantissa} × {power}"
    elif value == int(value) and exponent < digits:
        text = f"{value:,.0f}"
    else:
        text = _rounded(value, digits - 1 - exponent)
    return text.replace("-", "−")


def _rounded(value: float, places: int) -> str:
    """A number to some decimal places, a five rounded up as on paper; a negative count rounds before the point."""
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return f"{rounded:,.{max(0, places)}f}"


def interval(measured: float | str, low: float | str, high: float | str) -> str:
    """A number with its interval; the number alone when there is none."""
    if measured == "":
        return ""
    if low == "" or float(low) == float(high):
        return number(measured)
    return f'{number(measured)} <span class="interval">[{number(low)}, {number(high)}]</span>'


def share(value: float) -> str:
    """A fraction in per cent."""
    return f"{number(100 * value, 2)}\u00a0%"


def times(factor: float) -> str:
    """A factor, without false precision."""
    return f"{number(factor, 2)} times"


def listing(items: Iterable[str], last: str = "and") -> str:
    """Items as a phrase.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else "none"


def count(number: int) -> str:
    """A count, in words up to twelve."""
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    return words[number] if number < len(words) else str(number)


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def sentence(text: str) -> str:
    """Text with a capital first letter."""
    return text[:1].upper() + text[1:]


def codes(names: Iterable[str]) -> str:
    """Names of series as a phrase in Markdown."""
    return listing(f"`{name}`" for name in names)


# Tables


def table(
    header: list[str], rows: Iterable[list[str]], caption: str = "", kind: str = "", row_header: bool = True
) -> str:
    """An HTML table in a container that scrolls. Cells are HTML; a cell with a number alone does not wrap."""

    def cell(text: str, first: bool) -> str:
        if first and row_header:
            return f'<th scope="row">{text}</th>'
        plain = re.sub(r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]", "", text)
        return f'<td class="number">{text}</td>' if plain.isdigit() else f"<td>{text}</td>"

    head = "".join(f'<th scope="col">{name}</th>' for name in header)
    body = "".join(f"<tr>{''.join(cell(text, not i) for i, text in enumerate(row))}</tr>" for row in rows)
    title = f"<caption><div>{caption}</div></caption>" if caption else ""
    return scrolling(
        f'<table class="{kind}">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>', caption
    )


def scrolling(content: str, label: str = "") -> str:
    """A container that scrolls sideways by itself, by keyboard too."""
    name = re.sub(r"<[^>]+>", "", label) or "Table"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(name)}">{content}</div>'


def command_line(command: str) -> str:
    """A command that a reader can copy."""
    return f'<code class="command">{html.escape(command, quote=False)}</code>'


def data_uri(content: bytes, kind: str) -> str:
    """Content as a link target of its own."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def download(content: bytes, name: str, text: str = "numbers as CSV") -> str:
    """A link that saves a table; the name of the file when the table is too large for the page."""
    if len(content) > EMBEDDED_BYTES:
        return f"{text}: <code>{html.escape(name)}</code>"
    file = name.rsplit("/", 1)[-1]
    return f'<a download="{html.escape(file)}" href="{data_uri(content, "text/csv")}">{text}</a>'


# Figures


def anchor(figure: str) -> str:
    """Name of a figure within the page."""
    return "fig-" + re.sub(r"\W+", "-", figure).strip("-")


def _width(svg: str) -> float:
    """Width of a picture in pixels; files give it in points."""
    return float(re.search(r'<svg\b[^>]*\bwidth="([\d.]+)pt"', svg)[1]) * 4 / 3


def inline_svg(svg: str, prefix: str, described_by: str) -> str:
    """An SVG file as part of a page: no prolog, ids that no other figure has, style rules that stay inside.

    Its size becomes a largest width, so that it shrinks on a narrow page.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = svg.replace("*{stroke-linejoin", f"#{prefix}-svg *{{stroke-linejoin")
    width = _width(svg)
    opening, rest = svg.split(">", 1)
    opening = re.sub(r'\s(?:width|height)="[^"]*"', "", opening)
    style = f"max-width:{width:.0f}px;min-width:{min(640, 0.75 * width):.0f}px"
    return f'{opening} id="{prefix}-svg" role="img" aria-labelledby="{described_by}" style="{style}">{rest}'


def figure_html(figure: str, svg: str, numbers: bytes, caption: str, label: str = "", remark: str = "") -> str:
    """A figure with its caption and the numbers behind it.

    Parameters
    ----------
    label : name that stands before the caption. remark : sentence after it, about this run.
    """
    name = anchor(figure)
    text = f'<span id="{name}-caption">{f"<b>{label}.</b> " if label else ""}{typeset(caption)}</span>'
    text += f" {remark}" if remark else ""
    picture = inline_svg(svg, name, f"{name}-caption")
    card = f'class="card" style="max-width:calc({_width(svg):.0f}px + 2rem)" tabindex="0" role="region"'
    return (
        f'<figure id="{name}"><div {card} aria-label="{html.escape(label or figure)}">{picture}</div>'
        f"<figcaption>{text} {download(numbers, f'{figure}.csv')}.</figcaption></figure>"
    )


# Claims


def claims_table(claims: pd.DataFrame, figures: Iterable[str] = (), brief: bool = False) -> str:
    """Claims with their quantities, verdicts, reasons and commands, one group of rows per claim.

    Parameters
    ----------
    claims : rows of claims.csv, as text.
    figures : ids of the figures in the page, for links.
    brief : leave out statements, reasons and commands.
    """
    columns = ["Quantity", "Claimed", "Predicted", "Measured [95\u00a0% interval]", "Verdict", "Reason"]
    columns = columns[:-1] if brief else columns
    groups = []
    for (paper, claim), rows in claims.groupby(["paper", "id"], sort=False):
        first = rows.iloc[0]
        head = "" if brief else _claim_head(first, paper, claim, set(figures), len(columns))
        body = "".join(_quantity_row(row, brief) for row in rows.to_dict("records"))
        name = "" if brief else f' id="claim-{_slug(claim)}"'
        groups.append(f'<tbody role="rowgroup"{name} data-paper="{html.escape(paper)}">{head}{body}</tbody>')
    # Roles stand beside the elements, since the page lays the rows out as blocks on a phone.
    header = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in columns)
    head = f'<thead role="rowgroup"><tr role="row">{header}</tr></thead>'
    kind = "claims brief" if brief else "claims"
    return scrolling(f'<table role="table" class="{kind}">{head}{"".join(groups)}</table>', "Verdicts")


def _slug(claim: str) -> str:
    return re.sub(r"[^\w.]+", "-", claim).strip("-")


def _claim_head(row: pd.Series, paper: str, claim: str, figures: set[str], width: int) -> str:
    link = f' · <a href="#{anchor(row["figure"])}">figure</a>' if row["figure"] in figures else ""
    return (
        f'<tr role="row" class="claim"><th role="rowheader" scope="rowgroup" colspan="{width}"><div>'
        f'<span class="id">{html.escape(claim)}</span> '
        f'<span class="place">{html.escape(paper)}, {typeset(row["place"])}{link}</span>'
        f"<p>{typeset(row['statement'])}</p>"
        f'<span class="again">Draw again: {command_line(row["command"])}</span></div></th></tr>'
    )


LONG_REASON = 24
"""Reasons of more characters get a line of their own."""


def _quantity_row(row: dict, brief: bool) -> str:
    tolerance = f' <span class="interval">± {typeset(row["tolerance"])}</span>' if row["tolerance"] else ""
    measured = interval(row["measured"], row["ci_low"], row["ci_high"])
    if row["rule"] == "all_hold":
        measured = "" if row["verdict"] == "NOT-TESTED" else f"{measured} hold"
    reason = typeset(row["reason"])
    own_line = not brief and len(row["reason"]) > LONG_REASON
    cells = {
        "claimed": typeset(row["claimed"]) + tolerance,
        "predicted": typeset(row["predicted"]),
        "measured": measured,
    }
    filled = "".join(f'<td role="cell" data-label="{name}">{text}</td>' for name, text in cells.items())
    filled += f'<td role="cell">{badge(row["verdict"])}</td>'
    if not brief:
        filled += f'<td role="cell" class="reason">{"" if own_line else reason}</td>'
    kind = ' class="whole"' if row["rule"] == "all_hold" else ""
    line = (
        f'<tr role="row" data-verdict="{row["verdict"]}"{kind}>'
        f'<th role="rowheader" scope="row">{typeset(row["quantity"])}</th>{filled}</tr>'
    )
    if own_line:
        cell = f'<td role="cell" colspan="6" class="reason">{reason}</td>'
        line += f'<tr role="row" class="more" data-verdict="{row["verdict"]}">{cell}</tr>'
    return line


def claims_filter(claims: pd.DataFrame) -> str:
    """Buttons that show the rows of one verdict or paper; hidden unless the page's script runs."""

    def buttons(key: str, values: Iterable[str]) -> str:
        return "".join(
            f'<button type="button" aria-pressed="false" data-key="{key}" data-value="{value}">{value} {count}</button>'
            for value, count in values
        )

    verdicts = [(word, (claims["verdict"] == word).sum()) for word in _by_mood(claims["verdict"].unique())]
    papers = [(paper, (claims["paper"] == paper).sum()) for paper in claims["paper"].unique()]
    groups = buttons("verdict", verdicts) + (buttons("paper", papers) if len(papers) > 1 else "")
    return f'<div class="filter" role="group" aria-label="Show only" hidden>{groups}</div>'


def tally(claims: pd.DataFrame) -> str:
    """How many quantities have each verdict, as labels."""
    counts = claims["verdict"].value_counts()
    labels = "".join(f"<span>{badge(word)} × {counts[word]}</span> " for word in _by_mood(counts.index))
    return f'<p class="tally">{labels}</p>'


MOODS = ("good", "fair", "open", "bad", "none")


def _by_mood(words: Iterable[str]) -> list[str]:
    """Verdicts from agreement to no test."""
    return sorted(words, key=lambda word: (MOODS.index(VERDICTS[word].mood), list(VERDICTS).index(word)))


def verdict_of(claims: pd.DataFrame, claim: str) -> str:
    """The verdict of a claim: of its whole where it has one, else the worst of its quantities."""
    rows = claims[claims["id"] == claim]
    whole = rows[rows["rule"] == "all_hold"]
    if len(whole):
        return whole["verdict"].iloc[0]
    order = ["bad", "open", "none", "fair", "good"]
    return min(rows["verdict"], key=lambda word: order.index(VERDICTS[word].mood))


def verdict_line(claims: pd.DataFrame, claim: str) -> str:
    """The verdict of a claim as a sentence that ends in a label; nothing for a claim that was not judged."""
    if claim not in set(claims["id"]):
        return ""
    return f'Verdict of <a href="#claim-{_slug(claim)}">{claim}</a>: {badge(verdict_of(claims, claim))}'


def summary(claims: pd.DataFrame, errata: pd.DataFrame) -> str:
    """One paragraph: how much was judged, with what outcome."""
    papers = claims["paper"].nunique()
    parts = [
        f"This report puts {plural(claims['id'].nunique(), 'claim')} of {plural(papers, 'paper')} next to what was "
        f"measured, in {plural(len(claims), 'quantity', 'quantities')}. Each verdict is computed from a measured "
        "number, its interval and a rule that was fixed beforehand."
    ]
    moods = claims["verdict"].map(lambda word: VERDICTS[word].mood).value_counts()
    phrases = {
        "good": ("agrees with the paper", "agree with the paper"),
        "fair": ("agrees in part", "agree in part"),
        "open": ("stays open", "stay open"),
        "bad": ("contradicts it", "contradict it"),
        "none": ("was not tested", "were not tested"),
    }
    counts = [
        f"{count(moods[mood])} {one if moods[mood] == 1 else many}"
        for mood, (one, many) in phrases.items()
        if mood in moods
    ]
    parts.append(f"Of the quantities, {listing(counts)}.")
    if len(errata):
        confirmed = int((errata["confirmed"] == "yes").sum())
        every = "each of them" if confirmed == len(errata) else f"{count(confirmed)} of them"
        listed = f"{plural(len(errata), 'erratum is', 'errata are')} listed"
        parts.append(f"{sentence(listed)}; a demonstration confirms {every}.")
    return " ".join(parts)


def scale_note(scale: str, claims: pd.DataFrame) -> str:
    """A visible note when the run is smaller than the claims; nothing at full scale."""
    if scale in FULL_SCALES:
        return ""
    waiting = int((claims["verdict"] == "NOT-TESTED").sum())
    return (
        f'<aside class="note"><p><b>This is a run at scale “{html.escape(scale)}”</b>, smaller than the paper’s. '
        f"Verdicts that need the full size are not tested at this scale: {plural(waiting, 'row reads', 'rows read')} "
        f"{badge('NOT-TESTED')}. The numbers below describe this run alone. {command_line('snakemake -j8 all')} "
        "runs the full size.</p></aside>"
    )


# Errata and provenance


def errata_table(errata: pd.DataFrame) -> str:
    """What is printed, what is right, and how that was shown."""
    rows = []
    for row in errata.to_dict("records"):
        confirmed = row["confirmed"] == "yes"
        mood, word = ("good", "confirmed") if confirmed else ("bad", "not confirmed")
        mark = f'<span class="badge {mood}">{word}</span>'
        place = f"{html.escape(row['paper'])}, {typeset(row['place'])}"
        rows.append(
            [
                f'<span class="id">{html.escape(row["id"])}</span><span class="place">{place}</span>',
                typeset(row["printed"]),
                typeset(row["correct"]),
                f"{typeset(row['demonstration'])} <b>Found:</b> {typeset(row['measured'])}. {mark}",
            ]
        )
    return table(["Place", "Printed", "Correct", "Demonstration"], rows, kind="errata")


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(42), duration(754), duration(7300)
    ('42 s', '12.6 min', '2.03 h')
    """
    if seconds < 120:
        return f"{number(seconds)} s"
    return f"{number(seconds / 60)} min" if seconds < 7200 else f"{number(seconds / 3600)} h"


def provenance_table(record: dict) -> str:
    """What the run was made with, and how long it took: every entry named ..._seconds or share_... is shown."""
    packages = ", ".join(f"{name} {version}" for name, version in record["packages"].items())
    blas = " ".join(str(value) for value in (record.get("blas") or {}).values())
    state = "with uncommitted changes" if record["dirty"] else "clean"
    seconds = {name.removesuffix("_seconds"): value for name, value in record.items() if name.endswith("_seconds")}
    rows = [
        ["Commit", f"<code>{html.escape(record['commit'] or 'unknown')}</code>, {state}"],
        ["Scale", html.escape(record["config"]["scale"])],
        ["Master seed", f"<code>{record['config']['master_seed']}</code>"],
        ["Configuration", f"sha256 <code>{record['config_sha256'][:16]}</code>"],
        ["Studies", html.escape(", ".join(record["config"]["studies"]))],
        ["Python", html.escape(f"{record['python']}; {packages}")],
        ["Processor", html.escape(f"{record['cpu']}; {record['platform']}")],
        ["BLAS", html.escape(blas)],
        ["Finished", html.escape(record["finished"].replace("T", " ").replace("+00:00", " UTC"))],
        ["Jobs", count(record["jobs"])],
        ["Time", ", ".join(f"{_words(name)} {duration(value)}" for name, value in seconds.items())],
    ]
    for name, value in record.items():
        if name.startswith("share_"):
            rows.append([sentence(_words(name)), "–" if value is None else share(value)])
    return scrolling(
        f'<table class="provenance"><tbody>{"".join(_pair(*row) for row in rows)}</tbody></table>', "Provenance"
    )


def _words(name: str) -> str:
    """A key as words."""
    return name.replace("_", " ").replace("cpu", "CPU")


def _pair(name: str, value: str) -> str:
    return f'<tr><th scope="row">{name}</th><td>{value}</td></tr>'


def masthead(record: dict) -> str:
    """One line under the title: which run this is."""
    commit = f"<code>{(record['commit'] or 'unknown')[:10]}</code>{' with changes' if record['dirty'] else ''}"
    day = record["finished"][:10]
    scale, seed = html.escape(record["config"]["scale"]), record["config"]["master_seed"]
    return f'<p class="masthead">Scale {scale} · seed {seed} · commit {commit} · {day}</p>'


# Reading a run


def read_text(path: Path) -> pd.DataFrame:
    """A CSV as text, so that a printed 0.90 stays 0.90."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@dataclass(frozen=True)
class Measures:
    """The rows of a study's measures.csv by quantity."""

    rows: pd.DataFrame

    def __contains__(self, quantity: str) -> bool:
        return quantity in self.rows.index

    def value(self, quantity: str) -> float:
        return float(self.rows.loc[quantity, "measured"])

    def text(self, quantity: str) -> str:
        """The number with its interval, for prose."""
        row = self.rows.loc[quantity]
        return interval(row["measured"], row["ci_low"], row["ci_high"])

    def seeds(self, quantity: str) -> int:
        return int(self.rows.loc[quantity, "seeds"])

    def numbered(self, prefix: str) -> dict[float, float]:
        """Values of the quantities whose name is the prefix and a number, by that number."""
        found = {
            name.removeprefix(prefix): float(value)
            for name, value in self.rows["measured"].items()
            if name.startswith(prefix)
        }
        return {float(name): value for name, value in found.items() if re.fullmatch(r" ?[\d.]+", name)}


@dataclass(frozen=True)
class Run:
    """Where the tables of one run are, and how to read them. Its methods return HTML for the notebook.

    Attributes
    ----------
    captions : config/claims files with the figures' captions.
    """

    claims: pd.DataFrame
    errata: pd.DataFrame
    provenance: dict
    results: Path
    figures: Path
    captions: dict[str, str]

    @classmethod
    def load(cls, environment: dict[str, str] = os.environ) -> Run:
        """The run that the JSON file named by the environment describes; without one, the default run."""
        places = {
            "claims": "reports/claims.csv",
            "errata": "reports/errata.csv",
            "provenance": "reports/provenance.json",
            "results": "results/default",
            "figures": "figures",
            "captions": [str(path) for path in sorted(Path("config/claims").glob("*.yaml"))],
        }
        if PARAMETERS in environment:
            places |= json.loads(Path(environment[PARAMETERS]).read_text())
        captions = {}
        for path in places["captions"]:
            captions |= read_yaml(Path(path)).get("captions", {})
        return cls(
            claims=read_text(places["claims"]),
            errata=read_text(places["errata"]),
            provenance=json.loads(Path(places["provenance"]).read_text()),
            results=Path(places["results"]),
            figures=Path(places["figures"]),
            captions=captions,
        )

    @property
    def scale(self) -> str:
        return self.provenance["config"]["scale"]

    def has(self, study: str) -> bool:
        """Whether a study is part of this run."""
        return study in self.provenance["config"]["studies"]

    def measures(self, study: str) -> Measures:
        """The measured quantities of a study."""
        return Measures(read_text(self.results / study / "measures.csv").set_index("quantity"))

    def cells(self, study: str) -> pd.DataFrame:
        """The results table of a study."""
        return pd.read_csv(self.results / study / "cells.csv")

    def numbers(self, figure: str) -> pd.DataFrame:
        """The plotted numbers of a figure."""
        return pd.read_csv(self.figures / f"{figure}.csv")

    def shown(self) -> list[str]:
        """Figures that this run has, in the order of their captions."""
        return [figure for figure in self.captions if (self.figures / f"{figure}.svg").exists()]

    def section_figure(self, figure: str, label: str = "", remark: str = "") -> str:
        """A figure of the run with its caption; a sentence that says so when the run has none of that name."""
        svg = self.figures / f"{figure}.svg"
        if not svg.exists():
            return f"<p>The figure <code>{html.escape(figure)}</code> is not part of this run.</p>"
        numbers = (self.figures / f"{figure}.csv").read_bytes()
        return figure_html(figure, svg.read_text(), numbers, self.captions[figure], label, remark)

    def section_claims(self, *claims: str) -> str:
        """The verdicts of some claims, in short."""
        return claims_table(self.claims[self.claims["id"].isin(claims)], brief=True)

    def findings(self, study: str, write: Callable[[Run], str]) -> str:
        """The findings of a study; a sentence that says so when it did not run."""
        return write(self) if self.has(study) else "This study is not part of this run."
