"""Print what the columns of cells.csv mean: those of every study, then those that each method adds."""

from replication.run.columns import dictionary

print(dictionary(), end="")
