"""Models of the configuration, a frozen one for each kind of entry.

Settings that decide cells (problems, grids, options) are checked but stay as written, so that a check changes no cell.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from privrep.options import check_values, misnamed
from privrep.users.simulated import Problem
from replication.run.models import EMPTY, Count, M, Model, checked, filled
from replication.run.statements import Bound, Tolerance, Value


def settings_of(study: str) -> str:
    """Return the file with the settings of a study, as seen from the repository's root."""
    return f"src/replication/studies/{study}/settings.yaml"


MOST_SHARDS, MOST_CELLS = 1000, 50_000
"""Largest number of shards and of cells of a study, all of which are planned before the first starts."""


def _as_written(value: object, check) -> object:
    check(value)
    return value


def _scalar(value: object) -> object:
    if not isinstance(value, bool | int | float | str | None):
        raise ValueError(f"{value!r} must be a number or a text")
    return value


AS_WRITTEN = (WrapValidator(_as_written), PlainSerializer(lambda value: value))
Scalar = Annotated[Any, AfterValidator(_scalar)]


def _of_problem(values: dict) -> dict:
    check_values(Problem, values, "problem")
    return values


PartOfProblem = Annotated[dict[str, Any], AfterValidator(_of_problem)]
SomeNames = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


def _repetitions(value: object, check) -> object:
    if type(value) is not int:
        return check(value)
    if value < 1:
        raise ValueError(f"{value} must be at least 1")
    return value


COUNTED = {"type": ["integer", "array"], "minimum": 1, "minItems": 1, "items": {"type": "integer", "minimum": 0}}
Repetitions = Annotated[
    list[Annotated[int, Field(ge=0)]], Field(min_length=1), WrapValidator(_repetitions), WithJsonSchema(COUNTED)
]


SCALES = ("tiny", "quick", "record")
"""Scales besides the default. Any mapping of a study's file may have its changes at a scale under the scale's name."""


class Axes(Model):
    """A grid: lists of values by axis; an axis is a parameter of the problem, an option of the algorithm, or one below.

    epsilon : target privacy budgets. noise_multiplier : noise sd over sensitivity, in place of epsilon.
    delta_power : delta is (number of users)^-delta_power, in place of the series' delta.
    seed, redraw : draws of the data, and of the noise for each of these: how many, or a list of their numbers.
    together : points, each with one value for every axis that varies together with the others.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[list[Scalar], Field(min_length=1)]]

    epsilon: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = []
    noise_multiplier: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1)] = []
    delta_power: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)] = []
    seed: Repetitions = []
    redraw: Repetitions = []
    together: Annotated[list[Annotated[dict[str, Scalar], Field(min_length=1)]], Field(min_length=1)] = []

    @model_validator(mode="before")
    @classmethod
    def _has_axes(cls, content: object) -> object:
        if content == {}:
            raise ValueError(EMPTY)
        return content


Grid = Annotated[Axes, *AS_WRITTEN]
Calibration = Literal["paper", "exact"]
Options = dict[str, Scalar]


class Series(Model):
    """A series of runs: an algorithm with options, on a grid of its own or on one that several series share.

    algorithm : name of the method's file. grid : its axes, or the name of one of `grids`. without : its axes to omit.
    calibration : what sets the noise, the printed theorem ("paper") or exact accounting. delta : replaces the study's.
    problem, options : entries that differ from the study's. tuned : whether to add options from `rivals.csv`.
    """

    algorithm: str = ""
    grid: Annotated[
        Annotated[str, Tag("name")] | Annotated[Grid, Tag("own")],
        Discriminator(lambda grid: "own" if isinstance(grid, Mapping) else "name"),
    ]
    without: SomeNames = ()
    calibration: Calibration = "paper"
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    problem: PartOfProblem = {}
    options: Options = {}
    tuned: bool = False


class Simulation(Model):
    """Settings that decide the cells of a study and their division into jobs; a study without runs has no series.

    algorithm, calibration, delta, problem : defaults for the series.
    options : algorithm -> defaults for the options of its series.
    shards : number of jobs for the cells. cells_per_draw : largest number of cells that share a draw of users.
    grids : grids by name, for several series. series : series of cells by name.
    choices : options by setting for tuned series, see `replication.run.rivals`; not written in the study's file.
    engine, scheduler : where passes over users run, see `privrep.users.engines.running_on`.
    """

    study: str
    algorithm: str = ""
    calibration: Calibration = "paper"
    options: dict[str, Options] = {}
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    shards: Annotated[Count, Field(le=MOST_SHARDS)] | None = None
    cells_per_draw: Count | None = None
    problem: PartOfProblem = {}
    grids: dict[str, Grid] = {}
    series: Annotated[dict[str, Series], Field(min_length=1)] = {}
    choices: Annotated[tuple[dict[str, Any], ...], Field(strict=False)] = ()
    engine: Literal["process", "threads", "dask"] = "process"
    scheduler: str | None = None

    @model_validator(mode="after")
    def _series_are_complete(self) -> Simulation:
        for key in ("delta", "shards", "cells_per_draw", "problem") if self.series else ():
            if key not in self.model_fields_set or getattr(self, key) is None:
                raise ValueError(f"the key {key!r} is missing")
        shared = self.model_dump(include={"algorithm", "calibration"}, exclude_unset=True)
        for name, series in self.series.items():
            if isinstance(series.grid, str) and series.grid not in self.grids:
                raise ValueError(f"series.{name}.grid: {misnamed(series.grid, 'no grid', list(self.grids))}")
            axes: Any = self.grids[series.grid] if isinstance(series.grid, str) else series.grid
            there = [*axes, *(axis for point in axes.get("together", ()) for axis in point)]
            for axis in series.without:
                if axis not in there:
                    raise ValueError(f"series.{name}.without: {misnamed(axis, 'no axis of its grid', there)}")
            whole = filled(series, shared)
            if not whole.algorithm:
                raise ValueError(f"series.{name}: the key 'algorithm' is missing")
            options = self.options.get(whole.algorithm, {}) | series.options
            self.series[name] = whole.model_copy(update={"options": options})
        return self

    def grid_of(self, series: str) -> dict[str, Any]:
        """Return the axes of a series' grid, as they were written, except those that it leaves out."""
        grid, without = self.series[series].grid, self.series[series].without
        axes: Any = self.grids[grid] if isinstance(grid, str) else grid
        kept = {axis: values for axis, values in axes.items() if axis not in without}
        if without and "together" in kept:
            points = ({axis: point[axis] for axis in point if axis not in without} for point in kept["together"])
            kept["together"] = list({str(point): point for point in points}.values())
        return kept


