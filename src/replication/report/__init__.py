"""The report: it makes one page of the tables of a run, and neither simulates nor judges.

Prose is in the chapters of the studies and in the files of `texts`.
HTML is in `templates`, which escape their arguments. Code finds numbers, verdicts and pictures for both.

texts        : text of no single study, such as the opening of the page.
templates    : elements of the page: pieces, claims, errata, figure, record; content has the parts of the page, page its
               frame.
layout       : loads the templates.
spelling     : numbers, names and counts as text, and names of places within the page.
sizes        : sizes of runs, in prose, in captions and in a line.
pictures     : figures with fewer bytes.
claims_table : rows of claims, each with its marks on a scale.
run_tables   : the tables of a run.
summary      : counts of claims, errata and deviations.
record       : provenance of the run, and its agreement with other runs.
chapter_numbers : numbers of a run by name, as the texts quote them.
grounds      : verdicts and limits on which a paragraph rests, and those that a run denies.
chapters     : fills the texts, and puts claims and figures behind a chapter.
page         : Markdown as HTML, formulas, contents, and the whole page; its styles and scripts are in workflow/page.
stub_run     : writes all texts on stub tables, for lint and tests.
documents    : the findings in the README, docs/results.md and docs/confirmation.md.
"""
