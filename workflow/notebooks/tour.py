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
# # A tour of the results
#
# This notebook lies beside the tables of its run and reads no others.
# Open it with Jupyter in the environment of the project, change a cell, and go on from there.

# %%
from pathlib import Path

import pandas as pd
from IPython.display import SVG

from replication.evidence.intervals import log_slope

reports = Path.cwd()  # where a notebook runs
figures = reports.parent / "figures"
results = next(path for path in (reports.parent / "results" / "default", reports.parent) if path.exists())
claims = pd.read_csv(reports / "claims.csv")

# %% [markdown]
# ## Verdicts
#
# `claims.csv` has one row for each quantity of a claim. The table counts verdicts by paper; `whose` says whose
# statement a row tests.

# %%
claims.groupby(["paper", "whose", "verdict"]).size().unstack(fill_value=0)

# %% [markdown]
# Statements that do not hold as printed, with advice to users:

# %%
columns = ["id", "quantity", "claimed", "measured", "ci_low", "ci_high", "verdict", "advice"]
claims.loc[claims["severity"].notna() & claims["verdict"].str.contains("FALSE|VIOLATED"), columns]

# %% [markdown]
# ## A figure and its numbers
#
# Each picture has the numbers that it draws in a CSV of its name.

# %%
drawn = {path.relative_to(figures).with_suffix("").as_posix(): path for path in sorted(figures.glob("*/*.svg"))}
numbers = {name: pd.read_csv(path.with_suffix(".csv")) for name, path in drawn.items()}
fits = {name: table for name, table in numbers.items() if {"fit", "exponent"} <= set(table)}
figure = next(iter(fits or numbers))
SVG(filename=drawn[figure])

# %%
numbers[figure]

# %% [markdown]
# ## A fit, made again
#
# An exponent is the slope of log(error) against log(parameter) over the points that no rule leaves out. Below it is
# fitted to all of them, as the run did, and without the last one; other windows can be tried in the same way.

# %%
rows = []
for name, points in (part for table in fits.values() for part in table.groupby("fit", sort=False)):
    used = points[points["left out"].isna() & points["exponent"].notna()]
    if len(used):
        slopes = [log_slope(points["value"], points["error"]) for points in (used, used.iloc[:-1])]
        rows.append([name, used["exponent"].iloc[0], *slopes])
pd.DataFrame(rows, columns=["fit", "exponent of the run", "made again", "without the last point"])

# %% [markdown]
# ## What a study measured, and one of its cells
#
# `measures.csv` has all quantities of a study with their intervals, those that no claim asks for too.
# A cell of `cells.csv` runs again by its key, from the folder of the project, and prints its ledger.

# %%
studies = [study for study in claims["study"].dropna().unique() if (results / study / "cells.csv").exists()]
study = next(iter(studies), claims["study"].dropna().iloc[0])
pd.read_csv(results / study / "measures.csv")

# %%
if studies:
    cells = pd.read_csv(results / study / "cells.csv")
    print(f"python workflow/scripts/run_shard.py --study {study} --cell {cells['key'].iloc[0]}")
