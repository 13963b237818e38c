"""Instruments of analysis: no algorithms, but what takes one apart. They read the truth and exact sums, and say which."""
