"""Audits of all mechanisms (claim O-AUDIT): counts of found faults and mutants, without repetitions."""

from __future__ import annotations

import math

import pandas as pd
from scipy.special import expit, ndtr

from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, bare, exact, share
from replication.evidence.numbers import defined
from replication.experiments.auditing.noise_check import POWER as POWER  # named in the chapter
from replication.run.settings import MeasureSettings

CHECKS = ("replay", "ledger", "budget", "noise", "game")
AUDITS = ("moments", "rounds", "choices", "others")
SEARCHES = ("quarters", "pairs", "samples")
ALARMS = 0.05
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 8.0, 10.0)  # epsilons for which the chapter shows the best attack
PRINTED = {
    "jain2021, Figure 2": (1e-6, (1.0, 2.0, 5.0, 10.0)),
    "shen2023, Figure 1 and Tables": (1e-5, (0.25, 0.5, 1.0, 2.0, 4.0)),
}
"""Published results: delta and epsilons."""


def sound(cells: pd.DataFrame) -> pd.DataFrame:
    """Return rows of mechanisms without an injected fault."""
    return cells[cells["series"].isin(AUDITS) & (cells["mutant"] == "none")]


def faulty(cells: pd.DataFrame) -> pd.DataFrame:
    """Return rows of mechanisms with an injected fault that applies to them."""
    return cells[cells["mutant"].notna() & (cells["mutant"] != "none") & cells["caught"].notna()]


def searches(cells: pd.DataFrame) -> pd.DataFrame:
    """Return rows of searches for the pair of users that moves one release most."""
    return cells[cells["series"].isin(SEARCHES)]


def counts(bad: pd.DataFrame) -> list[Measured]:
    """Count the mutants (mechanisms with a fault put in) that were found, in all and by each check."""
    by_check = bad[[f"caught_{name}" for name in CHECKS]]
    return [
        exact("mutants not found", (bad["caught"] == 0).sum()),
        exact("mutants found in all", bad["caught"].sum()),
        *(exact(f"mutants found by the {name}", by_check[f"caught_{name}"].sum()) for name in CHECKS),
        exact("mutants found by one check alone", (by_check.sum(axis=1) == 1).sum()),
    ]


def games(cells: pd.DataFrame) -> list[Measured]:
    """Count false alarms of the guessing game on scores whose true epsilon is known."""
    blind, calibrated = cells[cells["kind"] == "blind"], cells[cells["kind"] == "calibrated"]
    both = pd.concat([blind, calibrated])
    repeats, alarms = both["repeats"].sum(), both["false_alarms"].sum()
    excess = (alarms - ALARMS * repeats) / math.sqrt(repeats * ALARMS * (1 - ALARMS))
    return [
        share("false alarms of blind games", blind["false_alarms"].sum(), blind["repeats"].sum()),
        share("false alarms of calibrated games", calibrated["false_alarms"].sum(), calibrated["repeats"].sum()),
        bare("false alarms beyond one in twenty", excess, 1),
        share("calibrated games near the truth", calibrated["near"].sum(), calibrated["repeats"].sum()),
    ]


def audit_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each mechanism; mutants are 2 if the game finds them, 1 if another check does, else 0."""
    rows = sound(cells)[["mechanism", "attained", "epsilon_low", "epsilon"]].reset_index(drop=True)
    rows["place"] = rows.index
    bad = faulty(cells)
    bad = bad.assign(found=bad["caught"].astype(int) + bad["caught_game"].astype(int))
    table = bad.pivot_table(index="mechanism", columns="mutant", values="found", sort=False)
    return rows.merge(table, left_on="mechanism", right_index=True, how="left", sort=False).reset_index(drop=True)


def mechanisms(cells: pd.DataFrame, quantities: Quantities) -> pd.DataFrame:
    """Return claimed epsilon, four empirical epsilons, attained distance and number of mutants found, by mechanism."""
    limits = ["epsilon_low", "epsilon_low_score", "epsilon_low_order", "epsilon_low_rates"]
    good = sound(cells)[["mechanism", "epsilon_exact", *limits, "attained", "noise_found"]]
    counts = faulty(cells).groupby("mechanism")["caught"].agg(found="sum", mutants="count")
    return good.join(counts.reindex(good["mechanism"], fill_value=0), on="mechanism")


def mutants(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, object]]:
    """Return range of finite epsilons, number of mechanisms, and number found by each check, for each mutant."""
    rows = []
    for name, part in faulty(cells).groupby("mutant", sort=False):
        finite = part.loc[part["epsilon_expected"] < math.inf, "epsilon_expected"]
        ends = [] if finite.empty else [finite.min(), finite.max()]
        by = [part[f"caught_{check}"].sum() for check in CHECKS]
        rows.append({"name": name, "ends": ends, "mechanisms": len(part), "found": part["caught"].sum(), "by": by})
    return rows


def sensitivities(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, object]]:
    """Return the largest change found over the stated sensitivity, by release and number of samples."""
    rows = searches(cells)[["release", "samples", "attained"]].groupby("release", sort=False)
    return [{"release": name, "found": part.sort_values("samples")} for name, part in rows]


def guesses(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, float]]:
    """Return accuracy and advantage of the best attack, and the largest posterior in percent, for each epsilon."""
    right = {epsilon: float(ndtr(gdp_mu(epsilon, cells["delta"].iloc[0]) / 2)) for epsilon in EPSILONS}
    return [
        {"epsilon": epsilon, "right": accuracy, "advantage": 2 * accuracy - 1, "posterior": 100 * float(expit(epsilon))}
        for epsilon, accuracy in right.items()
    ]


def neighbours(cells: pd.DataFrame, quantities: Quantities) -> list[tuple[str, float, float, float, float, float]]:
    """Return each published epsilon, its value under the other neighbour relation if stated for either, both noises."""
    points = [(where, delta, epsilon) for where, (delta, epsilons) in PRINTED.items() for epsilon in epsilons]
    return [
        (where, epsilon, gdp_epsilon(2 * mu, delta), gdp_epsilon(mu / 2, delta), 1 / mu, 2 / mu)
        for where, delta, epsilon in points
        for mu in [gdp_mu(epsilon, delta)]
    ]


FACTS = {
    "mechanisms": mechanisms,
    "mutants": mutants,
    "sensitivities": sensitivities,
    "guesses": guesses,
    "neighbours": neighbours,
}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure all quantities."""
    good, once = sound(cells), searches(cells)["attained"]
    single = good[(good["releases"] == 1) & good["ledger"].str.contains("gaussian")]
    measures = [
        exact("mechanisms with a fault", good["caught"].sum()),
        exact("limits of epsilon above the claim", (good["epsilon_low"] > good["epsilon"]).sum()),
        exact("noise found in every mechanism", good["noise_found"].min()),
        bare("least attained", good["attained"].min(), 1),
        exact("largest sensitivity found", once.max()),
        bare("least sensitivity found", once.min(), 1),
        bare("least share of epsilon, one Gaussian release", (single["epsilon_low"] / single["epsilon"]).min(), 1),
        *counts(faulty(cells)),
        *games(cells),
        *defined(study, cells),
    ]
    return Findings(measures, {"beyond/audits": audit_table(cells)})
