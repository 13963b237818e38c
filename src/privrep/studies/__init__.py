"""One file per study, of the same name as its settings: `measure(cells)` returns the quantities that claims refer to.

`cells` is the study's results table, or None for a study of arithmetic.
"""
