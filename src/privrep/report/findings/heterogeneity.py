"""What the study heterogeneity found (shen2023, Remark 3.1, and the methods of Section 6 in the linear model)."""

from __future__ import annotations

from privrep.report.findings.rates import constants, exponent, heading, judged, known, paragraphs
from privrep.report.run import Measures, Run
from privrep.report.wording import listing, number, share, times

STUDY = "heterogeneity"
LABELS = {"dp_fedavg": "DP-FedAvg", "ppsgd": "PPSGD", "pmtl": "PMTL", "altmin": "jain2021's method"}
"""Series -> name in the text."""


def norms(run: Run, measures: Measures) -> str:
    """Updates at the optimum and around it."""
    if not known(
        measures, "full model at its optimum", "representation over full, near", "exponent representation distance"
    ):
        return ""
    stays = "full model: median norm at the optimum over sqrt(k)"
    vanishes = "representation: largest norm at the optimum over that median"
    holds = judged(run, "B-R3.1", "REPRODUCED", stays, vanishes)
    return (
        f"{heading('Gradients of a representation vanish at the optimum, those of a model do not', 'Updates at the optimum', holds)} The median update "
        f"of a full model is {measures.text('full model at its optimum')} $\\sqrt k$ at the best model for all. That of a representation grows with "
        f"the distance from the optimum to the power {exponent(measures, 'representation distance')} and is {measures.text('representation over full, near')} times "
        "the full model's at distance 0.2, where Theorem 5.1 starts."
    )


def laws(measures: Measures) -> str:
    """Constants of the two laws."""
    found = constants(measures, "")
    if not found:
        return ""
    low, high = min(found.values()), max(found.values())
    return (
        "**The laws.** On $q$ samples the root mean square is $\\lVert\\theta - \\theta_j\\rVert\\sqrt{1 + (d+1)/q}$ for a full model, and about "
        "$k s \\sqrt{1 - s^2}\\sqrt{1 + (d+1)/q}$ for a representation at sine $s$, more where few samples scatter the heads. Measured over "
        f"predicted: {number(low, 3)} to {number(high, 3)}."
    )


def limits(run: Run, measures: Measures) -> str:
    """Where the representation's updates are not small."""
    far, noisy = "representation over full, far, largest rank", "representation over full, label noise"
    if not known(measures, far, noisy, "exponent representation k", "exponent full k"):
        return ""
    quantities = (
        "representation over full model, median norm at distance 0.7, k = 8",
        "representation over full model, median norm at the optimum, label noise 1",
    )
    fails = judged(run, "B-R3.1", "NOT-REPRODUCED", *quantities)
    return (
        f"{heading('Two conditions that Remark 3.1 leaves out', 'Far away, and with label noise', fails)} The representation's update carries a head, so it "
        f"grows with $k$ as {exponent(measures, 'representation k')}, the full model's as {exponent(measures, 'full k')}: far from the optimum, at $k = 8$, it is "
        f"{measures.text(far)} times as long. With label noise as large as one coordinate of the signal it does not vanish: it is {measures.text(noisy)} times the "
        "full model's at the optimum."
    )


def bias(run: Run, measures: Measures) -> str:
    """What clipping does at the optimum."""
    names = ("drift of a full model", "drift of a full model, symmetric heads")
    if not known(measures, *names):
        return ""
    symmetric = "full model: the same for symmetric heads, b = 0"
    only = judged(run, "B-R3.1", "NOT-REPRODUCED", symmetric) and judged(
        run, "B-R3.1", "REPRODUCED", "full model: drift of clipped updates at the optimum, b = 1/2"
    )
    drift, silent = (measures.text(name) for name in names)
    return (
        f"{heading('A small clip moves the optimum only where users are unequal in an asymmetric way', 'Bias by clipping', only)} With heads of which three "
        f"quarters have one sign, the mean of small clipped updates is {drift} of the bound at the full model's own optimum. With symmetric heads, as in "
        f"all other studies, it is {silent}, the noise of a finite number of users: what pulls to one side is cancelled by the other."
    )


