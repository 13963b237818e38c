"""The report: tables of a run in, one page out. Nothing here simulates or judges.

Words are text: the chapters of the studies and the files of `texts`.
HTML stands in `templates`, which escape what they are given. Code finds numbers, verdicts and pictures for both.

texts        : what belongs to no study: the opening of the page and the like.
templates    : elements of the page: pieces, claims, errata, figure, record; content is what the page says, page its
               frame.
layout       : loads the templates.
spelling     : numbers, names and counts as text, and names of places within the page.
sizes        : sizes of what was run, in prose, in captions and in a line.
pictures     : figures, made small.
claims_table : rows of claims, each with its marks on a scale.
run_tables   : the tables of a run.
summary      : counts of the claims, errata, and what was revised, filled in or replaced.
record       : what the run was made with, and how it agrees with other runs.
chapter_numbers : numbers of a run by name, as the texts quote them.
grounds      : what a paragraph rests on, and what a run says against it.
chapters     : fills the texts, and puts claims and figures behind a chapter.
page         : Markdown as HTML, formulas, contents, and the whole page; its styles and scripts stand in workflow/page.
stub_run     : writes all texts on stub tables, for lint and tests.
documents    : the findings in the README, docs/results.md and docs/confirmation.md.
"""
