"""One folder per study, with its settings.

analysis.py : `analyse(cells, study)` returns the quantities that claims refer to, the fits, and the numbers of the
figures.
figures.py  : `draw_<name>(numbers, study)` returns the figure <paper>/<name> that shows anything but fits; it draws
and computes nothing.
chapter.md  : its chapter of the report.

`cells` is the study's results table, or None for a study of arithmetic. An analysis imports nothing that draws.
"""
