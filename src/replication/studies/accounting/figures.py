"""Figure of the study accounting (jain2021, privacy statements)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, legend, level
from replication.drawing.style import (
    Look,
    distinct,
    label,
    new_figure,
    power_of_ten,
)
from replication.run.settings import PlotSettings
from replication.studies.accounting.analysis import NAMES, SECTION6_DELTA


def draw_privacy_accounting(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the epsilon that each statement achieves over the one that it claims."""
    figure, axis = new_figure(6.4, 4.4)
    least, most = numbers["epsilon"].min(), numbers["epsilon"].max()
    for claim, one in distinct(NAMES.values()).items():
        part = numbers[numbers["statement"] == next(key for key, name in NAMES.items() if name == claim)]
        for column, chain, dash in (("printed chain", "printed chain", "-"), ("exact", "exact", "--")):
            curve(axis, part["epsilon"], part[column], Look(f"{one.label}, {chain}", one.colour, "", dash))
    level(axis, 1, "claimed")
    level(axis, math.log(1 / SECTION6_DELTA), r"stated up to $\epsilon = \ln(1/\delta)$", along="y", dash=":")
    x = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(SECTION6_DELTA)})"
    label(axis, x, r"achieved over claimed $\epsilon$", log="x", xlim=(least, most), ylim=(0.25, 1.08))
    legend(figure)
    return figure
