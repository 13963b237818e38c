"""What the study sample_complexity found (jain2021, Remark 2 and Assumption 4.1)."""

from __future__ import annotations

from privrep.report.findings.rates import exponent, heading, judged, known, law, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import listing, number
from privrep.studies.sample_complexity.measures import NEAR

STUDY = "sample_complexity"


def users(measures: Measures) -> str:
    """How many users are needed."""
    fits = ("users d", "users k", "users Delta", "users k share")
    if not known(measures, *(f"exponent {fit}" for fit in fits)):
        return ""
    return (
        f"**Users.** The smallest number that reaches a fixed risk grows with $d$ as {exponent(measures, 'users d')}, with $k$ as "
        f"{exponent(measures, 'users k')} and with $\\Delta$ as {exponent(measures, 'users Delta')}. Remark 2 has $k^{{5/2}}$. For a "
        f"fixed share of the zero model's risk it is $k$ to the {exponent(measures, 'users k share')}, where Theorem 1.1 gives 2."
    )


def samples(measures: Measures) -> str:
    """How many samples per user are needed."""
    spare = measures.numbered("samples / 4 - rank at rank")
    enough = "m = 4 k suffices, share of runs"
    if not known(measures, enough, *(f"samples / 4 - rank at rank {rank:g}" for rank in spare)):
        return ""
    found = listing(f"{number(value)} ($k = {rank:g}$)" for rank, value in sorted(spare.items()))
    return (
        f"**Samples.** Remark 2 asks for $\\tilde O(k^2)$ samples per user. The error is within {NEAR:g} times its limit as soon as $m/4 - k$ is "
        f"{found}. With $m = 4k$, the fewest for which Algorithm 1 can fit heads, it is in a share {measures.text(enough)} of the runs."
    )


def assumption(run: Run, measures: Measures) -> str:
    """Whether Assumption 4.1 is enough."""
    if not known(measures, "exponent assumption k"):
        return ""
    gap = judged(run, "A-4.1", "PROOF-GAP")
    start = heading("Assumption 4.1 is too weak for the proof", "Assumption 4.1", gap)
    text = f"{start} With $n$ proportional to $k\\, d^{{3/2}} \\Delta$ the privacy error grows with $k$ as {exponent(measures, 'assumption k')}"
    return text + ("; the proof of Lemma 4.4 takes it to stay below 1/64 (E20)." if gap else ".")


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        users(measures),
        law(measures, "users", "that follows from F3", "the number of users"),
        samples(measures),
        assumption(run, measures),
    )
