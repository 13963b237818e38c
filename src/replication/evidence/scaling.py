"""Exponents of an error along a sweep, measured and predicted on the same grid.

A fit is a least-squares line through log(error) against log(parameter). Its series, axis, window and exclusions are
fixed in the study's settings, under `fits` and `window`, before anything is run. Floors are removed in quadrature on
paired data: the same users without noise. Intervals come from the bootstrap over repetitions (data draws); redraws of
the noise are averaged within a repetition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from privrep.users.rng import stream
from replication.evidence.intervals import DRAWS, spread, student
from replication.evidence.measured import Measured
from replication.run.settings import Analysis, Spec, Window


@dataclass(frozen=True)
class Sweep:
    """The points of a fit.

    values    : (p,) the parameter, ascending.
    errors    : (p, s) mean error to the power `spec.power` per repetition, floor removed.
    floors    : (p,) root mean floor, 0 where there is none.
    predicted : (p,) the formula's error, in the same units; NaN without a formula.
    reasons   : (p,) why a point is left out; empty where it is used.
    """

    spec: Spec
    window: Window
    values: np.ndarray
    errors: np.ndarray
    floors: np.ndarray
    predicted: np.ndarray
    reasons: list[str]

    @property
    def used(self) -> np.ndarray:
        return np.array([not reason for reason in self.reasons])

    @property
    def repetitions(self) -> int:
        return self.errors.shape[1]

    @property
    def too_few(self) -> str:
        """Reason why no exponent can be fitted; empty if one can."""
        values = self.values[self.used]
        if len(values) < self.window.points:
            return f"{len(values)} of {len(self.values)} points lie in the window; {self.window.points} are needed"
        if values.max() < self.window.span * values.min() * (1 - 1e-9):
            return f"the points span a factor {values.max() / values.min():.3g}; {self.window.span:g} is needed"
        return ""

    def counts(self) -> np.ndarray:
        """Draw how often each repetition counts in each bootstrap draw, (draws, s) with rows summing to s."""
        rng = stream(0, "bootstrap", {"name": self.spec.name, "repetitions": self.repetitions})
        return rng.multinomial(self.repetitions, np.full(self.repetitions, 1 / self.repetitions), size=DRAWS)

    def means(self) -> np.ndarray:
        """Return the error at each point, (p,); 0 where the floor exceeds the error."""
        return np.maximum(self.errors.mean(axis=1), 0) ** (1 / self.spec.power)

    def log_draws(self) -> np.ndarray:
        """Return log(error) at each point in each bootstrap draw, (draws, p)."""
        means = self.counts() @ self.errors.T / self.repetitions
        # Inside the window the floor rarely exceeds the error of a draw; a small positive number then replaces it.
        return np.log(np.maximum(means, 1e-3 * np.abs(means).mean(axis=0) + 1e-300)) / self.spec.power

    def point_intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the 95 % interval of the error at each point; NaN where there is none."""
        means = self.means()
        factor = np.exp(student(self.repetitions) * spread(self.log_draws(), self.repetitions))
        return means / factor, means * factor


@dataclass(frozen=True)
class Fit:
    """A fitted exponent, with its bootstrap standard error, and the formula's slope on the same points.

    `ratio` is the geometric mean of measured over predicted error, with its interval.
    """

    sweep: Sweep
    slope: float
    standard_error: float
    predicted_slope: float
    ratio: tuple[float, float, float]

    @property
    def interval(self) -> tuple[float, float]:
        half = student(self.sweep.repetitions) * self.standard_error
        return self.slope - half, self.slope + half


def slope_weights(logs: np.ndarray) -> np.ndarray:
    """Return w with least-squares slope w @ log(error), from the logarithms of the parameter; both (p,)."""
    centred = logs - logs.mean()
    return centred / (centred @ centred)


def fit(sweep: Sweep) -> Fit:
    """Fit the exponent of a sweep; NaN throughout where `Sweep.too_few` gives a reason."""
    if sweep.too_few:
        return Fit(sweep, *[math.nan] * 3, ratio=(math.nan, math.nan, math.nan))
    used, repetitions = sweep.used, sweep.repetitions
    logs = np.log(sweep.values[used])
    weights = slope_weights(logs)
    errors, draws = np.log(sweep.means()[used]), sweep.log_draws()[:, used]
    slope = float(weights @ errors)
    predicted = np.log(sweep.predicted[used])
    offset, offsets = float((errors - predicted).mean()), (draws - predicted).mean(axis=1)
    half = student(repetitions) * spread(offsets, repetitions)
    return Fit(
        sweep,
        slope,
        standard_error=float(spread(draws @ weights, repetitions)),
        predicted_slope=float(weights @ predicted),
        ratio=(float(np.exp(offset)), float(np.exp(offset - half)), float(np.exp(offset + half))),
    )


