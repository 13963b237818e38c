"""Loader of `templates`, which have the words around numbers, one file for each kind of piece. They escape HTML: Python
passes plain data.

Markup from another template or from Markdown is passed as `markupsafe.Markup`.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import jinja2
from markupsafe import Markup

from replication.evidence.verdicts import SEVERITIES, Verdict
from replication.report import spelling

BAR_WIDTH = 120
"""Width of the small picture of a judged number."""

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("replication.report"),
    autoescape=lambda name: str(name).endswith(".html.jinja"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
SPELT = ("count", "number", "plural", "sentence", "share", "typeset", "claim_anchor", "figure_anchor")
ENVIRONMENT.filters |= {name: getattr(spelling, name) for name in SPELT} | {"verdict": Verdict}
ENVIRONMENT.globals |= {"interval": spelling.interval, "severities": SEVERITIES, "bar_width": BAR_WIDTH}


def macros(name: str) -> ModuleType:
    """Return the macros of a template, to be called with data; they return Markup."""
    return cast(ModuleType, ENVIRONMENT.get_template(name).module)  # the macros are its attributes


def laid_out(name: str, **data: object) -> Markup:
    """Return a whole template, filled with data."""
    return Markup(ENVIRONMENT.get_template(name).render(data))


PIECES = macros("pieces.html.jinja")
"""Macros of the elements that many parts of the page share."""
