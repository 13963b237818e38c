"""Users: simulated, in memory or in a table on disk; their heads, sample splits and risk; subspaces and random
streams."""
