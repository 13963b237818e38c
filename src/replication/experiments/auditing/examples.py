"""Options of the example in the docstring of a method's file."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import fields

from privrep.methods.running.registry import options_class


def example_options(name: str) -> dict:
    """Return the options of the example in the docstring of a method's file, which tests and audits use, too."""
    kind = options_class(name)
    lines = re.findall(r"^(?:>>>|\.\.\.) (.*)$", str(sys.modules[kind.__module__].__doc__), re.MULTILINE)
    calls = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Call)]
    (fit,) = [call for call in calls if ast.unparse(call.func) == "fit"]
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in fit.keywords}
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}
