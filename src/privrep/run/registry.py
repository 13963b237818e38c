"""Methods and experiments that a study's settings can name: files of `PACKAGES` that declare options, centaur.py
`CentaurOptions`."""

from __future__ import annotations

import difflib
import importlib
import re
from dataclasses import fields
from pathlib import Path

from privrep.fitting.method import MethodOptions
from privrep.run.settings import hint_on_text

PACKAGES = ("algorithms", "images", "probes", "audits", "searches")
"""Packages whose files can be named in a study's settings."""
SOURCE = Path(__file__).parents[1]


def check_type(name: str, value: object, type_: str) -> None:
    """Raise ValueError if an option is a list, or a text, None, true or false where its annotation has a number."""
    if isinstance(value, str) and "str" not in type_:
        raise ValueError(f"{name} is {value!r}, a text; it must be a number{hint_on_text(value)}")
    flag = isinstance(value, bool) and "bool" not in type_
    if (flag or (value is None and "None" not in type_)) and "str" not in type_:
        raise ValueError(f"{name} is {value!r}; it must be a number")
    if hasattr(value, "__len__") and not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}; it must be one value, and a list of values stands in a grid")


def options_name(name: str) -> str:
    """Return the name of the class of options in the file `name`.

    >>> options_name("dp_fedavg")
    'DpFedavgOptions'
    """
    return name.title().replace("_", "") + "Options"


def load_options(name: str, options: dict) -> MethodOptions:
    """Return the options of the file `name` with the given values; ValueError if there is no such file or option, or a
    value is out of range."""
    kind = options_class(name)
    known = {option.name: str(option.type) for option in fields(kind)}
    unknown = sorted(set(options) - set(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0)
        raise ValueError(f"{unknown[0]} is no option of {name}; the nearest is {near[0]}; it has {', '.join(known)}")
    for option, value in options.items():
        check_type(option, value, known[option])
    try:
        return kind(**options)
    except TypeError as error:
        raise ValueError(f"options of {name}: {error}") from None


def options_class(name: str) -> type[MethodOptions]:
    """Return the class of options of the file `name`; ValueError if the file does not exist or has none."""
    found = getattr(_module(name), options_name(name), None)
    if found is None:
        raise ValueError(
            f"algorithm is {name!r}; that file has no {options_name(name)}: it is a step of other algorithms and "
            "cannot run alone"
        )
    return found


def method_files() -> dict[str, Path]:
    """Return name -> file, below `src`, of all that a study's settings can name.

    Nothing is imported: what a file needs may not be installed.
    """
    paths = [path for package in PACKAGES for path in sorted((SOURCE / package).glob("*.py"))]
    return {
        path.stem: Path("src", *path.parts[-3:])
        for path in paths
        if re.search(rf"^(class )?{options_name(path.stem)}\b", path.read_text(), re.MULTILINE)
    }


def _module(name: str):
    for package in PACKAGES:
        path = f"privrep.{package}.{name}"
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    near = difflib.get_close_matches(str(name), method_files(), n=1, cutoff=0)
    raise ValueError(
        f"algorithm is {name!r}; there is no file src/privrep/algorithms/{name}.py, the nearest is {near[0]}"
    )
