"""Formulas as printed in the papers, for their claims alone, and laws as columns of a results table."""
