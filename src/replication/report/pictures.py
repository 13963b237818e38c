"""Figures in the page: SVG files in fewer bytes and with ids of their own, with caption, numbers and links."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re

from markupsafe import Markup

from replication.report.layout import macros
from replication.report.spelling import GREEK, figure_anchor

FIGURE = macros("figure.html.jinja")
POINTS = re.compile(r'<metadata id="points">(.*?)</metadata>', flags=re.DOTALL)
"""Metadata of an SVG file, with the numbers that it shows (`replication.drawing.style.with_points`)."""
FOLDER = "../figures"
"""Address of the figures from the page, in every run."""
ROOM = 640
"""Width in pixels to which every picture may shrink on a narrow page; a small one shrinks to 3/4 of its own width."""


def _widths(svg: str) -> tuple[float, float]:
    """Return the width of a picture and its least width in the page, in pixels; files give points."""
    width = float(re.findall(r'<svg\b[^>]*\bwidth="([\d.]+)pt"', svg)[0]) * 4 / 3
    return width, min(ROOM, 0.75 * width)


def inline_svg(svg: str, prefix: str, described_by: str) -> Markup:
    """Return an SVG file as part of a page: with its own ids, styles for it alone, and the colours of the page."""
    svg = re.sub(r"\s*<metadata.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    width, least = _widths(svg)
    svg = _smaller(svg)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = svg.replace("*{stroke-linejoin", f"#{prefix}-all *{{stroke-linejoin")
    svg = _with_classes(svg, f"{prefix}-all")
    opening, rest = svg.split(">", 1)
    # One group holds all, which figures.js shows panel by panel on a narrow screen.
    rest = FIGURE.whole(prefix, Markup(rest.removesuffix("</svg>"))) + Markup("</svg>")
    opening = re.sub(r'\s(?:width|height)="[^"]*"', "", opening)
    style = f"--least:{least:.0f};max-width:{width:.0f}px;min-width:{least:.0f}px"
    return Markup(f'{opening} id="{prefix}-svg" role="img" aria-labelledby="{described_by}" style="{style}">{rest}')


def _smaller(svg: str) -> str:
    """Return the same picture in fewer bytes: without unused ids, blanks and digits beyond a hundredth of a point."""
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg))
    names = {name for pair in used for name in pair if name}
    short = {name: f"i{number}" for number, name in enumerate(sorted(names))}
    svg = re.sub(r'\s+id="([^"]+)"', lambda match: f' id="{short[match[1]]}"' if match[1] in short else "", svg)
    svg = re.sub(r'(href="#)([^"]+)"', lambda match: f'{match[1]}{short[match[2]]}"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", lambda match: f"url(#{short[match[1]]})", svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = _without_bare_groups(re.sub(r"> <", "><", svg))
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"\.(\d\d)\d+", r".\1", tag[0]), svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", svg)
    return re.sub(r'" *(/?>)', r'"\1', svg)


def _without_bare_groups(svg: str) -> str:
    """Remove groups without attributes, half of the elements of a picture, and keep their content.

    >>> _without_bare_groups('<g><g class="a"><path/></g></g>')
    '<g class="a"><path/></g>'
    """
    kept, said = [], []
    for piece in re.split(r"(</?g\b[^>]*>)", svg):
        if piece.startswith("<g") and not piece.endswith("/>"):
            said.append(piece != "<g>")
        if not (piece == "<g>" or (piece == "</g>" and not said.pop())):
            kept.append(piece)
    return "".join(kept)


def _with_classes(svg: str, name: str) -> str:
    """Turn styles into classes, one for equal styles, and all colours into those of the page."""
    classes: dict[str, str] = {}

    def named(match: re.Match) -> str:
        return f'class="{classes.setdefault(match[1], f"s{len(classes)}")}"'

    svg = re.sub(r'(?<=\s)style="([^"]*)"', named, svg)
    rules = "".join(f"#{name} .{short}{{{in_colours_of_the_page(style)}}}" for style, short in classes.items())
    return svg.replace("</style>", rules + "</style>")


def in_colours_of_the_page(style: str) -> str:
    """Map greys between the page's ink and paper, and other colours to a brightness that its paper needs.

    >>> in_colours_of_the_page("fill: #ffffff; stroke: #595959")
    'fill:var(--paper);stroke:color-mix(in srgb,var(--ink) 65%,var(--paper))'
    >>> in_colours_of_the_page("fill: #0173b2")
    'fill:color-mix(in srgb,#0173b2,white var(--lift))'
    """

    def colour(match: re.Match) -> str:
        red, green, blue = (match[0][place : place + 2] for place in (1, 3, 5))
        if not red == green == blue:
            return f"color-mix(in srgb,{match[0]},white var(--lift))"
        ink = round(100 * (1 - int(red, 16) / 255))
        return {0: "var(--paper)", 100: "var(--ink)"}.get(ink, f"color-mix(in srgb,var(--ink) {ink}%,var(--paper))")

    return re.sub(r"([:;,]) ", r"\1", re.sub(r"#[0-9a-f]{6}\b", colour, style))


def points(svg: str) -> dict:
    """Return the numbers of a picture for the page's script, empty where the file has none."""
    match = POINTS.search(svg)
    shown = json.loads(html.unescape(match[1])) if match else {"panels": []}
    for panel in shown["panels"]:
        panel |= {name: _letters(panel[name]) for name in ("title", "x", "y")}
        for series in panel["series"]:
            series["name"] = _letters(series["name"])
    return shown if shown["panels"] else {}


def _letters(label: str) -> str:
    return re.sub(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])", lambda match: GREEK[match[1]], label)


def packed(parts: dict) -> str:
    """Return data as compressed JSON in base64: two thirds of a page are pictures and numbers that few readers open."""
    content = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def figure_html(figure: str, svg: str, numbers: bytes, caption: str, label: str = "", folder: str = FOLDER) -> Markup:
    """Return a figure with its caption, numbers and links; figures.js fetches the picture when it comes into view.

    label : name before the caption. folder : address of the figures' files, "" without files.
    """
    name, title, (width, least) = figure_anchor(figure), label or figure, _widths(svg)
    picture = inline_svg(svg, name, f"{name}-caption")
    return FIGURE.figure(
        name,
        title,
        label,
        caption,
        picture[: picture.index(">") + 1] + Markup("</svg>"),
        width=f"{width:.0f}",
        least=f"{least:.0f}",
        packed=packed({"picture": picture, "points": points(svg), "numbers": numbers.decode()}),
        address=f"{folder}/{figure}" if folder else "",
        file=figure.rsplit("/", 1)[-1],
        count=numbers.count(b"\n") - 1,
    )
