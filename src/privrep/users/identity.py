"""Equality of ids, levels and numbers in memory, on disk, in a release and in the journal.

Values are equal if their texts are: 7, 7.0, "7", "7.0", "7e+00", b"7" and " 7 " are the same, "007" is another; true,
"TRUE" and "True" are the same. If two people share one id, the guarantee holds for both together; if one person has two
ids, that person has two budgets. So outer blanks and the Unicode composition of letters are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from pandas._libs.parsers import STR_NA_VALUES  # pyright: ignore[reportMissingImports] (compiled)

MISSING = frozenset(
    (*STR_NA_VALUES, "-nan", "NaT", "Null", "none", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!")
)
"""Texts that R, pandas and Excel write for a missing or lost value."""
HASHES = 64
"""Number of hashes in a sketch."""
WHOLE = re.compile(r"-?(0|[1-9]\d*)\.0+|-?[1-9](\.\d+)?[eE]\+\d{1,2}")
"""Texts that may be whole numbers: R writes 100000 as 1e+05, and pandas 7 as 7.0 where another value is missing."""
DATES = "has dates or times; give numbers in the unit in which the range is stated, such as years"
DATE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{4})\b")
UNUSUAL = r"^ | $|[^ -~]|^(True|TRUE|False|FALSE)$|^-?[0-9]+(\.0+|(\.[0-9]+)?[eE]\+[0-9]+)$"
"""Pattern that matches all texts that `spell` changes, and few other texts."""


def spell(value: object) -> str | None:
    """Return the normalised text of a value; None for a missing value, such as NaN."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        cell: Any = value
        if not np.ndim(cell) and pd.isna(cell):
            return None
        value = str(value)
    text = value.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if text in ("True", "TRUE", "False", "FALSE"):
        return text.lower()
    if WHOLE.fullmatch(text) and Decimal(text) == Decimal(text).to_integral_value():
        return str(int(Decimal(text)))
    return text


def of_each(values: object, function: Callable[[object], object], missing: object, where: str) -> np.ndarray:
    """Apply a function to values (N,), once per distinct value, and return objects; a missing value gives `missing`."""
    try:
        ours = isinstance(getattr(values, "dtype", None), np.dtype | pd.api.extensions.ExtensionDtype)
        column: Any = values if ours else np.asarray(values, object)
        column = np.asarray(column) if column.dtype.kind == "f" else column  # a pandas index has no float32
        codes, different = pd.factorize(column)
    except TypeError:
        raise ValueError(f"{where} has lists or tables in place of single values") from None
    return np.array([*map(function, different), missing], object)[codes]


def spelled(values: object, where: str = "it") -> np.ndarray:
    """Return the normalised texts of values (N,), None where missing; two values are equal if their texts are."""
    return of_each(values, spell, None, where)


def is_missing(texts: np.ndarray) -> np.ndarray:
    """Mark the texts of `spelled`, (N,), that denote a missing value."""
    return pd.isna(texts) | pd.Index(texts, dtype=object).isin(MISSING)


def person(value: object) -> str | None:
    """Return the text of an id; None if it is missing, or was a float too large to tell integers apart."""
    text = spell(value)
    if isinstance(value, float | np.floating):
        return None if abs(value) >= 2 / np.finfo(type(value)).eps else text
    merged = text is not None and len(text) > 15 and WHOLE.fullmatch(str(value).strip()) and abs(int(text)) >= 2**53
    return None if merged else text


def people(values: object, where: str, before: int = 0) -> np.ndarray:
    """Return the texts of ids (N,); a ValueError names `where` and the missing id's row, after `before` other rows."""
    texts = of_each(values, person, None, where)
    missing = is_missing(texts)
    if missing.any():
        row = int(np.argmax(missing))
        what, why = "a missing value", "each row needs a user"
        if spell(np.asarray(values, object)[row]) not in (None, *MISSING):
            what, why = "a float that may stand for several ids", "read the column as integers or as text"
        raise ValueError(f"{where} has {what} in row {before + row + 1}; {why}")
    return texts


def check_finite(labels: np.ndarray, where: str, before: int = 0) -> np.ndarray:
    """Return labels (N,); a ValueError names `where` and the row of an infinite one, after `before` other rows."""
    wrong = np.isinf(labels)
    if wrong.any():
        raise ValueError(f"{where} has infinity in row {before + np.argmax(wrong) + 1}; it must be finite, or missing")
    return labels


def numbers(values: object, where: str, before: int = 0) -> np.ndarray:
    """Return values (N,) as float64, NaN where missing; a ValueError names `where` and the row of a value that is not a
    number, after `before` other rows, and quotes no value."""
    given: Any = values
    values = pd.Series(given)
    if values.dtype.kind in "mM" or isinstance(values.dtype, pd.PeriodDtype | pd.DatetimeTZDtype):
        raise ValueError(f"{where} {DATES}")
    if values.dtype.kind == "c":
        raise ValueError(f"{where} has complex numbers; it must have real ones")
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(np.float64, na_value=np.nan)

    def number(value: object) -> float | None:
        if isinstance(value, int | float | Decimal | np.number | np.bool_):  # not a date, which float() may read
            return float(value)
        text = str(spell(value)) if isinstance(value, str | bytes) else "no number"
        if text in MISSING:
            return np.nan
        try:
            return None if "_" in text else float(text)  # Python alone reads 1_000
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(text)

    parsed = of_each(values, number, np.nan, where)
    wrong = np.fromiter((value is None for value in parsed), bool, len(parsed))
    if wrong.any():
        row = int(np.argmax(wrong))
        cell = values.iloc[row]
        if isinstance(cell, date | time) or DATE.match(str(cell)):
            raise ValueError(f"{where} {DATES}")
        raise ValueError(f"{where} has something else than a number in row {before + row + 1}")
    return parsed.astype(np.float64)


def sketch(hashed: np.ndarray) -> np.ndarray:
    """Return the smallest distinct hashes (uint64); two sets with much in common share some of them."""
    return np.sort(pd.unique(hashed))[:HASHES]


def hashed_numbers(values: np.ndarray) -> np.ndarray:
    """Hash the numbers (N,) that are not NaN to uint64, the same on every machine."""
    return pd.util.hash_array(values[~np.isnan(values)] + 0.0)  # -0.0 becomes 0.0
