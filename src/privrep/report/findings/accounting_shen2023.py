# ruff: noqa: RUF001  (typographic signs are meant)
"""What the study accounting_shen2023 found (shen2023, privacy statements)."""

from __future__ import annotations

from privrep.report.findings.rates import heading, known, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import listing, number, times
from privrep.studies.accounting_shen2023 import DELTA, EPSILONS, ROUNDS, ROUNDS_REMOVED, SCOPES, WHOLE

STUDY = "accounting_shen2023"


def conversion(measures: Measures) -> str:
    """The last step of Theorem 5.2."""
    if not known(measures, *(f"{scope.name}: largest ratio" for scope in SCOPES)):
        return ""
    ratio = measures.value(f"{WHOLE.name}: largest ratio")
    deltas = measures.numbered(f"{WHOLE.name}: exact delta at")
    least, most = min(deltas), max(deltas)
    broken = ratio > 1
    start = heading("The last step of Theorem 5.2 is wrong", "The last step of Theorem 5.2", broken)
    text = (
        f"{start} From $4 \\alpha T_g/\\sigma_g^2$-RDP, the paper’s Theorem A.1 gives up to {number(ratio)} times the claimed "
        f"epsilon. Exact accounting gives {number(measures.value(f'{WHOLE.name}: exact epsilon at 1'))} where 1 is claimed, and at the claimed "
        f"epsilon a delta of {number(deltas[least], 2)} (epsilon {least:g}) to {number(deltas[most], 2)} (epsilon {most:g}), "
        f"where {number(DELTA)} is claimed."
    )
    if broken:
        factor, exactly = (measures.value(f"{WHOLE.name}: missing noise{kind}") for kind in ("", ", exact"))
        text += f" With $\\varepsilon \\le \\ln(1/\\delta)$, noise {times(factor)} as large mends it, {times(exactly)} by exact accounting."
    return text


def scopes(measures: Measures) -> str:
    """Where the printed epsilon holds."""
    names = {
        ROUNDS.name: "the rounds alone",
        ROUNDS_REMOVED.name: "the rounds alone when users are removed, not replaced",
    }
    if not known(measures, *(f"{scope}: largest ratio" for scope in names)):
        return ""
    found = {name: measures.value(f"{scope}: largest ratio") for scope, name in names.items()}
    holds = [name for name, ratio in found.items() if ratio <= 1]
    fails = [f"{name} ({number(ratio)} times)" for name, ratio in found.items() if ratio > 1]
    said = [f"It holds for {listing(holds)}."] if holds else []
    said += [f"It can be exceeded by {listing(fails)}."] if fails else []
    return f"**What the printed epsilon covers.** {' '.join(said)}"


def one_round(measures: Measures) -> str:
    """Remark 4.1."""
    names = ("full participation, replace a user", "printed S at p = 1", "largest printed S", "printed order over RDP")
    if not known(measures, *names):
        return ""
    replaced, at_one, largest, order = (measures.value(name) for name in names)
    text = (
        f"**One round.** Remark 4.1 counts the removal of a user. Replacing one, as in Definition 2.1, costs {number(replaced)} times as "
        "much when all take part."
    )
    if largest < 0:
        text += (
            f" Its formula for random participation has a second measure of mass $1 + p$: the divergence is negative, "
            f"and at $p = 1$ it is {number(at_one)} times what the remark states."
        )
    if order < 1:
        text += (
            " With the mixture mended, the order of the two measures matters: the printed one understates the cost, down to "
            f"{number(order, 2)} of it. The mixture has to come first."
        )
    return text


def powers(measures: Measures) -> str:
    """Exponents of the start's cost, and what they do to Corollary 5.1."""
    names = (
        "eps'_init: exponent of k",
        "eps_init: exponent of k",
        "least eps: exponent of k",
        "least eps: exponent of kappa",
    )
    if not known(measures, *names, "eps_a at the least eps: exponent of k"):
        return ""
    run, start, least, kappa = (f"{measures.value(name):g}" for name in names)
    reached = measures.value("eps_a at the least eps: exponent of k")
    text = (
        f"**The start.** At the prescribed parameters a run of the power method costs $k^{{{run}}}$ and all runs $k^{{{start}}}$. "
        f"For the start to fit into half of the budget, epsilon must be at least of order "
        f"$\\kappa^{{{kappa}}}\\, k^{{{least}}} \\mu^2 d/n$; Corollary 5.1 has $\\kappa^{{-3}} k^{{1/2}} \\mu^2 d/n$."
    )
    if reached < 0:
        text += f" Its trade-off is then proved for accuracies below $k^{{{reached:g}}}$ alone, up to constants and logarithms."
    return text


def experiments(measures: Measures) -> str:
    """What the experiments' epsilon is under replacement."""
    names = {epsilon: f"experiments at {epsilon:g}, replace a user" for epsilon in EPSILONS}
    if not known(measures, *names.values(), "experiments at 1, remove a user"):
        return ""
    found = listing(f"{number(measures.value(name))} for {epsilon:g}" for epsilon, name in names.items())
    return (
        "**The experiments.** The Rényi accountant of Opacus adds or removes a user. The same noise under replacement gives, "
        f"by exact accounting, these epsilons for the stated ones: {found}. Removing a user costs "
        f"{number(measures.value('experiments at 1, remove a user'))} where 1 is stated. The number of rounds cancels."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        conversion(measures), scopes(measures), one_round(measures), powers(measures), experiments(measures)
    )
