# ruff: noqa: RUF001  (typographic signs are meant)
"""What the study accounting_shen2023 found (shen2023, privacy statements)."""

from __future__ import annotations

from privrep.report.findings.rates import heading, known, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import listing, number, times
from privrep.studies.accounting_shen2023.measures import DELTA, EPSILONS, ROUNDS, ROUNDS_REMOVED, SCOPES, WHOLE

STUDY = "accounting_shen2023"


def conversion(measures: Measures) -> str:
    """The last step of Theorem 5.2, for the rounds alone and with a start that is charged as much."""
    if not known(measures, *(f"{scope.name}: largest ratio" for scope in SCOPES)):
        return ""
    alone, whole = ROUNDS.name, WHOLE.name
    ratio, exactly = measures.value(f"{alone}: largest ratio"), measures.value(f"{alone}: exact epsilon at 1")
    deltas, charged = (measures.numbered(f"{name}: exact delta at") for name in (alone, whole))
    least, most = min(deltas), max(deltas)
    start = heading("The last step of Theorem 5.2 is wrong", "The last step of Theorem 5.2", ratio > 1)
    text = (
        f"{start} For the rounds alone, $2 \\alpha T_g/\\sigma_g^2$-RDP when a user is replaced, the paper’s Theorem A.1 gives up to {number(ratio)} times "
        f"the claimed epsilon, and exact accounting {number(exactly)} where 1 is claimed. At the claimed epsilon delta is "
        f"{number(deltas[least], 2)} (epsilon {least:g}) to {number(deltas[most], 2)} (epsilon {most:g}), where {number(DELTA)} is claimed. With a start "
        f"that is charged as much as the rounds, which the theorem permits, it is {number(charged[least], 2)} to {number(charged[most], 2)}, and the epsilon up to "
        f"{number(measures.value(f'{whole}: largest ratio'))} times the claimed one."
    )
    if ratio > 1:
        factor, exactly = (measures.value(f"{whole}: missing noise{kind}") for kind in ("", ", exact"))
        text += f" With $\\varepsilon \\le \\ln(1/\\delta)$, noise {times(factor)} as large mends both, {times(exactly)} by exact accounting."
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
    names = ("full participation, replace a user", "printed mass at p = 0.5", "printed order over RDP")
    if not known(measures, *names):
        return ""
    replaced, mass, order = (measures.value(name) for name in names)
    text = (
        f"**One round.** Remark 4.1 counts the removal of a user. Replacing one, as in Definition 2.1, costs {number(replaced)} times as "
        "much when all take part."
    )
    if mass > 1:
        text += (
            f" Its second measure for random participation lacks a factor $1 - p$, a slip: its mass is $1 + p$, {number(mass)} at $p = 1/2$. The value that the "
            "remark states for $p = 1$ is that of the right mixture."
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
        "least eps of the trade-off at eps_a = 1: exponent of k",
        "least eps of the trade-off at eps_a = 1: exponent of kappa",
    )
    idle = "printed least eps over that of the trade-off at eps_a = 1: exponent of kappa"
    if not known(measures, *names, idle, "eps_a at the least eps: exponent of k"):
        return ""
    run, start, least, kappa, asked, asked_kappa = (f"{measures.value(name):g}" for name in names)
    reached = measures.value("eps_a at the least eps: exponent of k")
    text = (
        f"**The start.** At the prescribed parameters a run of the power method costs $k^{{{run}}}$ and all runs $k^{{{start}}}$. "
        f"For the start to fit into half of the budget, epsilon must be at least of order "
        f"$\\kappa^{{{kappa}}}\\, k^{{{least}}} \\mu^2 d/n$. The trade-off of Corollary 5.1 with $\\epsilon_a \\le 1$ asks for "
        f"$\\kappa^{{{asked_kappa}}}\\, k^{{{asked}}} \\mu^2 d/n$"
    )
    if measures.value(idle) < 0:
        text += ", more than its printed restriction $\\kappa^{-3} k^{1/2} \\mu^2 d/n$, whose $\\kappa^{-3}$ therefore never binds"
    text += "."
    if reached < 0:
        text += (
            f" What lies between the two powers of $k$ is not covered: with the start, the trade-off is proved for accuracies below $k^{{{reached:g}}}$ "
            "alone, up to constants and logarithms."
        )
    return text


def experiments(measures: Measures) -> str:
    """What the experiments' epsilon is under replacement."""
    names = {epsilon: f"experiments at {epsilon:g}, replace a user" for epsilon in EPSILONS}
    if not known(measures, *names.values(), *(f"experiments at {epsilon:g}, remove a user" for epsilon in EPSILONS)):
        return ""
    removed = {epsilon: f"experiments at {epsilon:g}, remove a user" for epsilon in EPSILONS}
    found = listing(f"{number(measures.value(name))} for {epsilon:g}" for epsilon, name in names.items())
    other = listing(f"{number(measures.value(name))} for {epsilon:g}" for epsilon, name in removed.items())
    return (
        "**The experiments.** Section 6 takes its noise from Opacus and names no relation of neighbours; the paper's definition replaces a user, "
        "the default of Opacus adds or removes one. If that accountant set the noise, exact accounting gives these epsilons for the stated ones: "
        f"{found} if a user is replaced, {other} if one is removed. The number of rounds cancels."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        conversion(measures), scopes(measures), one_round(measures), powers(measures), experiments(measures)
    )
