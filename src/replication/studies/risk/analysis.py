"""jain2021, the excess risk of the complete method (claims A-T1.1, A-T4.2, A-R1, A-Eq22/24).

The risk is the squared distance of the subspace, enlarged by the final least-squares heads, plus the heads' own error
(law F6). Each term has its own sweep.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from privrep.theory import jain2021
from replication.evidence.cells import resampled
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures, with_interval
from replication.evidence.scaling import fit_all, fit_table
from replication.printed.of_cells import floor_distance, privacy_distance, step_log_factor, step_sizes
from replication.run.settings import AnalysisSettings

HEAD_DRAWS = 100
"""Bootstrap draws for the ratios of the heads' risk and for the premise."""
LEARNED = 0.1
"""Share of the zero model's risk below which something was learned."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with noise_ratio (x), subspace_risk (distF^2) and predictions by F3, F5 and F6.

    risk_over_log is the risk over the squared logarithms of the proofs' thresholds (`step_log_factor`).
    """
    # Runs with a planted subspace use the second half of the samples, as the split `text` does.
    cells = cells.assign(split=cells["split"].fillna("text"))
    sizes = step_sizes(cells)
    d, k, sigma = cells["dim"], cells["rank"], cells["label_noise_sd"]
    outside = privacy_distance(cells, sizes, power=1) ** 2
    statistical = floor_distance(cells, sizes) ** 2
    privacy, logs = jain2021.personal_risk(outside, k, sizes.final, 0), step_log_factor(cells) ** 2
    return cells.assign(
        noise_ratio=jain2021.noise_ratio(sizes.batch, d, k, cells["noise_multiplier"], cells["eta"]),
        subspace_risk=cells["distF"] ** 2,
        privacy=privacy,
        risk_over_log=cells["excess_risk"] / logs,
        privacy_over_log=privacy / logs,
        statistical=statistical,
        total=jain2021.personal_risk(outside + statistical, k, sizes.final, sigma),
    )


def head_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return the risk in a planted subspace: measured, exact (F6), and as eq. 22 prints it, r + sigma_F^2 k / h.

    The m of eq. 22 counts the samples that the head is fitted on: h, half of a user's samples in Theorem 4.2.
    """
    rows = resampled(cells[cells["series"] == "heads"], indices)
    grouped = rows.groupby(["samples", "start_sine", "label_noise_sd"])
    points = grouped.agg(
        measured=("excess_risk", "mean"),
        spread=("excess_risk", "sem"),
        rank=("rank", "first"),
        outside=("subspace_risk", "mean"),
    ).reset_index()
    k, fitted, sigma = points["rank"], points["samples"] / 2, points["label_noise_sd"]
    points["exact"] = jain2021.personal_risk(points["outside"], k, fitted, sigma)
    points["printed"] = points["outside"] + sigma**2 * k / fitted
    return points[points["exact"] > 1e-9].reset_index(drop=True)


def head_ratios(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return geometric means of the measured risk over the exact one, and over eq. 22 with fewest and most samples.

    The last term is the heads' own risk over (k/m) sigma_F^2 of Theorem 4.2, of whose m samples half are fitted on.
    """
    points = head_points(cells, indices)
    few, many = (points[points["samples"] == count] for count in (points["samples"].min(), points["samples"].max()))
    alone = many[many["start_sine"] == 0]

    def over(rows: pd.DataFrame, law: pd.Series) -> float:
        return float(np.exp(np.log(rows["measured"] / law).mean()))

    last_term = alone["label_noise_sd"] ** 2 * alone["rank"] / alone["samples"]
    return {
        "heads over exact": over(points, points["exact"]),
        "heads over printed, fewest samples": over(few, few["printed"]),
        "heads over printed, most samples": over(many, many["printed"]),
        "heads last term over printed, most samples": over(alone, last_term),
    }


def known_over_fitted(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the privacy part of the risk with known heads and with fitted heads, by users and repetition.

    order : that of Remark 1 for known heads without label noise, (kappa d k Delta / n)^2 with kappa = sqrt(d) k.
    """
    parts, keys = {}, ["users", "seed"]
    for series in ("known", "fitted"):
        rows = cells[cells["series"] == series]
        noisy, silent = rows[rows["noise_multiplier"] > 0], rows[rows["noise_multiplier"] == 0]
        parts[series] = noisy.groupby(keys)["excess_risk"].mean() - silent.set_index(keys)["excess_risk"]
    noise, d, k = (noisy[name].iloc[0] for name in ("noise_multiplier", "dim", "rank"))
    table = pd.DataFrame(parts).reset_index()
    return table.assign(order=(np.sqrt(d) * k * d * k * noise / table["users"]) ** 2)


def premise_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return the risk over that of the zero model against n / ((dk)^1.5 Delta), the premise of Theorem 1.1."""
    rows = resampled(cells[cells["series"] == "premise"], indices)
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


def premise_numbers(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return by rank the share of the zero model's risk at the premise, and the premise at which it is `LEARNED`."""
    numbers = {}
    for rank, part in premise_points(cells, indices).groupby("rank"):
        part = part.sort_values("premise")
        at_premise = np.interp(0.0, np.log(part["premise"]), np.log(part["share"]))
        numbers[f"share at the premise, rank {rank}"] = float(np.exp(at_premise))
        lost = part.loc[part["share"] > LEARNED, "premise"].max()
        learned = part.loc[part["premise"] > lost, "premise"].min()
        numbers[f"premise times at which a tenth is left, rank {rank}"] = float(learned)
    return numbers


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure exponents, the heads' own error, the one regression of Remark 1, and Theorem 1.1 at its premise."""
    cells = with_predictions(cells)
    fits, seeds = fit_all(study, cells), cells.groupby("series")["seed"].nunique()
    measured = bootstrap_measures(partial(head_ratios, cells), int(seeds["heads"]), "heads", HEAD_DRAWS)
    table = known_over_fitted(cells)
    known, fitted, order = (
        table.pivot(index="seed", columns="users", values=name).to_numpy() for name in ("known", "fitted", "order")
    )
    for name, under in (("known over fitted", fitted), ("known over the order of Remark 1", order)):

        def ratio(indices: np.ndarray, under=under) -> float:
            return float(np.exp(np.mean(np.log(known[indices].mean(axis=0) / under[indices].mean(axis=0)))))

        measured.append(with_interval(name, ratio, len(known), name=f"risk {name}"))
    measured += bootstrap_measures(partial(premise_numbers, cells), int(seeds["premise"]), "premise", HEAD_DRAWS)
    tables = {
        "jain2021/risk_heads": head_points(cells),
        "jain2021/risk_known_heads": pd.concat([table, fit_table(fits, ["known k"])], ignore_index=True),
        "jain2021/risk_premise": premise_points(cells),
    }
    return Findings(measured, tables, fits)
