"""privrep: learning a shared representation under user-level differential privacy, replicated.

jain2021 is Jain, Rush, Smith, Song, Thakurta, "Differentially Private Model Personalization" (NeurIPS 2021);
shen2023 is Shen, Ye, Kang, Hassani, Shokri, "Share Your Representation Only" (ICLR 2023).

The rooms, each of which uses only those before it:

data        : the linear model of both papers: users, heads, subspaces, splits, risk, random streams.
privacy     : clipping, mechanisms, the ledger, accounting.
laws        : what an error is expected to be, with constants.
algorithms  : the papers' methods and the baselines, one file each.
neural      : the networks and methods of shen2023's image experiments, in JAX, which nothing else imports.
instruments : what has the truth in hand: scores of a fit, lemmas taken apart, searches.
run         : configuration, cells, rows, and the files between jobs.
evidence    : intervals, exponents, quantities, claims, verdicts.
drawing     : the style of the figures, and sweeps.
report      : the page and the documents of the repository, made of tables and texts.
studies     : one room each: measures, figures, chapter.
errata      : a demonstration for each error in print.
"""

ROOMS = (
    "data",
    "privacy",
    "laws",
    "algorithms",
    "neural",
    "instruments",
    "run",
    "evidence",
    "drawing",
    "report",
    "studies",
    "errata",
)
"""The rooms in order: nothing imports upwards."""

__version__ = "0.1.0"
