"""What the chapter of audits needs beside its quantities."""

from __future__ import annotations

from scipy.special import expit

from privrep.instruments.distinguishing import attainable
from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from privrep.report.html_pieces import table
from privrep.report.run_tables import Run
from privrep.report.spelling import number, share
from privrep.studies.audits.measures import honest, wrong

STUDY = "audits"
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 8.0, 10.0)


def audit_table(run: Run) -> str:
    """Mechanism by mechanism: claim, lower limit, distance attained, and wrong doors found of those that apply."""
    cells = run.cells(STUDY)
    good = honest(cells)
    doors = wrong(cells).groupby("mechanism")["caught"].agg(["sum", "count"]).reindex(good["mechanism"], fill_value=0)
    rows = [
        [
            f"<code>{row['mechanism']}</code>",
            *(number(row[name]) for name in ("epsilon", "epsilon_low", "attained")),
            f"{found:.0f} / {count:.0f}",
        ]
        for (_, row), (found, count) in zip(good.iterrows(), doors.to_numpy(), strict=True)
    ]
    return table(["Mechanism", "ε", "Lower limit", "Distance", "Wrong doors"], rows)


def risk_table(run: Run) -> str:
    """For each epsilon: the best adversary's right guesses, its advantage, the most that it can become sure of, and epsilon by another convention."""
    delta = run.cells(STUDY)["delta"].iloc[0]
    rows = []
    for epsilon in EPSILONS:
        mu = gdp_mu(epsilon, delta)
        right = attainable(mu)
        rows.append(
            [
                number(epsilon),
                share(right),
                share(2 * right - 1),
                number(100 * float(expit(epsilon)), 4),
                number(gdp_epsilon(mu / 2, delta)),
            ]
        )
    return table(["ε, replaced", "Right guesses", "Advantage", "Posterior, %", "ε, added or removed"], rows)
