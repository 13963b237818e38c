"""Errors in print: a demonstration for each erratum of config/errata.yaml."""
