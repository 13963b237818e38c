"""Speed of the library on this machine, against fixed limits: `make bench`.

Every speed is a ratio of two times of one run, so that it means the same on a slow and on a fast machine. The works
that are compared run in turn, several rounds of them, and the shortest time of each counts. Times are CPU seconds of
this process, which has one BLAS thread: another process on the same core does not add to them.
"""

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import inspect
import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from threadpoolctl import threadpool_info


def pytest_addoption(parser):
    """`--small` is for a test of the benchmarks."""
    parser.addoption("--small", action="store_true", help="a tenth of the users, to which the limits do not apply")


def pytest_report_teststatus(report):
    """What was measured, as it comes in."""
    if report.when == "call" and report.user_properties:
        return report.outcome, report.outcome[0], dict(report.user_properties)["measured"]


def pytest_benchmark_update_machine_info(machine_info):
    """What else the times depend on."""
    machine_info |= {"numpy": np.__version__, "threads": threadpool_info()}


@pytest.fixture(scope="session")
def small(request) -> bool:
    """Whether this run is a test, in which the numbers are no measurement. Fails unless BLAS has one thread."""
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}, threadpool_info()
    return request.config.getoption("small")


@pytest.fixture(scope="session")
def size(small) -> Callable[[int], int]:
    """The number of users to take for a given one."""
    return lambda users: users // 10 if small else users


@pytest.fixture
def in_turn(benchmark, small) -> Callable[..., list[float]]:
    """Least CPU seconds of a work, which is the benchmark, and of others, which run before it in each round. One round
    more does not count."""

    def run(work: Callable[[], object], *others: Callable[[], object]) -> list[float]:
        times: list[list[float]] = []

        def before() -> None:
            times.append([])
            for other in others:
                start = time.process_time()
                other()
                times[-1].append(time.process_time() - start)

        benchmark.pedantic(work, setup=before, rounds=2 if small else 7, warmup_rounds=1)
        benchmark.extra_info["seconds"] = [benchmark.stats["min"], *map(min, zip(*times[1:], strict=True))]
        return benchmark.extra_info["seconds"]

    return run


@pytest.fixture
def judge(benchmark, request, record_property, small) -> Callable[..., None]:
    """Records a value, and fails unless least <= value <= most."""

    def check(value: float, unit: str, *, least: float = 0.0, most: float = math.inf) -> None:
        limits, how = f"{least:g} .. {most:g}", " ".join(inspect.getdoc(request.function).split())
        benchmark.extra_info |= {"value": float(value), "unit": unit, "limits": limits, "how": how, "small": small}
        record_property("measured", f"{value:.4g} {unit}, limits {limits}")
        assert small or least <= value <= most, f"{value:.4g} {unit} is not within {limits}"

    return check
