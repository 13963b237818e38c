"""What the study client_lemmas found (shen2023, Lemmas C.1 to C.5 and D.1 to D.7)."""

from __future__ import annotations

from privrep.report.findings.rates import constants, exponent, heading, judged, known, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import number, times
from privrep.studies.client_lemmas.measures import BALL

STUDY = "client_lemmas"
KAPPAS = ("1", "1.5", "2", "3")
AS_PRINTED = "share of runs beyond the bound as printed, mu at most kappa"
LONG_HEADS = "with the mean subtracted, one head in 100 up to 20 times as long: share of runs beyond"
"""Quantities of the claim on Lemma C.4."""
ALGEBRA = ("B-LD.1", "B-LD.4", "B-LD.5", "B-LD.7")
"""Claims of Appendix D that take the deltas as given, D.2 and D.6 aside."""


def clip(run: Run, measures: Measures) -> str:
    """How far the printed clip is from the gradients."""
    fits = {"n": "C.1 n", "d": "C.1 d", "k": "C.1 k", r"\bar m": "C.1 mbar", r"\mu": "C.1 mu"}
    if not known(measures, "C.1, largest ratio", "exponent C.1 sine", *(f"exponent {fit}" for fit in fits.values())):
        return ""
    needed = measures.value("C.1, largest ratio")
    holds = judged(run, "B-LC.1", "HOLDS", "share of runs in which c_zeta = 1 is too small for a user")
    text = (
        f"{heading('The clip of Lemma C.1 has much to spare', 'The clip of Lemma C.1', holds)} The largest gradient of all runs needs "
        f"$c_\\zeta = {number(needed, 2)}$, so that $c_\\zeta = 1$ is {times(1 / needed)} too wide or more. Exponents of the largest gradient: "
        + ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
        + "."
    )
    if judged(run, "B-LC.1", "LOOSE", "exponent of k"):
        text += " The bound has $k^{3/2}$ for its probability alone."
    if judged(run, "B-LC.1", "LOOSE", "exponent of the start's distance"):
        text += (
            f" Gradients vanish at the truth: they grow with the distance as {exponent(measures, 'C.1 sine')}, and a fixed clip "
            "gets looser round by round."
        )
    found = constants(measures, "median").values()
    if found:
        text += f" The median is {number(min(found), 3)} to {number(max(found), 3)} times the law F10."
    return text


def covariances(run: Run, measures: Measures) -> str:
    """The deviations of the users' covariances, Lemmas C.2 and C.3."""
    medians = [f"{lemma} median ratio" for lemma in ("C.2", "C.3")]
    corrected = [f"{lemma} corrected, share of runs beyond" for lemma in ("C.2", "C.3")]
    if not known(measures, *medians, *corrected, "C.2 least ratio", "exponent C.2 mbar"):
        return ""
    claims = {
        "B-LC.2": "median over runs of delta_1 over sqrt(k ln n / mbar)",
        "B-LC.3": "median over runs of delta_2 over sqrt(k ln n / mbar)",
    }
    short = all(judged(run, claim, "FALSE-AS-PRINTED", quantity) for claim, quantity in claims.items())
    text = (
        f"{heading('Lemmas C.2 and C.3 lack a constant', 'Lemmas C.2 and C.3', short)} Both deltas are printed as $\\sqrt{{k \\ln n / \\bar m}}$; the "
        "proof has it up to a constant, and the probability another free one. The median $\\delta_1$ is "
        f"{measures.text(medians[0])} times that, the median $\\delta_2$ {measures.text(medians[1])} times ({measures.row(medians[0])['note']}). With the "
        f"constants of a normal matrix a share of {measures.text(corrected[0])} and {measures.text(corrected[1])} of the runs is beyond. The exponent of "
        f"$\\bar m$ is as printed: {exponent(measures, 'C.2 mbar')} and {exponent(measures, 'C.3 mbar')}."
    )
    if judged(run, "B-LC.2", "LOOSE", "exponent of k"):
        text += (
            f" With $k$ they grow as {exponent(measures, 'C.2 k')} and {exponent(measures, 'C.3 k')}: $\\sqrt k$ and $\\sqrt{{\\ln n}}$ "
            "add, they do not multiply."
        )
    return text


def assumption(run: Run, measures: Measures) -> str:
    """Assumption 5.1 against its own definition."""
    name = "least subgaussian norm at variance 1"
    if not known(measures, name) or not judged(
        run, "B-A5.1", "FALSE-AS-PRINTED", "least subgaussian norm of a variable of variance 1"
    ):
        return ""
    return (
        "**No distribution meets Assumption 5.1.** With the norm of Appendix A.1 a variable of variance 1 has $E\\,e^{x^2} \\ge e > 2$; its norm is "
        f"at least {number(measures.value(name), 3)}, and {number(measures.value('subgaussian norm of a normal variable'), 3)} for a normal variable. "
        "Only constants change."
    )


