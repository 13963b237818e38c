"""Plant random small faults in a folder, one at a time, and say which of them the tests see.

A fault is another operator, comparison or number, a condition reversed, two arguments exchanged, or a statement left
out. Each runs in a process of its own on the fast tests whose files come to its line: first those of the same folder,
then others, cheap ones first, for SECONDS each. A fault that none of them sees survives, unless HARMLESS says why it
changes nothing that anybody could see. Decorators, annotations and the words of f-strings stay as they are.

mutmut leaves decorated functions and what stands outside of functions alone and takes no sample; cosmic-ray starts
Python anew for each fault, which here takes longer than the tests.
"""

import argparse
import ast
import csv
import os
import pickle
import random
import resource
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from coverage import Coverage
from scipy.stats import binomtest

FOLDERS = ("src/privrep/privacy", "src/privrep/estimator", "src/replication/evidence", "src/replication/report")
TABLE, HARMLESS = Path("docs/faults.csv"), Path("workflow/harmless_faults.toml")
COLUMNS = ("folder", "seed", "file", "line", "place", "fault", "outcome", "reason")
COUNT, SECONDS = 60, 8
PARTS, FAST = ("tests/privrep", "tests/replication"), "not (run or browser or slurm or long or slow)"
PAIRS = ("Add Sub", "Mult Div", "BitAnd BitOr", "And Or", "Lt LtE", "Gt GtE", "Eq NotEq", "Is IsNot", "In NotIn")
PAIRS += ("FloorDiv Div", "Mod Mult", "Pow Mult")
SWAPPED = {one: other for pair in reversed(PAIRS) for one, other in (pair.split(), pair.split()[::-1])}
SWAPPED = {getattr(ast, one): getattr(ast, other)() for one, other in SWAPPED.items()}


class Fault(NamedTuple):
    """A fault by its place, and the whole file with it."""

    file: str
    line: int
    place: str
    fault: str
    source: str


