"""What the study heterogeneity found (shen2023, Remark 3.1, and the methods of Section 6 in the linear model)."""

from __future__ import annotations

from privrep.report.findings.rates import constants, exponent, heading, judged, known, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import count, listing, number, share, times
from privrep.studies.heterogeneity.measures import CENTAUR, NEAR, bounds_tried

STUDY = "heterogeneity"
LABELS = {"dp_fedavg": "DP-FedAvg", "ppsgd": "PPSGD", "pmtl": "PMTL", "altmin": "jain2021's method"}
"""Series -> name in the text."""
NOISIEST = (("rank-far", "rank"), ("noise", "label_noise_sd"))
"""Series and column whose largest value the limits are stated at."""


def norms(run: Run, measures: Measures) -> str:
    """Updates at the optimum and around it."""
    if not known(
        measures, "full model at its optimum", "representation over full, near", "exponent representation distance"
    ):
        return ""
    stays, vanishes = "full model: median norm at the optimum over sqrt(k)", "representation: exponent of the distance"
    holds = judged(run, "B-R3.1", "REPRODUCED", stays) and judged(run, "B-R3.1", "RATE-EXACT", vanishes)
    return (
        f"{heading('Gradients of a representation vanish at the optimum, those of a model do not', 'Updates at the optimum', holds)} The median update "
        f"of a full model is {measures.text('full model at its optimum')} $\\sqrt k$ at the best model for all. That of a representation grows with "
        f"the distance from the optimum to the power {exponent(measures, 'representation distance')} and is {measures.text('representation over full, near')} times "
        f"the full model's at distance {NEAR:g}, where Theorem 5.1 starts."
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
    cells = run.cells(STUDY)
    (distance,) = sizes(cells, "rank-far", "start_sine")
    rank, noise = (cells.loc[cells["series"] == series, name].max() for series, name in NOISIEST)
    return (
        f"{heading('Limits of Remark 3.1', 'Far away, and with label noise', judged(run, 'B-R3.1', 'LIMIT', *quantities))} The remark states a tendency, at the "
        "optimum and for the paper's noiseless model; nothing here refutes it. The representation's update carries a head, so it "
        f"grows with $k$ as {exponent(measures, 'representation k')}, the full model's as {exponent(measures, 'full k')}: at distance {distance} and $k = {rank:g}$ it "
        f"is {measures.text(far)} times as long. With label noise {noise:g}, one coordinate of the signal being 1, it does not vanish: it is "
        f"{measures.text(noisy)} times the full model's at the optimum."
    )


def bias(run: Run, measures: Measures) -> str:
    """What clipping does at the optimum."""
    names = ("drift of a full model", "drift of a full model, symmetric heads")
    if not known(measures, *names):
        return ""
    symmetric = "full model: the same for symmetric heads, b = 0"
    only = judged(run, "B-R3.1", "LIMIT", symmetric) and judged(
        run, "B-R3.1", "REPRODUCED", "full model: drift of clipped updates at the optimum, b = 1/2"
    )
    drift, silent = (measures.text(name) for name in names)
    return (
        f"{heading('A small clip moves the optimum only where users are unequal in an asymmetric way', 'Bias by clipping', only)} With heads of which three "
        f"quarters have one sign, the mean of small clipped updates is {drift} of the bound at the full model's own optimum. Symmetric heads, as in "
        f"all other studies, are a special case in which what pulls to one side is cancelled by the other: it is {silent}, the noise of a finite number of users."
    )


def methods(run: Run, measures: Measures) -> str:
    """The methods at one budget."""
    shown = {name: f"general_centaur over {name}" for name in LABELS}
    more = ("dp_fedavg over own data, more rounds", "general_centaur over dp_fedavg, more rounds")
    if not known(measures, *shown.values(), *more, "general_centaur over own data"):
        return ""
    cells = run.cells(STUDY)
    (rounds,) = sizes(cells, CENTAUR, "rounds")
    longer, epsilon = sizes(cells, "dp_fedavg-long", "rounds", "epsilon")
    parts = listing(f"{measures.text(quantity)} times that of {LABELS[name]}" for name, quantity in shown.items())
    alone, gap = (measures.text(name) for name in more)
    slow = "DP-FedAvg is slow more than wrong: here" if measures.value(more[0]) < 1 else "For DP-FedAvg"
    samples, dim = sizes(cells, CENTAUR, "samples", "dim")
    return (
        "**The methods in a linear stand-in.** The experiments of Section 6 train networks on images. In the linear model nothing of Table 1 is "
        f"decided: with {samples} samples and {dim} dimensions a user alone cannot learn, and heads of mean 0 leave a shared model nothing to share. CENTAUR's mean "
        f"risk from a random start, at the epsilon where it compares worst, is {measures.text('general_centaur over own data')} times that of each user alone, "
        f"and {parts}. {slow} heads cancel in the mean, so it learns the subspace through its local steps alone. With {longer} rounds at epsilon {epsilon} it "
        f"comes to {alone} times the risk of each user alone; CENTAUR's risk after {rounds} rounds is {gap} times that."
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
    cells = run.cells(STUDY)
    (rounds,), (epsilon,) = sizes(cells, CENTAUR, "rounds"), sizes(cells, f"{CENTAUR}-clips", "epsilon")
    bounds = count(len(bounds_tried(cells, CENTAUR)))
    theirs, ours = (share(measures.value(name)) for name in lost)
    return (
        f"**PPSGD.** It shares the representation, too, and keeps a part of the head with the user. Its mean risk is at most "
        f"{alone} times that of each user alone. It depends on the start: {theirs} of its runs learned little in {rounds} rounds, {ours} of CENTAUR's. The median "
        f"risk of CENTAUR from a random start is up to {median} times PPSGD's. With the best of {bounds} clipping bounds for each, at epsilon {epsilon}, the mean risk is {tuned} times "
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
    loss = "loss of dp_fedavg by heterogeneity"
    if not known(measures, *names, loss):
        return ""
    costs = float(measures.row(loss)["ci_low"]) > 1
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
