"""What the study tradeoff found: both papers' complete methods at one budget (claims B-C5.1 and B-CMP)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, heading, judged, known, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import count, listing, number

STUDY = "tradeoff"
ALIKE = 2**0.5
"""Errors within this factor count as alike: half of the budget is worth so much in noise."""
POOR = 0.5
"""A start whose dist2 is beyond this is none that the proof could use: it asks for 0.2."""


def at(measures: Measures, prefix: str) -> dict[int, str]:
    """Dimension -> measured number with its interval, of the quantities `<prefix> at d = ...`."""
    names = [name for name in measures.rows.index if name.startswith(f"{prefix} at d = ")]
    return {
        int(name.split("= ")[1]): measures.text(name) for name in sorted(names, key=lambda n: int(n.split("= ")[1]))
    }


def headline(run: Run) -> str:
    """The comparison in one sentence, for the head of the page; nothing where it was not run."""
    if not run.has(STUDY):
        return ""
    measures = run.measures(STUDY)
    factors = at(measures, "A over B")
    if not factors or not known(measures, "exponent A dist2", "exponent B dist2"):
        return ""
    dim = max(factors)
    return (
        f"**At one exact budget** the error of jain2021's method grows with the dimension $d$ as {exponent(measures, 'A dist2')}, that of "
        f"shen2023's as {exponent(measures, 'B dist2')}; at $d = {dim}$ the first is {factors[dim]} times the second."
    )


def head_to_head(run: Run, measures: Measures) -> str:
    """Slopes and factors."""
    if not known(measures, "exponent A dist2", "exponent B dist2"):
        return ""
    own = judged(run, "B-CMP", "RATE-EXACT", "exponent of d, jain2021, dist2", "exponent of d, jain2021, distF")
    better = judged(run, "B-C5.1", "RATE-EXACT", "exponent of d, complete method")
    ratio = judged(run, "B-CMP", "HOLDS", "exponent of d in the ratio of the errors")
    factors = ", ".join(f"{text} at $d = {dim}$" for dim, text in at(measures, "A over B").items())
    return (
        f"{heading('The improvement by √d is real', 'One budget, two methods', own and better and ratio)} At the same exact budget the error of jain2021's "
        f"method grows with $d$ as {exponent(measures, 'A dist2')}, that of shen2023's as {exponent(measures, 'B dist2')}. The first error is {factors} times "
        "the second."
    )


def practitioner(measures: Measures) -> str:
    """What the factor means in users."""
    asked, users, law = (at(measures, name) for name in ("users ratio", "users of A over B", "users ratio by law"))
    if not asked:
        return ""
    told = listing(f"{text} at $d = {dim}$" for dim, text in asked.items())
    text = (
        f"**In users.** Where both errors fall like $1/n$, the factor is also the number of users that jain2021's method needs for each one that shen2023's "
        f"needs: {told}."
    )
    notes = measures.rows["note"]
    beyond = [dim for dim in asked if notes[f"users ratio at d = {dim}"] == "continued"]
    if beyond:
        text += f" At {listing(f'$d = {dim}$' for dim in beyond)} the fitted power is continued beyond what was run; its interval does not know of that."
    if law:
        text += f" The laws F3 and F9 say {listing(f'{value} at $d = {dim}$' for dim, value in law.items())}."
    if users:
        searched = ", ".join(f"{value} at $d = {dim}$" for dim, value in users.items())
        text += f" Searched for directly, at a fixed risk, the ratio of users is {searched}"
        slope = "exponent of the ratio of users"
        text += f", an exponent of {measures.text(slope)}." if known(measures, slope) else "."
    return text


def clips(run: Run, measures: Measures) -> str:
    """The clip's share, and what the printed clips do."""
    if not known(measures, "exponent B fixed dist2"):
        return ""
    half = judged(run, "B-C5.1", "LOOSE", "exponent of d, one clip for all d")
    text = f"{heading('Half of the exponent is the clip', 'The clip', half)} With one clip for all $d$ shen2023's exponent is {exponent(measures, 'B fixed dist2')}."
    printed = at(measures, "B, printed over own clip")
    if printed:
        spelled = listing(f"{value} at $d = {dim}$" for dim, value in printed.items())
        alone = listing(f"{value} at $d = {dim}$" for dim, value in at(measures, "A over B, printed").items())
        both = listing(f"{value} at $d = {dim}$" for dim, value in at(measures, "A over B, both printed").items())
        text += (
            f" With the clips as printed, constants 1, its error is {spelled} times as large. Of the advantage over jain2021's method with practical thresholds "
            f"a factor of {alone} is left; with the thresholds of jain2021's proofs it is {both}."
        )
    return text


