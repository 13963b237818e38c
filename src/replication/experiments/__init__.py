"""Experiments, which a study names like a method: lemmas part by part, audits and searches; they know the truth."""
