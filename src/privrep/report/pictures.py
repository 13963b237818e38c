"""Figures in the page: SVG files made safe to stand side by side, with caption and numbers."""

from __future__ import annotations

import html
import re

from privrep.report.html_pieces import download
from privrep.report.spelling import typeset


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
    svg = re.sub(r"\n\s*\n", "\n", svg[svg.index("<svg") :])  # Markdown ends a block of HTML at an empty line
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
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