def start(measures: Measures) -> str:
    """Whether the initialisation is needed."""
    factors = at(measures, "random start over B")
    if not factors:
        return ""
    rows = measures.rows.loc[[f"random start over B at d = {dim}" for dim in factors]]
    worst = max(float(high) for high in rows["ci_high"])
    told = ", ".join(f"{text} at $d = {dim}$" for dim, text in factors.items())
    text = (
        f"{heading('The initialisation is not needed', 'The initialisation', worst <= ALIKE)} The power method takes half of the budget. Spent on twice the rounds from a "
        f"random start instead, with the same noise in each, it gives {told} times the error of the complete method."
    )
    searched = "median dist2 of the start, users-B"
    if known(measures, searched):
        text += (
            f" At the smallest number of users that reaches a fixed risk the selected start has a median distance of {measures.text(searched)}"
            f"{': the rounds do the work' if measures.value(searched) > POOR else ''}."
        )
    passed = "selection passed, B"
    if known(measures, passed):
        share = number(100 * measures.value(passed), 2)
        text += f" The printed test of the selection passes in {share} % of the runs of the sweep; otherwise the candidate nearest to the others serves."
    return text


def where(measures: Measures) -> str:
    """The map."""
    names = [f"map: {kind}" for kind in ("both", "B", "A", "neither")]
    if not known(measures, *names):
        return ""
    both, second, first, neither = (int(measures.value(name)) for name in names)
    alone = f"{count(first)} where jain2021's alone does" if first else "none where jain2021's alone does"
    return (
        f"**Which method to use.** Of {both + second + first + neither} settings of $d$, $n$ and $\\varepsilon$ there are {both} where both work, {second} where shen2023's "
        f"alone does, {alone}, and {neither} where neither does."
    )


def limits(run: Run, measures: Measures) -> str:
    """When the improvement does not hold."""
    if not known(measures, "numbers sent: d from which A needs more", "multiplications: d from which A needs more"):
        return ""
    sent, work = (measures.value(f"{name}: d from which A needs more") for name in ("numbers sent", "multiplications"))
    rounds = measures.value("numbers sent, B from a random start, d = 80")
    noisy = at(measures, "A over B, noisy labels")
    parts = [
        "It is against jain2021's Algorithms 1 to 3, not against its exponential mechanism.",
        f"A user of shen2023's sends more numbers up to $d = {number(sent, 2)}$ and computes more up to $d = {number(work, 2)}$, since its initialisation is "
        f"many runs of the power method; from a random start it sends {number(rounds, 3)} numbers at $d = 80$ where jain2021's step sends "
        f"{number(measures.value('numbers sent, A, d = 80'), 3)}.",
    ]
    if noisy:
        told = listing(f"{value} at $d = {dim}$" for dim, value in noisy.items())
        parts.append(
            f"Theorem 5.1 has noiseless labels. With label noise of sd 1 the first error is {told} times the second."
        )
    if known(measures, "exponent kappa distF"):
        row = measures.rows.loc["exponent kappa distF"]
        grows = (
            "and error" if float(row["ci_low"]) > 0 else "not error" if float(row["ci_high"]) < 0 else "hardly error"
        )
        parts.append(
            f"Ill-conditioned heads cost rounds, {grows}: with $T_g \\propto \\kappa^2$ the error changes as $\\kappa$ to the {exponent(measures, 'kappa distF')}."
        )
    return f"**What the comparison leaves out.** {' '.join(parts)}"


def findings(run: Run) -> str:
    """All findings of the study, as Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        head_to_head(run, measures),
        practitioner(measures),
        clips(run, measures),
        start(measures),
        where(measures),
        limits(run, measures),
    )
