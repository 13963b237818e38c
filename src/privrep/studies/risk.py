"""jain2021, the excess risk of the complete method (claims A-T1.1, A-T4.2, A-R1, A-Eq22/24).

The risk is the squared distance of the subspace, seen through the final least-squares heads, plus the heads' own error
(F6): its terms have separate sweeps.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from privrep import formulas
from privrep.intervals import bootstrap_interval, bootstrap_measures
from privrep.measure import Measure
from privrep.scaling import fit_all, fit_measures
from privrep.setups import floor_distance, privacy_distance, step_sizes

STUDY = "risk"
HEAD_DRAWS = 100
"""Bootstrap draws for the extremes over settings."""
LEARNED = 0.1
"""Share of the zero model's risk below which something was learned."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """The results table with noise_ratio (x), subspace_risk (distF^2) and what F3, F5 and F6 expect of each term."""
    cells = cells.assign(
        split=cells["split"].fillna("text")
    )  # the planted subspace uses the second half, as `text` does
    sizes = step_sizes(cells)
    d, k, sigma = cells["dim"], cells["rank"], cells["label_noise_sd"]
    outside = privacy_distance(cells, sizes, power=1) ** 2
    statistical = floor_distance(cells, sizes) ** 2
    return cells.assign(
        noise_ratio=formulas.noise_ratio(sizes.batch, d, k, cells["noise_multiplier"], cells["eta"]),
        subspace_risk=cells["distF"] ** 2,
        privacy=formulas.personal_risk(outside, k, sizes.final, 0),
        statistical=statistical,
        total=formulas.personal_risk(outside + statistical, k, sizes.final, sigma),
    )


def head_points(cells: pd.DataFrame, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Risk in a planted subspace: measured, exact (F6), and as eq. 22 and Theorem 4.2 print it, r + sigma_F^2 k / m; over the picked
    repetitions, all by default."""
    rows = cells[cells["series"] == "heads"]
    if pick is not None:
        rows = pd.concat([rows[rows["seed"] == seed] for seed in np.sort(rows["seed"].unique())[pick]])
    keys = ["samples", "start_sine", "label_noise_sd"]
    points = rows.groupby(keys).agg(
        measured=("excess_risk", "mean"),
        spread=("excess_risk", "sem"),
        rank=("rank", "first"),
        outside=("subspace_risk", "mean"),
    )
    points = points.reset_index()
    k, m, sigma = points["rank"], points["samples"], points["label_noise_sd"]
    points["exact"] = formulas.personal_risk(points["outside"], k, m / 2, sigma)
    points["printed"] = points["outside"] + sigma**2 * k / m
    return points[points["exact"] > 1e-9].reset_index(drop=True)


def head_extremes(cells: pd.DataFrame, pick: np.ndarray | None = None) -> dict[str, float]:
    """Extremes over settings of the measured risk over the exact and over the printed one."""
    points = head_points(cells, pick)
    alone = points[points["start_sine"] == 0]
    last = alone["measured"] / (alone["label_noise_sd"] ** 2 * alone["rank"] / alone["samples"])
    exact, printed = points["measured"] / points["exact"], points["measured"] / points["printed"]
    return {
        "heads largest over exact": float(exact.max()),
        "heads smallest over exact": float(exact.min()),
        "heads largest over printed": float(printed.max()),
        "heads last term over printed": float(last.min()),
    }


def known_over_fitted(cells: pd.DataFrame) -> pd.DataFrame:
    """Privacy part of the risk with the heads known, and in the last round of alternation, by users and repetition."""
    parts = {}
    for series in ("known", "fitted"):
        rows = cells[cells["series"] == series]
        noisy, silent = rows[rows["noise_multiplier"] > 0], rows[rows["noise_multiplier"] == 0]
        keys = ["users", "seed"]
        parts[series] = noisy.groupby(keys)["excess_risk"].mean() - silent.set_index(keys)["excess_risk"]
    return pd.DataFrame(parts).reset_index()


def premise_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Risk over that of the zero model against n / ((dk)^1.5 Delta), the premise of Theorem 1.1."""
    rows = cells[cells["series"] == "premise"]
    rows = rows.assign(
        premise=rows["users"] / ((rows["dim"] * rows["rank"]) ** 1.5 * rows["noise_multiplier"]),
        share=rows["excess_risk"] / rows["rank"],
    )
    grouped = rows.groupby(["rank", "noise_multiplier"])
    return grouped.agg(
        premise=("premise", "first"),
        noise_ratio=("noise_ratio", "first"),
        share=("share", "median"),
        low=("share", "min"),
        high=("share", "max"),
    ).reset_index()


def measure(cells: pd.DataFrame) -> list[Measure]:
    """All exponents and constants, the heads' own error, the one regression of Remark 1, and Theorem 1.1 at its premise."""
    cells = with_predictions(cells)
    found = fit_measures(fit_all(STUDY, cells))
    seeds = int(cells.loc[cells["series"] == "heads", "seed"].nunique())
    found += bootstrap_measures(lambda pick: head_extremes(cells, pick), seeds, "heads", HEAD_DRAWS)
    table = known_over_fitted(cells)
    known, fitted = (table.pivot(index="seed", columns="users", values=name).to_numpy() for name in ("known", "fitted"))

    def ratio(pick: np.ndarray) -> float:
        return float(np.exp(np.mean(np.log(known[pick].mean(axis=0) / fitted[pick].mean(axis=0)))))

    everyone = np.arange(len(known))
    low, high = bootstrap_interval(ratio, len(known), "risk known over fitted")
    found.append(Measure("known over fitted", ratio(everyone), low, high, len(known)))
    seeds = int(cells.loc[cells["series"] == "premise", "seed"].nunique())

    def plain(quantity: str, value: float) -> Measure:
        return Measure(quantity, float(value), float(value), float(value), seeds, "median over runs")

    points = premise_points(cells)
    for rank, part in points.groupby("rank"):
        part = part.sort_values("premise")
        at_premise = float(np.exp(np.interp(0.0, np.log(part["premise"]), np.log(part["share"]))))
        lost = part.loc[part["share"] > LEARNED, "premise"].max()
        learned = part.loc[part["premise"] > lost, "premise"].min()
        found += [
            plain(f"share at the premise, rank {rank}", at_premise),
            plain(f"premise times at which a tenth is left, rank {rank}", learned),
        ]
    return found
