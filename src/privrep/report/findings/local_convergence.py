# ruff: noqa: RUF001  (typographic signs are meant)
"""What the study local_convergence found (jain2021, Algorithms 1 and 2)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, known, law, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import number, share, times

STUDY = "local_convergence"


def bound(measures: Measures) -> str:
    """The exponents of the privacy term."""
    fits = {"n": "privacy n", "d": "privacy d", "k": "privacy k", r"\Delta": "privacy Delta"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    return (
        f"**Lemma 4.4 is tight.** Exponents of the privacy term, as measured: {found}. The power $d^{{3/2}}$ belongs to the algorithm: "
        "noise goes into a $dk \\times dk$ matrix whose sensitivity grows like $dk$."
    )


def rounds(measures: Measures) -> str:
    """What the number of rounds costs."""
    if not known(measures, "exponent privacy T", "contraction of the last round"):
        return ""
    return (
        f"**Rounds are not free.** A round works on $n/T$ users, so at fixed $n$ the error grows with $T$ as {exponent(measures, 'privacy T')}. "
        f"The bound has no $T$. One round without noise leaves {share(measures.value('contraction of the last round'))} of the distance, "
        "so one or two rounds are enough."
    )


def start(measures: Measures) -> str:
    """Whether the condition on the start is needed."""
    if not known(measures, "basin without noise", "basin with noise"):
        return ""
    quiet, noisy = measures.value("basin without noise"), measures.value("basin with noise")
    return (
        f"**The start may be far away.** Lemma 4.4 asks for a distance of 1/32. Of the starts tried, one round at least halves the distance "
        f"from a sine of {number(quiet, 2)} without noise, and of {number(noisy, 3)} at $x = 0.2$: the condition is sufficient, not needed."
    )


def breakdown(measures: Measures) -> str:
    """What happens past x = 1, and which fallback helps."""
    names = ("solve", "ridge", "eigclip")
    if not known(measures, "definite beyond", *(f"beyond, {name}" for name in names)):
        return ""
    solve, ridge, clipped = (measures.value(f"beyond, {name}") for name in names)
    return (
        "**The printed step ends at $x = 1$.** There the noise is as large as the smallest eigenvalue of the signal. From $x = 1.15$ on the "
        f"noisy matrix is positive definite in {share(measures.value('definite beyond'))} of the runs, so the minimiser does not exist. "
        f"Solving the system all the same leaves an error per direction of {number(solve, 2)}, next to a random subspace. Raising all "
        f"eigenvalues by the public norm of the noise gives {number(ridge, 2)}; raising only the small ones to it gives "
        f"{number(clipped, 2)}, {times(solve / clipped)} less. Both only process what was released, so they cost no privacy."
    )


def label_noise(measures: Measures) -> str:
    """The part that grows with the label noise."""
    if not known(measures, "exponent label-noise NSR", "exponent label-noise d"):
        return ""
    return (
        f"**Label noise above the signal.** The privacy error then grows with $d$ as {exponent(measures, 'label-noise d')} and with NSR as "
        f"{exponent(measures, 'label-noise NSR')}, as the lemma says. It does so with the heads given; fitted heads need "
        "$m/4 \\gg \\mathrm{NSR}^2 k$ before that regime is reached (E28)."
    )


def lemmas(measures: Measures) -> str:
    """What the lemmas of the proof are worth."""
    if not known(measures, "exponent B.5 Frobenius d", "exponent B.4 m", "exponent B.6 m", "exponent B.4 norm n"):
        return ""
    return (
        f"**Inside the proof.** Lemma B.5 is printed in Frobenius norm, which grows with $d$ as {exponent(measures, 'B.5 Frobenius d')}, "
        f"not 1/2; in operator norm it is {exponent(measures, 'B.5 operator d')}. Lemma B.4 has no $m$, the error of the heads falls as "
        f"{exponent(measures, 'B.4 m')}; Lemma B.6 has $m^{{-1/2}}$, measured {exponent(measures, 'B.6 m')}: here the proof gives away a factor "
        f"$\\sqrt{{m/k}}$. The bound on $\\lVert v_j \\rVert$ falls with $n$, the norm itself does not: {exponent(measures, 'B.4 norm n')}. "
        f"The noise on $A$ falls with $n$ as {exponent(measures, 'B.3 n')}, where the proof of Lemma B.3 has −1/2."
    )


def other_laws(measures: Measures) -> str:
    """Gaussian heads, unequal heads and the proofs' thresholds."""
    names = {"gauss n": "Gaussian heads", "aniso n": "heads of condition 1.5", "printed n": "the proofs' thresholds"}
    if not known(measures, *(f"constant {name}" for name in names)):
        return ""
    found = ", ".join(f"{measures.text(f'constant {name}')} ({label})" for name, label in names.items())
    text = f"**Other heads.** Error over the law F3: {found}."
    if known(measures, "constant gauss-unclipped n"):
        text += (
            " Gaussian heads lose by the clip: long heads, which carry most of the signal, are cut. With a threshold of twice the size the "
            f"constant is {measures.text('constant gauss-unclipped n')}."
        )
    return text


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        bound(measures),
        law(measures, "privacy", "F3", "the error that privacy adds"),
        rounds(measures),
        start(measures),
        breakdown(measures),
        label_noise(measures),
        other_laws(measures),
        lemmas(measures),
    )
