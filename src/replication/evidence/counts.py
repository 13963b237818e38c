"""Counts of runs by setting: shares over all repetitions, with Clopper-Pearson intervals. Counts of the papers'
statements by outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd

from replication.evidence.compare import interval_of
from replication.evidence.measured import Measured, share_ends
from replication.evidence.verdicts import SEVERITIES, Verdict

AGREES = (Verdict.RATE_AGREES, Verdict.LOOSE, Verdict.HOLDS, Verdict.REPRODUCED)
"""Verdicts of agreement, with LOOSE: a paper states upper bounds, and an error below a bound agrees with it."""
FALSE = (Verdict.VIOLATED, Verdict.FALSE_AS_PRINTED, Verdict.NOT_REPRODUCED, Verdict.NOT_MET)
FAULTS = (*FALSE, Verdict.PARTIAL, Verdict.PROOF_GAP)


def with_ends(points: pd.DataFrame, hits: str, runs: str) -> pd.DataFrame:
    """Add the columns ci_low and ci_high to points: the interval of the share `hits` / `runs` of each row."""
    counts = points[[hits, runs]].round().astype(int).to_numpy()
    ends = [share_ends(int(hit), int(tried)) for hit, tried in counts]
    return points.assign(ci_low=[low for low, _ in ends], ci_high=[high for _, high in ends])


def failed_shares(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Sum `failed` and `tried` over all repetitions for each value of the keys; return the share that failed, its
    interval, and the number of repetitions as `draws`."""
    sums = {"failed": ("failed", "sum"), "tried": ("tried", "sum"), "draws": ("seed", "nunique")}
    points = with_ends(rows.groupby(keys, sort=False).agg(**sums).reset_index(), "failed", "tried")
    return points.assign(failed=points["failed"].round() / points["tried"].round())


def proportion(quantity: str, point: pd.Series, name: str, note: str) -> Measured:
    """Turn the share in column `name` of a row of `with_ends`, which has a column `draws`, into a measured quantity."""
    share, low, high = map(float, point[[name, "ci_low", "ci_high"]])
    return Measured(quantity, share, low, high, int(point["draws"]), note)


def own_statements(claims: pd.DataFrame, whose: str = "paper") -> pd.DataFrame:
    """Return the rows of claims.csv on statements of the papers, or of this project if `whose` is "ours", without
    definitions, summaries of other claims, and stand-ins for experiments."""
    own = (claims["whose"] == whose) & (claims["basis"] != "definition") & (claims["rule"] != "all_hold")
    return claims[own & (claims["verdict"] != Verdict.SURROGATE)]


def by_outcome(claims: pd.DataFrame, whose: str = "paper") -> dict[str, int]:
    """Count quantities and claims of the papers, or of this project, by outcome.

    `claims` have a tested quantity: in `claims_hold` all of these hold, in `claims_faulty` one is false, holds in part
    or is a gap, in `claims_open` none is faulty, but one is undecided. `tested` quantities are the sum of `hold`
    (`loose` of them are loose bounds), `part`, `false` (by severity `false_P` to `false_T`), `gaps` (a step of a proof
    does not follow) and `undecided`. Further: `untested`; `rates`, the exponents that agree; `rates_beside`, those of
    them whose interval excludes the claimed power.
    """
    rows = own_statements(claims, whose)
    verdicts, false = rows["verdict"], rows["verdict"].isin(FALSE)
    kinds = pd.Series({word: 2 for word in FAULTS} | dict.fromkeys(AGREES, 0))
    worst = verdicts[verdicts != Verdict.NOT_TESTED].map(kinds).fillna(1).groupby(rows["id"]).max()
    groups = {
        "hold": verdicts.isin(AGREES),
        "part": verdicts == Verdict.PARTIAL,
        "false": false,
        "gaps": verdicts == Verdict.PROOF_GAP,
        "undecided": verdicts == Verdict.INCONCLUSIVE,
    }
    counts = {"tested": sum(groups.values()), "loose": verdicts == Verdict.LOOSE, **groups}
    counts |= {"claims": worst >= 0, "claims_hold": worst == 0, "claims_faulty": worst == 2, "claims_open": worst == 1}
    rates = rows[verdicts == Verdict.RATE_AGREES]
    ends = [interval_of(row)[1:] for row in rates.to_dict("records")]
    beside = [not low <= float(of) <= high for (low, high), of in zip(ends, rates["claimed"], strict=True)]
    counts |= {
        "untested": verdicts == Verdict.NOT_TESTED,
        "rates": rates["id"].notna(),
        "rates_beside": np.array(beside),
    }
    counts |= {f"false_{letter}": false & (rows["severity"] == letter) for letter in SEVERITIES if letter != "L"}
    return {name: int(which.sum()) for name, which in counts.items()}
