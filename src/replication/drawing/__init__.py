"""Tools for figures: a picture, its panels, looks, numbers on axes, and panels of fitted exponents."""

from pandas import DataFrame

from replication.drawing.looks import METHODS, Look, distinct, graded, look, looks
from replication.drawing.panels import CI, ENDS, Panel, Picture, around
from replication.drawing.style import GREY, LAW, NOTE, power_of_ten, short
from replication.drawing.sweeps import CLAIMED, MEASURED, draw_sweeps, exponent_text, sweep_panel, thinned
from replication.run.settings import PlotSettings
