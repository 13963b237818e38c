# ruff: noqa: RUF001  (typographic signs are meant)
"""Numbers, names and counts as text, and anchors within the page."""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
from markupsafe import Markup

LETTERS = ["alpha", "epsilon", "eps", "delta", "Delta", "zeta", "eta", "rho", "sigma", "mu", "lam", "kappa", "sqrt"]
GREEK = dict(zip(LETTERS, "αεεδΔζηρσμλκ√", strict=True))

SIGNS = {
    " %": "\u00a0%",
    "||": "‖",
    "&lt;=": "≤",
    "&gt;=": "≥",
    "^T": "<sup>⊤</sup>",
    "D triangle D": "D △ D",
    "$": "&#36;",
    " -&gt; ": " → ",
    "O~": "Õ",
}


SQUARE = {"2": "²"}
"""Powers with a character of their own."""
POWER = Markup("<sup>{}</sup>")
"""Template of all other powers."""


def typeset(text: str) -> Markup:
    r"""Plain text of the configuration as HTML: escaped, with letters, subscripts and signs in place of their names.

    A relation keeps its sides on one line.

    >>> typeset("rho <= eps^2/(8 ln(1/delta)), delta = 1e-6")
    Markup('ρ\xa0≤\xa0ε²/(8 ln(1/δ)), δ\xa0=\xa010<sup>−6</sup>')
    """
    text = html.escape(str(text), quote=False)
    for plain, sign in SIGNS.items():
        text = text.replace(plain, sign)
    power = r"\^(-?(?:\d+(?:\.\d+)?(?!\d)|[a-z](?![\da-zA-Z])))"
    text = re.sub(power, lambda match: SQUARE.get(match[1], POWER.format(match[1].replace("-", "−"))), text)
    text = re.sub(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])", lambda match: GREEK[match[1]], text)
    text = re.sub(r"(‖)_([2F])\b", r"\1<sub>\2</sub>", text)
    text = re.sub(r"(?<![\w-])([A-Za-zα-ω])_([A-Za-zα-ω0-9]+)(?![A-Za-zα-ω0-9_-])", r"\1<sub>\2</sub>", text)
    text = re.sub(r"(?<![\w.-])1(?:\.0)?e-0?(\d+)\b", r"10<sup>−\1</sup>", text)
    text = re.sub(r"(?<=\S) ([=≤≥]) (?=\S)", "\u00a0\\1\u00a0", text)
    return Markup(re.sub(r"(?<![\w)-])-(?=\d)", "−", text))


def number(value: float | str, digits: int = 3) -> Markup:
    """Write a number with the given significant digits.

    >>> print(*map(number, (1.3837, 0.000128, 12068.8, 1.9969, 2.0, 1e-4)), sep="; ")
    1.38; 1.28 × 10<sup>−4</sup>; 12,100; 2.00; 2; 10<sup>−4</sup>
    """
    value = float(value) + 0.0  # zero has no sign
    if not math.isfinite(value):
        return Markup("–" if math.isnan(value) else "∞")
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if not -4 < exponent < 7:
        mantissa = f"{value / 10.0**exponent:.12g}"
        mantissa = mantissa if mantissa.isdigit() else _rounded(value / 10.0**exponent, digits - 1)
        power = "10" + POWER.format(exponent)
        text = power if mantissa == "1" else Markup("{} × {}").format(mantissa, power)
    elif value == int(value) and exponent < digits:
        text = f"{value:,.0f}"
    else:
        text = _rounded(value, digits - 1 - exponent)
    return Markup(text).replace("-", "−")


def _rounded(value: float, places: int) -> str:
    """Write a number with some decimal places, halves up as on paper; negative `places` round before the point."""
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return f"{rounded:,.{max(0, places)}f}"


def interval(measured: float | str, low: float | str, high: float | str) -> Markup:
    """Write a number with its interval; the number alone when there is none."""
    if measured == "":
        return Markup()
    if low == "" or math.isnan(float(low)) or float(low) == float(high):
        return number(measured)
    return Markup('{} <span class="interval">[{}, {}]</span>').format(*map(number, (measured, low, high)))


def of_row(row: Mapping[str, str] | pd.Series) -> Markup:
    """Write the number of a row of claims.csv or measures.csv, with its interval."""
    return interval(row["measured"], row["ci_low"], row["ci_high"])


def share(value: float) -> Markup:
    """Write a fraction in per cent."""
    return number(100 * value, 2) + "\u00a0%"


def power(exponent: float) -> str:
    """Write an exponent within a formula; an empty text for the exponent 1."""
    return "" if exponent == 1 else f"^{{{exponent:g}}}"


def listing(items: Iterable[str], last: str = "and") -> str:
    """Join items to a phrase.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else "none"


def count(number: int) -> str:
    """Write a count, in words up to twelve."""
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    return words[number] if number < len(words) else str(number)


def plural(number: int, singular: str, many: str = "") -> str:
    """Write a count with its noun."""
    return f"{count(number)} {singular if number == 1 else many or singular + 's'}"


def sentence(text: str) -> str:
    """Return text with a capital first letter."""
    return text[:1].upper() + text[1:]


def codes(names: Iterable[str]) -> str:
    """Join names of series to a phrase in Markdown."""
    return listing(f"`{name}`" for name in names)


def claim_anchor(claim: str) -> str:
    """Return the anchor of the first row of a claim in the page."""
    return "claim-" + re.sub(r"[^\w.]+", "-", claim.replace("'", " prime")).strip("-")


def row_anchor(claim: str, quantity: str) -> str:
    """Return the anchor of the row of a claim and quantity in the page."""
    words = re.sub(r"[^\w.]+", "-", quantity).strip("-").lower()
    return f"row-{claim_anchor(claim).removeprefix('claim-')}-{words}"


def figure_anchor(figure: str) -> str:
    """Return the anchor of a figure in the page."""
    return "fig-" + re.sub(r"\W+", "-", figure).strip("-")


def slug(words: str) -> str:
    """Return words as an id.

    >>> slug("What is delta, and where?")
    'what-is-delta-and-where'
    """
    return re.sub(r"\W+", "-", words.lower()).strip("-")


def unused(base: str, taken: set[str]) -> str:
    """Return the name, with a number if it is taken already, and add it to those taken."""
    names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name