def methods(run: Run, measures: Measures) -> str:
    """The methods at one budget."""
    shown = {name: f"general_centaur over {name}" for name in LABELS}
    more = ("dp_fedavg over own data, more rounds", "general_centaur over dp_fedavg, more rounds")
    if not known(measures, *shown.values(), *more, "general_centaur over own data"):
        return ""
    quantities = ("largest risk over stand-alone", "largest risk over DP-FedAvg", "largest risk over PMTL")
    ahead = judged(run, "B-S6", "REPRODUCED", *quantities)
    parts = listing(f"{measures.text(quantity)} times that of {LABELS[name]}" for name, quantity in shown.items())
    alone, gap = (measures.text(name) for name in more)
    slow = "DP-FedAvg is slow more than wrong: here" if measures.value(more[0]) < 1 else "For DP-FedAvg"
    return (
        f"{heading('CENTAUR is far ahead of stand-alone training, DP-FedAvg and PMTL', 'The methods at one budget', ahead)} Its mean risk from a random start, "
        f"at the epsilon where it compares worst, is {measures.text('general_centaur over own data')} times that of each user alone, and {parts}. "
        f"{slow} heads cancel in the mean, so it learns the subspace through its local steps alone. With 200 rounds at epsilon 5 it comes to {alone} times the "
        f"risk of each user alone; CENTAUR's risk after 60 rounds is {gap} times that."
    )


def rival(run: Run, measures: Measures) -> str:
    """PPSGD, the closest of the baselines."""
    names = (
        "ppsgd over own data",
        "general_centaur over ppsgd, median",
        "general_centaur over ppsgd, best bounds",
        "centaur over ppsgd, best bounds",
    )
    lost = [f"{name} runs that learned little" for name in ("ppsgd", "general_centaur")]
    if not known(measures, *names, *lost):
        return ""
    alone, median, tuned, section5 = (measures.text(name) for name in names)
    quantity = "other methods of Section 6 with a mean risk below stand-alone at every epsilon"
    close = judged(run, "B-S6", "NOT-REPRODUCED", quantity)
    theirs, ours = (share(measures.value(name)) for name in lost)
    return (
        f"{heading('Not the only one', 'PPSGD', close)} PPSGD shares the representation, too, and keeps a part of the head with the user. Its mean risk is at most "
        f"{alone} times that of each user alone. It depends on the start: {theirs} of its runs learned little in 60 rounds, {ours} of CENTAUR's. The median "
        f"risk of CENTAUR from a random start is up to {median} times PPSGD's. With the best of three clipping bounds for each, at epsilon 5, the mean risk is {tuned} times "
        f"PPSGD's, and {section5} times for CENTAUR of Section 5, with one gradient per round."
    )


def small_bounds(measures: Measures) -> str:
    """What a quarter of the bound does."""
    names = {
        "centaur": "CENTAUR of Section 5",
        "general_centaur": "CENTAUR from a random start",
        "ppsgd": "PPSGD",
        "dp_fedavg": "DP-FedAvg",
    }
    if not known(measures, *(f"{name}, small bound over rule" for name in names)):
        return ""
    parts = listing(
        f"{times(measures.value(f'{name}, small bound over rule'))} for {label}" for name, label in names.items()
    )
    return f"**Small bounds.** A quarter of the rule's clipping bound changes the risk to {parts}."


def common(run: Run, measures: Measures) -> str:
    """What heterogeneity costs DP-FedAvg."""
    names = ("dp_fedavg over general_centaur, nothing in common", "dp_fedavg over general_centaur, one model for all")
    if not known(measures, *names):
        return ""
    costs = judged(
        run,
        "B-R3.1",
        "REPRODUCED",
        "risk of DP-FedAvg over CENTAUR: users with nothing in common, over one model for all",
    )
    apart, together = (measures.text(name) for name in names)
    return (
        f"{heading('Heterogeneity is what DP-FedAvg suffers from', 'From equal to unequal users', costs)} Turning signs of heads alone changes what users have "
        f"in common and nothing that CENTAUR sees. At rank 1 DP-FedAvg's risk is {apart} times CENTAUR's for users with nothing in common, and {together} times "
        "with one model for all."
    )


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures = run.measures(STUDY)
    return paragraphs(
        norms(run, measures),
        laws(measures),
        limits(run, measures),
        bias(run, measures),
        methods(run, measures),
        rival(run, measures),
        small_bounds(measures),
        common(run, measures),
    )
