"""Formulas as the papers print them, which only their claims need, and laws as columns of a results table."""
