"""What all figures share: their style, and the sweeps of a fit."""
