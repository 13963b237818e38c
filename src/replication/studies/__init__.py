"""One folder per study, with its settings.

analysis.py : `analyse(cells, study)` returns the quantities that claims refer to, the fits, and the numbers of the
figures.
figures.py  : `draw_<name>(figure, numbers, study)` draws the figure <paper>/<name>, for figures that are not of fits
alone; it computes nothing.
chapter.md  : its chapter of the report.

`cells` is the study's results table, or None for a study of arithmetic alone. An analysis imports nothing that draws.
"""
