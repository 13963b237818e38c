"""The linear model of both papers: users drawn in blocks, their heads, subspaces, splits of samples, exact risk,
random streams."""
