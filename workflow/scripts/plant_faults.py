"""Plant small random faults in folders, one at a time, and report which of them the tests see.

A fault is another operator, comparison or number, a condition reversed, two arguments exchanged, or a statement left
out; decorators, annotations and f-strings stay as they are. For each fault, a process of its own runs fast tests
that reach its line: first of the same folder, then others, cheap ones first, up to SECONDS for either. A fault that no
test sees survives, unless HARMLESS has the reason why it has no effect. A fault is planted in memory, which does not
reach scripts: tests run them in processes of their own.

Other tools do not fit: mutmut skips decorated functions and module-level code and takes no sample; cosmic-ray starts
Python for each fault, which takes longer than the tests.
"""

import argparse
import ast
import csv
import multiprocessing
import os
import random
import resource
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from importlib.machinery import SourceFileLoader
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

TABLE, HARMLESS = Path("docs/faults.csv"), Path("workflow/harmless_faults.toml")
COLUMNS = ("folder", "seed", "file", "line", "fault", "outcome", "reason")
PARTS = {"src/images": "images", "src/replication/run": "replication workflow/test_faults.py workflow/test_schemas.py"}
"""The parts of the tests that reach a folder; where it is not here, these are `MOST`."""
MOST, MARKS = "privrep replication", "not (run or browser or slurm or long)"
COUNT, SECONDS, FAILED = 60, 8, 99
PAIRS = ("Add Sub", "Mult Div", "BitAnd BitOr", "And Or", "Lt LtE", "Gt GtE", "Eq NotEq", "Is IsNot", "In NotIn")
SWAPPED = {first: second for pair in PAIRS for first, second in (pair.split(), pair.split()[::-1])}
SWAPPED |= {"FloorDiv": "Div", "Mod": "Mult", "Pow": "Mult"}
FORK = multiprocessing.get_context("fork")
PACKAGES = "dp_accounting.pld hypothesis jax opendp.prelude pyarrow.parquet pydantic seaborn typer sklearn.base"
"""Imported once, for all faults."""


def faulty(node: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """Return a part of a node and its faulty replacement, or None."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.Compare(ops=[op, *_]) if type(op).__name__ in SWAPPED:
            other = getattr(ast, SWAPPED[type(op).__name__])()
            change = {"ops": [other, *node.ops[1:]]} if isinstance(node, ast.Compare) else {"op": other}
            return node, type(node)(**dict(ast.iter_fields(node)) | change)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return node, operand
        case ast.If(test) | ast.While(test) | ast.IfExp(test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            return test, ast.UnaryOp(ast.Not(), test)
        case ast.Constant(bool() | int() | float() as value):
            new = {bool: lambda: not value, int: lambda: value + 1, float: lambda: 2 * value or 1.0}[type(value)]()
            return node, ast.Constant(new)
        case ast.Call(func, [first, second, *rest], named) if ast.dump(first) != ast.dump(second):
            return node, ast.Call(func, [second, first, *rest], named)
        case ast.Call(func, few, [ast.keyword(str() as a, first), ast.keyword(str() as b, second), *rest]):
            return node, ast.Call(func, few, [ast.keyword(a, second), ast.keyword(b, first), *rest])
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Assign([ast.Attribute() | ast.Subscript()]):
            return node, ast.Pass()


def faults(path: str) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield all faults of a file: path, line, description of the change, and the changed source with the same lines."""
    source = Path(path).read_bytes()
    lines = source.splitlines(keepends=True)

    def walk(node: ast.AST, place: str) -> Iterator[tuple[str, int, str, bytes]]:
        if b"pragma: no cover" in lines[getattr(node, "lineno", 1) - 1]:
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            place = f"{place}.{node.name}".lstrip(".")
        if pair := faulty(node):
            old: Any = pair[0]
            new = ast.unparse(ast.fix_missing_locations(pair[1]))
            first, last = (sum(map(len, lines[: line - 1])) for line in (old.lineno, old.end_lineno))
            told = " ".join(f"{place}: {ast.unparse(old)} {'left out' if new == 'pass' else f'-> {new}'}".split())
            more = "\n" * (old.end_lineno - old.lineno)
            new = new + more if new == "pass" else f"({new}{more})"
            changed = source[: first + old.col_offset] + new.encode() + source[last + old.end_col_offset :]
            yield path, old.lineno, told, changed
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                sort = isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr)
                if sort and name not in ("annotation", "returns", "decorator_list"):
                    yield from walk(child, place)

    return walk(ast.parse(source), "")


