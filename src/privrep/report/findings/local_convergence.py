"""What the study local_convergence found (jain2021, Algorithms 1 and 2)."""

from __future__ import annotations

from privrep.report.findings import rates
from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import number, share, times
from privrep.studies.local_convergence.measures import ASKED, CLOSED_FORM_BELOW, LOST_ABOVE

STUDY = "local_convergence"


def bound(run: Run, measures: Measures) -> str:
    """The exponents of the privacy term."""
    fits = {"n": "privacy n", "d": "privacy d", "k": "privacy k", r"\Delta": "privacy Delta"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    intrinsic = judged(run, "A-L4.4", "RATE-EXACT", "privacy: exponent of d")
    quantities = [f"privacy: exponent of {name}" for name in ("n", "d", "k", "Delta")]
    start = heading("Lemma 4.4 is tight", "Lemma 4.4", judged(run, "A-L4.4", "RATE-EXACT", *quantities))
    text = f"{start} Exponents of the privacy term, as measured: {found}."
    if intrinsic:
        text += (
            " The power $d^{3/2}$ belongs to the algorithm, not to its analysis: noise goes into a $dk \\times dk$ matrix whose "
            "sensitivity grows like $dk$."
        )
    return text


def rounds(measures: Measures) -> str:
    """What the number of rounds costs."""
    if not known(measures, "exponent privacy T", "contraction of the last round"):
        return ""
    return (
        f"**Rounds are not free.** A round works on $n/T$ users, so at fixed $n$ the error grows with $T$ as {exponent(measures, 'privacy T')}. "
        "Eq. (30) keeps this $T$. Eq. (31) and Lemma B.7 leave it out, as Õ may: the theory takes $T$ logarithmic. "
        f"One round without noise leaves {share(measures.value('contraction of the last round'))} of the distance."
    )


def start(measures: Measures) -> str:
    """Whether the condition on the start is needed."""
    if not known(measures, "basin without noise", "basin with noise"):
        return ""
    quiet, noisy = measures.value("basin without noise"), measures.value("basin with noise")
    far = min(quiet, noisy) > ASKED
    enough = [f"start within 1/32 is enough {how} noise, share of runs" for how in ("without", "with")]
    within = (
        f" From within 1/32 that is so in {measures.text(enough[0])} of the runs without noise and {measures.text(enough[1])} with it."
        if known(measures, *enough)
        else ""
    )
    return (
        f"{heading('The start may be far away', 'The start', far)} Lemma 4.4 asks for a distance of 1/32. One round halves the "
        f"distance, or ends where a start at the truth would, from every start tried up to a sine of {number(quiet, 3)} without noise and "
        f"{number(noisy, 3)} with it{': the condition is sufficient, not needed' if far else ''}.{within}"
    )


def breakdown(measures: Measures) -> str:
    """What happens past x = 1, a limit of which the paper says nothing, and which fallback helps."""
    names = ("solve", "ridge", "eigclip")
    if not known(measures, "definite below 0.9", "definite beyond", *(f"beyond, {name}" for name in names)):
        return ""
    solve, ridge, clipped = (measures.value(f"beyond, {name}") for name in names)
    kept, below = measures.value("definite beyond"), measures.text("definite below 0.9")
    gone = ", and the minimiser does not exist in the others" if kept < 1 else ""
    return (
        f"{heading('A limit: $x = 1$', 'Around $x = 1$', kept < 0.5)} There the noise is as large as the smallest eigenvalue of "
        f"the signal. Up to $x = {CLOSED_FORM_BELOW}$ the noisy matrix is positive definite in a share {below} of the runs, so that the printed "
        f"minimiser exists. From $x = {LOST_ABOVE}$ on the share is {measures.text('definite beyond')}{gone}. The paper claims nothing about "
        f"that range, which its assumptions exclude. Solving the system all the same leaves an error per direction of {number(solve, 2)}, where 1 is the most. Raising all "
        f"eigenvalues by the public norm of the noise gives {number(ridge, 2)}; raising only the small ones to it gives "
        f"{number(clipped, 2)}, {times(solve / clipped)} less. Both only process what was released, so they cost no privacy."
    )


def label_noise(measures: Measures) -> str:
    """The part that grows with the label noise."""
    if not known(measures, "exponent label-noise NSR", "exponent label-noise d"):
        return ""
    return (
        f"**Label noise above the signal.** The privacy error then grows with $d$ as {exponent(measures, 'label-noise d')} and with NSR as "
        f"{exponent(measures, 'label-noise NSR')}, where the lemma has 1 and 1. The heads are given; fitted ones need "
        "$m/4 \\gg \\mathrm{NSR}^2 k$ before that regime is reached (E28)."
    )


def lemmas(run: Run, measures: Measures) -> str:
    """What the lemmas of the proof are worth, each where its verdict says so."""
    sentences = {
        f"Lemma B.4 has no $m$, and the largest error of a head falls as {exponent(measures, 'B.4 m')}.": (
            "A-LB.4",
            "LOOSE",
            "largest error: exponent of m",
        ),
        f"Lemma B.6 has $m^{{-1/2}}$, measured {exponent(measures, 'B.6 m')}.": ("A-LB.6", "LOOSE", "F: exponent of m"),
        f"The bound on $\\lVert v_j \\rVert$ falls with $n$, the norm itself does not: {exponent(measures, 'B.4 norm n')}.": (
            "A-LB.4",
            "VIOLATED",
            "largest ||v_j||: exponent of n",
        ),
        f"The noise on $A$ falls with $n$ as {exponent(measures, 'B.3 n')}, faster than the proof of Lemma B.3 has it.": (
            "A-LB.3",
            "LOOSE",
            "noise part: exponent of n",
        ),
    }
    found = [text for text, (claim, word, quantity) in sentences.items() if judged(run, claim, word, quantity)]
    return f"**Inside the proof.** {' '.join(found)}" if found else ""


def which_norm(measures: Measures) -> str:
    """The two readings of the norm in Lemma B.5."""
    if not known(measures, "exponent B.5 Frobenius d", "exponent B.5 operator d"):
        return ""
    return (
        "**Which norm.** Lemma B.5 prints a Frobenius norm of an operator on matrices. Read as the norm that the Frobenius norm induces, which is "
        f"the spectral one, it grows with $d$ as {exponent(measures, 'B.5 operator d')}, where the bound has 1/2. Read entry by entry it grows as "
        f"{exponent(measures, 'B.5 Frobenius d')}. The lemma that it restates, A.7 of [46], could not be seen; where Lemma B.7 uses it, the norm is the "
        "spectral one."
    )


def other_laws(run: Run, measures: Measures) -> str:
    """Gaussian heads, unequal heads and the proofs' thresholds."""
    cells = run.cells(STUDY)
    (condition,), (threshold,) = sizes(cells, "n-aniso", "head_condition"), sizes(cells, "n-printed", "clip_feature")
    names = {
        "gauss n": "Gaussian heads",
        "aniso n": f"heads of condition {condition}",
        "printed n": f"{threshold} times the proofs' thresholds",
    }
    text = rates.other_laws(measures, "Error over the law F3", names)
    if text and known(measures, "constant gauss-unclipped n"):
        text += f" With thresholds of twice the size, which cut no long heads, Gaussian heads have {measures.text('constant gauss-unclipped n')}."
    return text


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        bound(run, measures),
        law(measures, "privacy", "F3", "the error that privacy adds"),
        rounds(measures),
        start(measures),
        breakdown(measures),
        label_noise(measures),
        other_laws(run, measures),
        lemmas(run, measures),
        which_norm(measures),
    )
