"""A run: its configuration, its cells (one fit each), their rows of results, and the files that its jobs exchange."""
