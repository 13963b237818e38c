# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Learning a shared representation under user-level differential privacy

# %%
from IPython.display import HTML, Markdown, display

from privrep.report import all_rows, badges, chapters, confirmation, deviations, papers, run_record, summary
from privrep.report.run_tables import Run
from privrep.run.config import read_papers

run = Run.load()


def show(*parts: str) -> None:
    """Put HTML on the page."""
    for part in parts:
        display(HTML(part))


def say(*parts: str) -> None:
    """Put Markdown on the page."""
    for part in parts:
        display(Markdown(part))


# %%
show(run_record.masthead(run.provenance))
say(chapters.page_text("small_run", run), chapters.page_text("opening", run), chapters.page_text("agreement", run))
show(summary.tally(run.claims), papers.papers(read_papers()))

# %% [markdown]
# ## What does not hold as printed

# %%
say(
    chapters.page_text("accusations", run),
    chapters.fold("The table, the gravest first", summary.accusations(run.claims)),
)

# %% [markdown]
# ## How to read a verdict
#
# Each claim names a number and a rule. The verdict follows from the measured number, its 95 % interval over repetitions
# (Student's, with a bootstrap standard error; Clopper-Pearson for shares of runs; none below five repetitions), the rule, and the
# scale of the run. A verdict of agreement needs the whole interval on the claimed side.
#
# An exponent is the slope of log(error) against log(parameter). From it is taken what a finite grid adds: the slope of a
# derived law on the same grid, less that law's exponent. Where that is more than a third of the tolerance there is no verdict.
# The papers state upper bounds, so an error that grows more slowly than claimed agrees with the paper and makes the bound loose.
# VIOLATED needs an interval that is simultaneous over all exponents of the run.
#
# A row tests a statement of the paper's, our correction of one, or a law or a limit of ours; only the first kind counts as agreement or
# disagreement. Statements are read as their authors would want them read, under their own assumptions.

# %%
say(chapters.page_text("exponents", run), chapters.fold("All verdicts and what they mean", badges.verdict_guide()))

# %%
for study in (study for paper in read_papers().values() for study in paper.chapters):
    say(chapters.chapter(study, run))

# %% [markdown]
# ## All verdicts
#
# One row for each quantity. The line under a row says why its verdict is what it is, and opens.

# %%
show(all_rows.all_rows(run.claims, run.shown(), papers.claims_touched(run.errata), run.grid_of))

# %% [markdown]
# ## Confirmation

# %%
show(*confirmation.section(run.claims))

# %% [markdown]
# ## What was revised, filled in or replaced

# %%
say(chapters.page_text("revisions", run))
say(chapters.fold("All entries, with what they changed", deviations.deviations_table(run.deviations)))

# %% [markdown]
# ## Errata
#
# What is printed, what is right, and a demonstration that would come out differently if the printed version were right.

# %%
say(papers.errata_list(run.errata))
say(chapters.fold("Looked at and set aside", papers.candidates_table(run.errata)))

# %% [markdown]
# ## Provenance

# %%
show(run_record.provenance_table(run.provenance))
