"""privrep: learning a shared representation under user-level differential privacy.

Methods of jain2021 (Jain, Rush, Smith, Song, Thakurta, "Differentially Private Model Personalization", NeurIPS 2021),
of shen2023 (Shen, Ye, Kang, Hassani, Shokri, "Share Your Representation Only", ICLR 2023) and of this project, what
theory expects of them, and an estimator for tables of your own.

The layers, each of which uses only those before it:

options      : parameters and options, each declared once with its range, meaning and default.
users        : where rows come from: simulated, in memory, on disk; schema, passes over users, risk, random streams.
privacy      : clipping, mechanisms, the ledger, accounting; results leave the data through this layer alone.
methods      : a file or folder for each method, as printed; `steps`: what methods share; `running`: how one is run.
simulate     : a fit of simulated users by a method that is given by its name.
theory       : laws of the expected error, with constants, and which method is best according to them.
estimator    : an estimator in scikit-learn's manner for people's own tables, and the command `privrep`.
"""

LAYERS = ("options", "users", "privacy", "methods", "simulate", "theory", "estimator")
"""The layers in order: each imports only from those before it."""

__version__ = "0.4.0"
