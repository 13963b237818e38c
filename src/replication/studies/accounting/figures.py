"""Figure of the study accounting (jain2021, privacy statements)."""

import math

from replication.drawing import DataFrame, Look, Picture, PlotSettings, distinct, power_of_ten
from replication.studies.accounting.analysis import NAMES, SECTION6_DELTA


def draw_privacy_accounting(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the epsilon that each statement achieves over the one that it claims."""
    axis = figure.panels(6.4, 4.4)
    least, most = numbers["epsilon"].min(), numbers["epsilon"].max()
    for claim, one in distinct(NAMES.values()).items():
        part = numbers[numbers["statement"] == next(key for key, name in NAMES.items() if name == claim)]
        for column, chain, dash in (("printed chain", "printed chain", "-"), ("exact", "exact", "--")):
            axis.curve(part["epsilon"], part[column], Look(f"{one.label}, {chain}", one.colour, "", dash))
    axis.level(1, "claimed")
    axis.level(math.log(1 / SECTION6_DELTA), r"stated up to $\epsilon = \ln(1/\delta)$", along="y", dash=":")
    x = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(SECTION6_DELTA)})"
    axis.label(x, r"achieved over claimed $\epsilon$", log="x", xlim=(least, most), ylim=(0.25, 1.08))
