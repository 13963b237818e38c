"""Experiments, which a study names like methods: parts of lemmas, audits, searches; they may read the true model."""
