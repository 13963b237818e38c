# ruff: noqa: RUF001  (typographic signs are meant)
"""What the study accounting found (jain2021, privacy statements)."""

from __future__ import annotations

import pandas as pd

from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import listing, number, share

STUDY = "accounting"
WORST, LIMIT, EXACT = " worst ratio", " limit", " exact epsilon at 1"


def statements(measures: Measures, claims: pd.DataFrame) -> dict[str, str]:
    """Claim id -> name of its statement in the paper, of all claims with a ratio."""
    places = dict(zip(claims["id"], claims["place"], strict=True))
    ids = [name.removesuffix(WORST) for name in measures.rows.index if name.endswith(WORST)]
    return {claim: places.get(claim, claim).split(",")[0] for claim in ids}


def printed_chain(measures: Measures, names: dict[str, str]) -> str:
    """Whether the printed noise gives the claimed epsilon, and how far."""
    ratios = listing(f"{number(measures.value(claim + WORST))} ({name})" for claim, name in names.items())
    limits = listing(f"{number(measures.value(claim + LIMIT))} ({name})" for claim, name in names.items())
    broken = [name for claim, name in names.items() if measures.value(claim + WORST) > 1]
    short = [name for claim, name in names.items() if measures.value(claim + LIMIT) < 1]
    outcome = f"{listing(broken)} can be exceeded" if broken else "none is exceeded"
    reach = (
        f"{listing(short)} ends before the printed range does"
        if short
        else "the printed range $\\varepsilon \\le \\ln(1/\\delta)$ is smaller than it need be"
    )
    return (
        "**The printed chain.** At the noise that a statement prescribes, the paper’s own conversion through zCDP "
        f"gives at most this part of the claimed epsilon: {ratios}; {outcome}. "
        f"The statements hold up to these multiples of $\\ln(1/\\delta)$: {limits}; {reach}."
    )


def exact_epsilon(measures: Measures, names: dict[str, str]) -> str:
    """The exact epsilon where 1 is claimed."""
    values = {name: measures.value(claim + EXACT) for claim, name in names.items()}
    spelled = listing(f"{number(value)} ({name})" for name, value in values.items())
    over = [name for name, value in values.items() if value > 1]
    outcome = (
        f"{listing(over)} promises more than is given."
        if over
        else (
            "The data are better protected than stated: "
            f"at least {share(1 - max(values.values()))} of the claimed epsilon is left unused."
        )
    )
    return (
        "**Exact epsilon.** Where $\\varepsilon = 1$ is claimed, "
        f"exact accounting of the same releases gives {spelled}. {outcome}"
    )


def joint_sensitivity(measures: Measures, claims: pd.DataFrame) -> str:
    """The two statistics of Algorithm 2 together, against their separate bounds."""
    row = claims[claims["quantity"].str.contains("sum of squares")]
    if "joint change" not in measures or not len(row):
        return ""
    found, allowed = measures.value("joint change"), float(row["claimed"].iloc[0].split()[-1])
    second, first = measures.value("second moment change"), measures.value("first moment change")
    text = (
        "**One release, not two.** An adversarial search over pairs of users changes the matrix of Algorithm 2 "
        f"by at most {number(second)} and its vector by at most {number(first)}, in units of the clipping bounds. "
        f"For the two together it finds {number(found)} in squares, where two triangle inequalities allow "
        f"{number(allowed)}. "
    )
    if found < 0.99 * allowed:
        text += "Both cannot change fully at once, so "
        return text + f"a joint release costs {share(found / allowed)} of what the lemma charges."
    return text + "The bound is attained, so a joint release costs what the lemma charges."


def section6(claims: pd.DataFrame) -> str:
    """Whether the zCDP values of Section 6 are the cost of the lemma's noise, digit by digit."""
    rows = claims[(claims["study"] == STUDY) & (claims["rule"] == "digits")]
    if not len(rows):
        return ""
    same = int((rows["verdict"] == "REPRODUCED").sum())
    pairs = listing(f"{number(row['measured'])} for {row['claimed']}" for row in rows.to_dict("records"))
    count = "All" if same == len(rows) else f"{same} of {len(rows)}"
    return (
        "**The zCDP values of Section 6.** The cost of the lemma’s sufficient noise is "
        f"$\\varepsilon^2 / (8\\, \\ln(1/\\delta))$. Computed for printed: {pairs}. {count} are explained by it in every printed digit. "
        "That is where the digits come from; the zCDP that corresponds to epsilon by the paper’s own conversion is larger (E9)."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    names = statements(measures, run.claims)
    paragraphs = [
        printed_chain(measures, names),
        exact_epsilon(measures, names),
        joint_sensitivity(measures, run.claims),
        section6(run.claims),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
