"""What the study figure2 found (jain2021, Section 6)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from privrep.report.badges import verdict_line
from privrep.report.html_pieces import table
from privrep.report.run_tables import Measures, Run
from privrep.report.spelling import codes, count, listing, number, plural, sentence, share, times
from privrep.studies.figure2.measures import (
    COMPARABLE_EPSILON,
    CRITERIA,
    DECIDING,
    FROM_EPSILON,
    LIMITS,
    PRINTED_RULE,
    SMALLEST_EPSILON,
    fallback_series,
    passes,
    read_method,
)

CLAIM = "A-F2"
SHORT = {
    "i": "gap to the non-private MSE over the height of the linear axis",
    "ii": "largest ratio from one ε to the next",
    "iii": "MSE over the better baseline",
}
STARTS = {"random": "random", "spectral": "Algorithm 3"}
ALL = f"{count(len(CRITERIA))} criteria"
NO_BREAK = "\u00a0=\u00a0"
NAMED = 6
"""Up to so many readings that fail are named."""
BY_EYE = 0.02
"""Two curves closer than this share of the axis are hard to tell apart."""


def eps(value: float) -> str:
    """An epsilon as a formula."""
    return rf"$\varepsilon = {value:g}$"


def deciding_row(cells: pd.DataFrame) -> pd.Series:
    """A row of the deciding reading: its settings."""
    return cells[cells["series"] == DECIDING].iloc[0]


def size(cells: pd.DataFrame) -> str:
    """The size of the simulated problem, for the figure's caption."""
    row, seeds = deciding_row(cells), cells.loc[cells["series"] == DECIDING, "seed"].nunique()
    numbers = f"n = {row['users']:,}, m = {row['samples']}, d = {row['dim']}, k = {row['rank']}"
    return f"This run: {numbers.replace(' = ', NO_BREAK)}; {plural(seeds, 'repetition')}."


def set_up(cells: pd.DataFrame) -> str:
    """The numbers of the experiment, and the reading on which the verdict rests."""
    row = deciding_row(cells)
    clips = dict.fromkeys(number(value) for value in (row["clip_feature"], row["clip_label"]))
    clipping = f"both clipping thresholds are {listing(clips)}"
    if len(clips) > 1:
        clipping = f"the clipping thresholds are {' (features) and '.join(clips)} (labels)"
    sizes = f"{row['users']:,}".replace(",", "{,}")
    return (
        f"The experiment has $n = {sizes}$ users with $m = {row['samples']}$ samples each, $d = {row['dim']}$, "
        f"$k = {row['rank']}$, label noise $\\sigma_F = {row['label_noise_sd']:g}$ "
        f"and $\\delta = {_power(row['delta'])}$. Features, heads and the shared matrix are Gaussian, its columns "
        "scaled to unit length. The paper leaves the start, the use of the samples, the meaning of the clipping norm "
        "and the accounting open. "
        f"The verdict rests on one reading, `{DECIDING}`, chosen after a pilot had shown which readings give the "
        f"published shape: {STARTS[row['init']]} start, samples shared as `{row['split']}`, and {clipping}. So the verdict "
        "says whether a plausible reading reproduces the figure, not whether the first one tried did. All other readings run beside it."
    )


def _power(value: float) -> str:
    exponent = round(np.log10(value))
    return f"10^{{{exponent}}}" if np.isclose(value, 10.0**exponent) else f"{value:g}"


def met(criterion: str, low: float, high: float) -> bool | None:
    """Whether the whole interval meets the pass mark; None when it lies on both sides, or when there is none."""
    if np.isnan(low):
        return None
    ends = {passes(criterion, low), passes(criterion, high)}
    return ends.pop() if len(ends) == 1 else None