class Window(Model):
    """Conditions under which points of a sweep are fitted.

    saturation : largest distF / sqrt(rank). noise_ratio : largest x of Algorithm 2. over_floor : least ratio of the
    error, its floor removed, to the floor. points : fewest points of a fit. span : least ratio of the largest to the
    smallest parameter of a fit.
    """

    saturation: Annotated[float, Field(gt=0)] = 0.4
    noise_ratio: Annotated[float, Field(gt=0)] = 0.3
    over_floor: Annotated[float, Field(ge=0)] = 2.0
    points: Annotated[int, Field(ge=2)] = 4
    span: Annotated[float, Field(ge=1)] = 8.0


class Response(Model):
    """The error that is fitted.

    response : column of the error. prediction : column of the predicted error, computed from `privrep.theory`.
    paired : whether to remove the floor, the error of the same users without noise.
    power : 2 for distances, whose squares add up with the floor's; 1 for risks, which add up as they are.
    """

    response: str = ""
    prediction: str = ""
    paired: bool = False
    power: Literal[1, 2] = 2


class Spec(Response):
    """One fit of a study.

    series : series whose rows are fitted. axis : column that varies. window : entries that differ from the study's.
    """

    name: str
    series: str
    axis: str
    window: Window = Window()


class EveryFit(Response):
    """Defaults for the fits of a study. tolerance : allowed distance from the claimed exponent."""

    tolerance: Tolerance | None = None


class StudyRate(Spec, Bound):
    """An entry of `fits`: how an exponent is fitted, where it is drawn, and what is claimed of it.

    figure : id of the figure that shows it; without a panel, only named in its row of claims. panel : title there.
    claim : id of the claim that has it as a quantity. quantity : name for readers. claimed : the claimed exponent.
    """

    panel: str = ""
    claim: str = ""
    quantity: str = ""
    claimed: Value | None = None

    @property
    def row(self) -> dict[str, Any]:
        """The entry for this exponent among the quantities of its claim."""
        row = {"quantity": self.quantity, "measured": f"exponent {self.name}", "rule": "rate", "value": self.claimed}
        return row | self.model_dump(include=set(Bound.model_fields), exclude_unset=True)


def names_in(expression: str) -> list[str]:
    """Return the columns in an expression, without repetition; ValueError if it is not an expression."""
    if not expression:
        return []
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is no expression of columns: {error.msg}") from None
    names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return list(dict.fromkeys(name for name in names if name not in ("sqrt", "log")))


