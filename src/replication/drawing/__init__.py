"""Shared parts of all figures: their style, and panels of fitted exponents."""
