"""The first line of a red test: its name, the statement that failed with the case of each loop around it, and what
differs. pytest itself begins with `assert 34 >= 48`, an array or a diff."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from types import FrameType

import pytest

TESTS = Path(__file__).parent
NOISE = re.compile(r"\s{4}|\s*(?:Omitting|Use -v|Full diff|Skip|\.\.\.Full|\?|[-+]{3} |@@|HTML|\+ +(?:where|and)|$)")
"""Lines of a message that do not say what differs."""


def short(text: str, width: int) -> str:
    return shorten(text, width, placeholder=" ...")


def around(file: str, line: int) -> list[ast.stmt]:
    """The statements around a line of a file, the innermost last."""
    nodes = ast.walk(ast.parse(Path(file).read_text()))
    found = [node for node in nodes if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)]
    return sorted(found, key=lambda node: node.lineno)


def said(statement: ast.stmt) -> str:
    """A statement in one line: the condition of an assertion, the head of a compound statement."""
    return short(ast.unparse(statement.test if isinstance(statement, ast.Assert) else statement).split("\n")[0], 160)


def cases(frame: FrameType, statements: list[ast.stmt]) -> Iterator[str]:
    """The variables of the loops around, with their values."""
    targets = [node.target for node in statements if isinstance(node, ast.For)]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    names += [name for name in frame.f_locals if frame.f_code.co_name in ("<listcomp>", "<genexpr>") and name != ".0"]
    return (f"{name} = {short(repr(frame.f_locals.get(name)), 80)}" for name in names)


def exceptions(frame: FrameType, statement: ast.stmt) -> Iterator[str]:
    """The first case for which a condition on all does not hold. It is evaluated once more."""
    for node in ast.walk(statement) if isinstance(statement, ast.Assert) else ():
        match node:
            case ast.Call(ast.Name("all"), [ast.GeneratorExp(condition, [*loops, last])]):
                missed = ast.UnaryOp(ast.Not(), condition)
                last = ast.comprehension(last.target, last.iter, [*last.ifs, missed], 0)
                code = ast.unparse(ast.ListComp(last.target, [*loops, last]))
                with suppress(Exception):
                    found = eval(code, frame.f_globals | frame.f_locals)
                    yield from (f"not for {short(repr(one), 120)}" for one in found[:1])


def of_files(message: str) -> str:
    """Keep of two files that differ the name and the first line that differs, old and new; any other message whole."""
    head, _, diff = message.partition("\n@@")
    found = [re.search(rf"^\{sign}.*", diff, re.MULTILINE) for sign in "-+"]
    changed = [one[0][:110] for one in found if one]
    return "\n".join(["FILES DIFFER:", Path(head.splitlines()[1]).name, *changed]) if changed else message


def first_line(name: str, excinfo: pytest.ExceptionInfo) -> str:
    """Name the test, the case, the statement and what it found."""
    entries = [entry for entry in excinfo.traceback if TESTS in Path(entry.path).parents]
    places = [(entry.frame.raw, around(str(entry.path), entry.lineno + 1)) for entry in entries]
    where = ", ".join(case for place in places for case in cases(*place))
    lines = [" ".join(line.split()) for line in of_files(excinfo.exconly()).splitlines() if not NOISE.match(line)]
    test, _, case = name.removeprefix("test_").partition("[")
    words = [test.replace("_", " ") + (f" [{case}" if case else "") + (f" where {where}" if where else "")]
    for frame, statements in places[-1:]:
        words += [said(statements[-1]), *exceptions(frame, statements[-1])]
    words += [short(lines[0].removeprefix("AssertionError: ").rstrip(":"), 160), short("; ".join(lines[1:]), 240)]
    return ": ".join(filter(None, words))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Set that line before the others."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.failed and crash and call.excinfo:
        line = first_line(item.name, call.excinfo)
        crash.message = f"{line}\n{crash.message}"
        lines = report.longrepr.reprtraceback.reprentries[-1].lines
        lines.insert(next((i for i, each in enumerate(lines) if each.startswith("E")), len(lines)), f"E   {line}")
    return report
