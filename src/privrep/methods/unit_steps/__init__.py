"""Unit steps, this project's method: its rounds, their schedule, the tracked error, and whitened features."""
