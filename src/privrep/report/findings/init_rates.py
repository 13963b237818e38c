"""What the study init_rates found (jain2021, Algorithm 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import number, share

STUDY = "init_rates"
ONE_CURVE, LOST = 1.25, 0.9
"""Settings within this factor of the law are on one curve; a sine from here on is that of a random subspace."""


def bound(run: Run, measures: Measures) -> str:
    """The exponents of the privacy term, in one sentence."""
    fits = {"n": "privacy n dist2", "d": "privacy d dist2", "k": "privacy k dist2", r"\Delta": "privacy Delta dist2"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    start = heading("Lemma 4.6 is tight", "Lemma 4.6", judged(run, "A-L4.6", "RATE-EXACT"))
    return f"{start} Exponents of the privacy term, as measured: {found}."


def threshold(measures: Measures, cells: pd.DataFrame) -> str:
    """Where learning starts, and what the proof's threshold costs."""
    if not known(measures, "collapse largest ratio to F1", "collapse least dist2 beyond"):
        return ""
    series = cells.groupby("series")["zeta"].agg(["min", "max"])
    low, high, lost = (
        measures.value(f"collapse {name}")
        for name in ("smallest ratio to F1", "largest ratio to F1", "least dist2 beyond")
    )
    one_curve = max(high, 1 / low) <= ONE_CURVE
    text = (
        f"**A threshold.** All settings {'fall' if one_curve else 'do not fall'} on one curve in "
        "$u = 2 \\Delta \\zeta^2 d^{3/2} / (n \\lambda_k)$: up to $u = 0.7$ the Frobenius distance is "
        f"{number(low, 2)} to {number(high, 2)} times the law F1. From $u = 1.3$ on the largest angle has a sine of at least "
        f"{number(lost, 2)}{': nothing is learned, whatever comes later' if lost >= LOST else ''}."
    )
    if {"n", "n-printed"} <= set(series.index):
        printed = cells[cells["series"] == "n-printed"]
        factor = (printed["zeta"].max() / printed["init_label_clip"].iloc[0]) ** 2 / series.loc["n", "max"] ** 2
        text += (
            f" The proof's own $\\zeta$, with its logarithms, has a square {number(factor, 2)} times that of $\\zeta = 3 \\sqrt{{k}}$, "
            "and needs as many times the users."
        )
    return text


def norms(run: Run, measures: Measures) -> str:
    """Frobenius against spectral norm."""
    if not known(measures, "distF over dist2 at rank 8", "exponent privacy k distF"):
        return ""
    start = heading(
        "The norm matters", "Two norms", judged(run, "A-L4.6-F", "VIOLATED", "exponent of k in Frobenius norm")
    )
    return (
        f"{start} Lemma 4.6 bounds the spectral norm, Lemma 4.4 needs the Frobenius norm. At $k = 8$ the second is "
        f"{measures.text('distF over dist2 at rank 8')} times the first, and grows with $k$ as {exponent(measures, 'privacy k distF')}; "
        "the text takes the exponent 1 over."
    )


def clipping(cells: pd.DataFrame) -> str:
    """What label noise does through the threshold."""
    rows = cells[(cells["series"] == "sigma") & (cells["noise_multiplier"] > 0)]
    if rows["label_noise_sd"].nunique() < 2:
        return ""
    ends = [np.sqrt((part["distF"] ** 2).mean()) for _, part in rows.groupby("label_noise_sd")]
    return (
        f"**Label noise is paid twice.** It widens the threshold, so that the privacy noise grows with $\\sigma_F^2$: from "
        f"$\\sigma_F = 0$ to {rows['label_noise_sd'].max():g} the distance goes from {number(ends[0], 2)} to {number(ends[-1], 2)} "
        "at the same $\\Delta$."
    )


def other_laws(measures: Measures) -> str:
    """Gaussian and unequal heads against the law."""
    names = {
        "gauss n distF": "Gaussian heads",
        "aniso n distF": "heads of condition 1.5",
        "printed n distF": "the proof's threshold",
    }
    if not known(measures, *(f"constant {name}" for name in names)):
        return ""
    found = ", ".join(f"{measures.text(f'constant {name}')} ({label})" for name, label in names.items())
    return f"**Other heads.** Error over the law F1: {found}."


def davis_kahan(measures: Measures) -> str:
    """The printed and the corrected lemma."""
    printed, corrected = (measures.value(f"davis-kahan {name}") for name in ("printed", "corrected"))
    says = "is broken" if printed > 1 else "is not broken"
    return (
        f"**Lemma B.2** {says} as printed: the left side reaches {number(printed)} times the right one. With $\\mathrm{{eig}}_{{j+1}}(H)$ "
        f"it stays below, at most {share(corrected)} in random pairs."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures, cells = run.measures(STUDY), run.cells(STUDY)
    return paragraphs(
        bound(run, measures),
        law(measures, "privacy", "F1", "the error that privacy adds"),
        threshold(measures, cells),
        norms(run, measures),
        clipping(cells),
        other_laws(measures),
        davis_kahan(measures),
    )