def faulty(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may stand in place of a node or of a part of it."""
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPPED:
            yield node, type(node)(**dict(ast.iter_fields(node)) | {"op": SWAPPED[type(op)]})
        case ast.Compare(left, [op, *ops], others):
            yield node, ast.Compare(left, [SWAPPED[type(op)], *ops], others)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, operand
        case ast.If(test) | ast.While(test) | ast.IfExp(test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Constant(bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield node, ast.Constant(value + 1 if isinstance(value, int) else 2 * value)
        case ast.Call(func, [one, two, *rest], named) if ast.dump(one) != ast.dump(two):
            yield node, ast.Call(func, [two, one, *rest], named)
        case ast.Call(func, few, [ast.keyword(str() as a, one), ast.keyword(str() as b, two), *rest]):
            if ast.dump(one) != ast.dump(two):
                yield node, ast.Call(func, few, [ast.keyword(a, two), ast.keyword(b, one), *rest])
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield node, ast.Pass()


def faults(path: str) -> Iterator[Fault]:
    """All faults of a file. Its lines keep their numbers."""
    source = Path(path).read_text()
    lines = source.encode().splitlines(keepends=True)

    def walk(node: ast.AST, place: str) -> Iterator[Fault]:
        if b"pragma: no cover" in lines[getattr(node, "lineno", 1) - 1]:
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            place = f"{place}.{node.name}".lstrip(".")
        for old, new in faulty(node):
            start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
            end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
            text, more = ast.unparse(ast.fix_missing_locations(new)), "\n" * (old.end_lineno - old.lineno)
            text, was = text if isinstance(new, ast.Pass) else f"({text}{more})", ast.unparse(old)
            whole = source.encode()
            whole = (whole[:start] + text.encode() + whole[end:]).decode()
            told = f"{was} left out" if isinstance(new, ast.Pass) else f"{was} -> {ast.unparse(new)}"
            yield Fault(path, old.lineno, place, " ".join(told.split()), whole)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                        yield from walk(child, place)

    yield from walk(ast.parse(source), "")


class Watch:
    """A plugin that says which test each line is for, and how long a test takes."""

    def __init__(self, coverage: Coverage):
        self.coverage, self.seconds = coverage, {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        start = time.process_time()
        self.coverage.switch_context(item.nodeid)
        yield
        self.seconds[item.nodeid] = time.process_time() - start


class Chosen:
    """A plugin that runs certain tests alone, in their order."""

    def __init__(self, tests: list[str]):
        self.order = {name: place for place, name in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def run(words: list[str], plugin: object) -> int:
    """Run pytest in this process, which may have imported its plugins."""
    quiet = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return pytest.main([*quiet, *words], plugins=[plugin])


def forked(work: Callable[[], int]) -> int:
    """Start a piece of work in a process of its own, in silence and with a limit of CPU time; its result is the status."""
    child = os.fork()
    if not child:
        status = 99
        with suppress(BaseException):
            sys.stdout.flush()
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            status = int(work())
        os._exit(status)
    return child


def mapped(part: str, file: Path) -> int:
    """Run the fast tests of a folder, and write which of them come to which line, how long each takes, and what they
    import that is no part of the project."""
    coverage = Coverage(data_file=None, config_file=False, source=["src"])
    watch = Watch(coverage)
    coverage.start()
    status = run([part, "-m", FAST], watch)
    coverage.stop()
    data = coverage.get_data()
    lines = {name: data.contexts_by_lineno(name) for name in data.measured_files()}
    packages = [
        name for name, module in sys.modules.items() if "site-packages" in (getattr(module, "__file__", "") or "")
    ]
    file.write_bytes(pickle.dumps((lines, watch.seconds, packages)))
    return status


class Map:
    """Which tests come to which line."""

    def __init__(self, parts: list[tuple]):
        self.seconds = {test: took for part in parts for test, took in part[1].items()}
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.imported: dict[str, set[int]] = defaultdict(set)
        for lines, *_ in parts:
            for name, contexts in lines.items():
                for line, tests in contexts.items():
                    self.tests[name, line] |= set(tests) - {""}
                    if "" in tests:
                        self.imported[name].add(line)

    def chosen(self, fault: Fault) -> list[list[str]]:
        """Tests of the same folder, and others. What runs when a file is read is for all tests that come to the file.
        A test after the one that comes to a line may judge what that one made, so that whole files of tests count."""
        name = str(Path(fault.file).resolve())
        close = self.tests[name, fault.line]
        if fault.line in self.imported[name]:
            close = close.union(*(tests for (file, _), tests in self.tests.items() if file == name))
        files, own = {test.partition("::")[0] for test in close}, f"tests/{Path(fault.file).parent.relative_to('src')}/"
        stages: list[list[str]] = []
        for here in (True, False):
            tests = [test for test in self.seconds if test.partition("::")[0] in files and test.startswith(own) is here]
            stages.append([])
            left = SECONDS
            for test in sorted(tests, key=lambda test: (test not in close, self.seconds[test])):
                left -= self.seconds[test]
                if left > 0:
                    stages[-1].append(test)
        return stages


def survives(fault: Fault, stages: list[list[str]]) -> bool:
    """Whether no test of the stages sees a fault; a test that does not end does."""
    read, path = SourceFileLoader.get_code, str(Path(fault.file).resolve())

    def get_code(self, fullname):
        return compile(fault.source, path, "exec") if self.path == path else read(self, fullname)

    SourceFileLoader.get_code = get_code
    resource.setrlimit(resource.RLIMIT_CPU, (8 * SECONDS, 8 * SECONDS))
    signal.alarm(60 * SECONDS)
    files = [sorted({test.partition("::")[0] for test in tests}) for tests in stages]
    status = [run(words, Chosen(tests)) for words, tests in zip(files, stages, strict=True) if tests]
    return not any(status)


def judged(folders: list[str], seed: int, jobs: int) -> Iterator[dict]:
    """The faults of folders with their outcomes, two at a time."""
    with TemporaryDirectory() as made:
        files = [Path(made, str(number)) for number in range(len(PARTS))]
        running = [forked(partial(mapped, part, file)) for part, file in zip(PARTS, files, strict=True)]
        if failed := [part for part, child in zip(PARTS, running, strict=True) if os.waitpid(child, 0)[1]]:
            sys.exit(f"A test fails without any fault: python -m pytest -m '{FAST}' {' '.join(failed)}")
        parts = [pickle.loads(file.read_bytes()) for file in files]
    for package in sorted({name for part in parts for name in part[2]}):
        with suppress(Exception):
            import_module(package)
    found, reasons, running = Map(parts), tomllib.loads(HARMLESS.read_text()), {}
    for folder in folders:
        every = [fault for path in sorted(Path(folder).rglob("*.py")) for fault in faults(str(path))]
        waiting = random.Random(f"{seed} {folder}").sample(every, min(COUNT, len(every)))
        while waiting or running:
            while waiting and len(running) < jobs:
                fault = waiting.pop()
                running[forked(partial(survives, fault, found.chosen(fault)))] = fault
            child, status = os.wait()
            fault = running.pop(child)
            reason = reasons.get(fault.file, {}).get(f"{fault.place}: {fault.fault}", "")
            outcome = "seen" if status != 1 << 8 else "harmless" if reason else "survives"
            yield dict(zip(COLUMNS, (folder, seed, *fault[:4], outcome, reason), strict=True))


def scores(rows: list[dict]) -> str:
    """Of each folder the share that is seen of those that are not harmless, with its interval."""
    lines = ["folder                     faults  harmless  survive  seen, with 95 % Wilson interval"]
    for folder in dict.fromkeys(row["folder"] for row in rows):
        found = Counter(row["outcome"] for row in rows if row["folder"] == folder)
        test = binomtest(found["seen"], found["seen"] + found["survives"])
        low, high = test.proportion_ci(method="wilson")
        told = f"{test.statistic:.1%} [{low:.1%}, {high:.1%}]"
        lines.append(f"{folder:<27}{found.total():>6}{found['harmless']:>10}{found['survives']:>9}  {told}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=list(FOLDERS), help="of src (default: all that TABLE has)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time")
    asked = parser.parse_args()
    rows = list(csv.DictReader(TABLE.open())) if TABLE.exists() else []
    rows = [row for row in rows if row["folder"] not in asked.folders]
    for row in judged(asked.folders, asked.seed, asked.jobs):
        rows.append(row)
        if row["outcome"] == "survives":
            print(f"{row['file']}:{row['line']}: {row['place']}: {row['fault']}", flush=True)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["folder"], row["file"], int(row["line"]), row["fault"])))
    print(scores(rows))


if __name__ == "__main__":
    main()
