"""shen2023, Algorithms 3, 5 and 6: the private power method and selection among its runs (claims B-LF.1 to B-LF.3, B-CF.1,
B-TG.1, B-LG.1).

The runs of a cell share the data and have noise of their own; repetitions are data draws. The noisy power method of Theorem G.1 and
selection among made-up candidates need no users.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from privrep.algorithms.candidate_selection import select
from privrep.data.subspace import dist2
from privrep.evidence.intervals import bootstrap_measures, student
from privrep.evidence.measured import Measure, bare, exact, share
from privrep.evidence.scaling import fit_all, fit_measures
from privrep.instruments.made_up_candidates import trials_needed
from privrep.laws import shared, shen2023
from privrep.run.settings import Analysis

TARGET, CANDIDATE = 0.2, 0.01
"""eps_0, what the main rounds need of a start, and eps_i, what the paper asks of a single run."""
PROBABILITIES, FAILURES = (0.99, 0.7, 0.55), (0.1, 0.05, 0.01)
"""Probability that a candidate is good, and failure probabilities asked for, in the binomial law."""
DIM, RANK = 12, 2
"""Size at which a candidate that passes is as far off as it can be."""
BOOTSTRAP = 200
"""Bootstrap draws for the measures that are no exponents."""
OUTSIDE = "not reached within the values that were run"
"""Why an interpolated number is NaN."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """The results table with what the laws under the clip expect, and with combined columns.

    privacy_2, privacy_F : dist2 and distF by noise. sampling_2 : dist2 by fresh samples. times_rank, privacy_times_rank : distF / sqrt(k),
    the root mean square sine, and its law, times k. over_logs, privacy_over_logs : dist2 and its law over ln n (sqrt(ln n) + sqrt(k)), the
    logarithms of the prescribed clip. run_mu, run_mu_law : sqrt(L k / (k + 1)) k distF / sqrt(k), which is proportional to the mu of a run of
    fixed accuracy where the noise goes as 1/k; the lemma's L is of order k + 1, which O~ takes for k. norm_ratio : largest ||Y_i|| over
    ln n (sqrt(ln n) + sqrt(d)) (sqrt(ln n) + sqrt(k)), the bound of Lemma G.1 without its k^1.5. inverse_gap, log_term, iterations_law : of
    the noisy power method, 1 / gap, ln(k d / eps), and the iterations from the same starts without a perturbation.
    """
    runs = cells["algorithm"] == "power_method"
    sizes = cells.loc[runs, ["dim", "rank", "init_samples", "zeta"]]
    products = [shen2023.clipped_product(int(d), int(k), int(q), zeta) for d, k, q, zeta in sizes.to_numpy()]
    along, across, spread = np.array([(one.along, one.across, one.spread) for one in products]).T
    n, d, k, noise = (cells.loc[runs, name].to_numpy() for name in ("users", "dim", "rank", "noise_multiplier"))
    private = shen2023.power_noise(n, noise, sizes["zeta"].to_numpy(), along, across)
    sampled = shen2023.power_sampling_noise(n, along, across, spread, fresh=True)
    log_users = np.log(n)
    shape = log_users * (np.sqrt(log_users) + np.sqrt(d)) * (np.sqrt(log_users) + np.sqrt(k))
    rows = cells.loc[runs]
    privacy, frobenius = shen2023.power_spectral(private, d, k), shen2023.power_frobenius(private, d, k)
    logs = log_users * (np.sqrt(log_users) + np.sqrt(k))
    length = np.sqrt(rows["iterations"] / (k + 1)) * k
    laws = pd.DataFrame(
        {
            "privacy_2": privacy,
            "privacy_F": frobenius,
            "sampling_2": shen2023.power_spectral(sampled, d, k),
            "times_rank": rows["runs_distF"] * np.sqrt(k),
            "privacy_times_rank": frobenius * np.sqrt(k),
            "over_logs": rows["runs_dist2"] / logs,
            "privacy_over_logs": privacy / logs,
            "run_mu": length * rows["runs_distF"],
            "run_mu_law": length * frobenius,
            "norm_ratio": rows["product_norm_max"] / shape,
        },
        index=rows.index,
    )
    return pd.concat([cells, laws, noisy_laws(cells[cells["algorithm"] == "noisy_power_method"])], axis=1).copy()


def noisy_laws(rows: pd.DataFrame) -> pd.DataFrame:
    """inverse_gap, log_term, and iterations_law = (ln tan - ln eps) / -ln(1 - gap) of the noisy power method."""
    return pd.DataFrame(
        {
            "inverse_gap": 1 / rows["gap"],
            "log_term": np.log(rows["rank"] * rows["dim"] / rows["accuracy"]),
            "iterations_law": (rows["start_log_tangent"] - np.log(rows["accuracy"])) / -np.log1p(-rows["gap"]),
        }
    )


def picked(rows: pd.DataFrame, pick: np.ndarray | None) -> pd.DataFrame:
    """The rows of the picked repetitions, each as often as it is picked; all once by default."""
    if pick is None:
        return rows
    return pd.concat([rows[rows["seed"] == seed] for seed in np.sort(rows["seed"].unique())[pick]])


def interpolate(value: float, known: np.ndarray, wanted: np.ndarray) -> float:
    """Linear between the points, whose `known` ascend; NaN outside of them."""
    return float(np.interp(value, known, wanted, left=np.nan, right=np.nan))


def contraction_points(cells: pd.DataFrame, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Factor by which one noiseless iteration shrinks the largest tangent, by rank; over the picked repetitions, all by default."""
    rows = cells[cells["series"] == "contract"]
    logs = rows.pivot(index=["rank", "iterations"], columns="seed", values="runs_log_tangent")
    means = (logs if pick is None else logs.iloc[:, pick]).mean(axis=1)
    points = []
    for rank, part in means.groupby("rank"):
        iterations = part.index.get_level_values("iterations")
        factor = np.exp((part.iloc[-1] - part.iloc[0]) / (iterations[-1] - iterations[0]))
        points.append({"rank": rank, "factor": factor, "predicted": float(shen2023.power_contraction(rank))})
    return pd.DataFrame(points)


