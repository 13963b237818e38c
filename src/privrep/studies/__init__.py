"""One room per study, of the same name as its settings in config/studies.

measures.py : `measure(cells, study)` returns the quantities that claims refer to.
figures.py  : `draw(cells, study)` returns the figures by id, each with the table of plotted numbers.
chapter.md  : its chapter of the report.

`cells` is the study's results table, or None for a study of arithmetic. Measures import nothing that draws.
"""
