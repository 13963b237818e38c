"""jain2021, the privacy of the exponential mechanism (claim A-T5.1), and Markov chains in its place.

Losses are exact on the neighbours that were tried, which bound the loss of the mechanism from below.
Chains are held against sums over nets.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from replication.evidence.cells import resampled
from replication.evidence.findings import Findings
from replication.evidence.intervals import log_slope, series_measures
from replication.evidence.measured import Measured, bare, exact
from replication.run.settings import AnalysisSettings

NETS = ("line", "plane", "dual")
"""Lines in the plane, lines in space, planes in space."""


def losses(cells: pd.DataFrame, series: str) -> pd.DataFrame:
    """Return the loss over the target epsilon, and delta at it, by users and steps of the chain."""
    rows = cells[cells["series"] == series]
    table = rows[["users", "chain_steps", "delta_at_epsilon"]].assign(loss=rows["privacy_loss"] / rows["epsilon"])
    return table.sort_values(["users", "chain_steps"]).reset_index(drop=True)


def net_points(cells: pd.DataFrame, net: str, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return mean scores above the truth's against the noise multiplier, by chains and over the net."""
    rows = resampled(cells[cells["series"] == f"net-{net}"], indices)
    means = rows.groupby("noise_multiplier")[["score_excess", "net_excess_uniform", "net_excess", "beta_n"]].mean()
    return means.reset_index()


def net_ratios(cells: pd.DataFrame, net: str, indices: np.ndarray) -> dict[str, float]:
    """Return geometric means of chains over net, and of the net as printed over that with uniform weights."""
    points = net_points(cells, net, indices)
    pairs = {
        "chain over net": ("score_excess", "net_excess_uniform"),
        "net as printed over uniform": ("net_excess", "net_excess_uniform"),
    }
    return {
        f"{name}, {net}": float(np.exp(np.log(points[above] / points[below]).mean()))
        for name, (above, below) in pairs.items()
    }


def loss_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure the losses of three exponents on neighbours, and those of a chain."""
    exponents = {series: losses(cells, series) for series in ("proved", "printed", "exact")}
    printed = exponents["printed"]
    chains = {others: losses(cells, f"chain-{others}") for others in ("agreeing", "divided")}
    divided = chains["divided"]
    return [
        *(exact(f"{name} loss over epsilon", table["loss"].max()) for name, table in exponents.items()),
        exact("printed loss over epsilon, fewest users", printed["loss"].iloc[0]),
        exact("exponent of n in the printed loss", log_slope(printed["users"], printed["loss"])),
        exact("delta of the printed exponent", losses(cells, "balanced")["delta_at_epsilon"].max()),
        *(exact(f"chain loss over epsilon, {others}", table["loss"].max()) for others, table in chains.items()),
        exact("chain delta, divided", divided["delta_at_epsilon"].max()),
        exact("loss of the draw over epsilon, divided", divided.loc[divided["chain_steps"] == 0, "loss"].iloc[0]),
    ]


def tables(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the numbers of the figures: `losses` by series, and `net_points` by net, with its d and k."""
    series = ("printed", "exact", "proved", "chain-agreeing", "chain-divided")
    sizes = cells.groupby("series")[["dim", "rank"]].first()
    nets = [net_points(cells, net).assign(net=net, **sizes.loc[f"net-{net}"]) for net in NETS]
    return {
        "jain2021/exponential_privacy": pd.concat([losses(cells, name).assign(series=name) for name in series]),
        "jain2021/exponential_sampler": pd.concat(nets),
    }


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure losses on neighbours, chains against nets, and how well the chains mix."""
    found = loss_measures(cells)
    for net in NETS:

        def ratios(table: pd.DataFrame, indices: np.ndarray, net: str = net) -> dict[str, float]:
            return net_ratios(table, net, indices)

        found += series_measures(cells, f"net-{net}", ratios)
    chains = cells[cells["algorithm"] == "exponential_law"]
    found += [
        bare("largest R-hat", chains["r_hat"].max(), len(chains)),
        bare("fewest independent draws", chains["ess"].min(), len(chains)),
    ]
    return Findings(found, tables(cells))