def deviation(run: Run, measures: Measures) -> str:
    """The deviation of the gradient, Lemmas C.4 and D.6."""
    names = "C.4, largest ratio", "D.6, largest ratio", "D.6 long heads, largest ratio", "exponent C.4 mu"
    if not known(measures, *names):
        return ""
    printed = judged(run, "B-LC.4", "FALSE-AS-PRINTED", AS_PRINTED)
    lacking = judged(run, "B-LC.4", "FALSE-AS-PRINTED", LONG_HEADS)
    text = (
        f"{heading('Lemma C.4 bounds the wrong norm', 'Lemma C.4', printed)} As printed, like eq. (48), it bounds $\\lVert G\\rVert$, which is up to "
        f"{number(measures.value(names[0]), 2)} times the bound. Eq. (46) has $\\lVert G - QV\\rVert$: at most {number(measures.value(names[1]), 2)} "
        "times the bound for heads of similar length."
    )
    if lacking:
        text += (
            f" With a few long heads it is {number(measures.value(names[2]), 2)} times: $\\delta_3$ of Lemma C.4 lacks $\\mu^2$ (E43), and the deviation "
            f"grows with $\\mu$ as {exponent(measures, 'C.4 mu')}. Assumption 5.2 calls $\\mu$ a constant; Lemma D.6 takes $\\delta_3$ as given and does "
            "not depend on it."
        )
    if judged(run, "B-LD.6", "LOOSE", "exponent of k"):
        text += f" Beside the sum $\\sqrt d + \\sqrt{{k \\ln n}}$ the exponent of $k$ is {exponent(measures, 'C.4 k')}, where the bound has 1 and the law 1/2."
    return text


def one_round(run: Run, measures: Measures) -> str:
    """The contraction of a round and its noise."""
    names = [f"C.5 factor at kappa = {kappa}" for kappa in KAPPAS]
    if not known(measures, *names, "constant C.5 n"):
        return ""
    progress = [measures.value(f"C.5 progress over law at kappa = {kappa}") for kappa in KAPPAS]
    proved = 4 / (1 - BALL**2)
    noise = constants(measures, "C.5").values()
    holds = judged(run, "B-LC.5", "HOLDS", "share of runs beyond the bound, with and without noise, C_N = 1")
    text = (
        f"{heading('A round does better than Lemma C.5', 'A round', holds)} It takes {number(min(progress), 2)} to {number(max(progress), 2)} times "
        f"$1/(4\\kappa^2)$ of the distance, the law F8, which is {times(proved)} what eq. (19) has for large $\\kappa$. The noise of a round is "
        f"{number(min(noise), 2)} to {number(max(noise), 2)} times $\\eta\\sigma_g\\zeta_g/n$ times the norm of a $(d-k) \\times k$ normal matrix."
    )
    first = "path, least steady state with a run beyond the start"
    if known(measures, first):
        text += (
            " Eq. (20), that no iterate is farther than the start, is a matter of the noise: runs leave the start behind them from a steady "
            f"state of {number(measures.value(first), 2)} times the start on."
        )
    return text


def proof(run: Run, measures: Measures) -> str:
    """Appendix D with the measured deltas, and how far its condition is."""
    names = (
        "D.4 F, largest ratio",
        "D.5, largest ratio",
        "D.7 without noise, largest ratio",
        "Remark C.1 least ratio, other runs",
    )
    if not known(measures, *names):
        return ""
    users, samples = sizes(run.cells(STUDY), "theory", "users", "samples")
    rows = run.claims[run.claims["id"].isin(ALGEBRA)]
    holds = len(rows) > 0 and bool((rows["verdict"] == "HOLDS").all())
    text = (
        f"{heading('Appendix D holds', 'Appendix D', holds)} With $\\delta_1$ and $\\delta_2$ as measured, the largest ratio of left to right side is "
        f"{number(measures.value(names[0]), 2)} in (41), {number(measures.value(names[1]), 3)} in (43) and {number(measures.value(names[2]), 3)} in (49) without noise."
    )
    if judged(run, "B-LD.2", "FALSE-AS-PRINTED", "share of runs in which 1 - delta_1 exceeds it, H as printed"):
        text += " The matrix $H$ of (34) and (35) needs a factor $n$ for Lemma D.2 (E45), which then follows from the definition of $\\delta_1$."
    if measures.value(names[3]) > 1:
        text += (
            f" Outside the series made for it, with {users} users and {samples} samples each, every run misses the condition of Remark C.1 by a factor "
            f"{number(measures.value(names[3]), 2)} or more{'; the conclusions do not need it' if holds else ''}."
        )
    return text


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        clip(run, measures),
        covariances(run, measures),
        deviation(run, measures),
        one_round(run, measures),
        proof(run, measures),
        assumption(run, measures),
    )
