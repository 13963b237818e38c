"""The style of all figures, and how they are written: SVG and PDF that are the same bytes on every run.

The only module that sets up matplotlib; no simulation imports it.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

matplotlib.use("Agg")
sns.set_theme(
    context="paper",
    style="ticks",
    rc={
        "svg.hashsalt": "privrep",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "0.92",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "axes.labelsize": 9.5,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
    },
)

COLOURS = sns.color_palette("colorblind").as_hex()


def new_figure(width: float, height: float, **subplots) -> tuple[Figure, Axes]:
    """A figure with a constrained layout, in inches; keyword arguments go to `Figure.subplots`."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(**subplots)


def save(figure: Figure, numbers: pd.DataFrame, path: Path) -> None:
    """Write `path`.svg, .pdf and the plotted numbers as `path`.csv, each in one move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for kind, metadata in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{kind}")
        figure.savefig(temporary, format=kind, metadata=metadata)
        os.replace(temporary, path.with_suffix(f".{kind}"))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.csv")
    numbers.to_csv(temporary, index=False, lineterminator="\n")
    os.replace(temporary, path.with_suffix(".csv"))
