"""Clipping, mechanisms, the ledger they write to, and accounting. Neighbours differ in all samples of one user."""
