"""What may stand in config/claims and config/deviations.yaml: claims with their quantities, errata, and deviations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from privrep.run.config import ROOT, read_yaml
from privrep.run.settings import Model, Scalar, SomeNames, checked

Kind = Literal["experiment", "identity", "proof", "limit", "surrogate"]
Whose = Literal["paper", "correction", "ours"]
Basis = Literal["measured", "computed", "definition"]
Severity = Literal["P", "R", "G", "C", "T"]
Text = Annotated[str, Field(min_length=4)]


class About(Model):
    """What a claim and its quantities both may say about the statement; a quantity's own words go first. See `privrep.evidence.claims`."""

    whose: Whose = "paper"
    basis: Basis = "measured"
    printed: str = ""
    severity: Severity | Literal[""] = ""
    advice: str = ""
    figure: str = ""
    kind: Kind | None = None


class Quantity(About):
    """One number of a claim: a measure of the claim's study and the rule that judges it."""

    quantity: str
    measure: str
    rule: Literal["rate", "at_most", "at_least", "equals", "digits"]
    value: Scalar
    predicted: Scalar = ""
    tolerance: Annotated[float, Field(ge=0)] | None = None
    expected: float | None = None
    refuted: float | None = None
    toward: Literal["zero"] | None = None
    or_measure: str = ""

    @model_validator(mode="after")
    def _rule_has_its_numbers(self) -> Quantity:
        if self.rule in ("rate", "equals"):
            if self.tolerance is None:
                raise ValueError(f"the key 'tolerance' is missing, which the rule {self.rule!r} needs")
            if isinstance(self.value, str):
                raise ValueError(f"value: {self.value!r} must be a number for the rule {self.rule!r}")
        return self


class Whole(Model):
    """The row of a claim as a whole. other_readings : measure that counts the other readings that pass."""

    quantity: str
    other_readings: str


class Claim(About):
    """One statement of a paper. Either it says why it is not tested, or it has a study and quantities."""

    id: str
    place: str
    statement: str
    not_tested: str = ""
    study: str = ""
    scales: Annotated[tuple[Literal["tiny", "quick", "default", "paper"], ...], Field(strict=False, min_length=1)] = ()
    whole: Whole | None = None
    quantities: Annotated[tuple[Quantity, ...], Field(strict=False, min_length=1)] = ()

    @model_validator(mode="after")
    def _is_tested_or_says_why_not(self) -> Claim:
        given = self.model_fields_set
        tested = ("kind", "study", "figure", "scales", "quantities")
        if self.not_tested:
            needless = given & {*tested, "whole"}
            if needless:
                raise ValueError(f"{min(needless)!r} stands in a claim that is not tested")
        else:
            for key in tested:
                if key not in given:
                    raise ValueError(f"the key {key!r} is missing (or 'not_tested' with the reason)")
        return self


class ClaimsFile(Model):
    """config/claims/<paper>.yaml."""

    claims: Annotated[tuple[Claim, ...], Field(strict=False, min_length=1)]


class Erratum(Model):
    """An error in print."""

    id: Annotated[str, Field(pattern=r"^E[0-9]+$")]
    paper: Literal["jain2021", "shen2023"]
    place: str
    severity: Severity | Literal["L"]
    printed: str
    correct: str
    demonstration: str


class ErrataFile(Model):
    """config/claims/errata.yaml."""

    errata: Annotated[tuple[Erratum, ...], Field(strict=False, min_length=1)]


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


def claim_files(root: Path = ROOT) -> list[Path]:
    """The files of claims, one for each paper."""
    return [path for path in sorted((root / "config" / "claims").glob("*.yaml")) if path.stem != "errata"]


def read_claims(path: Path) -> list[dict]:
    """The claims of a file of config/claims, as they are written there."""
    return _read_checked(ClaimsFile, path)["claims"]


def read_errata(path: Path) -> list[dict]:
    """The errata, as they are written in config/claims/errata.yaml."""
    return _read_checked(ErrataFile, path)["errata"]


def read_deviations(path: Path) -> list[dict]:
    """The deviations, as they are written in config/deviations.yaml."""
    return _read_checked(DeviationsFile, path)["deviations"]


def _read_checked(model: type[Model], path: Path) -> dict:
    content = read_yaml(path)
    checked(model, content, str(path))
    return content