KINDS = ("mean", "rms", "median", "share", "largest", "least", "value")
"""Kinds of a number: how it is computed from its column."""
AVERAGES = KINDS[:3]
"""Kinds that average over repetitions."""


class Number(Model):
    """A number that a study's file defines (`replication.evidence.numbers`): one of the kinds, from mean to value, as
    the key of a column or of an expression of columns.

    mean, rms, median : average over repetitions, with an interval. share : share of the runs that exceed `beyond`.
    largest, least : largest or least value of all runs. value : value of the first run, without error.
    beyond : limit of a share. series : series of the runs, by default all. where : condition on their columns.
    note : remark, where `[runs]` becomes the number of runs; by default that of an extreme names this number.
    over : entries of the denominator that differ, for a ratio of averages. per : constant that divides an average.
    largest_at : axis; the number is the largest of the ratios at each of its values, without an interval.
    stream, draws : random stream, by default the name, and draws of the bootstrap; no draws give no interval.
    """

    mean: str = ""
    rms: str = ""
    median: str = ""
    share: str = ""
    largest: str = ""
    least: str = ""
    value: str = ""
    series: str = ""
    where: str = ""
    beyond: float = 0
    over: dict[str, str] = {}
    per: str = ""
    largest_at: str = ""
    stream: str = ""
    draws: Annotated[int, Field(ge=0)] = 1000
    note: str = ""

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def below(self) -> Number:
        """The denominator of the ratio, defined as a number."""
        return self.model_copy(update=self.over)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Number:
        kinds = [kind for kind in KINDS if getattr(self, kind)]
        if len(kinds) != 1:
            raise ValueError(f"{', '.join(kinds) or 'nothing'}: one of {', '.join(KINDS)} says what the number is")
        (kind,), of_averages = kinds, dict.fromkeys(("over", "per", "largest_at", "stream", "draws"), AVERAGES)
        for key, owners in {**of_averages, "beyond": ("share",)}.items():
            if key in self.model_fields_set and kind not in owners:
                raise ValueError(f"{key}: it belongs to {', '.join(owners)}, this is {kind!r}")
        for key in self.over:
            if key not in (kind, "series", "where"):
                raise ValueError(f"over: {misnamed(key, 'not a known key', [kind, 'series', 'where'])}")
        if self.largest_at and not self.over:
            raise ValueError("largest_at: it needs 'over'")
        return self


def _with_names(fits: object) -> object:
    if not isinstance(fits, Mapping):
        return fits
    return {name: {**fit, "name": name} if isinstance(fit, Mapping) else fit for name, fit in fits.items()}


class Analysis(Model):
    """Fits and thresholds of a study.

    fits : fits by name. window : conditions on fitted points. thresholds : limits by name that decide which runs count.
    """

    study: str
    thresholds: dict[str, float] = {}
    window: Window = Window()
    fits: Annotated[dict[str, Spec], BeforeValidator(_with_names)] = {}

    def window_of(self, fit: str) -> Window:
        """Return the window of a fit: its own entries, then the study's, then the defaults."""
        return self.window.model_copy(update=self.fits[fit].window.model_dump(exclude_unset=True))


class Sweeps(Model):
    """A figure of fitted exponents. panels : name of a fit -> title. ylabel : label of the fitted error."""

    panels: Annotated[dict[str, str], Field(min_length=1)]
    ylabel: Annotated[str, Field(min_length=1)]


class AnalysisSettings(Analysis):
    """Settings of both the measuring and the plotting job of a study.

    figures : ids of all figures. sweeps : id -> panels, for the figures that show fits and nothing else.
    """

    figures: SomeNames
    sweeps: dict[str, Sweeps] = {}


class MeasureSettings(AnalysisSettings):
    """Settings of the measuring job.

    numbers : numbers that the study's file defines, by name. quantities : names of all quantities of the study.
    complete : whether the scale leaves the study as it is, so that no quantity may be missing.
    """

    numbers: dict[str, Number] = {}
    quantities: SomeNames
    complete: bool


class PlotSettings(AnalysisSettings):
    """Settings of the plotting job. claimed : name of a fit -> the exponent that the paper claims."""

    claimed: dict[str, float]


class Figure(Model):
    """A figure of a study.

    label : words before the caption. caption : text with placeholders for sizes (`replication.report.sizes`).
    ylabel : label of y if the figure shows fits and nothing else; the study's `figures.py` draws any other figure.
    """

    label: Annotated[str, Field(min_length=1)]
    caption: Annotated[str, Field(min_length=1)]
    ylabel: str = ""


