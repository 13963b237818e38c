"""Errors in print: a demonstration for each erratum of src/replication/errata/errata.yaml."""
