"""What the study centaur_rates found (shen2023, Theorem 5.1)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import number, times
from privrep.studies.centaur_rates.measures import BALL

STUDY = "centaur_rates"
KAPPAS = ("1", "1.5", "2", "3")
LEAVES = "share of runs that leave the start, a quarter of the printed cap, k = 4, d >= k^3 ln n"
"""Quantity of the claim on eq. (20)."""


def bound(run: Run, measures: Measures) -> str:
    """The exponents of the steady error."""
    fits = {"n": "n dist2", "d": "d dist2", "k": "k sine", r"\sigma_g": "sigma dist2"}
    if not known(measures, *(f"exponent {fit}" for fit in fits.values())):
        return ""
    found = ", ".join(f"${sign}$: {exponent(measures, fit)}" for sign, fit in fits.items())
    names = [f"exponent of {name}" for name in ("n", "d", "k, root mean square sine", "sigma_g")]
    start = heading("Theorem 5.1 is tight", "Theorem 5.1", judged(run, "B-T5.1", "RATE-EXACT", *names))
    return (
        f"{start} Exponents of the steady error, as measured: {found}. That of $k$ is for the root mean square of the $k$ sines, "
        f"$\\mathrm{{dist}}_F/\\sqrt k$; for the spectral distance it is {exponent(measures, 'k dist2')}, since the edge of the noise, "
        "$\\sqrt{d-k} + \\sqrt k$, still grows on a grid with $k$ of the order of $d$."
    )


def clips(run: Run, measures: Measures) -> str:
    """What of the exponents is the clip."""
    if not known(measures, "exponent fixed d dist2", "exponent fixed k sine"):
        return ""
    quantities = ["exponent of d, one clip for all d", "exponent of k, one clip for all k, root mean square sine"]
    half = judged(run, "B-T5.1", "LOOSE", *quantities)
    text = (
        f"{heading('Much of the bound is the clip', 'The clip', half)} With one clip for all sizes the error grows with $d$ as "
        f"{exponent(measures, 'fixed d dist2')} and with $k$ as {exponent(measures, 'fixed k sine')}: the rest of the printed powers "
        "is the clip's own growth."
    )
    if known(measures, "exponent printed mu dist2"):
        text += f" The power of $\\mu$, {exponent(measures, 'printed mu dist2')}, is the printed clip's alone, too."
    return text


def condition(run: Run, measures: Measures) -> str:
    """The condition number, in both normalisations."""
    if not known(measures, "exponent kappa low dist2", "exponent kappa high dist2"):
        return ""
    quantities = ["exponent of kappa at s_k = 1, one clip", "exponent of kappa at s_1 = 1, one clip"]
    loose = judged(run, "B-T5.1", "LOOSE", *quantities)
    text = (
        f"{heading('A power of the condition number to spare', 'The condition number', loose)} With $s_k = 1$ the error changes as "
        f"$\\kappa$ to the {exponent(measures, 'kappa low dist2')}, where the bound has 0; with $s_1 = 1$ as {exponent(measures, 'kappa high dist2')}, "
        "where it has 2."
    )
    return text + " The noise of the rounds adds in squares; the proof adds it in full." if loose else text


def rate(run: Run, measures: Measures) -> str:
    """The linear rate."""
    names = [f"contraction at kappa = {kappa}" for kappa in KAPPAS]
    if not known(measures, *names):
        return ""
    found = ", ".join(
        f"{measures.text(name)} at $\\kappa = {kappa}$" for name, kappa in zip(names, KAPPAS, strict=True)
    )
    ratios = [measures.value(f"rate over bound at kappa = {kappa}") for kappa in KAPPAS]
    laws = [measures.value(f"rate over law at kappa = {kappa}") for kappa in KAPPAS]
    holds = judged(run, "B-T5.1 rate", "HOLDS", *(f"factor per round, kappa = {kappa}" for kappa in KAPPAS))
    return (
        f"{heading('Faster than proved', 'The rate', holds and min(ratios) > 1)} Without noise the distance shrinks per round by {found}. The way "
        f"to 1 is {number(min(ratios), 2)} to {number(max(ratios), 2)} times what eq. (19) proves, and {number(min(laws), 2)} to "
        f"{number(max(laws), 2)} times the law $1/(4\\kappa^2)$."
    )


def cap(run: Run, measures: Measures) -> str:
    """The largest noise that the theorem allows, and eq. (20) under it."""
    fits = ("cap printed k", "cap corrected k")
    ranks = [1, 4]
    steady = {
        (form, rank): f"E42: steady dist2 over the start, {form} cap, k = {rank}"
        for form in ("printed", "corrected")
        for rank in ranks
    }
    beyond = {form: f"E42: {form} cap, k = {ranks[-1]}, share of runs beyond" for form in ("printed", "corrected")}
    if not known(measures, *(f"exponent {fit}" for fit in fits), *steady.values(), *beyond.values()):
        return ""
    gap = judged(run, "B-T5.1 noise", "PROOF-GAP", LEAVES)
    n, d = sizes(run.cells(STUDY), "start-printed", "users", "dim")
    low, high, mended = (measures.text(steady[key]) for key in (("printed", 1), ("printed", 4), ("corrected", 4)))
    text = (
        f"{heading('Eq. (20) does not follow from the cap on the noise', 'Eq. (20) and the cap on the noise', gap)} The bound of Theorem 5.1 at its own cap "
        f"on $\\sigma_g$ is of order $k\\kappa^4$. At a tenth of the cap the error grows with $k$ as {exponent(measures, fits[0])}, as the bound does; with the "
        f"power of $k$ corrected (E42) as {exponent(measures, fits[1])}. What is at stake is (20), that no iterate is farther than the start: at a "
        f"quarter of the cap, $n = {n}$ and $d = {d} \\ge k^3 \\ln n$, the steady distance is {low} times the start of {number(BALL)} for $k = {ranks[0]}$ "
        f"and {high} times for $k = {ranks[-1]}$, where a share of {measures.text(beyond['printed'])} of the runs leaves the start. Under the corrected cap "
        f"it is {mended} times, and the share {measures.text(beyond['corrected'])}."
    )
    if gap:
        text += (
            " (18) loses a factor $k$ from (21). In (21) itself $\\kappa^2$ and $E_0$ are on the wrong side: with $g = \\eta_g\\sigma_g\\zeta_g/n$, (22) needs "
            "$g \\le \\epsilon_0 E_0 / (48 C_N \\kappa^2 \\sqrt d)$."
        )
    levels = [f"largest steady dist2, {form} cap" for form in ("printed", "corrected")]
    if known(measures, *levels):
        text += (
            f" Over the condition numbers tried, with all constants 1, the steady distance reaches {measures.text(levels[0])} as printed and "
            f"{measures.text(levels[1])} without the factor $\\kappa^4$; those runs do not meet the assumption $d \\ge \\kappa^8 k^3 \\ln n$."
        )
    return text


def participation(measures: Measures) -> str:
    """Random participation and its two divisors."""
    share = "0.1"
    name = f"p = {share}"
    if not known(measures, f"epsilon, expected, {name}", f"epsilon, realised, {name}", "epsilon, expected, p = 1"):
        return ""
    gain = measures.value("epsilon, expected, p = 1") / measures.value(f"epsilon, expected, {name}")
    failed = measures.value("failed runs, realised divisor, p n = 1")
    text = (
        f"**Random participation.** With a share {share} of the users in each round, epsilon at the same noise multiplier falls by {times(gain)}, and the error grows as "
        f"noise over $pn$ says ({number(measures.value(f'distF over law, expected, {name}'), 3)} times the law)."
    )
    if failed > 0:
        text += (
            f" Dividing by the number who took part, as printed, gives {number(measures.value(f'distF over law, realised, {name}'), 3)} times the law and no such guarantee; with one user "
            f"expected in a round, "
            f"{number(100 * failed, 2)} % of the runs end at a mean over nobody (E51)."
        )
    return text


def samples(measures: Measures) -> str:
    """Fresh samples against reused ones."""
    name = "distF of fresh over reused samples"
    if not known(measures, name):
        return ""
    return (
        f"**Fresh samples are not needed.** The proofs use a sample once (E52). On the same users, fresh samples in each round give {measures.text(name)} "
        "times the error of samples drawn anew from all of them."
        if float(measures.row(name)["ci_low"]) <= 1 <= float(measures.row(name)["ci_high"])
        else f"**Fresh samples** in each round give {measures.text(name)} times the error of samples drawn anew from all."
    )


def findings(run: Run) -> str:
    """All findings of the study, as Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        bound(run, measures),
        law(measures, "", "F9", "the steady error"),
        clips(run, measures),
        condition(run, measures),
        rate(run, measures),
        cap(run, measures),
        participation(measures),
        samples(measures),
    )
