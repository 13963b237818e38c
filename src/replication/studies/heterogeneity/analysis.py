"""shen2023, Remark 3.1 and the methods of Section 6 in the linear model (claims B-R3.1 and B-S6).

It measures norms of the users' updates, and risks of the methods at the same exact privacy. No score chose the clipping
bounds (tests/replication/studies/test_heterogeneity.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from privrep.theory import shen2023
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures
from replication.evidence.measured import Measured, bare
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings
from replication.studies.measures import extreme_ratio

CENTAUR = "general_centaur"
METHODS = (CENTAUR, "centaur", "dp_fedavg", "ppsgd", "pmtl", "altmin", "altmin-eigclip")  # series at all epsilons
TUNED = (CENTAUR, "centaur", "dp_fedavg", "ppsgd")  # methods that also ran at other clipping bounds
NEAR = 0.2  # distance from the optimum at which updates are compared: that of the start in Theorem 5.1
DRAWS = 500  # bootstrap draws


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with predicted norms, the risk (infinite if a fit failed), and each user's alone, on average."""
    d, k, sine, q, sigma = (cells[name] for name in ("dim", "rank", "start_sine", "batch_samples", "label_noise_sd"))
    return cells.assign(
        representation=shen2023.representation_update(sine, d, k, q, sigma),
        risk=cells["excess_risk"].fillna(np.inf),
        alone=cells.loc[cells["series"] == "own_data", "excess_risk"].to_numpy().mean(),
        full=shen2023.model_update(k * (cells["heterogeneity"] + sine**2), d, q, sigma),
    )


def two_models_drift(bias, dim, samples):
    """Return the drift of a clipped full model at its optimum, rank 1."""
    # Heads are -1 or 1 of mean b. Clipped gradients have equal lengths; their mean is shortened by the cosine to it.
    return bias / np.sqrt(1 + (dim + 1) / samples)