def criteria(run: Run, measures: Measures) -> str:
    """How the deciding reading fares by the criteria."""
    by = {True: [], False: [], None: []}
    for criterion in CRITERIA:
        row = measures.row(criterion)
        by[met(criterion, float(row["ci_low"]), float(row["ci_high"]))].append(criterion)

    def described(names: list[str], show) -> str:
        return listing(f"({name}) {SHORT[name]}, {show(name)} against at most {LIMITS[name]:g}" for name in names)

    def mean(name: str) -> str:
        return number(measures.value(name))

    parts = []
    if by[True]:
        parts.append(f"{_of(by[True])} met with the whole interval: {described(by[True], mean)}.")
    if by[None]:
        sides = "its interval lies" if len(by[None]) == 1 else "their intervals lie"
        judged = not np.isnan([float(measures.row(name)["ci_low"]) for name in by[None]]).any()
        why = f"{sides} on both sides" if judged else "there are too few repetitions for an interval"
        parts.append(f"{_of(by[None])} open, since {why}: {described(by[None], measures.text if judged else mean)}.")
    if by[False]:
        parts.append(f"{_of(by[False])} missed: {described(by[False], measures.text)}.")
    curve = measures.numbered("deciding reading at")
    first, last = min(curve), max(curve)
    path = (
        f"The MSE of the deciding reading goes from {measures.text(f'deciding reading at {first:g}')} at {eps(first)} "
        f"to {measures.text(f'deciding reading at {last:g}')} at {eps(last)}."
    )
    return f"**The {ALL}.** {path} {' '.join(parts)} {verdict_line(run.claims, CLAIM)}"


def _of(names: list[str]) -> str:
    some = "all" if len(names) == len(CRITERIA) else count(len(names))
    return sentence(f"{some} {'is' if len(names) == 1 else 'are'}")


def readings(found: pd.DataFrame) -> str:
    """Which readings of the paper pass, and by which criterion the others fail."""
    found = found[~found["ours"]]
    passing = found.loc[found["passes"], "reading"]
    failing = found[~found["passes"]]
    whole = len(found)
    if not len(passing):
        text = f"**Readings.** None of the {whole} readings passes all {ALL} at its mean."
    else:
        text = f"**Readings.** {len(passing)} of {whole} readings pass all {ALL} at their mean: "
        text += f"{codes(passing)}."
    if not len(failing):
        return text
    reasons = []
    for criterion in CRITERIA:
        missing = failing.loc[[not passes(criterion, value) for value in failing[criterion]], "reading"]
        if len(missing):
            few = len(missing) <= NAMED
            where = codes(missing) if few else plural(len(missing), "reading")
            reasons.append(f"({criterion}) {SHORT[criterion]}, in {where}")
    return f"{text} The others miss {'; '.join(reasons)}."


def two_axes(measures: Measures) -> str:
    """Close on the linear axis, apart on the log axis, or not."""
    place = f"deciding reading at {COMPARABLE_EPSILON}"
    if place not in measures:
        return ""
    of_axis = measures.value("i")
    factor = f"over nonprivate at {COMPARABLE_EPSILON}"
    near, apart = of_axis <= BY_EYE, measures.value(factor) >= 2
    text = (
        "**Comparable, on which axis.** The text alone does not say how the axis of the plot is scaled. "
        f"At {eps(COMPARABLE_EPSILON)} the MSE is {measures.text(place)}, without privacy {measures.text('nonprivate')}. "
        f"On a linear axis up to the random model the gap is {share(of_axis)} of the height: {'the curves meet by eye' if near else 'it can be seen'}. "
        f"On a log axis it is a factor of {measures.text(factor)}. "
    )
    if near and apart:
        return text + "“Comparable” describes the linear plot, not the error itself."
    if apart:
        return text + "Neither axis supports “comparable”."
    return text + "“Comparable” holds on either axis."


def epochs(measures: Measures, cells: pd.DataFrame) -> str:
    """Whether the noisy matrix stays positive definite, and what that does to the number of epochs."""
    shares = measures.numbered("positive definite at 1, epochs")
    if not shares:
        return ""
    method = read_method(cells, DECIDING)
    best = int(method.chosen()[0].removeprefix("epochs ").split(",")[0])
    spelled = listing(f"{share(value)} for $E = {steps:g}$" for steps, value in sorted(shares.items()))
    text = (
        "**Why more epochs can hurt.** The subspace step solves a linear system with a noisy matrix. A minimum "
        "exists only while that matrix is positive definite, and $E$ epochs share one budget, so the noise of a step "
        "grows as $\\sqrt{E}$. "
        f"At {eps(1)} the matrix stays positive definite in this share of the runs: {spelled}. "
    )
    few, many = shares[min(shares)], shares[max(shares)]
    if few > many:
        text += f"More epochs lose the minimum, and the MSE at {eps(1)} is least with $E = {best}$."
    elif many > 0:
        text += f"It is kept at every number of epochs; the MSE at {eps(1)} is least with $E = {best}$."
    else:
        text += "It is lost at every number of epochs: the step solves a system without a minimum."
    return text


