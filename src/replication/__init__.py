"""The replication of jain2021 and shen2023: it runs the methods of `privrep` and judges the papers' claims.

The layers, each of which uses only those before it, `privrep` and `images`:

printed     : formulas as the papers print them, and laws as columns of a results table.
methods     : the exponential mechanism of jain2021, which no table can use, and its steps.
experiments : runs that use the true model: lemmas, audits, searches for a number of users.
run         : configuration, cells, rows, and the files between jobs.
evidence    : intervals, exponents, quantities, claims, verdicts.
errata      : a demonstration for each error in print.
drawing     : panels of figures, their style, and sweeps.
studies     : one folder each: analysis, figures, chapter.
report      : the page and the documents of the repository, made of tables and texts.
"""

LAYERS = ("printed", "methods", "experiments", "run", "evidence", "errata", "drawing", "studies", "report")
"""The layers in order: nothing imports upwards."""
