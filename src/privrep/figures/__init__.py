"""One file per study, of the same name: `draw(cells)` returns its figures by id, each with the table of the plotted numbers.

Kept apart from `privrep.studies`, so that a change of style runs no measurement and no simulation again.
"""
