"""Experiments, which a study names like a method: lemmas of the proofs part by part, audits, and searches for a number
of users. They know the truth, and say which sums are exact."""
