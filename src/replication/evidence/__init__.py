"""From results to verdicts: intervals, exponents, measured quantities, claims and the rules that judge them."""
