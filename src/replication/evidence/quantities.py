"""The names of what studies measure, declared in their files, and the check that claims and fits name nothing else.

A study measures `exponent <fit>` and, where the fit has a prediction, `constant <fit>`, and what its file lists under
`numbers`, with a definition, and `quantities`, which code computes. In a name {a|b} stands for each of its
alternatives, and {series.axis} for each value of an axis in the grid of a series.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection
from pathlib import Path

from privrep.options import misnamed
from replication.evidence.claims import Claim
from replication.run.columns import settings_columns, study_columns
from replication.run.config import ROOT, read_config, read_papers, read_study, study_names
from replication.run.models import ConfigError, checked
from replication.run.settings import Number, Study, names_in, settings_of


def values(study: Study, place: str) -> list[str]:
    """Return the distinct values of an axis, `<series>.<axis>`, as text; ConfigError if the series' grid has none."""
    series, _, axis = place.rpartition(".")
    source = f"{settings_of(study.study)}: {{{place}}}"
    if series not in study.series:
        raise ConfigError(f"{source}: {misnamed(series, 'no series', list(study.series))}")
    axes = study.grid_of(series)
    found = axes[axis] if axis in axes else [point[axis] for point in axes.get("together", ()) if axis in point]
    if not found:
        raise ConfigError(f"{source}: {axis!r} is no axis of its grid, which has {', '.join(map(repr, axes))}")
    return list(dict.fromkeys(value if isinstance(value, str) else f"{value:g}" for value in found))


