"""What the study init_rates found (jain2021, Algorithm 3)."""

from __future__ import annotations

import pandas as pd

from privrep.report.findings import rates
from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import number, share
from privrep.studies.init_rates.measures import RANGES

STUDY = "init_rates"
NORMS = "Frobenius over spectral distance of the start, k = 8"
"""Quantity of claim A-L4.6-F."""
ONE_CURVE = 1.3
"""Settings within this factor of the law are on one curve."""


def bound(run: Run, measures: Measures) -> str:
    """The exponents of the privacy term, in one sentence."""
    fits = {"n": "privacy n dist2", "d": "privacy d dist2", "k": "privacy k sine", r"\Delta": "privacy Delta dist2"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    start = heading("Lemma 4.6 is tight", "Lemma 4.6", judged(run, "A-L4.6", "RATE-EXACT"))
    return (
        f"{start} Exponents of the privacy term, as measured: {found}. Along $k$ the error is the root mean square sine of the angles, "
        "$d_F / \\sqrt{k}$: the largest angle exceeds it by a spectral edge that vanishes for $d \\gg k$ alone."
    )


def threshold(measures: Measures, cells: pd.DataFrame) -> str:
    """Where learning starts, and what the proof's threshold costs."""
    (_, below), (_, around), (far, _) = (RANGES[where] for where in ("below", "around", "beyond"))
    ranges = {
        "below": f"up to $u = {below:g}$",
        "around": f"from there to $u = {around:g}$",
        "beyond": f"from $u = {far:g}$ on",
    }
    names = [f"collapse {extreme} ratio {where}" for where in ranges for extreme in ("smallest", "largest")]
    if not known(measures, *names):
        return ""
    values = [measures.value(name) for name in names]
    one_curve = max(max(values), 1 / min(values)) <= ONE_CURVE
    spelled = ", ".join(
        f"{number(low, 2)} to {number(high, 2)} {where}"
        for low, high, where in zip(values[::2], values[1::2], ranges.values(), strict=True)
    )
    text = (
        f"**A threshold.** All settings {'follow' if one_curve else 'do not follow'} one curve in "
        "$u = 2 \\Delta \\zeta^2 d^{3/2} / (n \\lambda_k)$, which rises with $u$ and ends at the distance of a random subspace. "
        f"Frobenius distance over this law F1: {spelled}."
    )
    if {"n", "n-printed"} <= set(cells["series"]):
        chosen, printed = cells[cells["series"] == "n"], cells[cells["series"] == "n-printed"]
        unit = chosen["init_label_clip"].iloc[0]
        factor = (printed["zeta"].max() / printed["init_label_clip"].iloc[0]) ** 2 / chosen["zeta"].max() ** 2
        text += (
            f" The proof's own $\\zeta$, with its logarithms, has a square {number(factor, 2)} times that of $\\zeta = {unit:g} \\sqrt{{k}}$: the "
            "curve is reached with as many times the users."
        )
    return text


def norms(run: Run, measures: Measures) -> str:
    """Frobenius against spectral norm."""
    ratio = "distF over dist2 at rank"
    ranks = measures.numbered(ratio)
    if not ranks or not known(measures, f"{ratio} {max(ranks):g}", "exponent privacy k distF"):
        return ""
    start = heading("The norm matters", "Two norms", judged(run, "A-L4.6-F", "PROOF-GAP", NORMS))
    return (
        f"{start} Lemma 4.6 bounds the spectral norm, Lemma 4.4 needs the Frobenius norm. At $k = {max(ranks):g}$ the second is "
        f"{measures.text(f'{ratio} {max(ranks):g}')} times the first, and grows with $k$ as {exponent(measures, 'privacy k distF')}. "
        "The text after Lemma 4.6 concludes the condition in Frobenius norm under Assumption 4.1, without the $\\sqrt{k}$ between the two: "
        "a gap in the proof, which as many more users close."
    )


def clipping(measures: Measures) -> str:
    """What label noise does through the threshold."""
    if not known(measures, "exponent privacy zeta distF"):
        return ""
    return (
        "**The threshold sets the price.** The privacy error grows with $\\zeta$ as "
        f"{exponent(measures, 'privacy zeta distF')}, and $\\zeta$ must cover the label noise whether or not the users have any."
    )


def other_laws(measures: Measures, cells: pd.DataFrame) -> str:
    """Gaussian and unequal heads against the law."""
    (condition,), (threshold,) = sizes(cells, "n-aniso", "head_condition"), sizes(cells, "n-printed", "init_label_clip")
    names = {
        "gauss n distF": "Gaussian heads",
        "aniso n distF": f"heads of condition {condition}",
        "printed n distF": f"{threshold} times the proof's threshold",
    }
    return rates.other_laws(measures, "Error over the law F1", names)


def davis_kahan(measures: Measures) -> str:
    """The printed and the corrected lemma."""
    printed, corrected = (measures.value(f"davis-kahan {name}") for name in ("printed", "corrected"))
    says = "is broken" if printed > 1 else "is not broken"
    return (
        f"**Lemma B.2** {says} as printed: the left side reaches {number(printed)} times the right one in the pairs tried. With "
        f"eigenvalue $j+1$ of $H$ in place of that of $G$ it reaches {share(corrected)}."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures, cells = run.measures(STUDY), run.cells(STUDY)
    return paragraphs(
        bound(run, measures),
        law(measures, "privacy", "F1", "the error that privacy adds"),
        threshold(measures, cells),
        norms(run, measures),
        clipping(measures),
        other_laws(measures, cells),
        davis_kahan(measures),
    )
