"""Figure of the study clip_choice: error of both methods against their clips, in the public simulation."""

from replication.drawing import DataFrame, Look, Picture, PlotSettings, look, short
from replication.studies.clip_choice.analysis import CHOICES, OWN

LOOKS = {
    "A": look("altmin", "alternating minimisation, samples clipped"),
    "A-user": look("altmin", "the same, users clipped", marker="v", dash="--"),
    "B": look("centaur"),
    "B-random": look("centaur", "CENTAUR, random start", marker="s", dash="--"),
}


def draw_clip_choice(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the error of both methods against their clips."""
    axis = figure.panels(5.4, 4.6)
    for name, one in LOOKS.items():
        part = numbers[numbers["series"].isin(CHOICES[name])]
        sized = part[part["size"].notna()].sort_values("size")
        axis.curve(sized["size"], sized["dist2"], Look("", one.colour, "", one.dash))
        axis.series(part, "drawn", "dist2", one.but(dash=""), hollow=~part["chosen"])
    axis.label("clip over the typical size (filled: chosen)", "dist2, geometric mean", log="xy")
    ticks = sorted(numbers["drawn"].unique())
    axis.set_xticks(ticks, [short(1e-4) if tick == OWN else f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
