"""What the study power_method found (shen2023, Algorithms 3, 5 and 6)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import number, share, times
from privrep.studies.power_method.measures import CANDIDATE, PROBABILITIES, TARGET

STUDY = "power_method"
LEFT = "successes that (99) leaves over T_0 / 2"
"""Quantity of the claim on the proof of Lemma F.3."""
SHARED = "dist2 of a candidate that passes, all runs on the samples of the same 250 users, no noise"
"""Quantity of the claim on independent runs."""
REACHED = (
    "share of runs with dist2 <= 0.01, n = 45000, d = 3, k = 1, noise a twelfth of the law's",
    "share of runs with dist2 <= 0.2, n = 2000, d = 20, k = 2, noise a quarter of the law's",
)
"""Quantities of the claim on a single run."""


def low(measures: Measures, quantity: str) -> float:
    """Lower end of the interval."""
    return float(measures.row(quantity)["ci_low"])


def high(measures: Measures, quantity: str) -> float:
    """Upper end of the interval."""
    return float(measures.row(quantity)["ci_high"])


def accuracy(run: Run, measures: Measures) -> str:
    """How the error grows with everything."""
    fits = {"n": "privacy n", r"\sigma_0": "privacy Delta", "d": "privacy d", "k": "privacy k"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    tight = judged(run, "B-LF.1", "RATE-EXACT", "noise: exponent of n", "noise: exponent of d, zeta_0 ~ sqrt(d)")
    text = (
        f"{heading('Lemma F.1 is tight in n and d', 'Lemma F.1', tight)} Exponents of the error by noise, clip as $\\sqrt{{d}} k^{{3/2}}$: {found}; that of $k$ for "
        "the root mean square of the $k$ sines."
    )
    if judged(run, "B-LF.1", "LOOSE", "noise: exponent of k, zeta_0 ~ k^1.5"):
        text += (
            " The lemma permits noise that falls as $1/k$ at a given clip, which would be an error of $k^{5/2}$. The error at a given clip "
            f"even falls with $k$, as {exponent(measures, 'privacy k fixed')}: a step contracts more slowly, but the signal grows like $k + 2$."
        )
    return text


def clipping(run: Run, measures: Measures) -> str:
    """What the clip costs and what it saves."""
    names = ("clipped at the practical bound", "prescribed over practical bound")
    if not known(measures, *names, "noise permitted at the least over the practical bound"):
        return ""
    name = "noise permitted at the least over the practical bound"
    cells = run.cells(STUDY)
    least = cells.loc[cells["series"] == "clip", "init_clip"].min()
    return (
        f"{heading('A smaller clip permits more noise', 'The clip', low(measures, name) > 1)} Clipping commutes with rotations about the truth: it shortens the signal and turns nothing. With the clip "
        f"$\\sqrt{{d}} k^{{3/2}}$ it shortens {share(measures.value(names[0]))} of the products, and the law with what is left of the signal still holds. "
        f"At {number(least)} of it the same target permits {measures.text(name)} times the noise. The prescribed bound, all constants "
        f"1, is {times(measures.value(names[1]))} the practical one."
    )


def of_law(measures: Measures, quantity: str) -> str:
    """A share of runs with its interval, and over how many and at which noise."""
    return f"{measures.text(quantity)} ({measures.row(quantity)['note']})"


def success(run: Run, measures: Measures) -> str:
    """Random starts."""
    names = ("success at 0.01", "iterations for 0.99", "noise at which half succeed", "users for 0.01")
    if not known(measures, *names, "success at 0.2"):
        return ""
    reached = judged(run, "B-LF.1", "HOLDS", *REACHED)
    title = heading("In both settings at least 99 % of the starts arrive", "Random starts", reached)
    cells = run.cells(STUDY)
    small, rank = sizes(cells, "printed", "dim", "rank")
    (far, far_rank), (length,) = sizes(cells, "noise", "dim", "rank"), sizes(cells, "noise", "iterations")
    return (
        f"{title} Share of runs within {CANDIDATE:g} at $d = {small}$, $k = {rank}$: {of_law(measures, names[0])}; within {TARGET:g} "
        f"at $d = {far}$, $k = {far_rank}$: {of_law(measures, 'success at 0.2')}. In the latter setting, the noise as in the figure, "
        f"{measures.text(names[1])} iterations bring 99 % of the starts there; with $L = {length}$ half of them succeed at "
        f"{measures.text(names[2])} of the noise that the law permits. Sampling alone needs about {number(measures.value(names[3]), 2)} users for "
        f"{CANDIDATE:g} ({measures.row(names[3])['note']}), so that {CANDIDATE:g} was tried at $d = {small}$ alone: at practical sizes no start is "
        "as good as the selection asks."
    )


def selecting(run: Run, measures: Measures) -> str:
    """Lemma F.3, and what selection is worth."""
    names = ("selected over median", "average over median", "real starts that pass", "largest accuracy by angles")
    if not known(measures, *names):
        return ""
    better = high(measures, "average over median") < low(measures, "selected over median")
    (starts,) = sizes(run.cells(STUDY), "select", "starts")
    text = (
        f"{heading('Averaging beats selection', 'Selection', better)} Of selections among {starts} real runs, a share of {measures.text('real starts that pass')} passes the printed test. The one closest to "
        f"the others has {measures.text('selected over median')} times the error of the median run; the average of all projectors, as free of privacy cost, has "
        f"{measures.text('average over median')}."
    )
    if judged(run, "B-LF.3-proof", "PROOF-GAP", LEFT):
        text += (
            f" On made-up candidates Lemma F.3 holds at its $p = {PROBABILITIES[0]:g}$. Its proof does not quite: (99) with $t = T_0/2$ leaves "
            f"{measures.text('successes left by (99) over half')} times the half of $T_0$ that it concludes; $t = (p - 1/2) T_0$ mends it (E48). For $p$ "
            "near a half, which the lemma does not ask for, its $T_0$ is too small."
        )
    text += (
        f" Eq. (69) permits $\\epsilon_i$ up to {number(measures.value('largest accuracy of (69)'), 3)}; adding angles, $\\sin(3 \\arcsin \\epsilon_i) \\le {TARGET:g}$, gives "
        f"{number(measures.value('largest accuracy by angles'), 3)}."
    )
    return text


def dependence(run: Run, measures: Measures) -> str:
    """Runs share their users."""
    name = "dist2 that passes on shared samples"
    if not (known(measures, name) and judged(run, "B-CF.1-shared", "LIMIT", SHARED)):
        return ""
    return (
        "**Runs on the same data are not independent.** The test compares runs with each other and cannot see what they have in common. On few users and without noise all "
        f"runs agree, pass, and are {measures.text(name)} from the truth. Boosting lowers the failures of starts and noise, not those of the sample. "
        "Condition (66) asks for more users than these: they show a limit and refute no corollary."
    )


def cost(run: Run, measures: Measures) -> str:
    """The start against the main rounds."""
    names = tuple(f"cost of the {what} over main rounds" for what in ("start", "single run", "averaged start"))
    if not known(measures, *names, "exponent cost k"):
        return ""
    dear = low(measures, names[0]) > 1
    cells = run.cells(STUDY)
    n, d, k, starts = sizes(cells, "select", "users", "dim", "rank", "starts")
    (rounds,) = sizes(cells, "main", "rounds")
    text = (
        f"{heading('The start is the dear part', 'Cost', dear)} At $n = {n}$, $d = {d}$, $k = {k}$ a selected start of {starts} runs costs {measures.text(names[0])} times the $\\mu^2$ of {rounds} main rounds, both for "
        f"a distance of {TARGET:g}; a single run costs {measures.text(names[1])} times as much, and the average of {starts} runs {measures.text(names[2])}."
    )
    return (
        f"{text} The $\\mu$ of a run grows with $k$ as {exponent(measures, 'cost k')}, where the square root of eq. (67) has 3 at a clip "
        "of order $\\sqrt{d} k^{3/2}$, as was used, and 3.5 at the prescribed one, which grows as $k^2$."
    )


def theory(run: Run, measures: Measures) -> str:
    """Theorem G.1 and Lemma G.1."""
    names = ("exponent steps gap", "iterations over ln(k d / eps)", "failures times tau", "exponent norm k")
    if not known(measures, *names):
        return ""
    text = (
        f"**Noisy power method.** With the largest permitted noise turned against it, iterations grow as {exponent(measures, 'steps gap')} with $s_k / \\mathrm{{gap}}$; "
        f"over the dimensions tried they grow {measures.text('iterations over ln(k d / eps)')} times as much as $\\ln(kd/\\epsilon)$, which "
        f"spans too little for an exponent. Failures are {measures.text('failures times tau')} times $1/\\tau$."
    )
    if judged(run, "B-LG.1", "LOOSE", "largest norm over the bound without k^1.5: exponent of k"):
        text += f" The largest product grows as {exponent(measures, 'norm k')} where Lemma G.1 has $k^{{3/2}}$: one factor $\\sqrt{{k}}$ is spare (E44)."
    return text


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        accuracy(run, measures),
        law(measures, "privacy", "F11", "the error that noise adds"),
        clipping(run, measures),
        success(run, measures),
        cost(run, measures),
        selecting(run, measures),
        dependence(run, measures),
        theory(run, measures),
    )