def risks(cells: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return risks by settings (rows) and repetition (columns)."""
    return cells.pivot(index=by, columns="seed", values="risk")


def bounds_tried(cells: pd.DataFrame, method: str) -> list[tuple[str, float]]:
    """Return each pair of a series and a clipping bound with which a method ran, smallest bound first."""
    rows = cells[cells["series"].isin((method, f"{method}-clips"))]
    tried = rows[["series", "clip"]].drop_duplicates().sort_values("clip", kind="stable")
    return list(tried.itertuples(index=False, name=None))


def method_statistics(cells: pd.DataFrame) -> Callable[[np.ndarray], dict[str, float]]:
    """Return a function: indices of resampled repetitions -> ratios of mean risks, each at its best clipping bound."""
    tried = cells.loc[cells["series"] == f"{CENTAUR}-clips", "epsilon"].unique()
    runs = {}
    for method in TUNED:
        rows = cells[cells["series"].isin((method, f"{method}-clips")) & cells["epsilon"].isin(tried)]
        table = risks(rows, ["epsilon", "clip"]).to_numpy()
        runs[method] = table.reshape(len(tried), -1, table.shape[1])
    common = {name: cells[cells["series"] == f"{name}-common"] for name in ("dp_fedavg", CENTAUR)}
    common = {name: risks(rows, ["head_bias"]).loc[[0, 1]].to_numpy() for name, rows in common.items()}

    def statistics(indices: np.ndarray) -> dict[str, float]:
        best = {method: table.take(indices, axis=2).mean(axis=2).min(axis=1) for method, table in runs.items()}
        apart, together = np.divide(*(table.take(indices, axis=1).mean(axis=1) for table in common.values()))
        ratios = {
            f"{version} over {method}, best bounds": float((best[version] / best[method]).max())
            for version in (CENTAUR, "centaur")
            for method in ("dp_fedavg", "ppsgd")
        }
        return ratios | {"loss of dp_fedavg by heterogeneity": float(apart / together)}

    return statistics


def worst_run(cells: pd.DataFrame, method: str) -> Measured:
    """Measure the largest risk of a run over the mean risk of users alone."""
    runs = cells[cells["series"] == method]
    name = f"{method} over own data, worst run"
    return bare(name, runs["risk"].max() / cells["alone"].iloc[0], runs["seed"].nunique())


def over_own_data(cells: pd.DataFrame, method: str) -> Measured:
    """Measure the ratio of the mean risk to that of users alone, at the epsilon where it is largest."""
    runs, alone = (cells[cells["series"] == series] for series in (method, "own_data"))
    runs, alone = risks(runs, ["epsilon"]).to_numpy(), alone.sort_values("seed")["risk"].to_numpy()

    def ratios(indices: np.ndarray) -> dict[int, float]:
        return dict(enumerate((runs.take(indices, axis=1).mean(axis=1) / alone[indices].mean()).tolist()))

    name = f"{method} over own data"
    return extreme_ratio("largest", name, bootstrap_measures(ratios, len(alone), name, DRAWS))


def norm_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean norms and laws by setting; drift_law is for heads of rank 1 at the optimum."""
    rows = cells[cells["representation_rms"].notna()]
    keys = ["series", "dim", "rank", "head_bias", "label_noise_sd", "start_sine", "batch_samples"]
    kinds, marks = ("representation", "shared", "full"), ("median", "q99", "max", "drift")
    means = ["heterogeneity", *(f"{kind}_{mark}" for kind in kinds for mark in marks), "representation", "full"]
    table = rows.groupby(keys, sort=False)[means].mean().reset_index()
    law = two_models_drift(table["head_bias"], table["dim"], table["batch_samples"])
    return table.assign(drift_law=law.where((table["series"] == "bias") & (table["rank"] == 1)))


def risk_rows(part: pd.DataFrame, panel: str, method: str, value: object) -> dict:
    """Return a drawn point as a row: panel, method, value on the axis, mean and range of the risk over repetitions."""
    risk = part["excess_risk"]
    ends = {"low": risk.min(), "high": risk.max()}
    return {"panel": panel, "method": method, "value": value, "risk": risk.mean()} | ends


def risk_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the points of the figure of methods, with the mean risk of users alone, delta and a panel's epsilon."""
    points = []
    for method in METHODS:
        rows = cells[cells["series"] == method]
        points += [risk_rows(part, "epsilon", method, epsilon) for epsilon, part in rows.groupby("epsilon")]
    shown = cells.loc[cells["series"] == f"{CENTAUR}-clips", "epsilon"].max()
    for method in TUNED:
        tried = bounds_tried(cells, method)
        rule = next(clip for series, clip in tried if series == method)
        for series, clip in tried:
            part = cells[(cells["series"] == series) & (cells["clip"] == clip) & (cells["epsilon"] == shown)]
            points.append(risk_rows(part, "bound", method, clip / rule))
    for method in (CENTAUR, "dp_fedavg"):
        rows = cells[cells["series"] == f"{method}-common"]
        points += [risk_rows(part, "common", method, bias) for bias, part in rows.groupby("head_bias")]
    table = pd.DataFrame(points)
    common = cells.loc[cells["series"] == f"{CENTAUR}-common", "epsilon"].max()
    return table.assign(
        alone=cells.loc[cells["series"] == "own_data", "excess_risk"].mean(),
        delta=cells["delta"].dropna().iloc[0],
        epsilon=table["panel"].map({"bound": shown, "common": common}),
    )


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents of the norms, the drift by clipping at the optimum, and ratios between risks of the methods."""
    cells = with_predictions(cells)
    seeds = int(cells.loc[cells["series"] == CENTAUR, "seed"].nunique())
    measured = defined(study, cells)
    measured += bootstrap_measures(method_statistics(cells), seeds, "heterogeneity methods", DRAWS, "")
    measured += [risk for method in METHODS for risk in (over_own_data(cells, method), worst_run(cells, method))]
    tables = {"shen2023/update_norms": norm_table(cells), "shen2023/baselines": risk_table(cells)}
    return Findings(measured, tables, fit_all(study, cells))
