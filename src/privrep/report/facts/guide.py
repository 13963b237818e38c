"""What the chapter of the guide needs beside its quantities: the table of all measured settings, and the tool that asks for other ones."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd

from privrep.report.html_pieces import table
from privrep.report.run_tables import Run
from privrep.report.spelling import interval, number
from privrep.run.rival_options import ROUNDS
from privrep.studies.guide.analysis import (
    AXES,
    CLOSE,
    EXAMPLE,
    KEYS,
    METHODS,
    PRIVATE,
    RUN,
    guide,
    intervals,
    places,
    predictions,
    risks,
    settings_of,
)

STUDY = "guide"
SYMBOLS = {"users": "n", "samples": "m", "dim": "d", "rank": "k", "epsilon": "ε"}
LABELS = {
    "users": "users, n",
    "samples": "samples of a user, m",
    "dim": "dimension, d",
    "rank": "rank of what they share, k",
    "epsilon": "privacy, ε",
}
FINE = 1000
"""Predicted risks are written as this many times their decimal logarithm, a whole number: two parts in a thousand of the risk."""


def settings(run: Run) -> int:
    """How many settings were measured."""
    return len(settings_of(run.cells(STUDY)))


def settings_tried(run: Run) -> int:
    """From how many combinations the options of a method with rounds are chosen."""
    return len(ROUNDS)


def example_table(run: Run) -> str:
    """The row of `EXAMPLE` on its end: method by method the predicted and the measured risk."""
    cells = run.cells(STUDY)
    here = (settings_of(cells) == pd.Series(EXAMPLE)).all(axis=1)
    if not here.any():
        return ""
    place = here.idxmax()
    expected, known = (part.loc[place] for part in predictions(settings_of(cells)))
    found, low, high = (part.loc[place] for part in (risks(cells), *intervals(cells)))
    rows = [
        [
            _emphasised(METHODS[name], name == expected.idxmin()),
            _predicted(expected[name], known[name]),
            interval(found[name], low[name], high[name]) if name in RUN else "",
        ]
        for name in METHODS
    ]
    where = ", ".join(f"{SYMBOLS[key]} = {EXAMPLE[key]:,g}" for key in KEYS)
    return table(["Method", "Predicted", "Measured"], rows, f"Risk at {where}", "dense")


def guide_table(run: Run) -> str:
    """Setting by setting: predicted and measured risk of each method, and the method to use."""
    cells = run.cells(STUDY)
    where, found = settings_of(cells), risks(cells)
    expected, known = predictions(where)
    rows = []
    for place, setting in where.iterrows():
        best = expected.loc[place].idxmin()
        sizes = [f"{setting[key]:,g}" for key in KEYS]
        pairs = [
            f"{_predicted(expected.loc[place, name], known.loc[place, name])} / "
            f"{_emphasised(number(found.loc[place, name], 2), found.loc[place, name] <= CLOSE * found.loc[place].min())}"
            for name in RUN
        ]
        rows.append([*sizes, METHODS[best], *pairs])
    header = [*SYMBOLS.values(), "By law", *RUN.values()]
    caption = "Risk over that of predicting zero, predicted / measured (the least measured bold; brackets where the law is left)"
    return table(header, rows, caption, "dense", row_header=False)


def guide_widget(run: Run, key: str = "") -> str:
    """A place for the tool, which a script fills and shows, with its sliders and data. Without a script it stays hidden.

    Parameters
    ----------
    key : what the marks mean, in words.
    """
    sliders = "".join(
        f'<label><span>{LABELS[key]}</span><input type="range" name="{key}" min="0" max="{len(AXES[key]) - 1}" step="1" '
        f'value="{AXES[key].index(EXAMPLE[key])}"><output></output></label>'
        for key in KEYS
    )
    return (
        f'<div class="guide-tool" id="which-method" hidden><div class="guide-sliders">{sliders}</div>'
        f'<div class="guide-plot"></div><p class="guide-key">{key}</p><p class="guide-answer" role="status" aria-live="polite"></p>'
        f'<script type="application/json" id="guide-data">{json.dumps(guide_data(run), separators=(",", ":"))}</script></div>'
    )


def guide_data(run: Run) -> dict:
    """What the tool shows.

    axes : name, symbol and values, the last one running fastest. methods : key and name. predicted : method -> `FINE` times the decimal logarithm
    of its risk at all points of the grid, null where it has none; of own data without the last axis. known : a digit for each, 1 where the law's
    assumptions hold. measured : place on the axes, and method -> risk with the ends of its interval.
    """
    return _on_the_grid() | {"measured": _measured(run.cells(STUDY))}


@cache
def _on_the_grid() -> dict:
    expected, known = guide()
    budgets = len(AXES["epsilon"])
    steps = {name: budgets if name not in PRIVATE else 1 for name in RUN}
    return {
        "axes": [{"name": key, "symbol": SYMBOLS[key], "values": AXES[key]} for key in KEYS],
        "methods": [{"key": name, "name": called} for name, called in METHODS.items()],
        "fine": FINE,
        "close": CLOSE,
        "predicted": {name: _logarithms(expected[name].to_numpy()[::step]) for name, step in steps.items()},
        "known": {
            name: "".join(str(int(flag)) for flag in known[name].to_numpy()[::step]) for name, step in steps.items()
        },
    }


def _logarithms(values: np.ndarray) -> list[int | None]:
    return [round(FINE * float(np.log10(value))) if np.isfinite(value) else None for value in values]


def _measured(cells: pd.DataFrame) -> list[dict]:
    found, low, high = risks(cells), *intervals(cells)
    return [
        {
            "at": [int(one) for one in at],
            "risk": {name: [_short(part.loc[row, name]) for part in (found, low, high)] for name in RUN},
        }
        for row, at in enumerate(places(settings_of(cells)))
    ]


def _short(value: float) -> float | None:
    return float(f"{value:.3g}") if np.isfinite(value) else None


def _predicted(value: float, known: bool) -> str:
    text = number(value, 2)
    return text if known else f"({text})"


def _emphasised(text: str, strong: bool) -> str:
    return f"<b>{text}</b>" if strong else text
