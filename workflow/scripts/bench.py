"""Measure the speed and memory of the library on this machine and hold them against fixed limits.

Every speed is a ratio of two times of one run, so that it means the same on a slow and on a fast machine. The works
that are compared run in turn, several rounds of them, and the shortest time of each counts. Times are CPU seconds of
this process, which has one BLAS thread: another process on the same core does not add to them.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import html
import json
import math
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import threadpoolctl

from privrep.algorithms.altmin import AltminOptions
from privrep.algorithms.centaur import RepresentationGradients
from privrep.algorithms.parts.moment_step import UserMoments
from privrep.algorithms.parts.server import Server
from privrep.algorithms.parts.user_scores import UserScore
from privrep.algorithms.power_method import RandomStarts, power_method
from privrep.data.heads import fit_heads
from privrep.data.losses import Loss
from privrep.data.problem import Problem, Users
from privrep.data.rng import stream
from privrep.data.splits import SampleDraws
from privrep.data.subspace import orthonormalise, planted_subspace
from privrep.data.whole_files import in_one_move
from privrep.fitting.method import Task
from privrep.fitting.runner import fit
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release, clipped_sums
from privrep.privacy.regression_moments import SampleClip

CLIP = SampleClip(feature=10.0, label=2.0)
"""Near the medians of ||x|| ||v|| and |y|, so that about half of the samples are clipped."""

ALTMIN = AltminOptions(
    init="spectral",
    split="all-samples-reused",
    clip_feature=CLIP.feature,
    clip_label=CLIP.label,
    init_label_clip=CLIP.label,
)
"""One epoch in which all samples serve every step: the split with the most work."""


@dataclass(frozen=True)
class Workload:
    """Numbers of users, and how often each work is repeated."""

    paper: int = 50_000
    wide: int = 10_000
    many: int = 1_000_000
    many_budget: int | None = None
    loop_samples: int = 1_000
    loop_users: int = 4_000
    slope: tuple[int, ...] = (12_500, 25_000, 50_000, 100_000)
    repeats: int = 7
    slope_repeats: int = 5


QUICK = Workload(
    paper=4_000,
    wide=1_000,
    many=20_000,
    many_budget=0,
    loop_samples=100,
    loop_users=400,
    slope=(1_250, 2_500, 5_000, 10_000),
    repeats=2,
    slope_repeats=2,
)


@dataclass(frozen=True)
class Record:
    """One measured number.

    Attributes
    ----------
    limit : "<= a", ">= a" or "a .. b". holds : whether the value keeps the limit. how : what was measured.
    """

    name: str
    value: float
    unit: str
    limit: str
    holds: bool
    how: str


class Bench:
    """Records in the order of measurement, printed as a table while they come in, and the times behind them."""

    def __init__(self):
        self.records: list[Record] = []
        self.seconds: dict[str, float] = {}
        print(f"{'name':<34} {'value':>10}  {'unit':<18} {'limit':<12} holds", flush=True)

    def record(self, name: str, value: float, unit: str, how: str, *, least: float = -math.inf, most: float = math.inf):
        """Compare a value with its bounds, keep it and print it."""
        if math.isinf(least):
            limit = f"<= {most:g}"
        elif math.isinf(most):
            limit = f">= {least:g}"
        else:
            limit = f"{least:g} .. {most:g}"
        holds = bool(least <= value <= most)
        self.records.append(Record(name, float(value), unit, limit, holds, how))
        print(f"{name:<34} {value:>10.4g}  {unit:<18} {limit:<12} {'yes' if holds else 'NO'}", flush=True)

    def best(self, repeats: int, **works: Callable[[], object]) -> dict[str, float]:
        """The least CPU seconds of each work over rounds in which all works run in turn, after one round that is not
        counted."""
        times = {name: [] for name in works}
        for turn in range(repeats + 1):
            for name, work in works.items():
                start = time.process_time()
                work()
                if turn:
                    times[name].append(time.process_time() - start)
        shortest = {name: min(values) for name, values in times.items()}
        self.seconds |= shortest
        return shortest


def kept_users(problem: Problem) -> Users:
    """Users whose blocks are in memory."""
    users = Users(problem, memory_budget=problem.bytes)
    draw(users)
    return users


def draw(users: Users) -> None:
    """Pass over all blocks and do nothing with them."""
    for _ in users.blocks():
        pass


def statistics(users: Users, batch: range) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 2's statistics from drawn users: feature norms, head step, sums of moments;
    all samples in each step."""
    for block in users.blocks():
        block.__dict__.pop("feature_norms", None)
    basis = users.truth.basis
    everything = slice(0, users.problem.samples)
    contribution = UserMoments(lambda block: fit_heads(block.features, block.labels, basis), everything)
    return clipped_sums(users, contribution, CLIP, over=batch)


