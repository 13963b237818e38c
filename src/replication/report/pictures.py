"""Figures in the page: SVG files in fewer bytes, as pictures that need no script, with caption, numbers and links."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from urllib.parse import quote

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
SAFE = " '()=:;,/!*+@?"
"""Signs that need no code in an address within double quotes."""


def _sides(svg: str) -> tuple[float, float]:
    """Return width and height of a picture in pixels; files give points."""
    opening = svg[svg.index("<svg") :].split(">", 1)[0]
    width, height = (float(re.findall(rf'\b{side}="([\d.]+)pt"', opening)[0]) for side in ("width", "height"))
    return width * 4 / 3, height * 4 / 3


def as_data(svg: str) -> str:
    """Return an SVG file as the address of an image: the same picture, without metadata, in fewer bytes."""
    svg = _smaller(re.sub(r"\s*<metadata.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL))
    svg = _with_classes(svg.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', ""))
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r'="([^"\']*)"', r"='\1'", tag[0]), svg)
    return f"data:image/svg+xml,{quote(svg, safe=SAFE)}"


def _smaller(svg: str) -> str:
    """Return the same picture in fewer bytes: without unused ids, blanks and digits beyond a hundredth of a point."""
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg))
    names = {name for pair in used for name in pair if name}
    short = {name: f"i{number}" for number, name in enumerate(sorted(names))}
    svg = re.sub(r'\s+id="([^"]+)"', lambda match: f' id="{short[match[1]]}"' if match[1] in short else "", svg)
    svg = re.sub(r'(href="#)([^"]+)"', lambda match: f'{match[1]}{short[match[2]]}"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", lambda match: f"url(#{short[match[1]]})", svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = re.sub(r"> <", "><", svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"\.(\d\d)\d+", r".\1", tag[0]), svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", svg)
    return re.sub(r'" *(/?>)', r'"\1', svg)


def _with_classes(svg: str) -> str:
    """Turn styles into classes, one for equal styles."""
    classes: dict[str, str] = {}

    def named(match: re.Match) -> str:
        return f'class="{classes.setdefault(match[1], f"s{len(classes)}")}"'

    svg = re.sub(r'(?<=\s)style="([^"]*)"', named, svg)
    rules = "".join(f".{short}{{{style}}}" for style, short in classes.items())
    return svg.replace("</style>", re.sub("([:;,]) ", r"\1", rules) + "</style>")


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
    """Return data as compressed JSON in base64: numbers that few readers open."""
    content = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def figure_html(
    figure: str, svg: str, numbers: bytes, caption: str, source: str, label: str = "", folder: str = FOLDER
) -> Markup:
    """Return a figure with its caption, numbers and links.

    source : file that draws it. label : name before the caption. folder : address of the figures' files, "" without.
    """
    width, height = _sides(svg)
    return FIGURE.figure(
        figure_anchor(figure),
        label or figure,
        label,
        caption,
        picture=as_data(svg),
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        least=f"{min(ROOM, 0.75 * width):.0f}",
        packed=packed({"points": points(svg), "numbers": numbers.decode()}),
        address=f"{folder}/{figure}" if folder else "",
        file=figure.rsplit("/", 1)[-1],
        source=source,
        count=numbers.count(b"\n") - 1,
    )
