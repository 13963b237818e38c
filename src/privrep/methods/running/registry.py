"""Methods and experiments by name, that of their file: a method's file declares options, as centaur.py declares
`CentaurOptions`; an experiment's file has a function of its name (`privrep.methods.running.experiment`). A method with
steps of its own is a folder, and declares its options in method.py."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Sequence
from pathlib import Path

from privrep.methods.running.method import MethodOptions
from privrep.options import build

METHODS = ("privrep.methods",)  # packages searched by default, before those of experiments
SOURCE = Path(__file__).parents[3]


def options_name(name: str) -> str:
    """Return the name of the class of options in the file `name`.

    >>> options_name("dp_fedavg")
    'DpFedavgOptions'
    """
    return name.title().replace("_", "") + "Options"


def load_options(name: str, options: dict, packages: Sequence[str] = METHODS) -> MethodOptions:
    """Return the options of the file `name` with these values; ValueError if file, option or value does not exist."""
    return build(options_class(name, packages), options, name)


def options_class(name: str, packages: Sequence[str] = METHODS) -> type[MethodOptions]:
    """Return the class of options of the file `name`; ValueError if the file does not exist or has none."""
    for package in packages:
        path = f"{package}.{name}"
        try:
            module = importlib.import_module(path)
            if hasattr(module, "__path__"):
                module = importlib.import_module(f"{path}.method")
            break
        except ModuleNotFoundError as error:
            if error.name not in (path, f"{path}.method"):
                raise
    else:
        near = difflib.get_close_matches(str(name), method_files(packages), n=1, cutoff=0)
        place = f"src/privrep/methods/{name}.py"
        raise ValueError(f"algorithm is {name!r}; there is no file {place}, the nearest is {near[0]}")
    options = getattr(module, options_name(name), None) or getattr(module, name, None)
    if options is None:
        raise ValueError(
            f"algorithm is {name!r}; that file has no {options_name(name)}: it is a step of other algorithms and "
            "cannot run alone"
        )
    return options


def method_files(packages: Sequence[str] = METHODS) -> dict[str, Path]:
    """Return name -> file, below `src`, of all methods and experiments of some packages, without importing any."""
    files = {}
    for folder in (SOURCE.joinpath(*package.split(".")) for package in packages):
        for path in sorted([*folder.glob("*.py"), *folder.glob("*/method.py")]):
            name = path.parent.name if path.stem == "method" else path.stem
            if re.search(rf"^((class )?{options_name(name)}|(def )?{name})\b", path.read_text(), re.MULTILINE):
                files[name] = Path("src", path.relative_to(SOURCE))
    return files
