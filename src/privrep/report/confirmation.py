"""The confirmation on the page: the comparison of docs/confirmation.csv, or a sentence that says that there is none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from markupsafe import Markup

from privrep.evidence.confirmation import ALONE, agreement, changed, verdict_counts, with_interval
from privrep.report.badges import by_level
from privrep.report.layout import macros
from privrep.run.config import ROOT
from privrep.run.csv_tables import read_rows


def section(claims: pd.DataFrame, docs: Path = ROOT / "docs") -> Markup:
    """Paragraphs and tables of the section.

    Parameters
    ----------
    claims : rows of claims.csv, as text. docs : folder with confirmation.csv, if there is one.
    """
    record, path = macros("record.html.jinja"), docs / "confirmation.csv"
    if not path.exists():
        return record.no_confirmation()
    rows = read_rows(path)
    counts = {word: numbers for word, *numbers in verdict_counts(rows)}
    now = claims["confirmed"].value_counts().to_dict()
    differ = [row | {"first": with_interval(row), "second": with_interval(row, "confirmed_")} for row in changed(rows)]
    counts = {word: counts[word] for word in by_level(counts)}
    return record.confirmation(rows[0], ALONE, len(claims), now, agreement(rows), counts, differ)
