"""A run: its configuration, its cells, what becomes a row, and the files in between."""
