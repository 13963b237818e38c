"""Print the meaning of the columns of cells.csv: those of every study, then those that each method adds."""

from replication.run.columns import dictionary

print(dictionary(), end="")
