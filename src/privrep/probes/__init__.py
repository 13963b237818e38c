"""Experiments on the steps of a proof, with the truth known; they say which sums are exact."""