class Study(Simulation, Analysis):
    """The content of src/replication/studies/<study>/settings.yaml with the changes of a scale merged in.

    paper : the paper that lists it among its chapters. figures : figures by id, in the order of the page.
    complete : whether the scale leaves the file's settings as they are.
    every_fit : defaults for the entries of `fits`.
    columns : columns that the study adds to those of the results. numbers : definitions of numbers, by patterns of
    their names. quantities : patterns of the names of all that the analysis measures besides numbers and fits, see
    `replication.evidence.quantities`.
    claims : claims that the study decides, without the rates of `fits`; models in `replication.evidence.claims`.
    """

    every_fit: EveryFit = EveryFit()
    fits: Annotated[dict[str, StudyRate], BeforeValidator(_with_names)] = {}  # pyright: ignore[reportIncompatibleVariableOverride] -- a Spec and more
    paper: str
    complete: bool = True
    figures: Annotated[dict[str, Figure], Field(min_length=1)]
    columns: SomeNames = ()
    numbers: dict[str, Number] = {}
    quantities: SomeNames = ()
    claims: Annotated[tuple[dict[str, Any], ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _fits_are_complete(self) -> Study:
        shared, claims = self.every_fit.model_dump(exclude_unset=True), [claim.get("id", "") for claim in self.claims]
        for name, fit in self.fits.items():
            of_claim = fit.model_fields_set & {*Bound.model_fields, "quantity", "claimed"} - {"figure"}
            needs = dict.fromkeys(("quantity", "claimed", "tolerance"), fit.claim)
            needs |= {"response": True, "figure": fit.panel, "claim": of_claim}
            self.fits[name] = fit = filled(fit, shared)
            for key, needed in needs.items():
                if needed and getattr(fit, key) in ("", None):
                    raise ValueError(f"fits.{name}: the key {key!r} is missing")
            for key, there in (("series", self.series), ("claim", claims), ("figure", self.figures)):
                if (value := getattr(fit, key)) and value not in there:
                    raise ValueError(f"fits.{name}.{key}: {misnamed(value, f'no {key} of this study', list(there))}")
            if fit.panel and not self.figures[fit.figure].ylabel:
                raise ValueError(f"figures.{fit.figure}: the key 'ylabel' is missing, which the fit {name!r} needs")
        for name, figure in self.figures.items():
            if figure.ylabel and not self.panels_of(name):
                raise ValueError(f"figures.{name}.ylabel: no fit has a panel in this figure")
        return self

    def panels_of(self, figure: str) -> dict[str, str]:
        """Return name of a fit -> title of its panel in a figure."""
        return {name: fit.panel for name, fit in self.fits.items() if fit.panel and fit.figure == figure}


class Overridable(Model):
    """The mappings in a study's file that a scale or an overlay changes entry by entry."""

    model_config = ConfigDict(extra="ignore")

    grids: dict[str, dict[str, Any]] = {}
    series: dict[str, dict[str, Any]] = {}
    fits: dict[str, dict[str, Any]] = {}
    options: dict[str, dict[str, Any]] = {}
    figures: dict[str, dict[str, Any]] = {}
    numbers: dict[str, dict[str, Any]] = {}
    thresholds: dict[str, Any] = {}


class Paper(Model):
    """The content of config/papers/<paper>.yaml.

    authors, title, venue : of the paper. chapters : studies in the order of the report.
    claims : ids in the order of the table of all verdicts.
    not_tested : claims that no study decides.
    """

    authors: str
    title: str
    venue: str
    chapters: SomeNames
    claims: SomeNames
    not_tested: Annotated[tuple[dict[str, Any], ...], Field(strict=False)] = ()


class RunSettings(Model):
    """Settings of a run that decide its numbers.

    master_seed : one number from which all data and noise are drawn.
    memory_budget_mb : up to this size data sets stay in memory between passes.
    """

    master_seed: Annotated[int, Field(ge=0)]
    memory_budget_mb: Annotated[int, Field(ge=0)]


class ShardSettings(RunSettings):
    """Settings of the simulating jobs of a study."""

    study: Simulation


class RunConfig(RunSettings):
    """The content of config/config.yaml with the overlays merged in.

    scale : size of the run.
    counts : number of shards, seeds or redraws, wherever the studies' files say no number for the scale.
    studies : studies to run, by default all chapters of all papers. overrides : study -> changes to its settings.
    """

    scale: Literal["default", "tiny", "quick", "record"]
    counts: dict[Literal["shards", "seed", "redraw"], Count] = {}
    studies: SomeNames
    overrides: dict[str, dict[str, Any]]


def read_settings(model: type[M], path: Path) -> M:
    """Return the settings of a job, as `replication.run.resolved` wrote them."""
    return checked(model, json.loads(path.read_text()), str(path))
