"""The report: tables of a run in, one page out. Nothing here simulates or judges.

Words are text: the chapters of the studies and the files of `texts`.
HTML stands in `templates`, which escape what they are given. Code finds numbers, verdicts and pictures for both.

run_tables  : the tables of a run.
chapters    : fills the texts, and puts claims and figures behind a chapter.
texts       : what belongs to no study: the opening of the page and the like.
stub_run    : writes all texts on stub tables, for lint and tests.
templates   : elements of the page: pieces, claims, errata, figure, record; content is what the page says, page its
              frame.
layout      : loads the templates.
spelling    : numbers, names and counts as text.
anchors     : names of places within the page.
sizes       : sizes of what was run, from the cells.
captions    : labels and captions of figures, sizes filled in.
pictures    : figures, made small.
bars        : one judged number as marks on a scale.
grids       : what a study ran, in a line.
badges      : verdicts in the order of what they say.
claims_table, deviations, run_record, papers, comparison : what parts of the page show; the errata stand in papers.
summary     : counts of the claims.
page        : Markdown as HTML, formulas, contents, and the whole page; its styles and scripts stand in workflow/page.
documents   : the findings in the README, docs/results.md and docs/confirmation.md.
"""
