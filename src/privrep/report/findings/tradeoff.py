"""What the study tradeoff found: both papers' complete methods at one budget (claims B-C5.1 and B-CMP)."""

from __future__ import annotations

import math

from privrep.report.findings.rates import exponent, heading, judged, known, paragraphs
from privrep.report.run_tables import Measures, Run
from privrep.report.sizes import sizes
from privrep.report.spelling import count, listing, number
from privrep.studies.tradeoff.measures import COUNTED_DIM

STUDY = "tradeoff"
POOR = 0.5
"""A start whose dist2 is beyond this is none that the proof could use: it asks for 0.2."""


SIDES = ("jain2021", "shen2023")
CLIP_SETTINGS = {
    "uncut": "with clips that cut nothing",
    "clip 1e-4": "with jain2021's own clip of $10^{-4}$",
    "whole users clipped": "with each user's sums clipped as a whole, which is in neither paper",
}
"""Measures of the factor at other clips -> in words."""
NOISE_LEVELS = ("0.5", "1")
"""Label noise of the settings, as in the names of measures."""


def at(measures: Measures, prefix: str) -> dict[int, str]:
    """Dimension -> measured number with its interval where it has one, of the quantities `<prefix> at d = ...`."""
    names = [name for name in measures.named(f"{prefix} at d = ") if known(measures, name)]
    return {
        int(name.rsplit("= ", 1)[1]): spelled(measures, name)
        for name in sorted(names, key=lambda n: int(n.rsplit("= ", 1)[1]))
    }


def spelled(measures: Measures, name: str) -> str:
    """A measured number with its interval, the number alone where it has none."""
    row = measures.row(name)
    ends = (float(row["ci_low"]), float(row["ci_high"]))
    return measures.text(name) if all(math.isfinite(end) for end in ends) else number(measures.value(name))


def told(found: dict[int, str]) -> str:
    """Numbers by dimension as a phrase."""
    return listing(f"{text} at $d = {dim}$" for dim, text in found.items())


def ends_of(measures: Measures, method: str) -> tuple[str, str]:
    """Least and largest exponent of a method over the settings."""
    return tuple(spelled(measures, f"{word} exponent of d over settings, {method}") for word in ("least", "largest"))


def ranges(measures: Measures) -> bool:
    """Whether both ranges of exponents were measured."""
    return known(
        measures,
        *(f"{word} exponent of d over settings, {method}" for word in ("least", "largest") for method in SIDES),
    )


def lost_runs(measures: Measures, series: str) -> dict[int, str]:
    """Dimension -> share of runs of a series that did not learn, where there is any."""
    names = measures.named(f"runs of {series} beyond ")
    return {int(name.rsplit("= ", 1)[1]): measures.text(name) for name in names if measures.value(name) > 0}


def headline(run: Run) -> str:
    """The comparison in one paragraph, for the head of the page; nothing where it was not run."""
    if not run.has(STUDY):
        return ""
    measures = run.measures(STUDY)
    uncut, least, largest = (
        at(measures, name) for name in ("A over B, uncut", "least factor over clips", "largest factor over clips")
    )
    if not (uncut and least and largest and ranges(measures)):
        return ""
    exponents = listing(
        f"{low} to {high} for {method}" for method in SIDES for low, high in [ends_of(measures, method)]
    )
    text = (
        f"**At one exact budget**, in the linear model, the error of jain2021's Algorithms 1 to 3 grows faster with the dimension $d$ than that of shen2023's "
        f"CENTAUR, as shen2023 says: the exponent is {exponents}, over the settings of clips, label noise, rank, condition and $\\varepsilon$ in which it is "
        f"known well enough to tell. How many times larger the first error is depends on the clips: {told({dim: uncut[dim] for dim in (min(uncut), max(uncut))})} "
        f"with clips that cut nothing, between {band_of(measures, 'least', min)} and {band_of(measures, 'largest', max)} over all pairs of clips"
    )
    noisy = at(measures, f"A over B, label noise {NOISE_LEVELS[-1]}")
    if noisy:
        text += f", and {told({dim: noisy[dim] for dim in (min(noisy), max(noisy))})} with label noise of sd {NOISE_LEVELS[-1]}"
    lost = lost_runs(measures, "B")
    if lost:
        text += f". With the clip that public simulation prefers for shen2023's, a share of {told(lost)} of its runs does not learn at all"
    return f"{text}."


def band_of(measures: Measures, word: str, choose) -> str:
    """The least or largest factor over clips and dimensions."""
    names = measures.named(f"{word} factor over clips at d = ")
    return number(choose(measures.value(name) for name in names if known(measures, name)))


def head_to_head(run: Run, measures: Measures) -> str:
    """Exponents and factor with the chosen clips."""
    if not known(measures, "exponent A dist2", "exponent B dist2"):
        return ""
    own = judged(run, "B-CMP", "RATE-EXACT", "exponent of d, jain2021, chosen clips")
    better = judged(run, "B-C5.1", "RATE-EXACT", "exponent of d, complete method, chosen clip")
    text = (
        f"{heading('The exponents differ as shen2023 says', 'One budget, two methods', own and better)} With the clips that public simulation prefers for each "
        f"method, the error of jain2021's grows with $d$ as {exponent(measures, 'A dist2')}, that of shen2023's as {exponent(measures, 'B dist2')}; the first "
        f"has the floor that its clip leaves without privacy taken off, on the same users. The ratio of the errors, floor included, is {told(at(measures, 'A over B'))}"
    )
    if known(measures, "exponent of the factor"):
        text += f", an exponent of {spelled(measures, 'exponent of the factor')}"
    return f"{text}."


