"""What the study risk found (jain2021, Theorems 1.1 and 4.2)."""

from __future__ import annotations

from privrep.report.findings import rates
from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import listing, number

STUDY = "risk"


def noise(run: Run, measures: Measures) -> str:
    """The power of Delta."""
    if not known(measures, "exponent privacy Delta", "exponent gauss epsilon"):
        return ""
    slip = judged(run, "A-T4.2", "VIOLATED", "privacy: exponent of Delta")
    start = heading(r"$\Delta^2$, not $\Delta$", r"The power of $\Delta$", slip)
    text = (
        rf"{start} The risk grows with $\Delta$ as {exponent(measures, 'privacy Delta')} and with $\varepsilon$ as "
        rf"{exponent(measures, 'gauss epsilon')}. Theorem 4.2 prints $\Delta^1$, Theorem 1.1 has $\varepsilon^{{-2}}$"
    )
    return text + ("; the first is a slip (E2)." if slip else ".")


def rank(run: Run, measures: Measures) -> str:
    """The power of k, and the regression with known heads."""
    if not known(measures, "exponent privacy k", "exponent known k", "known over fitted"):
        return ""
    loose = judged(run, "A-T4.2", "LOOSE", "privacy: exponent of k")
    text = (
        f"{heading('$k^4$, not $k^5$', 'The power of $k$', loose)} The risk grows with $k$ as {exponent(measures, 'privacy k')}. "
        f"With the heads known the one regression of Remark 1 has {exponent(measures, 'known k')}, and its risk is "
        f"{measures.text('known over fitted')} times that of the last round of alternation."
    )
    if loose:
        text += " The theorems lose a factor $k$ where they put a Frobenius norm in the place of a spectral one (E22)."
    if judged(run, "A-R1", "HOLDS", "risk with known heads over the last round of alternation"):
        text += " In that round, not knowing the heads costs nothing."
    return text


def heads(measures: Measures) -> str:
    """The heads' own error."""
    names = ("smallest over exact", "largest over exact", "last term over printed")
    names += ("largest over printed", "largest over printed, most samples")
    if not known(measures, *(f"heads {name}" for name in names)):
        return ""
    low, high, printed, most, least = (number(measures.value(f"heads {name}")) for name in names)
    return (
        r"**The last term.** A head fitted on $h = m/2$ samples adds $\sigma_F^2 k / (h - k - 1)$ and raises the subspace's share by "
        rf"$1 + k / (h - k - 1)$: measured {low} to {high} times this law. Eq. (22), whose $m$ counts the samples of the fit, has "
        rf"$\sigma_F^2 k / h$ and no such factor: the risk is up to {most} times as large, {least} times with the most samples tried. The last "
        rf"term of Theorem 4.2 is $(k/m)\, \sigma_F^2$ with all of a user's samples, of which half are fitted on: the heads' error is at least "
        rf"{printed} times it."
    )


def premise(measures: Measures) -> str:
    """Theorem 1.1 where its premise holds with equality."""
    name = "premise times at which a tenth is left, rank"
    times = measures.numbered(name)
    if not times or not known(measures, *(f"{name} {rank:g}" for rank in times)):
        return ""
    needed = listing(f"{number(value, 2)} ($k = {rank:g}$)" for rank, value in sorted(times.items()))
    return (
        "**The premise** $n \\ge (kd)^{3/2} / \\varepsilon$, with $1/\\varepsilon$ read as $\\Delta$, is where the noisy matrix becomes positive "
        "definite. There Theorem 1.1 promises $k^2$, and predicting zero has $k$. A tenth of that risk is left from this many times the premise on, "
        f"in steps of a factor 2: {needed}."
    )


def statistical(measures: Measures) -> str:
    """The statistical term's power of k."""
    if not known(measures, "exponent statistical k", "exponent privacy T"):
        return ""
    return (
        f"**Without privacy** the subspace's term grows with $k$ as {exponent(measures, 'statistical k')}, where Theorem 4.2 has 2. "
        f"With privacy the risk grows with $T$ at fixed $n$ as {exponent(measures, 'privacy T')}; the theorem hides $T$ in its polylogarithms."
    )


def other_laws(run: Run, measures: Measures) -> str:
    """Gaussian heads, unequal heads and the proofs' thresholds against the law."""
    cells = run.cells(STUDY)
    (condition,), (threshold,) = sizes(cells, "n-aniso", "head_condition"), sizes(cells, "n-printed", "clip_feature")
    (cut,) = sizes(cells, "n-gauss", "clip_feature")
    names = {
        "gauss n": "Gaussian heads",
        "gauss d": "Gaussian heads with wide thresholds, along $d$",
        "gauss k": "and along $k$",
        "aniso n": f"heads of condition {condition}",
        "printed n": f"{threshold} times the proofs' thresholds",
    }
    text = rates.other_laws(measures, "Risk over the law", names)
    return f"{text} Thresholds at {cut} times the mean norm cut the long heads of a Gaussian law." if text else ""


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        noise(run, measures),
        rank(run, measures),
        law(measures, "privacy", "F3 with F6", "the risk that privacy adds"),
        other_laws(run, measures),
        heads(measures),
        premise(measures),
        statistical(measures),
    )