def fallbacks(measures: Measures, cells: pd.DataFrame) -> str:
    """What to do where Algorithm 2 has no minimum: the two rules of ours against solving the system in any case."""
    rules = [rule for rule in fallback_series(cells) if rule != PRINTED_RULE]
    if not rules:
        return ""
    curves = {PRINTED_RULE: measures.numbered("deciding reading at")}
    curves |= {rule: measures.numbered(f"{rule} at") for rule in rules}
    first = min(curves[PRINTED_RULE])
    best = min(rules, key=lambda rule: curves[rule][first])
    places = {PRINTED_RULE: f"deciding reading at {first:g}"} | {rule: f"{rule} at {first:g}" for rule in rules}
    spelled = listing(f"{measures.text(place)} with `{rule}`" for rule, place in places.items())
    text = (
        "**Where the minimum does not exist** the paper has no rule, and all readings solve the system in any case "
        f"(`{PRINTED_RULE}`). Two rules of ours process the same release and cost no privacy: `ridge` raises all "
        "eigenvalues by the norm of the noise, which is public, and `eigclip` raises the small ones to it. "
        f"At {eps(first)} the MSE at the best number of epochs is {spelled}. "
    )
    reached = [epsilon for epsilon, value in curves[PRINTED_RULE].items() if value <= curves[best][first]]
    if min(reached, default=np.inf) > first:
        where = f"from {eps(min(reached))} on" if reached else "at no epsilon of the grid"
        text += f"`{PRINTED_RULE}` gets as low as `{best}` {where}. "
    worst = {rule: worst_epochs(cells, series) for rule, series in fallback_series(cells).items()}
    spelled = listing(f"{number(value)} with `{rule}`" for rule, value in worst.items())
    text += f"At the worst number of epochs it is {spelled}. "
    text += f"{advice(measures, curves, rules)} {rising(curves, rules)}"
    return text + (
        "Features have covariance $I$ here, so the vector of the linear system points to the right subspace without its matrix, "
        "and a rule that trusts the matrix less loses little. For other features both rules are biased; that was not run."
    )


def rising(curves: dict[str, dict[float, float]], rules: list[str]) -> str:
    """Whether the MSE of some rule grows with epsilon, and why it may."""
    parts = []
    for rule in rules:
        epsilons = sorted(curves[rule])
        steps = [(a, b) for a, b in pairwise(epsilons) if curves[rule][b] > curves[rule][a]]
        if steps:
            parts.append(f"of `{rule}` grows {listing(f'from {eps(a)} to {eps(b)}' for a, b in steps)}")
    if not parts:
        return ""
    return (
        f"More budget does not always help: the MSE {listing(parts)}. With less noise fewer eigenvalues are touched, "
        "and those that are left may still be mostly noise. "
    )


def worst_epochs(cells: pd.DataFrame, series: str) -> float:
    """Largest mean MSE of a series over its numbers of epochs at the smallest epsilon."""
    rows = cells[(cells["series"] == series) & (cells["epsilon"] == SMALLEST_EPSILON)]
    return float(read_method(rows, series).means(np.arange(rows["seed"].nunique())).max())


def advice(measures: Measures, curves: dict[str, dict[float, float]], rules: list[str]) -> str:
    """Which rule to take at which epsilon: the best of those whose MSE is surely below that of the printed one."""
    taken: dict[str, list[str]] = {}
    for epsilon in curves[rules[0]]:
        ends = {}
        for rule in rules:
            row = measures.row(f"{rule} over {PRINTED_RULE} at {epsilon:g}")
            ends[rule] = (float(row["ci_low"]), float(row["ci_high"]))
        if np.isnan(list(ends.values())).any():
            return "There are too few repetitions to say which rule to take."
        better = [rule for rule in rules if ends[rule][1] < 1]
        worse = all(low > 1 for low, _ in ends.values())
        choice = min(better, key=lambda rule: curves[rule][epsilon]) if better else PRINTED_RULE if worse else ""
        taken.setdefault(choice, []).append(f"{epsilon:g}")
    parts = []
    for rule, epsilons in taken.items():
        where = f"at $\\varepsilon$ = {listing(epsilons)}"
        if rule in rules:
            ratios = listing(measures.text(f"{rule} over {PRINTED_RULE} at {epsilon}") for epsilon in epsilons)
            parts.append(f"take `{rule}` {where}, where the MSE is {ratios} of that of `{PRINTED_RULE}`")
        elif rule:
            parts.append(f"stay with `{rule}` {where}")
        else:
            parts.append(f"{where} neither rule is surely better than `{PRINTED_RULE}`")
    return f"In practice: {'; '.join(parts)}."


