"""The report: tables of a run in, one page out. Nothing here simulates or judges.

Words are text: the chapters of the studies and the files of `texts`. Code finds numbers, verdicts and pictures for them.

run_tables  : the tables of a run.
chapters    : fills the texts, and puts claims and figures behind a chapter.
texts       : what belongs to no study: the opening of the page and the like.
rehearsal   : writes all texts on made-up tables, for lint and tests.
spelling    : numbers, names and counts as text.
sizes       : sizes of what was run, from the cells.
captions    : labels and captions of figures, sizes filled in.
pictures    : figures as HTML.
bars        : one judged number as a small picture.
grids       : what a study ran, in a line.
html_pieces : tables, commands and downloads as HTML.
badges      : verdicts as labels.
all_rows    : every row with its details, which the page searches.
claims_table, deviations, run_record, papers, confirmation : parts of the page that are tables; the errata stand in papers.
summary     : counts of the claims.
page        : executes the notebook in workflow/notebooks and wraps it in workflow/page: its frame, styles and scripts.
documents   : the findings in the README, and docs/results.md.
"""