def run(words: list[str], plugin: object) -> int:
    """Run pytest in this process, in silence; its plugins may have been imported before."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    quiet = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    status = pytest.main([*quiet, *words], plugins=[plugin])
    for worker in multiprocessing.active_children():  # otherwise this process waits for joblib's workers
        worker.terminate()
    return int(status)


def own(folder: str) -> str:
    """Return the folder of the tests of a folder."""
    return f"tests/{folder.removeprefix('src/')}/"


class Watch:
    """A plugin that records which tests run each line, and the seconds of each test that starts no other process."""

    def __init__(self, folders: list[str]):
        from coverage import Coverage

        self.own, self.seconds, self.failed = tuple(map(own, folders)), {}, set()
        self.coverage = Coverage(data_file=None, config_file=False, source=["src", "workflow"])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid.startswith(self.own) or not item.get_closest_marker("slow")]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        start = os.times()
        self.coverage.switch_context(item.nodeid)
        yield
        took = [after - before for before, after in zip(start, os.times(), strict=True)]
        if not took[2]:  # the fault would not reach another process
            self.seconds[item.nodeid] = took[0] + took[1]

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)


def mapped(part: str, folders: list[str]) -> tuple[dict, dict, set[str]]:
    """Run the tests of a part, slow ones of the folders alone; return seconds of passing tests, tests by line, and
    tests that fail with no fault."""
    watch = Watch(folders)
    with watch.coverage.collect():
        run([f"tests/{part}", "-m", MARKS, "--maxfail=99"], watch)
    data = watch.coverage.get_data()
    lines = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
    return {test: took for test, took in watch.seconds.items() if test not in watch.failed}, lines, watch.failed


def chosen(folder: str, file: str, line: int, seconds: dict[str, float], lines: dict) -> list[list[str]]:
    """Return the tests of a line: those of the same folder, then others. For a line that runs on import
    these are all that reach the file. Of the folder whole test files run: tests may use results of earlier ones."""
    by_line = lines[str(Path(file).resolve())]
    close = set(by_line.get(line, ()))
    close = close.union(*by_line.values()) if "" in close else close
    files, stages = {test.partition("::")[0] for test in close}, []
    here = [test for test in seconds if test.partition("::")[0] in files and test.startswith(own(folder))]
    for tests in (here, [test for test in seconds if test in close and not test.startswith(own(folder))]):
        tests.sort(key=lambda test: (test not in close, seconds[test]))
        ends = accumulate(seconds[test] for test in tests)
        stages.append([test for test, end in zip(tests, ends, strict=True) if end < SECONDS])
    return stages


class Chosen:
    """A plugin that runs the given tests alone, in the given order."""

    def __init__(self, tests: list[str]):
        self.place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.place]
        items.sort(key=lambda item: self.place[item.nodeid])


def tried(file: str, source: bytes, stages: list[list[str]]) -> None:
    """Run the tests of the stages on the changed source of a file; exit with 1 if one fails."""
    read, path = SourceFileLoader.get_code, str(Path(file).resolve())

    def get_code(self, name):
        return compile(source, path, "exec") if self.path == path else read(self, name)

    SourceFileLoader.get_code = get_code  # pyright: ignore[reportAttributeAccessIssue] -- its own class has none
    resource.setrlimit(resource.RLIMIT_CPU, (8 * SECONDS, 8 * SECONDS))
    files = [sorted({test.partition("::")[0] for test in tests}) for tests in stages]
    try:
        os._exit(any(run(words, Chosen(tests)) for words, tests in zip(files, stages, strict=True) if tests))
    finally:
        os._exit(FAILED)


def seen(*what) -> bool:
    """Return whether the tests see a fault; a fault that makes them run for ever counts as seen."""
    process = FORK.Process(target=tried, args=what)
    process.start()
    process.join(60 * SECONDS)
    process.kill()
    process.join()
    assert process.exitcode != FAILED, what[0]
    return process.exitcode != 0


def judged(folders: list[str], seed: int) -> Iterator[dict]:
    """Yield a sample of the faults of each folder, with their outcomes; two faults run at a time."""
    with ProcessPoolExecutor(2, FORK) as pool:
        names = {part for folder in folders for part in PARTS.get(folder, MOST).split()}
        parts = list(pool.map(mapped, names, [folders] * len(names)))
    seconds, lines = {}, defaultdict(lambda: defaultdict(list))
    for took, files, failed in parts:
        sys.stderr.writelines(f"{test} fails without a fault, and is left out\n" for test in failed)
        seconds |= took
        for file, tests in files.items():
            for line, names in tests.items():
                lines[file][line] += names
    for package in PACKAGES.split():
        import_module(package)
    reasons = tomllib.loads(HARMLESS.read_text())
    for folder in folders:
        every = [fault for file in sorted(Path(folder).rglob("*.py")) for fault in faults(str(file))]
        sample = random.Random(f"{seed} {folder}").sample(every, min(COUNT, len(every)))
        tests = [chosen(folder, file, line, seconds, lines) for file, line, *_ in sample]
        if seen(sample[0][0], Path(sample[0][0]).read_bytes(), tests[0]):
            sys.exit(f"{folder}: tests fail without a fault where they run alone")
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(seen, [fault[0] for fault in sample], [fault[3] for fault in sample], tests))
        for (file, line, told, _), noticed in zip(sample, outcomes, strict=True):
            reason = "" if noticed else reasons.get(file, {}).get(told, "")
            outcome = "seen" if noticed else "harmless" if reason else "survives"
            yield dict(zip(COLUMNS, (folder, seed, file, line, told, outcome, reason), strict=True))


def scores(rows: list[dict]) -> str:
    """Return a table by folder: the share of seen faults among those that are not harmless, with its interval."""
    lines = ["folder                     faults  harmless  survive  seen, with 95 % Wilson interval"]
    for folder in dict.fromkeys(row["folder"] for row in rows):
        counted = Counter(row["outcome"] for row in rows if row["folder"] == folder)
        test = binomtest(counted["seen"], counted["seen"] + counted["survives"])
        low, high = test.proportion_ci(method="wilson")
        told = f"{test.statistic:.1%} [{low:.1%}, {high:.1%}]"
        lines.append(f"{folder:<27}{counted.total():>6}{counted['harmless']:>10}{counted['survives']:>9}  {told}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="of src (default: those of TABLE)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--show", action="store_true", help="print the faults in TABLE, and plant none")
    asked = parser.parse_args()
    rows: list[Any] = list(csv.DictReader(TABLE.open())) if TABLE.exists() else []
    folders = asked.folders or list(dict.fromkeys(row["folder"] for row in rows))
    if scripts := [one for one in folders if not one.startswith("src/")]:
        parser.error(f"{scripts[0]}: it must be a folder of src; a fault of a script would reach no test")
    if not asked.show:
        rows = [row for row in rows if row["folder"] not in folders] + list(judged(folders, asked.seed))
        rows.sort(key=lambda row: (row["folder"], row["file"], int(row["line"]), row["fault"]))
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    survivors = [f"{row['file']}:{row['line']}: {row['fault']}" for row in rows if row["outcome"] == "survives"]
    print("\n".join([*survivors, scores(rows)]))


if __name__ == "__main__":
    main()
