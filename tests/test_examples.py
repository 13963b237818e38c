"""Each method's docstring ends with an example, which is run here."""

from __future__ import annotations

import doctest
import importlib

import pytest

from privrep.run.registry import method_files


@pytest.mark.parametrize("name", [name for name, path in method_files().items() if path.parent.name == "algorithms"])
def test_the_example_of_a_method_runs(name):
    """It fits this method, and shows what stands below it."""
    module = importlib.import_module(f"privrep.algorithms.{name}")
    assert f'= fit("{name}", ' in module.__doc__
    found = doctest.testmod(module)
    assert found.attempted >= 3 and not found.failed
