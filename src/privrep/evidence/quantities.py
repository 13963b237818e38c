"""The names of what studies measure, declared in their files, and the check that claims and fits name nothing else.

A study measures `exponent <fit>` and, where the fit has a prediction, `constant <fit>`, and what its file lists under `quantities`. There
{a|b} stands for each of its alternatives, and {grid.axis} for each value of an axis in a grid of the study.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from pathlib import Path

from privrep.evidence.catalogue import claim_files, read_claims
from privrep.run.columns import study_columns
from privrep.run.config import ROOT, read_config, read_study, study_names
from privrep.run.settings import ConfigError, Study, misnamed


def values(study: Study, place: str) -> list[str]:
    """The values of `<grid>.<axis>` as names spell them, without repetition.

    Raises
    ------
    ConfigError
        If the study has no such grid, or the grid no such axis.
    """
    grid, _, axis = place.rpartition(".")
    source = f"config/studies/{study.study}.yaml: quantities: {{{place}}}"
    if grid not in study.grids:
        raise ConfigError(f"{source}: {misnamed(grid, 'no grid', list(study.grids))}")
    axes = study.grids[grid]
    found = axes[axis] if axis in axes else [point[axis] for point in axes.get("together", ()) if axis in point]
    if not found:
        raise ConfigError(f"{source}: {misnamed(axis, 'no axis of this grid', list(axes))}")
    return list(dict.fromkeys(value if isinstance(value, str) else f"{value:g}" for value in found))


def expanded(study: Study, pattern: str) -> list[str]:
    """All names that a pattern stands for."""
    parts = re.split(r"\{([^{}]*)\}", pattern)
    parts[1::2] = [inner.split("|") if "|" in inner else values(study, inner) for inner in parts[1::2]]
    parts[::2] = [[text] for text in parts[::2]]
    return ["".join(choice) for choice in itertools.product(*parts)]


def measured(study: Study) -> list[str]:
    """Names of all quantities of a study."""
    names = [f"exponent {name}" for name in study.fits]
    names += [f"constant {name}" for name, fit in study.fits.items() if fit.prediction]
    return names + [name for pattern in study.quantities for name in expanded(study, pattern)]


def check_fits(study: Study) -> None:
    """Raise ConfigError unless every fit names columns of the study's table, or those that the study adds to it."""
    known = [*study_columns(study), *study.columns]
    for name, fit in study.fits.items():
        for key in ("axis", "response", "prediction"):
            column = getattr(fit, key)
            if column and column not in known:
                what = misnamed(column, "no column of the results nor of this study", known)
                raise ConfigError(f"config/studies/{study.study}.yaml: fits.{name}.{key}: {what}")


def checked_claims(root: Path = ROOT) -> dict[str, list[dict]]:
    """Paper -> its claims, after `check_claims`. Names are those of the studies' own files, since one file of claims serves all scales.

    Raises
    ------
    ConfigError
        If a claim names nothing, or if a study's file does not fit its model.
    """
    config = read_config(root=root)
    studies = {name: read_study(config, name, root) for name in study_names(root)}
    found = {}
    for path in claim_files(root):
        found[path.stem] = read_claims(path)
        check_claims(found[path.stem], f"config/claims/{path.name}", studies)
    return found


def check_claims(claims: list[dict], source: str, studies: dict[str, Study]) -> None:
    """Raise ConfigError unless every claim that is tested names a study, a figure and quantities that exist.

    Parameters
    ----------
    studies : all studies at the default scale, by name.
    """
    figures = [figure for study in studies.values() for figure in study.figures]
    names = {name: measured(study) for name, study in studies.items()}

    def check(place: str, value: str, what: str, known: Collection[str]) -> None:
        if value not in known:
            raise ConfigError(f"{source}: {place}: {misnamed(value, what, known)}")

    for claim in claims:
        if "not_tested" in claim:
            continue
        check(f"{claim['id']}.study", claim["study"], "no study", list(names))
        known, what = names[claim["study"]], f"not measured by study {claim['study']}"
        check(f"{claim['id']}.figure", claim["figure"], "no figure", figures)
        if "whole" in claim:
            check(f"{claim['id']}.whole.other_readings", claim["whole"]["other_readings"], what, known)
        for quantity in claim["quantities"]:
            place = f"{claim['id']}.quantities.{quantity['quantity']}"
            check(f"{place}.figure", quantity.get("figure", claim["figure"]), "no figure", figures)
            for key in ("measure", "or_measure"):
                if key in quantity:
                    check(f"{place}.{key}", quantity[key], what, known)
