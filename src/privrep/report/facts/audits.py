"""What the chapter of audits needs beside its quantities."""

from __future__ import annotations

import math

from scipy.special import expit, ndtr

from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from privrep.report.html_pieces import table
from privrep.report.run_tables import Run
from privrep.report.spelling import number, share
from privrep.studies.audits.analysis import honest, searches, wrong

STUDY = "audits"
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 8.0, 10.0)
PRINTED = {
    "jain2021, Figure 2": (1e-6, (1.0, 2.0, 5.0, 10.0)),
    "shen2023, Figure 1 and Tables": (1e-5, (0.25, 0.5, 1.0, 2.0, 4.0)),
}
"""Published numbers: delta and the epsilons at which they stand."""


def audit_table(run: Run) -> str:
    """Mechanism by mechanism: claim, limits by four ways, distance attained, and mutants found of those that make sense."""
    cells = run.cells(STUDY)
    good = honest(cells)
    bad = wrong(cells).groupby("mechanism")["caught"].agg(["sum", "count"]).reindex(good["mechanism"], fill_value=0)
    columns = (
        "epsilon_exact",
        "epsilon_low",
        "epsilon_low_score",
        "epsilon_low_order",
        "epsilon_low_rates",
        "attained",
        "noise_found",
    )
    rows = [
        [
            f"<code>{row['mechanism']}</code>",
            *(number(row[name], 2) if row[name] == row[name] else "" for name in columns),
            f"{found:.0f} / {count:.0f}",
        ]
        for (_, row), (found, count) in zip(good.iterrows(), bad.to_numpy(), strict=True)
    ]
    header = [
        "Mechanism",
        "ε",
        "Lower limit",
        "by scores",
        "by order",
        "by rates",
        "Distance",
        "Noise found",
        "Wrong ones found",
    ]
    return table(header, rows, "Mechanisms as they are, and how many of their mutants were found")


def mutant_table(run: Run) -> str:
    """Mutant by mutant: its epsilon, in how many mechanisms it makes sense, and by what it was found."""
    bad = wrong(run.cells(STUDY))
    checks = ("replay", "ledger", "budget", "noise", "game")
    rows = []
    for name, part in bad.groupby("mutant", sort=False):
        finite = part.loc[part["epsilon_expected"] < math.inf, "epsilon_expected"]
        expected = (
            "∞" if finite.empty else " to ".join(dict.fromkeys(number(end, 2) for end in (finite.min(), finite.max())))
        )
        rows.append(
            [name, expected, f"{len(part)}", f"{part['caught'].sum():.0f}"]
            + [f"{part[f'caught_{check}'].sum():.0f}" for check in checks]
        )
    header = ["What is wrong", "Its ε", "Mechanisms", "Found", *(f"by the {check}" for check in checks)]
    return table(header, rows, "Faults, and what finds them")


def sensitivity_table(run: Run) -> str:
    """Release by release, for each number of samples: the largest change found over the stated sensitivity."""
    found = searches(run.cells(STUDY))
    rows = [
        [
            name,
            *(
                f"{number(row['attained'], 3)} ({row['samples']:.0f})"
                for _, row in part.sort_values("samples").iterrows()
            ),
        ]
        for name, part in found.groupby("release", sort=False)
    ]
    return table(
        ["Release", "Few", "More", "Most"], rows, "Largest change over the stated sensitivity (samples of a user)"
    )


def risk_table(run: Run) -> str:
    """For each epsilon: the best adversary's right guesses, its advantage, and the most that it can become sure of."""
    delta = run.cells(STUDY)["delta"].iloc[0]
    rows = []
    for epsilon in EPSILONS:
        right = float(ndtr(gdp_mu(epsilon, delta) / 2))
        rows.append([number(epsilon), share(right), share(2 * right - 1), number(100 * float(expit(epsilon)), 4)])
    return table(["ε", "Right guesses", "Advantage", "Posterior, %"], rows)


def neighbour_table(run: Run) -> str:
    """For each published epsilon: what it is in the other convention, and the noise that each needs."""
    rows = []
    for where, (delta, epsilons) in PRINTED.items():
        for epsilon in epsilons:
            mu = gdp_mu(epsilon, delta)
            rows.append(
                [
                    where,
                    number(epsilon),
                    number(gdp_epsilon(2 * mu, delta)),
                    number(gdp_epsilon(mu / 2, delta)),
                    number(1 / mu),
                    number(2 / mu),
                ]
            )
    header = [
        "Published",
        "ε",
        "for replacing, if meant for adding",
        "for adding, if meant for replacing",
        "Noise, adding",
        "Noise, replacing",
    ]
    return table(header, rows, "Neighbours by adding or removing a user, and by replacing one")
