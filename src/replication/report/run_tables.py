"""The tables of one run, and methods that read them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from privrep.options import misnamed
from replication.evidence.catalogue import read_deviations
from replication.evidence.claim_rules import Quantity
from replication.evidence.claims import Claim
from replication.evidence.compare import by_name, confirmation_pairs, unrepeated
from replication.evidence.facts import NotMeasured
from replication.evidence.quantities import checked_claims, measured
from replication.evidence.verdicts import Verdict
from replication.report.claims_table import CLAIMS, brief_table, row_anchors
from replication.report.pictures import FIGURE, FOLDER, figure_html
from replication.report.sizes import grid_line, with_sizes
from replication.run.config import ROOT, read_config, read_study, read_yaml, study_names
from replication.run.csv_tables import read_rows
from replication.run.models import ConfigError
from replication.run.settings import Study, settings_of

DOCS = ROOT / "docs"
"""Folder of the run of record."""
FULL_SCALES = ("default", "record")
"""Scales at which every verdict can be reached."""


def read_text(path: Path) -> pd.DataFrame:
    """Read a CSV as text, so that a printed 0.90 stays 0.90."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@dataclass(frozen=True)
class Measures:
    """The rows of a study's measures.csv by quantity, as text."""

    rows: Mapping[str, Mapping[str, str]]
    # All quantities of the study at the default scale: a name neither here nor in the rows is an error, not a gap.
    listed: tuple[str, ...]

    def __contains__(self, quantity: str) -> bool:
        """Return whether a quantity was measured and is a number; raise ConfigError for a name that is not listed."""
        if quantity not in self.listed and quantity not in self.rows:
            raise ConfigError(misnamed(quantity, "not measured by this study", self.listed))
        return quantity in self.rows and math.isfinite(float(self.rows[quantity]["measured"]))

    def row(self, quantity: str) -> Mapping[str, str]:
        """Return all columns of a quantity; raise NotMeasured where this run has no number of it."""
        if quantity not in self:
            raise NotMeasured(quantity)
        return self.rows[quantity]

    def named(self, prefix: str) -> list[str]:
        """Return the names of measured quantities with a prefix; ConfigError if the study lists none with it."""
        names = [name for name in self.listed if name.startswith(prefix)]
        if not names:
            raise ConfigError(misnamed(prefix, "the beginning of no quantity", self.listed))
        return [name for name in names if name in self]

    def value(self, quantity: str) -> float:
        return float(self.row(quantity)["measured"])

    def numbered(self, prefix: str) -> dict[float, float]:
        """Return number -> value of the quantity named by prefix and number, ascending; raise NotMeasured for none."""
        names = {name.removeprefix(prefix): name for name in self.named(prefix)}
        values = {float(end): self.value(name) for end, name in names.items() if re.fullmatch(r" ?[\d.]+", end)}
        if not values:
            raise NotMeasured(prefix)
        return dict(sorted(values.items()))


@cache
def _read_sizes(path: Path) -> pd.DataFrame | None:
    return pd.read_csv(path) if path.exists() else None


@cache
def study_of(name: str, scale: str = "default") -> Study:
    """Read a study at a scale."""
    return read_study(read_config().model_copy(update={"scale": scale}), name)


@cache
def listed(study: str) -> tuple[str, ...]:
    """Return the names of all quantities of a study at the default scale."""
    return tuple(measured(study_of(study)))


def source_of(study: str, figure: str) -> str:
    """Return the file that draws a figure: the Python of its study, or its settings for panels of sweeps."""
    own = settings_of(study).replace("settings.yaml", "figures.py")
    drawn = (ROOT / own).exists() and f"def draw_{figure.rpartition('/')[2]}(" in (ROOT / own).read_text()
    return own if drawn else settings_of(study)


def captions() -> dict[str, dict[str, dict[str, str]]]:
    """Return label and caption of each figure, by study, in the order of the page."""
    return {study: read_yaml(ROOT / settings_of(study))["figures"] for study in study_names()}


@cache
def judged() -> list[tuple[Claim, Quantity]]:
    """Return all quantities of all claims, each with its claim."""
    return [(claim, item) for claims in checked_claims().values() for claim in claims for item in claim.quantities]