def choices(study: Study, pattern: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each name that a pattern with {a|b} and {series.axis} expands to, and the texts in place of its braces."""
    parts = re.split(r"\{([^{}]*)\}", pattern)
    inside = [inner.split("|") if "|" in inner else values(study, inner) for inner in parts[1::2]]
    names = []
    for choice in itertools.product(*inside):
        parts[1::2] = choice
        names.append(("".join(parts), choice))
    return names


def numbers(study: Study) -> dict[str, Number]:
    """Map the name of each number that the study's file defines to its definition, both without braces: in the
    definition {1} becomes the text that replaced the first braces of the name, {2} that of the second."""
    found = {}
    for pattern, number in study.numbers.items():
        content = json.dumps(number.model_dump(exclude_unset=True))
        for name, choice in choices(study, pattern):
            for place in re.findall(r"\{(\d+)\}", content):
                if not 0 < int(place) <= len(choice):
                    what = f"{{{place}}} stands for nothing, its name has {len(choice)} braces"
                    raise ConfigError(f"{settings_of(study.study)}: numbers.{pattern}: {what}")
            filled = re.sub(r"\{(\d+)\}", lambda place, choice=choice: choice[int(place[1]) - 1], content)
            found[name] = Number.model_validate_json(filled)
    return found


def measured(study: Study) -> list[str]:
    """Return the names of all quantities of a study."""
    names = [f"exponent {name}" for name in study.fits]
    names += [f"constant {name}" for name, fit in study.fits.items() if fit.prediction]
    names += [name for pattern in (*study.numbers, *study.quantities) for name, _ in choices(study, pattern)]
    return names


def _check(study: Study, place: str, value: str, what: str, known: Collection[str]) -> None:
    """Raise ConfigError unless a value at a place in a study's file is empty or among the known ones."""
    if value and value not in known:
        raise ConfigError(f"{settings_of(study.study)}: {place}: {misnamed(value, what, known)}")


def check_columns(study: Study) -> None:
    """Raise ConfigError unless fits and numbers name columns of the study's table, or those that the study adds to it,
    and numbers name series."""
    try:
        columns = [*study_columns(study), *study.columns]
    except ValueError as error:  # an algorithm that does not exist
        raise ConfigError(f"{settings_of(study.study)}: {error}") from None
    for algorithm in study.options:
        of_series = sorted({series.algorithm for series in study.series.values()})
        _check(study, "options", algorithm, "no algorithm of a series", of_series)
    for name, fit in study.fits.items():
        axes = study.grid_of(fit.series)
        varied = [*axes, *(axis for point in axes.get("together", ()) for axis in point)]
        if fit.axis in settings_columns(study):
            _check(study, f"fits.{name}.axis", fit.axis, f"no axis of the series {fit.series!r}", varied)
    keys = ("axis", "response", "prediction")
    used = {f"fits.{name}.{key}": vars(fit)[key] for name, fit in study.fits.items() for key in keys}
    for name, number in numbers(study).items():
        for part, place in ((number, f"numbers.{name}"), (number.below, f"numbers.{name}.over")):
            _check(study, f"{place}.series", part.series, "no series", list(study.series))
            used |= {f"{place}.{key}": vars(part)[key] for key in (part.kind, "where", "per", "largest_at")}
    for place, expression in used.items():
        try:
            names = names_in(expression) if expression not in columns else []
        except ValueError as error:
            raise ConfigError(f"{settings_of(study.study)}: {place}: {error}") from None
        for name in names:
            _check(study, place, name, "no column of the results nor of this study", columns)


def checked_claims(root: Path = ROOT) -> dict[str, list[Claim]]:
    """Map each paper to its claims in order, read from the studies' files; a study may decide claims of several papers.

    ConfigError is raised if a claim names a figure or quantity that does not exist, if no paper lists the claim, if a
    paper does not list each of its claims once, or if a file does not fit its model.
    """
    config = read_config(root=root)
    studies = {name: read_study(config, name, root) for name in study_names(root)}
    decided = [claim for study in studies.values() for claim in checked_claims_of(study, studies)]
    papers = read_papers(root)
    for claim in decided:
        if not any(claim.id in about.claims for about in papers.values()):
            raise ConfigError(f"{settings_of(claim.study)}: claims: {claim.id!r} is in no list of config/papers")
    found = {}
    for paper, about in papers.items():
        source = f"config/papers/{paper}.yaml"
        claims = [checked(Claim, claim, f"{source}: not_tested") for claim in about.not_tested]
        claims += [claim for claim in decided if claim.id in about.claims]
        found[paper] = in_order(claims, about.claims, source)
    return found


def checked_claims_of(study: Study, studies: dict[str, Study]) -> list[Claim]:
    """Return the claims that a study decides, each with its rates before its other quantities; figures of any study
    may be named."""
    claims = []
    for one in study.claims:
        rates = [fit.row for fit in study.fits.values() if fit.claim == one.get("id")]
        shown = [("figure", rate["figure"]) for rate in rates if "figure" in rate][:1]
        whole = {**dict(shown), **one, "study": study.study, "quantities": [*rates, *one.get("quantities", ())]}
        claims.append(checked(Claim, whole, f"{settings_of(study.study)}: claims.{one.get('id', '?')}"))
        check_claim(claims[-1], study, [figure for one in studies.values() for figure in one.figures])
    return claims


def in_order(claims: list[Claim], order: Collection[str], source: str) -> list[Claim]:
    """Return claims as a paper's file lists their ids; ConfigError if one is missing, unknown or listed twice."""
    by_id = {claim.id: claim for claim in claims}
    ids = [claim.id for claim in claims]
    for name in ids:
        if name not in order:
            raise ConfigError(f"{source}: claims: {name!r} is missing; a study decides it")
        if ids.count(name) > 1:
            raise ConfigError(f"{source}: claims: two claims have the id {name!r}")
    for name in order:
        if name not in by_id:
            raise ConfigError(f"{source}: claims: {misnamed(name, 'no claim', ids)}")
    return [by_id[name] for name in order]


def check_claim(claim: Claim, study: Study, figures: Collection[str]) -> None:
    """Raise ConfigError unless a claim names figures and quantities that exist."""
    known, what, place = measured(study), f"not measured by study {study.study}", f"claims.{claim.id}"
    _check(study, f"{place}.figure", claim.figure, "no figure", figures)
    _check(study, f"{place}.whole.other_readings", claim.whole.other_readings if claim.whole else "", what, known)
    for quantity in claim.quantities:
        _check(study, f"{place}.quantities.{quantity.quantity}.figure", quantity.figure, "no figure", figures)
        for key in ("measured", "or_measured"):
            _check(study, f"{place}.quantities.{quantity.quantity}.{key}", getattr(quantity, key, ""), what, known)
