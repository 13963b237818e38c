"""Options of audited mechanisms: those stated in mechanisms.toml, or those of a method's example in its docstring."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from privrep.methods.running.registry import METHODS, load_options, options_class

PACKAGES = (*METHODS, "replication.methods", "replication.experiments")


def example_options(name: str) -> dict:
    """Return the options of the example in the docstring of a method's file, which tests and audits use, too."""
    kind = options_class(name)
    lines = re.findall(r"^(?:>>>|\.\.\.) (.*)$", str(sys.modules[kind.__module__].__doc__), re.MULTILINE)
    calls = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Call)]
    (fit,) = [call for call in calls if ast.unparse(call.func) == "fit"]
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in fit.keywords}
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}


def stated_options(heading: str) -> dict[str, Any]:
    """Return name -> options of the mechanisms under a heading of mechanisms.toml."""
    stated = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[heading]
    return {name: load_options(options.pop("algorithm", name), options, PACKAGES) for name, options in stated.items()}
