"""Check that no folder holds more lines of Python and C than its limits in pyproject.toml; --write sets them anew.

A limit has two numbers: code lines, which leave out docstrings, comments, imports and blank lines, and all lines.
The limits keep the project small enough for others to take over; --write sets them 3 % above what is there.
"""

import argparse
import ast
import io
import math
import re
import sys
import tokenize
import tomllib
from pathlib import Path

PROJECT = Path("pyproject.toml")
UNCOUNTED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_c(source: str) -> tuple[int, int]:
    """Return the number of code lines and of all lines of a C file."""
    code = re.sub(r"//.*|/\*[\s\S]*?\*/|^#include.*", "", source, flags=re.MULTILINE)
    return sum(map(bool, map(str.strip, code.splitlines()))), len(source.splitlines())


def lines_of(source: str) -> tuple[int, int]:
    """Return the number of code lines and of all lines of a Python file."""
    left_out, used = set(), set()
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if isinstance(node, ast.stmt) and (text or isinstance(node, ast.Import | ast.ImportFrom)):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in UNCOUNTED:
            used |= set(range(token.start[0], token.end[0] + 1))
    return len(used - left_out), len(source.splitlines())


def counts() -> dict[str, list[int]]:
    """Return the code lines and all lines of each package of src and of each of their folders, and of workflow, tests
    and bench."""
    packages = {path.parent for depth in ("*/*.py", "*/*/*.py") for path in Path("src").glob(depth)}
    lines = {}
    for folder in (*sorted(packages), Path("workflow"), Path("tests"), Path("bench")):
        pairs = [lines_of(path.read_text()) for path in folder.rglob("*.py")]
        pairs += [lines_of_c(path.read_text()) for path in folder.rglob("*.c")]
        lines[folder.as_posix()] = [sum(pair[which] for pair in pairs) for which in (0, 1)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="set the limits 3 %% above the lines that are there")
    lines, text = counts(), PROJECT.read_text()
    if parser.parse_args().write:
        limits = "".join(f'"{name}" = {[math.ceil(1.03 * n) for n in numbers]}\n' for name, numbers in lines.items())
        PROJECT.write_text(re.sub(r'(?<=\[tool\.privrep\.lines\]\n)(".*\n)*', limits, text))
        return
    limits = tomllib.loads(text)["tool"]["privrep"]["lines"]
    for name, numbers in lines.items():
        for count, limit, what in zip(numbers, limits.get(name, [0, 0]), ("code lines", "lines"), strict=True):
            if count > limit:
                sys.exit(f"{name}: {count} {what} of Python and C, limit {limit} (pyproject.toml); name what leaves")


if __name__ == "__main__":
    main()