def epochs_table(cells: pd.DataFrame) -> str:
    """MSE of the deciding reading by epochs and epsilon: the least of a column bold, runs without a minimum marked."""
    rows = cells[(cells["series"] == DECIDING) & (cells["status"] == "ok")]
    mse = rows.pivot_table(values="mse", index="epochs", columns="epsilon")
    lost = rows.assign(lost=rows["min_eigenvalue"] <= 0).pivot_table(values="lost", index="epochs", columns="epsilon")
    body = []
    for steps in mse.index:
        line = [f"{steps:g}"]
        for epsilon in mse.columns:
            text = number(mse.loc[steps, epsilon]) + ("†" if lost.loc[steps, epsilon] > 0 else "")
            line.append(f"<b>{text}</b>" if mse.loc[steps, epsilon] == mse[epsilon].min() else text)
        body.append(line)
    caption = (
        "Mean MSE of the deciding reading. Bold: least in the column, and the one plotted. "
        "†: in some run the noisy matrix was not positive definite."
    )
    return table(["Epochs", *(f"ε = {epsilon:g}" for epsilon in mse.columns)], body, caption)


def accounting(found: pd.DataFrame, cells: pd.DataFrame) -> str:
    """What exact accounting gains at the same guarantee."""
    scores = found.set_index("reading")
    exact = f"{DECIDING}-exact"
    if exact not in scores.index:
        return ""
    columns = [
        name
        for name in scores.columns
        if name.startswith("mse_") and not scores.loc[[DECIDING, exact], name].isna().any()
    ]
    gains = {float(name.removeprefix("mse_")): scores.loc[DECIDING, name] / scores.loc[exact, name] for name in columns}
    noise = (
        cells[cells["series"].isin((DECIDING, exact))]
        .groupby(["epsilon", "series"])["noise_multiplier"]
        .min()
        .unstack()
    )
    less = noise[DECIDING] / noise[exact]
    spent = cells[cells["series"] == DECIDING].groupby("epsilon")["epsilon_exact"].max()
    most, least = max(gains, key=gains.get), min(gains, key=gains.get)
    text = (
        "**Exact accounting.** The ledger composes the same releases exactly. The noise that the printed lemma "
        f"asks for at {eps(spent.index[0])} gives $\\varepsilon = {spent.iloc[0]:.2f}$, and at "
        f"{eps(spent.index[-1])} it gives $\\varepsilon = {spent.iloc[-1]:.2f}$. For the stated guarantee "
        f"{number(less.min(), 2)} to {times(less.max())} less noise is enough. "
    )
    if gains[least] > 1:
        text += (
            "The MSE at the same guarantee is then smaller at every epsilon, by a factor between "
            f"{number(gains[least], 2)} (at {eps(least)}) and {number(gains[most], 2)} (at {eps(most)})."
        )
    elif gains[most] > 1:
        better = [epsilon for epsilon, gain in gains.items() if gain > 1]
        text += f"The MSE is smaller at {listing(eps(epsilon) for epsilon in better)}, by up to {times(gains[most])}, "
        text += "and not smaller elsewhere."
    else:
        text += "The MSE does not become smaller for it at any epsilon."
    return text


def baselines(measures: Measures) -> str:
    """Own data against a single model, and both against the deciding reading."""
    single = measures.numbered("single at")
    best = min(single, key=single.get)
    own, lowest, zero = measures.value("own"), single[best], measures.value("zero")
    text = (
        f"**Baselines.** A user who fits only its own samples has MSE {measures.text('own')}; "
        f"the best private single model has {measures.text(f'single at {best:g}')}. "
    )
    better, worse = ("own data", "a single model") if own < lowest else ("a single model", "own data")
    text += f"{sentence(better)} does better than {worse}. "
    away = abs(lowest / zero - 1)
    if away < 0.01:
        text += f"The single model is no better than predicting zero ({measures.text('zero')}): "
        text += "heads have mean zero, so no model that all users share can be better, at any epsilon. "
        text += "That its error stays high cannot fail here, and is not judged. "
    else:
        text += f"Against predicting zero ({measures.text('zero')}) the single model differs by {share(away)}. "
    ours = measures.numbered("deciding reading at")
    wins = [epsilon for epsilon, value in ours.items() if value < min(own, single.get(epsilon, lowest))]
    if not wins:
        return text + "The deciding reading beats neither at any epsilon."
    if len(wins) == len(ours):
        text += f"The deciding reading is below both at every epsilon, {eps(min(ours))} included; "
        return text + f"the claim asks for it from {eps(FROM_EPSILON)} on."
    return text + f"The deciding reading is below both at {listing(eps(epsilon) for epsilon in wins)} alone."