def iteration_extremes(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """Iterations per factor e, over (k + 1) / 2: largest and smallest over the ranks."""
    points = contraction_points(cells, pick)
    ratio = -1 / np.log(points["factor"]) / ((points["rank"] + 1) / 2)
    return {"iterations over (k + 1) / 2, largest": ratio.max(), "iterations over (k + 1) / 2, smallest": ratio.min()}


def clip_points(cells: pd.DataFrame, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Against zeta_0 in practical units: the noise multiplier at which dist2 by noise is `TARGET`, measured and by law, the share of
    clipped products, and the sampling error."""
    rows = cells[cells["series"] == "clip"]
    noisy, silent = rows[rows["noise_multiplier"] > 0], rows[rows["noise_multiplier"] == 0]
    both = picked(noisy.merge(silent, on=["init_clip", "seed"], suffixes=("", "_silent")), pick)
    both = both.assign(square=both["runs_dist2"] ** 2, under=both["runs_dist2_silent"] ** 2)
    keys = ["noise_multiplier", "zeta", "privacy_2", "square", "under", "clipped_share"]
    means = both.groupby("init_clip")[keys].mean().reset_index()
    return means.assign(
        permitted=means["noise_multiplier"] * TARGET / np.sqrt(means["square"] - means["under"]),
        predicted=means["noise_multiplier"] * TARGET / means["privacy_2"],
        floor=np.sqrt(means["under"]),
    )


def shares(cells: pd.DataFrame, series: str, axis: str, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Share of runs within the accuracy; `level` is the noise over what the law permits, `draws` the number of data sets."""
    points = []
    for value, part in picked(cells[cells["series"] == series], pick).groupby(axis):
        runs, good = int(part["starts"].sum()), round(float((part["runs_within"] * part["starts"]).sum()))
        level = part["privacy_2"].iloc[0] / part["accuracy"].iloc[0]
        points.append({axis: value, "level": level, "share": good / runs, "good": good, "runs": runs})
    return pd.DataFrame(points).assign(draws=cells.loc[cells["series"] == series, "seed"].nunique())


def success_points(cells: pd.DataFrame, series: str, axis: str) -> pd.DataFrame:
    """`shares` with Clopper-Pearson intervals over all runs, as if those on the same data were independent too."""
    points = shares(cells, series, axis)
    counts = points[["good", "runs"]].astype(int).to_numpy()
    ends = [stats.binomtest(int(good), int(runs)).proportion_ci() for good, runs in counts]
    return points.assign(ci_low=[one.low for one in ends], ci_high=[one.high for one in ends])


def iterations_needed(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """The fewest iterations of those run after which 99 % of the runs have succeeded; NaN where none suffice."""
    points = shares(cells, "steps", "iterations", pick)
    return {"iterations for 0.99": float(points.loc[points["share"] >= 0.99, "iterations"].min())}


def noise_of_half(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """The noise, over the law's, at which half of the runs succeed; linear between the levels that were run."""
    points = shares(cells, "noise", "noise_multiplier", pick)
    return {"noise at which half succeed": interpolate(-0.5, -points["share"], points["level"])}


def selection_points(cells: pd.DataFrame, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Real candidates against the noise: root mean square over repetitions of dist2 of the selected, first, median and worst candidate
    and of the average of all, and how often one passed the printed test."""
    rows = picked(cells[cells["series"] == "select"], pick)
    names = {"start_dist2": "selected", "dist2": "first", "runs_dist2_median": "median", "runs_dist2_max": "worst"}
    names |= {"average_dist2": "average"}
    squares = (rows[list(names)] ** 2).rename(columns=names).assign(passed=rows["selection_passed"])
    means = squares.groupby(rows["noise_multiplier"]).mean()
    means[list(names.values())] = means[list(names.values())] ** 0.5
    return means.reset_index()


def selection_ratios(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """What is gained over the median candidate: geometric mean over the noise levels whose median is in the linear range."""
    points = selection_points(cells, pick)
    used = points[(points["noise_multiplier"] > 0) & (points["median"] <= 2 * TARGET)]
    logs = np.log(used[["selected", "worst", "average"]].div(used["median"], axis=0)).mean()
    return {f"{name} over median": float(np.exp(value)) for name, value in logs.items()}


def costs(cells: pd.DataFrame, pick: np.ndarray | None = None) -> dict[str, float]:
    """mu^2 of a start, of a single run and of the main rounds, at the noise that leaves each at dist2 = `TARGET`, and their ratios.

    Between the noise levels that were run, the error without its floor is a power of the noise; outside of them the cost is NaN.
    """
    found = {}
    for name, series, column in (
        ("start", "select", "start_dist2"),
        ("averaged start", "select", "average_dist2"),
        ("single run", "select", "dist2"),
        ("main rounds", "main", "steady_dist2"),
    ):
        rows = cells[cells["series"] == series]
        rows = picked(rows, None if pick is None else pick % rows["seed"].nunique())
        squares = (rows[column] ** 2).groupby(rows["noise_multiplier"]).mean()
        excess = squares.drop(0.0) - squares[0.0]
        with np.errstate(invalid="ignore", divide="ignore"):  # a floor beyond the target, or beyond an error with noise
            wanted, logs = np.log(TARGET**2 - squares[0.0]), np.log(excess)
        multiplier = np.exp(interpolate(wanted, logs, np.log(excess.index)))
        first = rows.iloc[0]
        releases = first["rounds"] if series == "main" else first["iterations"]
        times = first["starts"] if series == "select" and name != "single run" else 1
        found[f"cost of the {name}"] = times * releases / multiplier**2
    main = found["cost of the main rounds"]
    return found | {f"{name} over main rounds": value / main for name, value in list(found.items())[:-1]}


def largest_accuracy(target: float) -> float:
    """The largest eps_i for which eq. (69) holds."""
    return brentq(lambda a: printed_gap(a, target), 1e-6, target)


def printed_gap(accuracy: float, target: float) -> float:
    """Left side of eq. (69) less the right: negative where the proof goes through."""
    return np.sqrt(1 - target**2) + 1 - np.sqrt(1 - accuracy**2) + accuracy - (1 - 2 * accuracy**2)


def worst_that_passes(accuracy: float) -> float:
    """dist2 of a candidate that passes although it is as far as the test permits from good ones, which are as far as they may be from the
    truth, in one plane: angles add, so it is sin(3 arcsin eps_i)."""
    angle = np.arcsin(accuracy)
    truth = np.eye(DIM, RANK)
    tilted = [np.cos(t) * truth + np.sin(t) * np.eye(DIM, RANK, -RANK) for t in (angle, 3 * angle * (1 - 1e-9))]
    candidates = np.array([tilted[1], tilted[0], tilted[0]])
    chosen = select(candidates, accuracy)
    return dist2(candidates[chosen.index], truth)


def successes_left(probability: float) -> tuple[float, str]:
    """What eq. (99) with the printed t = T_0 / 2 guarantees, p T_0 - t successes, over the T_0 / 2 that the proof concludes."""
    return 2 * probability - 1, f"p = {probability:g}: {probability - 0.5:g} T_0 successes"


def expected_failure(probability: float, failure: float) -> float:
    """Probability that fewer than half of T_0 candidates are good, or just half and a bad one comes first."""
    count = trials_needed(probability, failure)
    few = stats.binom.cdf(np.ceil(count / 2) - 1, count, probability)
    tie = stats.binom.pmf(count // 2, count, probability) / 2 if count % 2 == 0 else 0.0
    return float(few + tie)


def failed_shares(cells: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Counts `failed` of `tried` over all repetitions, `draws`, as a share with its Clopper-Pearson interval."""
    sums = {"failed": ("failed", "sum"), "tried": ("tried", "sum"), "draws": ("seed", "nunique")}
    points = cells.groupby(keys, sort=False).agg(**sums).reset_index()
    counts = points[["failed", "tried"]].round().astype(int)
    ends = [stats.binomtest(int(failed), int(tried)).proportion_ci() for failed, tried in counts.to_numpy()]
    shares = counts["failed"] / counts["tried"]
    return points.assign(failed=shares, ci_low=[one.low for one in ends], ci_high=[one.high for one in ends])


def failure_points(cells: pd.DataFrame) -> pd.DataFrame:
    """How often selection among made-up candidates fails, and what the binomial law says."""
    rows = cells[cells["series"] == "candidates"]
    keys = ["good_share", "failure", "candidates", "bad"]
    points = failed_shares(
        rows.assign(failed=rows["failed_share"] * rows["selections"], tried=rows["selections"]), keys
    )
    law = [expected_failure(p, asked) for p, asked in zip(points["good_share"], points["failure"], strict=True)]
    return points.assign(predicted=law)


def log_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Iterations against ln(k d / eps), by d at one gap: mean over the repetitions, its 95 % interval, and the law.

    The logarithm spans a factor 1.6 over these d, too little for an exponent."""
    grouped = cells[cells["series"] == "noisy-d"].groupby("dim")
    needed = grouped["iterations_needed"]
    points = grouped[["log_term", "iterations_law"]].mean().assign(iterations=needed.mean(), repetitions=needed.count())
    half = [student(int(count)) for count in points["repetitions"]] * needed.std() / np.sqrt(points["repetitions"])
    return points.assign(half=half).rename(columns={"iterations_law": "predicted"}).reset_index()


def log_ratio(cells: pd.DataFrame) -> Measure:
    """Iterations at the largest d over those at the smallest, over the same ratio of ln(k d / eps): at most 1 where they grow as
    slowly as the theorem says."""
    points = log_points(cells)
    first, last = points.iloc[0], points.iloc[-1]
    value = last["iterations"] / first["iterations"] / (last["log_term"] / first["log_term"])
    half = value * np.hypot(last["half"] / last["iterations"], first["half"] / first["iterations"])
    note = f"d = {last['dim']:g} over d = {first['dim']:g}"
    return Measure("iterations over ln(k d / eps)", value, value - half, value + half, int(last["repetitions"]), note)


def tau_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Share of runs of the noisy power method that are not within eps after (4 / gap) ln(k d tau / eps) iterations, against tau."""
    rows = cells[cells["series"] == "noisy-tau"]
    return failed_shares(rows.assign(failed=(1 - rows["runs_within"]) * rows["starts"], tried=rows["starts"]), ["tau"])


def shared_points(cells: pd.DataFrame, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Runs without noise on the same samples, against n: mean over repetitions of dist2 of the selected one, and whether it passed in
    all of them."""
    grouped = picked(cells[cells["series"] == "shared"], pick).groupby("users")
    return pd.DataFrame(
        {"selected": grouped["start_dist2"].mean(), "passed": grouped["selection_passed"].min()}
    ).reset_index()


def distance_that_passes(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """Mean dist2 of the selected run where all share the fewest users' samples, if it passes the test in all repetitions."""
    row = shared_points(cells, pick).iloc[0]
    return {"dist2 that passes on shared samples": float(row["selected"] if row["passed"] else np.nan)}


def users_for(target: float, dim: int, rank: int, samples: int) -> float:
    """n at which dist2 by sampling alone is half the target, by law: all samples in each iteration, no clip, no noise."""
    product = shen2023.clipped_product(dim, rank, samples, np.inf)
    at_one = shen2023.power_sampling_noise(1, product.along, product.across, product.spread, fresh=False)
    return float((2 * shared.edge(dim, rank) * at_one / target) ** 2)


def proportion(quantity: str, row: pd.Series, name: str, note: str) -> Measure:
    """A share with its Clopper-Pearson interval."""
    return Measure(
        quantity, float(row[name]), float(row["ci_low"]), float(row["ci_high"]), int(row.get("draws", 0)), note
    )


def success_measures(cells: pd.DataFrame) -> list[Measure]:
    """Shares of successful runs: at the printed target, and at dist2 <= 0.2 for the least noise tried and the longest run."""
    found = []
    for series, axis, name in (
        ("printed", "noise_multiplier", "success at 0.01"),
        ("noise", "noise_multiplier", "success at 0.2"),
        ("steps", "iterations", "success by iterations"),
    ):
        points = success_points(cells, series, axis)
        row = points.iloc[-1 if series == "steps" else 0]
        note = f"{row['runs']:g} runs on {row['draws']:g} data sets, noise {row['level']:.2g} of the law's"
        found.append(proportion(name, row, "share", note))
    return found


def clip_ratios(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """What the clip does: how many it shortens, and what noise it permits."""
    points = clip_points(cells, pick)
    practical, over = points[points["init_clip"] == 1].iloc[0], points["permitted"] / points["predicted"]
    return {
        "clipped at the practical bound": practical["clipped_share"],
        "noise permitted at the least over the practical bound": points["permitted"].iloc[0] / practical["permitted"],
        "noise permitted over law, largest": over.max(),
        "noise permitted over law, smallest": over.min(),
    }


def largest(quantity: str, values: pd.Series) -> Measure:
    """The largest value over runs, which has no interval."""
    return bare(quantity, values.max(), int(values.count()), f"largest of {values.count()} runs")


def beyond(quantity: str, values: pd.Series, limit: float) -> Measure:
    """The share of runs in which a value exceeds the limit."""
    values = values.dropna()
    return share(f"{quantity}, share of runs beyond", int((values > limit).sum()), len(values))


def bound_measures(cells: pd.DataFrame) -> list[Measure]:
    """The prescribed clip, the printed bound on norms, and the users that the printed accuracy takes."""
    prescribed = cells[cells["series"] == "prescribed"]
    practical = np.sqrt(prescribed["dim"]) * prescribed["rank"] ** 1.5
    norms = cells["norm_ratio"] / cells["rank"] ** 1.5
    return [
        largest("clipped at the prescribed bound", prescribed["clipped_share"]),
        beyond("clipped at the prescribed bound", prescribed["clipped_share"], 0.0),
        largest("largest norm over printed bound", norms),
        beyond("norm over printed bound", norms, 1.0),
        exact("prescribed over practical bound", (prescribed["zeta"] / practical).max()),
        exact("users for 0.01", users_for(CANDIDATE, 20, 2, 32), "d = 20, k = 2, m = 32, by law"),
    ]


def selection_measures(cells: pd.DataFrame) -> list[Measure]:
    """Lemma F.3 on made-up candidates, eq. (69), and what passes at practical sizes."""
    found = [
        exact("left less right side of (69)", printed_gap(CANDIDATE, TARGET)),
        exact("largest accuracy of (69)", largest_accuracy(TARGET)),
        exact("largest accuracy by angles", np.sin(np.arcsin(TARGET) / 3)),
        exact("dist2 of the worst that passes", worst_that_passes(CANDIDATE)),
        exact("successes left by (99) over half", *successes_left(PROBABILITIES[0])),
    ]
    found += [
        exact(
            f"failure over asked, p = {probability:g}",
            max(expected_failure(probability, asked) / asked for asked in FAILURES),
            "largest over delta' = 0.1, 0.05, 0.01; binomial law",
        )
        for probability in PROBABILITIES
    ]
    for _, row in failure_points(cells).iterrows():
        name = f"failure, p = {row['good_share']:g}, asked {row['failure']:g}, {row['bad']}"
        found.append(proportion(name, row, "failed", f"T_0 = {row['candidates']:g}, {row['tried']:g} selections"))
    real = cells[(cells["series"] == "select") & (cells["noise_multiplier"] > 0)]
    ends = stats.binomtest(int(real["selection_passed"].sum()), len(real)).proportion_ci()
    row = pd.Series({"passed": real["selection_passed"].mean(), "ci_low": ends.low, "ci_high": ends.high})
    row["draws"] = real["seed"].nunique()
    found.append(
        proportion("real starts that pass", row, "passed", f"{len(real)} selections on {row['draws']:g} data sets")
    )
    taus = tau_points(cells)
    worst = taus.assign(**{name: taus[name] * taus["tau"] for name in ("failed", "ci_low", "ci_high")})
    row = worst.loc[worst["failed"].idxmax()]
    found.append(proportion("failures times tau", row, "failed", f"{row['tried']:g} runs for each tau"))
    return found


def measure(cells: pd.DataFrame, study: Analysis) -> list[Measure]:
    """All exponents and constants, contraction, clip, success, cost, selection, and Theorem G.1."""
    cells = with_predictions(cells)
    found = [*fit_measures(fit_all(study, cells)), log_ratio(cells)]
    for series, statistic, missing in (
        ("contract", iteration_extremes, ""),
        ("clip", clip_ratios, ""),
        ("steps", iterations_needed, OUTSIDE),
        ("noise", noise_of_half, OUTSIDE),
        ("select", selection_ratios, ""),
        ("select", costs, OUTSIDE),
        ("shared", distance_that_passes, "does not pass in all repetitions"),
    ):
        seeds = int(cells.loc[cells["series"] == series, "seed"].nunique())
        some = bootstrap_measures(partial(statistic, cells), seeds, statistic.__name__, BOOTSTRAP)
        found += [replace(one, note=missing) if np.isnan(one.measured) else one for one in some]
    return found + success_measures(cells) + bound_measures(cells) + selection_measures(cells)
