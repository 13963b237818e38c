"""A run: its configuration, its cells, their rows, and the files in between."""