def clips(run: Run, measures: Measures) -> str:
    """How exponents and factor move with the clips."""
    least, largest = at(measures, "least factor over clips"), at(measures, "largest factor over clips")
    if not (least and largest):
        return ""
    text = f"**The factor is a property of the clips.** Over all pairs of clips it is {told(least)} at least and {told(largest)} at most. It is"
    parts = [
        f"{told(at(measures, f'A over B, {name}'))} {words}"
        for name, words in CLIP_SETTINGS.items()
        if at(measures, f"A over B, {name}")
    ]
    text += f" {'; '.join(parts)}." if parts else " not known elsewhere."
    if known(measures, "exponent A-user dist2"):
        text += (
            f" With whole users clipped jain2021's exponent is {exponent(measures, 'A-user dist2')}: a user's sum of $q$ samples grows more slowly than the bound $q$ "
            "times that of a sample while $q$ exceeds $d$, so the exponent nears 1 for many samples and 1.5 for few."
        )
    printed = at(measures, "B, printed over chosen")
    if printed:
        text += (
            f" With the clip as printed, constants 1, shen2023's error is {told(printed)} times that of its chosen clip; the ratio of the methods is then "
            f"{told(at(measures, 'A over B, printed'))}, and {told(at(measures, 'A over B, both printed'))} with the thresholds of jain2021's proofs as well."
        )
    return text


def one_clip(run: Run, measures: Measures) -> str:
    """The clip's share in shen2023's exponent."""
    if not known(measures, "exponent B-fixed dist2"):
        return ""
    half = judged(run, "B-C5.1", "LOOSE", "exponent of d, one clip for all d")
    return f"{heading('Half of the exponent is the clip', 'The clip', half)} With one clip for all $d$ shen2023's exponent is {exponent(measures, 'B-fixed dist2')}."


def conditions(run: Run, measures: Measures) -> str:
    """Label noise, rank, condition number and epsilon."""
    if not ranges(measures):
        return ""
    spread = listing(f"{low} to {high} for {method}" for method in SIDES for low, high in [ends_of(measures, method)])
    cells = run.cells(STUDY)
    (rank,), (kappa,), (epsilon,) = (
        sizes(cells, f"A-{name}", column)
        for name, column in (("rank", "rank"), ("condition", "head_condition"), ("tight", "epsilon"))
    )
    text = (
        f"**Elsewhere.** Over all settings, with label noise, $k = {rank}$, $\\kappa = {kappa}$ and $\\varepsilon = {epsilon}$, the exponent of $d$ is "
        f"{spread}."
    )
    for level in NOISE_LEVELS:
        raw, less = (at(measures, f"A over B, label noise {level}{end}") for end in ("", ", floor removed"))
        if raw:
            text += f" With label noise of sd {level} the ratio of the errors is {told(raw)}"
            text += f", and {told(less)} without what label noise alone leaves." if less else "."
    for name, words in ((f"k = {rank}", f"$k = {rank}$"), (f"epsilon = {epsilon}", f"$\\varepsilon = {epsilon}$")):
        found = at(measures, f"A over B, {name}")
        if found:
            text += f" For {words} it is {told(found)}."
    return text


def users(run: Run, measures: Measures) -> str:
    """Users needed for a fixed risk."""
    found = at(measures, "users of A over B")
    if not found:
        return ""
    name = "exponent of the ratio of users"
    holds = judged(run, "B-CMP", "RATE-EXACT", "exponent of d in the ratio of the users")
    text = (
        f"{heading('Users, too, improve by √d', 'In users', holds)} To reach one risk, with jain2021's clip as chosen and shen2023's at the typical size, jain2021's method needs {told(found)} users for each one that "
        "shen2023's needs"
    )
    return f"{text}, an exponent of {spelled(measures, name)}." if known(measures, name) else f"{text}."


def start(run: Run, measures: Measures) -> str:
    """Whether the initialisation is needed."""
    factors = at(measures, "random start over B")
    if not factors:
        return ""
    cells = run.cells(STUDY)
    (longer,), (rounds,) = (sizes(cells, series, "rounds") for series in ("B-random", "B"))
    text = (
        f"**The initialisation.** Without it, with the whole budget in {longer} rounds in place of {rounds} and the clip that suits this best, shen2023's error is {told(factors)} times that of the "
        "complete method. A random start is slow where the clip is small, since no gradient moves the subspace further than its clip."
    )
    searched = "median dist2 of the start, users-B"
    if known(measures, searched):
        text += (
            f" At the smallest number of users that reaches a fixed risk the start has a median distance of {number(measures.value(searched))}"
            f"{': the rounds do the work' if measures.value(searched) > POOR else ''}."
        )
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
    """What the comparison leaves out."""
    if not known(measures, "numbers sent: d from which A needs more", "multiplications: d from which A needs more"):
        return ""
    sent, work = (measures.value(f"{name}: d from which A needs more") for name in ("numbers sent", "multiplications"))
    rounds = measures.value(f"numbers sent, B, d = {COUNTED_DIM}")
    parts = [
        "It is against jain2021's Algorithms 1 to 3, not against its exponential mechanism, and that method takes one pass over its users (E24), shen2023's many rounds.",
        "Labels without noise are shen2023's assumption, and small clips live on it: gradients then vanish at the optimum.",
        f"A user of shen2023's sends more numbers up to $d = {number(sent, 2)}$ and computes more up to $d = {number(work, 2)}$: {number(rounds, 3)} numbers at $d = {COUNTED_DIM}$ where "
        f"jain2021's step sends {number(measures.value(f'numbers sent, A, d = {COUNTED_DIM}'), 3)}.",
    ]
    if known(measures, "exponent kappa distF"):
        row = measures.row("exponent kappa distF")
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
        clips(run, measures),
        one_clip(run, measures),
        conditions(run, measures),
        users(run, measures),
        start(run, measures),
        where(measures),
        limits(run, measures),
    )
