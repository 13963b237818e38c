"""What the study risk found (jain2021, Theorems 1.1 and 4.2)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, known, law, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import listing, number

STUDY = "risk"


def noise(measures: Measures) -> str:
    """The power of Delta."""
    if not known(measures, "exponent privacy Delta", "exponent privacy epsilon"):
        return ""
    return (
        f"**$\\Delta^2$, not $\\Delta$.** The risk grows with $\\Delta$ as {exponent(measures, 'privacy Delta')} and with $\\varepsilon$ as "
        f"{exponent(measures, 'privacy epsilon')}. Theorem 4.2 prints $\\Delta^1$, Theorem 1.1 has $\\varepsilon^{{-2}}$; the first is a slip (E2)."
    )


def rank(measures: Measures) -> str:
    """The power of k, and the regression with known heads."""
    if not known(measures, "exponent privacy k", "exponent known k", "known over fitted"):
        return ""
    return (
        f"**$k^4$, not $k^5$.** The risk grows with $k$ as {exponent(measures, 'privacy k')}; the theorems lose a factor $k$ where they put the "
        f"Frobenius norm in the place of the spectral one (E22). With the heads known the one regression of Remark 1 has "
        f"{exponent(measures, 'known k')}, and its risk is {measures.text('known over fitted')} times that of the last round of alternation: not "
        "knowing the heads costs nothing, and Algorithm 2 attains the benchmark of Remark 1 without the extra factor $k$."
    )


def heads(measures: Measures) -> str:
    """The heads' own error."""
    if not known(measures, "heads largest over exact", "heads smallest over exact", "heads last term over printed"):
        return ""
    return (
        "**The last term.** A head fitted on $h = m/2$ samples adds $\\sigma_F^2 k / (h - k - 1)$ and raises the subspace's share by "
        f"$1 + k / (h - k - 1)$: measured {number(measures.value('heads smallest over exact'))} to "
        f"{number(measures.value('heads largest over exact'))} times this law. The printed $(k/m)\\, \\sigma_F^2$ is at least "
        f"{number(measures.value('heads last term over printed'), 2)} times too small, since half of the samples are used."
    )


def premise(measures: Measures) -> str:
    """Theorem 1.1 where its premise holds with equality."""
    ranks = sorted(measures.numbered("premise times at which a tenth is left, rank"))
    if not ranks or not known(measures, *(f"premise times at which a tenth is left, rank {rank:g}" for rank in ranks)):
        return ""
    needed = listing(
        f"{number(measures.value(f'premise times at which a tenth is left, rank {rank:g}'), 2)} ($k = {rank:g}$)"
        for rank in ranks
    )
    return (
        "**The premise is not enough.** At $n = (kd)^{3/2} \\Delta$ Theorem 1.1 promises $k^2$, more than the risk $k$ of predicting zero. "
        f"A tenth of that risk is left only from this many times the premise on: {needed}."
    )


def statistical(measures: Measures) -> str:
    """The statistical term's power of k."""
    if not known(measures, "exponent statistical k", "exponent privacy T"):
        return ""
    return (
        f"**Without privacy** the subspace's term grows with $k$ as {exponent(measures, 'statistical k')}, where Theorem 4.2 has 2. "
        f"Rounds cost more than in the distance: with privacy the risk grows with $T$ as {exponent(measures, 'privacy T')}."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        noise(measures),
        rank(measures),
        law(measures, "privacy", "F3 with F6", "the risk that privacy adds"),
        heads(measures),
        premise(measures),
        statistical(measures),
    )