def loop_over_samples(users: Users, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The statistics of the first `count` users from the formulas as printed: one outer product per sample."""
    basis, dim, rank = users.truth.basis, users.problem.dim, users.problem.rank
    second, first = np.zeros((dim * rank, dim * rank)), np.zeros(dim * rank)
    for block in users.blocks(0, count):
        for j in range(block.users):
            features, labels = block.features[:, j].astype(np.float64), block.labels[:, j].astype(np.float64)
            gram, right = np.zeros((rank, rank)), np.zeros(rank)
            for x, y in zip(features, labels, strict=True):
                projected = x @ basis
                gram += np.outer(projected, projected)
                right += y * projected
            head = np.linalg.solve(gram, right)
            for x, y in zip(features, labels, strict=True):
                w = np.outer(head, x).ravel()
                norm = math.sqrt(w @ w)
                if norm > CLIP.feature:
                    w *= CLIP.feature / norm
                second += np.outer(w, w)
                first += min(max(y, -CLIP.label), CLIP.label) * w
    return second, first


def loop_over_users(users: Users, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The statistics of the first `count` users, vectorised over the samples of one user."""
    basis, dim, rank = users.truth.basis.astype(np.float32), users.problem.dim, users.problem.rank
    second, first = np.zeros((dim * rank, dim * rank)), np.zeros(dim * rank)
    for block in users.blocks(0, count):
        for j in range(block.users):
            features, labels = block.features[:, j], block.labels[:, j]
            projected = features @ basis
            head = np.linalg.solve(projected.T @ projected, projected.T @ labels)
            rows = (features[:, None, :] * head[:, None]).reshape(len(labels), -1)
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            rows *= np.minimum(1, np.float32(CLIP.feature) / norms)[:, None]
            second += rows.T @ rows
            first += np.minimum(np.maximum(labels, -CLIP.label), CLIP.label) @ rows
    return second, first


def check_same(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    """Raise AssertionError unless two pairs (A, b) agree to float32 accuracy."""
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())


def whole_fit(users: int, memory_budget: int | None = None) -> None:
    """One fit at d = 50, k = 2, m = 10: draw, spectral initialisation, one epoch, personalise, score."""
    problem = Problem(users=users, samples=10, dim=50, rank=2, label_noise_sd=0.1)
    drawn = Users(problem) if memory_budget is None else Users(problem, memory_budget=memory_budget)
    budget = Budget(epsilon=1.0, delta=1e-6)
    fit(ALTMIN, Task(drawn, budget, lambda role: stream(0, role, problem.axes), Ledger()))


def peak_rss() -> int:
    """Peak resident memory of this process in bytes.

    On Linux `ru_maxrss` starts from that of the parent, so the kernel's own high-water mark is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def peak_rss_of_fit(users: int, memory_budget: int | None = None) -> int:
    """`peak_rss` of a new interpreter that does one fit."""
    command = [sys.executable, __file__, "--peak-rss-of-fit", str(users)]
    if memory_budget is not None:
        command += ["--memory-budget", str(memory_budget)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def bench_statistics(bench: Bench, sizes: Workload) -> None:
    """Algorithm 2's statistics against drawing the users and against loops, at d = 50, k = 2, m = 10."""
    n = sizes.paper
    problem = Problem(users=n, samples=10, dim=50, rank=2, label_noise_sd=0.1)
    users, redrawn = kept_users(problem), Users(problem, memory_budget=0)
    by_sample, by_user = min(sizes.loop_samples, n), min(sizes.loop_users, n)
    check_same(loop_over_samples(users, by_sample), statistics(users, range(by_sample)))
    check_same(loop_over_users(users, by_user), statistics(users, range(by_user)))
    seconds = bench.best(
        sizes.repeats,
        draw=lambda: draw(redrawn),
        statistics=lambda: statistics(users, range(n)),
        loop_over_samples=lambda: loop_over_samples(users, by_sample),
        loop_over_users=lambda: loop_over_users(users, by_user),
    )
    bench.record(
        "statistics_over_drawing",
        seconds["statistics"] / seconds["draw"],
        "ratio of times",
        "One pass of Algorithm 2's statistics, head step included, over kept users, against drawing them block by "
        f"block; n={n}, m=10, d=50, k=2, all samples in each step.",
        most=0.75,
    )
    for name, count, least, what in (
        ("loop_over_samples", by_sample, 40, "a loop over users and samples"),
        ("loop_over_users", by_user, 10, "a loop over users, vectorised over the samples of one user"),
    ):
        bench.record(
            f"speedup_over_{name}",
            seconds[name] / count * n / seconds["statistics"],
            "times faster",
            f"Head step and statistics of n={n} users against {what}; the loop ran over the first {count} users and "
            f"its time was scaled by {n / count:g}; both gave the same statistics.",
            least=least,
        )


def bench_gram(bench: Bench, sizes: Workload) -> None:
    """Rate of the Gram matrix against the machine's sgemm, at d = 100, k = 4, m = 10."""
    n = sizes.wide
    users = kept_users(Problem(users=n, samples=10, dim=100, rank=4, label_noise_sd=0.1))
    size = users.problem.dim * users.problem.rank
    rng = np.random.default_rng(0)
    counts = [block.users * users.problem.samples for block in users.blocks()]
    rows = rng.standard_normal((max(counts), size), dtype=np.float32)
    left, right = rng.standard_normal((2, 2000, 2000), dtype=np.float32)
    product = np.empty_like(left)

    def gram():
        """The lines of `moments` that sum A, block by block, on rows that are there already."""
        second = np.float64(0.0)
        for count in counts:
            part = rows[:count]
            second = second + (part.T @ part).astype(np.float64)

    seconds = bench.best(
        sizes.repeats,
        sgemm=lambda: np.matmul(left, right, out=product),
        gram_wide=gram,
        statistics_wide=lambda: statistics(users, range(n)),
    )
    sgemm_rate = 2 * 2000**3 / seconds["sgemm"]
    for name, work, what in (
        ("gram_rate_over_sgemm", "gram_wide", "The Gram part of `moments` alone"),
        (
            "moments_rate_over_sgemm",
            "statistics_wide",
            "The whole of `moments` with the head step, counted as its Gram,",
        ),
    ):
        bench.record(
            name,
            sum(counts) * size**2 / seconds[work] / sgemm_rate,
            "ratio of rates",
            f"{what} at d=100, k=4, m=10, n={n}, N (dk)^2 flops for N={sum(counts)} samples, against the rate of a "
            f"float32 2000x2000 product, 2 n^3 flops ({sgemm_rate / 1e9:.0f} Gflop/s).",
            least=0.5,
        )


def bench_score(bench: Bench, sizes: Workload) -> None:
    """The score of the exponential mechanism in a subspace near the truth against drawing the users,
    at d = 20, k = 2, m = 12."""
    n = 2 * sizes.paper
    problem = Problem(users=n, samples=12, dim=20, rank=2, head_law="sphere", label_noise_sd=0.1)
    users, redrawn = kept_users(problem), Users(problem, memory_budget=0)
    near = planted_subspace(users.truth.basis, 0.3, np.random.default_rng(0))[None]
    score = UserScore(Loss("pseudo-huber"), 6.0, math.sqrt(problem.rank), slice(0, problem.samples))
    seconds = bench.best(sizes.repeats, score_draw=lambda: draw(redrawn), score=lambda: score.totals(users, near))
    bench.record(
        "score_over_drawing",
        seconds["score"] / seconds["score_draw"],
        "ratio of times",
        f"Score of one subspace of Algorithm 4 (jain2021), all samples, over kept users ({1000 * seconds['score']:.0f} "
        f"ms), against drawing them block by block; n={n}, m=12, d=20, k=2.",
        most=1.0,
    )


def bench_fit(bench: Bench, sizes: Workload) -> None:
    """One whole fit: time against drawing its data, and peak memory of a new process."""
    n = sizes.paper
    redrawn = Users(Problem(users=n, samples=10, dim=50, rank=2, label_noise_sd=0.1), memory_budget=0)
    seconds = bench.best(sizes.repeats, fit_draw=lambda: draw(redrawn), fit=lambda: whole_fit(n))
    what = "draw, spectral initialisation, one epoch, personalise, score"
    bench.record(
        "fit_over_drawing",
        seconds["fit"] / seconds["fit_draw"],
        "ratio of times",
        f"One fit ({what}; all samples in each step) at n={n}, m=10, d=50, k=2 against drawing its data block by "
        "block.",
        most=2.5,
    )
    bench.record(
        "peak_rss_paper",
        peak_rss_of_fit(n) / 1e6,
        "MB",
        f"Peak resident memory of a new process that does the fit at n={n}, m=10, d=50, k=2.",
        most=600,
    )
    budget = "default memory budget" if sizes.many_budget is None else f"memory budget {sizes.many_budget}"
    bench.record(
        "peak_rss_many",
        peak_rss_of_fit(sizes.many, sizes.many_budget) / 1e6,
        "MB",
        f"The same at n={sizes.many} with the {budget}, blocks drawn again on each pass.",
        most=1000,
    )


def bench_slope(bench: Bench, sizes: Workload) -> None:
    """Growth of the fit time with the number of users, in each mode."""
    modes = {"kept": 10**10, "redrawn": 0}
    works = {f"fit_{mode}_{n}": (n, modes[mode]) for mode in modes for n in sizes.slope}
    seconds = bench.best(sizes.slope_repeats, **{name: lambda a=a: whole_fit(*a) for name, a in works.items()})
    for mode in modes:
        times = [seconds[f"fit_{mode}_{n}"] for n in sizes.slope]
        bench.record(
            f"slope_{mode}",
            np.polyfit(np.log(sizes.slope), np.log(times), 1)[0],
            "log-log slope",
            f"Least-squares slope of log fit time against log n for n in {', '.join(map(str, sizes.slope))} at m=10, "
            f"d=50, k=2, blocks {'kept in memory' if mode == 'kept' else 'drawn again on each pass'}.",
            least=0.9,
            most=1.1,
        )


def centaur_round(users: Users) -> None:
    """One round of CENTAUR: 16 samples for the heads, 16 for the gradients, clipped sum, noise, step."""
    draws = SampleDraws("reuse", users.problem.samples, np.random.default_rng(0))
    basis = users.truth.basis
    release = Release.from_one(1.0, np.random.default_rng(0), users.problem.users, Ledger())
    contribution = RepresentationGradients(basis, *draws.take(16, 16))
    orthonormalise(basis - 0.25 * Server(rounds=1, clip=10.0).mean("gradient", users, contribution, release))


def power_step(users: Users, runs: int) -> None:
    """One iteration of the private power method, 8 samples per user."""
    draws = SampleDraws("reuse", users.problem.samples, np.random.default_rng(0))
    power_method(
        users,
        RandomStarts(runs, users.problem.rank).draw(users.problem.dim, np.random.default_rng(0)),
        Release.from_one(1.0, np.random.default_rng(0), users.problem.users, Ledger()),
        iterations=1,
        draw_samples=lambda: draws.take(8)[0],
        clip=20.0,
    )


def bench_rounds(bench: Bench, sizes: Workload) -> None:
    """Rounds of CENTAUR and of the power method against drawing their users, and its runs together against one by
    one; d = 50, k = 2, m = 32."""
    problem = Problem(users=sizes.wide, samples=32, dim=50, rank=2, label_noise_sd=0.1)
    kept, redrawn = kept_users(problem), Users(problem, memory_budget=0)
    seconds = bench.best(
        sizes.repeats,
        round_draw=lambda: draw(redrawn),
        round_kept=lambda: centaur_round(kept),
        round_redrawn=lambda: centaur_round(redrawn),
        power_one=lambda: power_step(kept, 1),
        power_36=lambda: power_step(kept, 36),
    )
    size = f"n={problem.users}, m=32, q=16, d=50, k=2"
    for mode, most, what in (
        ("kept", 0.3, "over kept users"),
        ("redrawn", 1.3, "over users that are drawn again, drawing included"),
    ):
        bench.record(
            f"centaur_round_{mode}_over_drawing",
            seconds[f"round_{mode}"] / seconds["round_draw"],
            "ratio of times",
            f"One round of CENTAUR {what}, against drawing the users block by block; {size}.",
            most=most,
        )
    bench.record(
        "power_method_over_drawing",
        seconds["power_one"] / seconds["round_draw"],
        "ratio of times",
        "One iteration of one run of the private power method over kept users, 8 samples each, against drawing the "
        f"users block by block; {size}.",
        most=0.1,
    )
    bench.record(
        "power_method_together",
        36 * seconds["power_one"] / seconds["power_36"],
        "times faster",
        "One iteration of 36 runs of the private power method at once, against 36 times that of a single run; kept "
        f"users, n={problem.users}, 8 samples each, d=50, k=2.",
        least=1.5,
    )


SEARCH = """() => new Promise((done) => {
    const field = document.getElementById("query");
    if (field) { field.value = "paper:shen2023"; field.dispatchEvent(new Event("input")); }
    requestAnimationFrame(() => setTimeout(done));
})"""
"""Looks for something, where a page has a search, and waits for what is painted then."""

TEXT = "[...document.querySelectorAll('main :is(p, li, dd, figcaption)')].map((one) => one.textContent).join('\\n')"
"""What the page says in words, numbers in tables and pictures apart."""


def bench_page(bench: Bench, sizes: Workload, page: Path) -> None:
    """CPU of the page's thread in the browser until a search has an answer in sight, against a page that holds the same
    text and nothing else."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None or not page.exists():
        print(f"page_over_text: skipped, {'no Chromium is installed' if browser is None else f'{page} is not there'}")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])

        def visit(path: Path) -> tuple[float, str]:
            context = chromium.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            tab.set_default_timeout(0)
            told = context.new_cdp_session(tab)
            told.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(path.resolve().as_uri())
            tab.evaluate(SEARCH)
            metrics = {one["name"]: one["value"] for one in told.send("Performance.getMetrics")["metrics"]}
            text = tab.evaluate(TEXT)
            context.close()
            return metrics["TaskDuration"], text

        plain = Path(folder) / "text.html"
        plain.write_text(
            f"<!doctype html><meta charset=utf-8><pre>{html.escape(visit(page)[1])}</pre>", encoding="utf-8"
        )
        turns = [(visit(page)[0], visit(plain)[0]) for _ in range(sizes.repeats)]
        chromium.close()
    searched, text = map(min, zip(*turns, strict=True))
    bench.seconds |= {"page": searched, "page_text": text}
    bench.record(
        "page_over_text",
        searched / text,
        "ratio of times",
        f"CPU of the browser's thread for {page} until a search is answered, against a page of the same text alone "
        f"({1000 * text:.0f} ms).",
        most=12,
    )


def cpu_name() -> str:
    """The model name of the processor, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def host() -> dict:
    """Facts about the machine; raises RuntimeError unless BLAS runs on one thread."""
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if not pools or any(pool["num_threads"] != 1 for pool in pools):
        raise RuntimeError(f"BLAS must run on one thread; threadpoolctl reports {pools}")
    names = ("prefix", "internal_api", "version", "architecture", "num_threads")
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": [{name: pool.get(name) for name in names} for pool in pools],
        "settings": {name: value for name, value in sorted(os.environ.items()) if name.startswith("OPENBLAS_")},
    }