def worst_run(cells: pd.DataFrame, series: str) -> tuple[float, float, bool]:
    """Largest ratio of the worst run to the median one at the plotted number of epochs, its epsilon, and whether the
    means of the series fall at every step."""
    method = read_method(cells, series)
    best = method.means(np.arange(method.seeds)).argmin(axis=0)
    runs = method.mse[best, np.arange(len(best))]
    ratios = runs.max(axis=1) / np.median(runs, axis=1)
    falls = bool((np.diff(runs.mean(axis=1)) < 0).all())
    return float(ratios.max()), float(method.epsilons[ratios.argmax()]), falls


def random_starts(cells: pd.DataFrame) -> str:
    """Whether a few bad random starts carry the mean, against starts by Algorithm 3."""
    pairs = {name: name.replace("random", "spectral", 1) for name in (DECIDING, f"{DECIDING}-exact")}
    if not {*pairs, *pairs.values()} <= set(cells["series"]):
        return ""
    random = {name: worst_run(cells, name) for name in pairs}
    spectral = max(worst_run(cells, name)[0] for name in pairs.values())
    spelled = listing(f"{times(ratio)} (`{name}`, at {eps(epsilon)})" for name, (ratio, epsilon, _) in random.items())
    text = (
        "**Random starts.** A random subspace can be nearly orthogonal to a true direction, and one or two steps do not "
        f"always recover it. The MSE of the worst run over that of the median run reaches {spelled}; "
        f"from Algorithm 3 it is at most {times(spectral)}. "
    )
    text += (
        "A start is therefore drawn once in a repetition and shared by all epsilons and numbers of epochs: drawn anew in each "
        "cell, a few bad ones would decide criterion (ii). "
    )
    uneven = [name for name, (_, _, falls) in random.items() if not falls]
    if not uneven:
        return text + "The means still fall from each epsilon to the next."
    return text + f"Such runs carry the mean: in {codes(uneven)} it does not fall from each epsilon to the next."


GRADIENT, PER_USER = "random-s2-gradient", "random-s2-user"
FLAT = 2.0
"""A curve whose largest MSE is at most so many times its least one hardly depends on epsilon."""


def alternatives(found: pd.DataFrame) -> str:
    """How gradient descent and clipping per user compare with the deciding reading, epsilon by epsilon."""
    scores = found.set_index("reading")
    if not {GRADIENT, PER_USER} <= set(scores.index):
        return ""
    columns = [name for name in scores.columns if name.startswith("mse_")]
    columns = [name for name in columns if scores.loc[[DECIDING, GRADIENT, PER_USER], name].notna().all()]
    epsilons = [float(name.removeprefix("mse_")) for name in columns]
    ours, gradient, per_user = (scores.loc[name, columns].astype(float) for name in (DECIDING, GRADIENT, PER_USER))
    spread = gradient.max() / gradient.min()
    better = [epsilon for epsilon, ratio in zip(epsilons, ours / gradient, strict=True) if ratio > 1]
    text = (
        f"**Other steps.** Gradient descent on clipped gradients of whole users (`{GRADIENT}`) has MSE between "
        f"{number(gradient.min())} and {number(gradient.max())}"
    )
    text += ": it hardly depends on epsilon. " if spread <= FLAT else ". "
    if better:
        text += f"It is below the deciding reading at {listing(eps(epsilon) for epsilon in better)}, "
        text += f"by up to {times((ours / gradient).max())}; its step size is selected on the score as well. "
    else:
        text += "It is below the deciding reading at no epsilon. "
    gains = ours / per_user
    if gains.min() > 1:
        text += (
            f"Clipping the sums of a user as a whole (`{PER_USER}`, not in the paper) divides the MSE of the deciding reading "
            f"by {number(gains.min(), 2)} to {number(gains.max(), 2)} at the same printed budget."
        )
    else:
        text += f"Clipping the sums of a user as a whole (`{PER_USER}`, not in the paper) does not lower the MSE at every epsilon."
    return text


