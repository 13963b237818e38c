"""Unit steps, this project's method: the method, its round and schedule, what it tracks, and how it whitens."""