def _reason(point: pd.DataFrame, error: float, floor: float, spec: Spec, window: Window) -> str:
    """Return why a point is left out, by the window's rules in order."""
    if (point["status"] != "ok").any() or np.isnan(error):  # NaN if the fit of the floor failed
        return "a fit failed"
    if point[spec.axis].iloc[0] <= 0:
        return "reference point"
    if "noise_ratio" in point and point["noise_ratio"].max() > window.noise_ratio:
        return f"x = {point['noise_ratio'].max():.2g} > {window.noise_ratio:g}"
    distance = np.sqrt((point["distF"] ** 2).mean())
    if distance > window.saturation * np.sqrt(point["rank"].iloc[0]):
        return "saturated"
    if spec.paired and error < window.over_floor * floor:
        return "near the floor"
    return ""


def sweep(cells: pd.DataFrame, spec: Spec, window: Window) -> Sweep:
    """Collect the points of a fit from a results table with the prediction's column; ValueError if the series has no
    rows."""
    rows = cells[cells["series"] == spec.series]
    if not len(rows):
        raise ValueError(f"fit {spec.name!r}: series {spec.series!r} has no rows")
    noisy = rows[rows["noise_multiplier"] > 0] if spec.paired else rows
    keys = ["seed"] if spec.axis == "noise_multiplier" else [spec.axis, "seed"]
    silent = rows[rows["noise_multiplier"] == 0].set_index(keys)[spec.response] if spec.paired else None
    values = np.sort(noisy[spec.axis].unique())
    errors, floors, predicted, reasons = [], [], [], []
    for value in values:
        point = noisy[noisy[spec.axis] == value]
        power = point[spec.response] ** spec.power
        under = np.zeros(len(point))
        if silent is not None:
            under = silent.loc[list(point[keys].itertuples(index=False, name=None)) if len(keys) > 1 else point["seed"]]
            under = under.to_numpy() ** spec.power
        errors.append((power - under).groupby(point["seed"]).mean().to_numpy())
        floors.append(float(np.mean(under) ** (1 / spec.power)))
        predicted.append(point[spec.prediction].mean() if spec.prediction else float("nan"))
        reasons.append(_reason(point, max(errors[-1].mean(), 0) ** (1 / spec.power), floors[-1], spec, window))
    return Sweep(spec, window, values, np.array(errors), np.array(floors), np.array(predicted), reasons)


def fit_all(study: Analysis, cells: pd.DataFrame) -> dict[str, Fit]:
    """Return every fit of a study by name, from its results table with the predictions' columns."""
    return {name: fit(sweep(cells, spec, study.window_of(name))) for name, spec in study.fits.items()}


def fit_measures(fits: dict[str, Fit]) -> list[Measured]:
    """Measure the exponent of each fit and, where there is a formula, the constant as a ratio to the formula's."""
    measures = []
    for name, fit in fits.items():
        seeds, points = fit.sweep.repetitions, zip(fit.sweep.values, fit.sweep.reasons, strict=True)
        out = ", ".join(f"{value:g} ({reason})" for value, reason in points if reason)
        note = fit.sweep.too_few or (f"left out: {out}" if out else "")
        about = (seeds, note, fit.standard_error, fit.predicted_slope)
        measures.append(Measured(f"exponent {name}", fit.slope, *fit.interval, *about))
        if fit.sweep.spec.prediction:
            measures.append(Measured(f"constant {name}", *fit.ratio, seeds, note))
    return measures


def fit_table(fits: dict[str, Fit], names: Iterable[str]) -> pd.DataFrame:
    """Return the plotted numbers of the named fits, one row per point."""
    parts = []
    for name in names:
        sweep, spec = fits[name].sweep, fits[name].sweep.spec
        columns = {"fit": name, "parameter": spec.axis, "value": sweep.values, "response": spec.response}
        columns["error"] = sweep.means()
        columns["ci_low"], columns["ci_high"] = sweep.point_intervals()
        columns |= {"floor": sweep.floors, "predicted": sweep.predicted, "left out": sweep.reasons}
        columns["exponent"] = fits[name].slope
        columns["exponent_low"], columns["exponent_high"] = fits[name].interval
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
