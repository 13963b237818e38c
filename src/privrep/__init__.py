"""privrep: learning a shared representation under user-level differential privacy, replicated.

jain2021 is Jain, Rush, Smith, Song, Thakurta, "Differentially Private Model Personalization" (NeurIPS 2021);
shen2023 is Shen, Ye, Kang, Hassani, Shokri, "Share Your Representation Only" (ICLR 2023).

The layers, each of which uses only those before it:

data        : the linear model of both papers: users, heads, subspaces, splits, risk, random streams.
privacy     : clipping, mechanisms, the ledger, accounting.
laws        : what an error is expected to be, with constants.
fitting     : what a method and its options are, and how one is run: noise calibrated, held to its budget, scored.
algorithms  : the papers' methods and the baselines, one file each; `parts` are what several share.
estimator   : a method of ours for people's own tables, in scikit-learn's manner.
images      : shen2023's image experiments: networks and methods in JAX, which nothing else imports.
probes      : the lemmas' quantities, measured with the truth known.
audits      : how well two users can be distinguished, against the ledger.
searches    : the smallest number of users that reaches a target.
run         : configuration, cells, rows, and the files between jobs.
advice      : which method for one's own users, and how many users a target needs.
evidence    : intervals, exponents, quantities, claims, verdicts.
drawing     : the style of the figures, and sweeps.
studies     : one folder each: measures, figures, chapter.
report      : the page and the documents of the repository, made of tables and texts.
errata      : a demonstration for each error in print.
commands    : the command `privrep`, for people's own tables.
"""

LAYERS = (
    "data",
    "privacy",
    "laws",
    "fitting",
    "algorithms",
    "estimator",
    "images",
    "probes",
    "audits",
    "searches",
    "run",
    "advice",
    "evidence",
    "drawing",
    "studies",
    "report",
    "errata",
    "commands",
)
"""The layers in order: nothing imports upwards."""

__version__ = "0.2.0"
