"""Measure the errors of the laws at random settings, write src/privrep/theory/factors.csv, and print for each method
the share of runs at other settings in its intervals, and the median ratio of the intervals' ends. Four minutes of CPU.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import math

import numpy as np
import pandas as pd

from privrep.privacy.accounting import gdp_mu
from privrep.simulate import fit
from privrep.theory.choice import METHODS, expected
from privrep.theory.residuals import RANGES, TABLE, interval, place, shipped
from privrep.theory.whole_methods import Regime

CALIBRATION, CHECK = (117, 1), (100, 2)
"""Number of settings, and seed, of either set."""
NOISES = (0.01, 0.3, 1.0, 2.0)
COVERED, BIN, DELTA_POWER = 0.95, 40, -1.1
"""Coverage of intervals; least settings of a bin, whose extremes are then its ends; exponent of users in delta."""


def settings(count: int, seed: int) -> pd.DataFrame:
    """Draw settings, with a column for each of `RANGES`."""
    rng = np.random.default_rng(seed)

    def setting() -> dict[str, float]:
        whole = {name: int(rng.integers(low, high + 1)) for name, (low, high) in list(RANGES.items())[1:4]}
        users, epsilon = (math.exp(rng.uniform(*np.log(RANGES[name]))) for name in ("users", "epsilon"))
        return {"users": round(users), **whole, "epsilon": float(f"{epsilon:.3g}"), "label_noise": rng.choice(NOISES)}

    return pd.DataFrame([setting() for _ in range(count)])[list(RANGES)]


def predicted(where: pd.DataFrame) -> pd.DataFrame:
    """Return a row by setting and method that can be run: predicted risk, `known` (law holds), `place`, options."""
    rows = []
    for setting, row in enumerate(where.to_dict("records")):
        sizes = Regime(*(row[key] for key in ("users", "samples", "dim", "rank", "label_noise")))
        mu = gdp_mu(row["epsilon"], row["users"] ** DELTA_POWER)
        for name in METHODS:
            law = expected(name, sizes, np.array([mu]))
            if np.isfinite(law.risk[0]):
                base = {"setting": setting, "method": name, "predicted": law.risk[0], "known": law.known[0]}
                rows.append(base | {"place": place(sizes, mu), "options": law.options[0]})
    return pd.DataFrame(rows)


def simulated(where: pd.DataFrame) -> pd.DataFrame:
    """Return `predicted`, with the risk of one run in place of the options."""
    table = predicted(where)
    rows, settings = table.to_dict("records"), where.to_dict("index")
    table["risk"] = [run_once(row["method"], row["options"], settings[row["setting"]]) for row in rows]
    return table.drop(columns="options")


def run_once(name: str, options: dict, setting: dict) -> float:
    """Return the excess risk of one run over that of predicting zero."""
    sizes = {key: int(setting[key]) for key in ("users", "samples", "dim", "rank")}
    private = {} if name == "own" else {"epsilon": setting["epsilon"]}
    about = sizes | private | {"label_noise_sd": float(setting["label_noise"]), "delta": sizes["users"] ** DELTA_POWER}
    row, _ = fit(METHODS[name][0], head_law="sphere", **about, **options)
    return row["excess_risk"] / sizes["rank"]


def factors(table: pd.DataFrame) -> pd.DataFrame:
    """Return by method, `known` and bin: its centre, both ends of risk over prediction, and its number of settings."""
    rows = []
    for (name, known), part in table.groupby(["method", "known"]):
        if len(part) < BIN:  # too few settings for a bin of their own
            part = table[table["method"] == name]
        part = part.sort_values("place")
        logs = np.log(part["risk"] / part["predicted"])
        for those in np.array_split(part.index, max(1, min(4, len(part) // BIN))):
            ends = covering(np.sort(logs[those]))
            rows.append([name, known, part["place"][those].mean(), *np.exp(ends), len(those)])
    return pd.DataFrame(rows, columns=["method", "known", "place", "low", "high", "settings"])


def covering(ordered: np.ndarray) -> tuple[float, float]:
    """Return ends that hold the next value between them with probability `COVERED`, or hold all of few values."""
    out = max(0, math.floor((len(ordered) + 1) * (1 - COVERED) / 2) - 1)
    return ordered[out], ordered[-1 - out]


def covered(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each method the share of `simulated` runs in their intervals, and the median ratio of the ends."""
    columns = (table[name] for name in ("method", "predicted", "known", "place"))
    ends = [interval(*row) for row in zip(*columns, strict=True)]
    low, high = np.array(ends).T
    inside = table["risk"].between(low, high)
    groups = pd.DataFrame({"cover": inside, "high over low": high / low}).groupby(table["method"])
    return groups.agg({"cover": "mean", "high over low": "median"})


if __name__ == "__main__":
    factors(simulated(settings(*CALIBRATION))).to_csv(TABLE, index=False, float_format="%.5g")
    shipped.cache_clear()
    print(covered(simulated(settings(*CHECK))))
