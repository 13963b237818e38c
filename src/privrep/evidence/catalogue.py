"""What may stand in config/errata.yaml and config/deviations.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from privrep.run.config import read_yaml
from privrep.run.settings import Model, SomeNames, checked

Text = Annotated[str, Field(min_length=4)]
SET_ASIDE = "set aside"
"""In errata.csv in place of yes and no, for a candidate without a demonstration."""


class Erratum(Model):
    """An error in print."""

    id: Annotated[str, Field(pattern=r"^E[0-9]+$")]
    paper: str
    place: str
    severity: Literal["P", "R", "G", "C", "T", "L"]
    changes: Literal["nothing", "a constant", "a rate", "the guarantee"]
    printed: str
    correct: str
    demonstration: str


class Candidate(Model):
    """What was suspected to be an error in print, and is none or cannot be decided."""

    id: Annotated[str, Field(pattern=r"^[EC][0-9]+$")]
    paper: str
    place: str
    suspected: Text
    why: Text


class ErrataFile(Model):
    """config/errata.yaml."""

    errata: Annotated[tuple[Erratum, ...], Field(strict=False, min_length=1)]
    candidates: Annotated[tuple[Candidate, ...], Field(strict=False)] = ()


class Deviation(Model):
    """Something that was revised, left open, or put in the place of something else."""

    id: Annotated[str, Field(pattern=r"^D[0-9]+$")]
    kind: Literal[
        "revised-after-results", "revised-after-confirmation", "left-open", "fallback", "split", "analogue", "stand-in"
    ]
    where: SomeNames
    what: Text
    why: Text
    effect: Text
    commits: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")], ...], Field(strict=False, min_length=1)
    ] = ()


class DeviationsFile(Model):
    """config/deviations.yaml."""

    deviations: Annotated[tuple[Deviation, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> DeviationsFile:
        ids = [entry.id for entry in self.deviations]
        for name in ids:
            if ids.count(name) > 1:
                raise ValueError(f"the id {name!r} appears twice")
        return self


def read_errata(path: Path) -> list[dict]:
    """The errata, as they are written in config/errata.yaml."""
    return _read_checked(ErrataFile, path)["errata"]


def read_candidates(path: Path) -> list[dict]:
    """What was set aside, as it is written in config/errata.yaml."""
    return _read_checked(ErrataFile, path)["candidates"]


def read_deviations(path: Path) -> list[dict]:
    """The deviations, as they are written in config/deviations.yaml."""
    return _read_checked(DeviationsFile, path)["deviations"]


def _read_checked(model: type[Model], path: Path) -> dict:
    content = read_yaml(path)
    checked(model, content, str(path))
    return content