def told(name: str, study: str, facts: Mapping[str, object]) -> object:
    """Return one of the facts of a study; raise NotMeasured where this run does not have it."""
    if name not in facts:
        raise ConfigError(misnamed(name, f"no fact of replication.studies.{study}.analysis", list(facts)))
    if facts[name] is None:
        raise NotMeasured(name)
    return facts[name]


@dataclass(frozen=True, eq=False)
class Run:
    """The tables of one run, and methods that read them. Sections are HTML.
    Two runs are equal only if they are the same object, so that results made from one can be cached."""

    claims: pd.DataFrame
    errata: pd.DataFrame
    provenance: dict
    results: Path
    figures: Path
    captions: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # study -> figure -> label, caption
    deviations: list[dict] = field(default_factory=list)  # entries of deviations.yaml
    alone: bool = False  # whether the run's files are not beside the page

    @classmethod
    def read(cls, reports: Path, results: Path, figures: Path, alone: bool = False) -> Run:
        """Return the run in these folders, with captions and deviations from the sources."""
        claims, errata = (read_text(reports / f"{name}.csv") for name in ("claims", "errata"))
        provenance = json.loads((reports / "provenance.json").read_text())
        deviations = read_deviations(ROOT / "src/replication/studies/deviations.yaml")
        return cls(claims, errata, provenance, results, figures, captions(), deviations, alone)

    @property
    def scale(self) -> str:
        return self.provenance["config"]["scale"]

    @property
    def small(self) -> bool:
        """Whether the run is too small for most verdicts: it then shows those of the run of record and counts none."""
        return self.scale not in FULL_SCALES

    @cached_property
    def of_record(self) -> pd.DataFrame:
        """Rows of the run of record on the claims of this run; none if this run has the scale of record."""
        rows = self.claims[:0] if self.scale == "record" else read_text(DOCS / "record" / "claims.csv")
        return rows[rows["id"].isin(self.claims["id"])]

    @cached_property
    def verdicts_of_record(self) -> dict[tuple[str, str], str]:
        """(Claim id, quantity) -> verdict in the run of record."""
        rows = self.of_record
        return dict(zip(zip(rows["id"], rows["quantity"], strict=True), rows["verdict"], strict=True))

    @cached_property
    def doubts(self) -> dict[tuple[str, str], str]:
        """Words for a row that is undecided, that a confirmation did not repeat, or that the run of record alone
        decides, by more repetitions than the default run, which left it undecided."""
        rows = read_rows(DOCS / "confirmation.csv")
        doubts = unrepeated(rows)
        if self.scale == "record":
            undecided = by_name(row for row, _ in confirmation_pairs(rows) if row["verdict"] == Verdict.INCONCLUSIVE)
            doubts |= dict.fromkeys(undecided, "by more repetitions, not confirmed")
        doubts = {name: text for name, text in doubts.items() if name in self.rows}
        undecided = by_name(self.claims[self.claims["verdict"] == Verdict.INCONCLUSIVE].to_dict("records"))
        return doubts | dict.fromkeys(undecided, "undecided")

    def has(self, study: str) -> bool:
        """Whether a study is part of this run."""
        return study in self.provenance["config"]["studies"]

    def _folder(self, study: str) -> Path:
        if not self.has(study):
            raise NotMeasured(study)
        return self.results / study

    @cached_property
    def by_claim(self) -> dict[str, list[dict]]:
        """Claim id -> its rows."""
        return {str(claim): rows.to_dict("records") for claim, rows in self.claims.groupby("id", sort=False)}

    def decided(self, claim: str, verdict: str, *quantities: str) -> list[dict]:
        """Return the rows of the named quantities of a claim, or of all of its exponents when none is named."""
        rows = self.by_claim.get(claim, [])
        known = [row["quantity"] for row in rows]
        for name, what, names in (
            (claim, "no claim", self.by_claim),
            (verdict, "no verdict", [*map(str, Verdict)]),
            *((quantity, f"no quantity of claim {claim}", known) for quantity in quantities),
        ):
            if name not in names:
                raise ConfigError(misnamed(name, what, [*names]))
        return [row for row in rows if (row["quantity"] in quantities if quantities else row["rule"] == "rate")]

    def measures(self, study: str) -> Measures:
        """Return the measured quantities of a study; raise NotMeasured where it is not part of this run."""
        rows = read_rows(self._folder(study) / "measures.csv")
        return Measures({row["quantity"]: row for row in rows}, listed(study))

    def sizes(self, study: str) -> pd.DataFrame | None:
        """Return sizes of the cells of a study by series, column and value; None for a study without cells."""
        return _read_sizes(self._folder(study) / "sizes.csv")

    def fact(self, study: str, name: str) -> object:
        """Return a fact of a study (`replication.evidence.facts`); NotMeasured where this run does not have it."""
        return told(name, study, json.loads((self._folder(study) / "facts.json").read_text()))

    def shown(self) -> list[str]:
        """Return the figures that this run has, in the order of their captions."""
        every = [figure for study, figures in self.captions.items() if self.has(study) for figure in figures]
        return [figure for figure in every if (self.figures / f"{figure}.svg").exists()]

    def section_figure(self, study: str, figure: str) -> Markup:
        """Return a figure of a study with its caption, or a sentence that says that the run has no such figure."""
        svg = self.figures / f"{figure}.svg"
        if not svg.exists():
            return FIGURE.missing(figure)
        numbers = (self.figures / f"{figure}.csv").read_bytes()
        folder, label = "" if self.alone else FOLDER, self.captions[study][figure]["label"]
        about = self.caption(study, figure), source_of(study, figure), label, folder
        return figure_html(figure, svg.read_text(), numbers, *about)

    def caption(self, study: str, figure: str) -> str:
        """Return the caption of a figure of a study, with the sizes of this run."""
        return with_sizes(figure, self.captions[study][figure]["caption"], study, self.sizes(study))

    def grid_of(self, row: dict) -> Markup:
        """Return the sizes of the grid behind a row of the claims: of the series to which its exponent is fitted,
        or all of its study."""
        study = row["study"]
        if not study or not self.has(study):
            return Markup()
        fits, name = study_of(study).fits, (row["id"], row["quantity"])
        measured_for = [item.measured for claim, item in judged() if (claim.id, item.quantity) == name]
        series = [fits[fit].series for fit in fits if f"exponent {fit}" in measured_for]
        return grid_line(self.sizes(study), *series)

    @cached_property
    def rows(self) -> dict[tuple[str, str], str]:
        """(Claim id, quantity) -> anchor of the row."""
        return row_anchors(self.claims)

    @cached_property
    def first_decided(self) -> dict[tuple[str, str], tuple[str, str]]:
        """(Study, measured quantity) -> claim id and quantity of the first row that it decides."""
        decided = (((claim.study, item.measured), (claim.id, item.quantity)) for claim, item in reversed(judged()))
        return {place: row for place, row in decided if row in self.rows}

    @cached_property
    def others(self) -> dict[tuple[str, str], str]:
        """(Study, quantity) -> anchor, for quantities that texts have named so far and that decide no row."""
        return {}

    def place_of(self, study: str, quantity: str) -> str:
        """Return the anchor of a measured quantity: of the first row that it decides, or its own in `others`."""
        place = (study, quantity)
        row = self.first_decided.get(place)
        return self.rows[row] if row else self.others.setdefault(place, f"number-{len(self.others) + 1}")

    def section_others(self) -> Markup:
        """Return the quantities that texts have named and that decide no row."""
        rows = [
            {"study": study, "quantity": quantity, "anchor": anchor, **self.measures(study).row(quantity)}
            for (study, quantity), anchor in sorted(self.others.items())
        ]
        return CLAIMS.others(rows)

    def claims_of(self, study: str) -> list[str]:
        """Return the ids of the claims that rest on a study, in their order."""
        return list(dict.fromkeys(self.claims.loc[self.claims["study"] == study, "id"]))

    def section_claims(self, *claims: str) -> Markup:
        """Return a short table of the verdicts of some claims."""
        return brief_table(self.claims[self.claims["id"].isin(claims)], self.verdicts_of_record)
