"""Experiments that take an algorithm apart as a proof does, with the truth in hand; they say which sums are exact."""
