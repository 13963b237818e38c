"""Clipping, noise mechanisms, the ledger of releases, and accounting. Neighbours differ in all samples of one user."""
