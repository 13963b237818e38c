"""Models of errata.yaml and deviations.yaml, and readers of the two files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from privrep.options import misnamed
from replication.run.config import ROOT, read_yaml
from replication.run.models import ConfigError, Model, checked
from replication.run.settings import SomeNames

Text = Annotated[str, Field(min_length=4)]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]
SET_ASIDE, MENDED = "set aside", "mended"
"""Values in errata.csv, in place of yes and no, for a suspected error without a demonstration; `MENDED` if it is a slip
that the published version corrects."""
Change = Literal["the guarantee", "a rate", "a constant", "a sign", "nothing"]
"""Effect of an erratum on a user of the result, the most severe first."""


def _each_once(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} appears twice")
    return names


class Erratum(Model):
    """An error in print; `claims` are the claims that it affects, `same_as` the erratum with which it counts as one."""

    id: Annotated[str, Field(pattern=r"^E[0-9]+$")]
    paper: str
    place: str
    severity: Literal["P", "R", "G", "C", "T", "L"]
    changes: Change
    same_as: Annotated[str, Field(pattern=r"^E[0-9]+$")] | None = None
    claims: Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_each_once)]
    printed: str
    correct: str
    demonstration: str
    measured: str


class Candidate(Model):
    """A suspected error in print that is no error or remains undecided; `mended` if the published version lacks it."""

    id: Annotated[str, Field(pattern=r"^[EC][0-9]+$")]
    paper: str
    place: str
    suspected: Text
    why: Text
    mended: bool = False


class ErrataFile(Model):
    """The content of errata.yaml."""

    errata: Annotated[tuple[Erratum, ...], Field(strict=False, min_length=1)]
    candidates: Annotated[tuple[Candidate, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _one_question_counts_once(self) -> ErrataFile:
        counted = [erratum.id for erratum in self.errata if not erratum.same_as]
        for erratum in self.errata:
            if erratum.same_as and erratum.same_as not in counted:
                what = misnamed(erratum.same_as, "no erratum that counts", counted)
                raise ValueError(f"{erratum.id}.same_as: {what}")
        return self


class Deviation(Model):
    """An entry of deviations.yaml: what was revised, left open, or replaced by something else."""

    id: Annotated[str, Field(pattern=r"^D[0-9]+$")]
    kind: Literal[
        "revised-after-results", "revised-after-confirmation", "left-open", "fallback", "split", "analogue", "stand-in"
    ]
    where: SomeNames
    what: Text
    why: Text
    effect: Text
    commits: Annotated[tuple[Commit, ...], Field(strict=False, min_length=1)] = ()


class DeviationsFile(Model):
    """The content of deviations.yaml."""

    deviations: Annotated[tuple[Deviation, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> DeviationsFile:
        _each_once([entry.id for entry in self.deviations])
        return self


def check_errata(claims: Collection[str], root: Path = ROOT) -> None:
    """Raise ConfigError unless errata.yaml fits its model and every erratum names claims that exist."""
    source = "src/replication/errata/errata.yaml"
    for erratum in checked(ErrataFile, read_yaml(root / source), source).errata:
        for name in erratum.claims:
            if name not in claims:
                raise ConfigError(f"{source}: errata.{erratum.id}.claims: {misnamed(name, 'no claim', claims)}")


def read_errata(path: Path) -> dict[str, list[dict]]:
    """Return `errata` and `candidates` of errata.yaml unchanged; ConfigError if they do not fit their model."""
    return _read(ErrataFile, path)


def read_deviations(path: Path) -> list[dict]:
    """Return the entries of deviations.yaml unchanged; ConfigError if the file does not fit its model."""
    return _read(DeviationsFile, path)["deviations"]


def _read(model: type[Model], path: Path) -> dict:
    content = read_yaml(path)
    checked(model, content, str(path))
    return content