def selection(cells: pd.DataFrame) -> str:
    """That the number of epochs was selected on the score, and what a fixed number would cost."""
    method = read_method(cells, DECIDING)
    means = method.means(np.arange(method.seeds))
    worst = (means / means.min(axis=0)).max(axis=1)
    fixed = int(worst.argmin())
    picks = {}
    for epsilon, choice in zip(method.epsilons, method.chosen(), strict=True):
        picks.setdefault(choice.removeprefix("epochs "), []).append(f"{epsilon:g}")
    spelled = "; ".join(f"$E = {choice}$ at $\\varepsilon$ = {listing(values)}" for choice, values in picks.items())
    text = (
        "**The number of epochs is selected on the score.** Each point takes the number with the least mean MSE "
        f"({spelled}). The paper appears to do the same. This selection reads the truth and is not private; a private "
        "one would cost part of the budget. "
    )
    if len(method.choices) == 1:
        return text + "One number was tried here, so nothing was selected."
    best = method.choices[fixed].replace("epochs ", "$E = ")
    return (
        text + f"The best single number for all epsilons is {best}$: its MSE is at most {times(worst[fixed])} as large."
    )


def readings_table(found: pd.DataFrame, cells: pd.DataFrame) -> str:
    """One row per reading: its settings, MSE by epsilon, and the criteria; what is ours comes last."""
    found = found.sort_values("ours", kind="stable")
    settings = cells.drop_duplicates("series").set_index("series")
    epsilons = [name for name in found.columns if name.startswith("mse_") and found[name].notna().all()]
    body = []
    for row in found.to_dict("records"):
        setting = settings.loc[row["reading"]]
        name = f"<code>{row['reading']}</code>"
        name = f"<b>{name}</b>" if row["passes"] and not row["ours"] else name
        note = "deciding" if row["reading"] == DECIDING else "ours" if row["ours"] else ""
        name += f" <small>{note}</small>" if note else ""
        values = {criterion: row[criterion] for criterion in CRITERIA}
        marks = ["✓" if passes(criterion, value) else f"{number(value, 2)} ✗" for criterion, value in values.items()]
        scores = [number(row[column]) for column in epsilons]
        body.append([name, *_describe(setting, settings.loc[DECIDING]), f"{row['seeds']}", *scores, *marks])
    header = ["Reading", "Start", "Samples", "Thresholds", "Seeds"]
    header += [f"ε = {column.removeprefix('mse_')}" for column in epsilons]
    header += [f"({criterion})" for criterion in CRITERIA]
    limits = listing(f"({name}) ≤ {LIMITS[name]:g}" for name in CRITERIA)
    caption = "MSE of every reading at its best number of epochs, and its criteria at the mean over seeds: "
    caption += f"{limits}; missed ones with their value. "
    caption += f"Bold names pass all {ALL}. Series marked as ours have a rule that the paper does not have, and do not count as readings."
    return table(header, body, caption, "dense")


def _describe(setting: pd.Series, usual: pd.Series) -> list[str]:
    """Start, split, and thresholds with what else differs from the usual setting."""
    thresholds = [setting["clip_feature"], setting["clip_label"]]
    both = listing(dict.fromkeys(number(value) for value in thresholds if not pd.isna(value)), "and")
    notes = [] if setting["samples"] == usual["samples"] else [f"m = {setting['samples']:g}"]
    if setting["clip_unit"] == "user":
        notes.append("per user")
    if setting["algorithm"] == "gradient_descent":
        notes.append("gradient")
    if setting["calibration"] == "exact":
        notes.append("exact noise")
    if setting["algorithm"] == "altmin" and setting["fallback"] != usual["fallback"]:
        notes.append(setting["fallback"])
    if setting["truth_law"] != usual["truth_law"]:
        notes.append(setting["truth_law"])
    return [STARTS[setting["init"]], setting["split"], ", ".join([both, *notes])]


def findings(run: Run) -> str:
    """All findings as paragraphs of Markdown."""
    measures, cells, found = run.measures("figure2"), run.cells("figure2"), run.numbers("jain2021/figure2_readings")
    paragraphs = [
        criteria(run, measures),
        readings(found),
        two_axes(measures),
        baselines(measures),
        epochs(measures, cells),
        fallbacks(measures, cells),
        random_starts(cells),
        accounting(found, cells),
        alternatives(found),
        selection(cells),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