def main() -> None:
    """Run all measurements, or one fit in the process that measures memory."""
    parser = argparse.ArgumentParser(description="Measure speed and memory against fixed limits.")
    parser.add_argument("--output", type=Path, default=Path("reports/benchmarks.json"), help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="small sizes; the numbers are no measurement")
    parser.add_argument(
        "--peak-rss-of-fit", type=int, metavar="USERS", help="do one fit and print its peak memory in bytes"
    )
    parser.add_argument("--memory-budget", type=int, help="bytes of kept blocks in that fit")
    parser.add_argument(
        "--page", type=Path, default=Path("reports/index.html"), help="the rendered report, which a browser loads"
    )
    args = parser.parse_args()
    facts = host()
    if args.peak_rss_of_fit is not None:
        whole_fit(args.peak_rss_of_fit, args.memory_budget)
        print(peak_rss())
        return
    started = time.perf_counter()
    sizes = QUICK if args.quick else Workload()
    bench = Bench()
    for measure in (bench_statistics, bench_gram, bench_score, bench_fit, bench_slope, bench_rounds):
        measure(bench, sizes)
    bench_page(bench, sizes, args.page)
    elapsed = time.perf_counter() - started
    content = {
        "quick": args.quick,
        "host": facts,
        "wall_seconds": round(elapsed, 1),
        "records": [asdict(record) for record in bench.records],
        "cpu_seconds": {name: round(value, 6) for name, value in bench.seconds.items()},
    }
    with in_one_move(args.output) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")
    missed = ", ".join(record.name for record in bench.records if not record.holds)
    verdict = f"missed: {missed}" if missed else "all limits hold"
    if args.quick:
        verdict = "small sizes, to which the limits do not apply"
    print(f"{elapsed:.0f} s; {verdict}; wrote {args.output}")


if __name__ == "__main__":
    main()
