"""A scikit-learn estimator that fits a publishable prior under user-level privacy and keeps users' heads local."""

from __future__ import annotations

import copy
import copyreg
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib.externals.loky.backend.reduction import register as register_for_workers
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from privrep.estimator.journal import entered
from privrep.estimator.parameters import Parameters, documented
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.stated import stated
from privrep.estimator.statement import DELTA_POWER, doubts, releases_of, statement
from privrep.estimator.summary import Summary
from privrep.methods.mixed_model.calibration import BINARY
from privrep.methods.mixed_model.method import MixedModel
from privrep.methods.mixed_model.stacking import ANSWERS, OWN, SHARE, UNKNOWN
from privrep.methods.running.method import Iterate, Method, Task
from privrep.methods.running.runner import open_release
from privrep.methods.steps.posterior import Mixture, by_size
from privrep.methods.unit_steps.method import UnitSteps
from privrep.methods.unit_steps.round import Round
from privrep.options import check_fields, ensure, misnamed
from privrep.privacy.accounting import Budget, gdp_mu
from privrep.privacy.lattice import SystemNoise
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import NOISE_ROLES
from privrep.users.blocks import UserData
from privrep.users.engines import running_on
from privrep.users.given_users import GivenUsers
from privrep.users.identity import check_finite, hashed_numbers, numbers, people, sketch, spelled
from privrep.users.passes import rows
from privrep.users.rng import stream
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import Oddities, Schema

validate: Any = validate_data  # Any, since its parameters have other types than their defaults
LABEL_SD = 0.55
"""Public guess of the root mean square of labels, and of residuals, in units of half the label's range."""
UNIT_STEPS_NOISE = 0.5
"""Public guess of the label noise over a label's root mean square, for unit steps."""
ADVICE = {
    SHARE: "sharing helps",
    UNKNOWN: "it cannot be told whether sharing helps; in doubt own data and shared prior are mixed",
    OWN: "this release adds nothing to users' own data",
}


@dataclass(eq=False)
class LocalHeads:
    """Heads (n, d) of the users `ids`, in the features of a schema, and `Mixture.doubts` (n, 2 + d), which are float32
    and take half the memory of the heads. Local, not private."""

    ids: np.ndarray
    vectors: np.ndarray
    doubts: np.ndarray

    @cached_property
    def _index(self) -> pd.Index:
        return pd.Index(spelled(self.ids))

    def places(self, users: np.ndarray) -> np.ndarray:
        """Return the positions (N,) of the users' heads, -1 for a user without one."""
        return self._index.get_indexer(pd.Index(spelled(users)))

    def updated(self, new: LocalHeads) -> LocalHeads:
        """Return these heads with the new ones: added for other users, replaced for the same users."""
        kept = ~pd.Index(spelled(self.ids)).isin(spelled(new.ids))
        pairs = ((self.ids, new.ids), (self.vectors, new.vectors), (self.doubts, new.doubts))
        return LocalHeads(*(np.concatenate([mine[kept], others]) for mine, others in pairs))


@documented
class PrivateRepresentation(RegressorMixin, Parameters, BaseEstimator):
    """Regression with a head for each user, about a prior that is learned under user-level differential privacy.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    shared_ : `SharedPrior`, which may be published. privacy_ : `PrivacyStatement`. ledger_ : all releases.
    advice_ : whether sharing helps, and the gain over own data in squared error, a mean over users of two rows or more,
        with its 95 % interval; the typical error of own data with the sd of its noise. All of this is released.
    local_ : `LocalHeads`, or None after unpickling. journal_ : how many fits in this
        machine's journal may be of the same people, and what all of them spend; or None. Neither may be published.

    Notes
    -----
    Own data are always mixed in, with all features, whatever `structure` is. Probabilities are calibrated by one
    further release. `PrivateRepresentationClassifier` has two classes of any names; more classes, counts, and censored
    survival times cannot be fitted.

    Noise is exact discrete Gaussian from the system's randomness, unless there is a seed, which a warning reports.
    Pickles without the heads are without `journal_`, too; copies, and estimators sent to worker processes of this
    machine, always have both.

    The workers of Dask are trusted with the data: rows that are in memory are sent to them, in clear unless the
    scheduler has TLS; those of a table on disk lie in TMPDIR for the time of the fit, which the workers must see.

    References
    ----------
    The method is `privrep.methods.mixed_model`; sums and noise are `privrep.privacy.mechanisms`.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True  # the guarantee leaves little signal of few users with few rows
        tags.non_deterministic = self.random_state is None
        return tags

    def __getstate__(self) -> dict:
        state: Any = super().__getstate__()
        if self.heads == "pickle" or "local_" not in state:
            return state
        return state | {"local_": None, "journal_": None}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        with_heads_to_workers(cls)

    def __copy__(self) -> Self:
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __deepcopy__(self, memo: dict) -> Self:
        new = memo[id(self)] = type(self).__new__(type(self))  # before its state is copied, which may refer to it
        vars(new).update(copy.deepcopy(vars(self), memo))
        return new

    def fit(self, X, y, users=None) -> Self:
        """Learn the shared prior, and the heads of the users.

        Parameters
        ----------
        X : (N, d) numbers, or a DataFrame of any kinds of columns, from pandas or a library with `to_pandas`, such as
            polars. A missing value counts as the middle of its range, in a category as no level.
        y : (N,); rows without a label are dropped, which a warning counts.
        users : (N,) the user of each row. None if a column of X has the users, or if each row is a person; a ValueError
            if such a column has other users.

        Raises
        ------
        ValueError
            If a parameter, a bound or `users` is missing or makes no sense.
        """
        self._check()
        frame, ids = self._read(X, users, reset=True)
        labels = self._labels(X, y)
        schema = stated(list(frame.columns), self.kinds, self.feature_bounds, self.label_bounds)
        data, names = in_memory(schema, frame, labels, ids, self.max_samples, self._rank(schema), True)
        with running_on(self.engine, self.scheduler):
            return self._fit(schema, data, names, sketch(hashed_numbers(labels)))

    def fit_table(self, path: str | Path, *, user: str, label: str, schema: Schema) -> Self:
        """Learn the same from a table on disk, of any size, with rows in any order.

        Parameters
        ----------
        path : a file that ends in .parquet or .csv, or a folder of Parquet files.
        user, label : names of columns.
        schema : kinds and ranges, in place of those that the parameters state.

        Raises
        ------
        ValueError
            As `ScatteredUsers.of`, and if a parameter makes no sense.
        """
        self._check()
        ensure(self.unit == "user", "unit", self.unit, "a table on disk has a column of users, and unit must be 'user'")
        with running_on(self.engine, self.scheduler):
            named: Any = {"user": user, "label": label, "schema": schema, "rank": self._rank(schema)}
            data = ScatteredUsers.of(
                path, **named, max_samples=self.max_samples, elsewhere=self.engine == "dask", strict=True
            )
            self.feature_names_in_ = np.array(list(schema.features), object)
            self.n_features_in_ = len(schema.features)
            return self._fit(schema, data, data.ids.to_numpy(zero_copy_only=False), data.label_sketch)

    def _fit(self, schema: Schema, data: UserData, ids: np.ndarray, labels: np.ndarray) -> Self:
        """Fit data laid out by user, with the users' ids and, for the journal, a sketch of the labels of the table."""
        n = data.known.users
        delta = min(n**-DELTA_POWER, 0.5) if self.delta is None else self.delta
        budget = Budget(float(self.epsilon), float(delta), "exact")
        mu = gdp_mu(budget.epsilon, budget.delta)
        for doubt in doubts(mu, budget.delta, n, self.max_samples):
            warnings.warn(doubt, stacklevel=3)
        seeded = self.random_state is not None
        if seeded:
            warnings.warn(
                f"random_state is {self.random_state}: noise can be drawn again by whoever knows it; leave it None for "
                "data that matter",
                stacklevel=3,
            )
        ledger, method = Ledger(), self._method(schema)
        task = Task(data, budget, noise_from(self.random_state), ledger)
        release = open_release(method, task)
        # The journal records a fit after all checks and before anything is released: after a crash in between, it may
        # count too much, never too little.
        record = entered(ids if self.unit == "user" else None, labels, mu**2, budget.delta)
        last = list(method.fit(data, release))[-1]
        self.shared_ = self._shared(schema, last)
        self.advice_ = advice(last, schema)
        self.ledger_ = ledger
        self.privacy_ = statement(releases_of(ledger), budget.delta, n, self.unit, seeded)
        self.journal_ = record
        self.local_ = local_heads(self.shared_, ids, data)
        return self

    def predict(self, X, users=None, return_std=False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return predictions (N,), by the heads of users who have one, else as `unseen` says. Local, and not private.

        Parameters
        ----------
        X, users : as in `fit`.
        return_std : whether to return standard deviations (sd) of new labels at these rows, too, (N,) in their unit: of
            label noise, the user's own as far as their rows show it, and of what is unknown of the user's head. On
            tables that were tried, predictions +- 2 sd held 93 to 96 of 100 new labels, +- 1 sd 64 to 88, most where
            labels are skewed or 0 and 1: they say how large errors are, not how these are distributed.

        Raises
        ------
        ValueError
            If a user has no head, or no users are given, and `unseen` is "raise"; else a warning counts these users. If
            `return_std` is True and the method releases no errors of labels.
        """
        check_is_fitted(self)
        frame, ids = self._read(X, users, reset=False, needed=False)
        place, odd = np.full(len(frame), -1), Oddities(len(frame))
        if self.unit == "user":
            if ids is not None and self.local_ is not None:
                place = self.local_.places(ids)
            if (place < 0).any():
                self._without_head(ids, place >= 0)
        labels, sds = predicted(self.shared_, self.local_, frame, place, return_std, odd)
        odd.tell()
        return (labels, sds) if return_std else labels

    def _without_head(self, ids: np.ndarray | None, has: np.ndarray) -> None:
        """Raise or warn, as `unseen` says, if rows are of users without a head; the message names nobody."""
        if ids is None:
            text = "users is None: no row has a head"
        else:
            users = spelled(ids)
            text = f"{len(set(users[~has])):,} of {len(set(users)):,} users have no head; personalise makes one"
            if self.local_ is None:
                text += " (heads stay where they were fitted, unless heads='pickle')"
        if self.unseen == "raise":
            raise ValueError(text)
        warnings.warn(f"{text}. Such rows are predicted by the shared mean", stacklevel=3)

    def score(self, X, y, users=None, sample_weight=None) -> float:
        """Return R^2 of the predictions, over rows that have a label, each with its weight. Local, and not private."""
        labels = self._labels(X, y)
        there = ~np.isnan(labels)
        weights = None if sample_weight is None else column_or_1d(sample_weight)[there]
        return float(r2_score(labels[there], self.predict(X, users)[there], sample_weight=weights))

    def personalise(self, X, y, users=None) -> Self:
        """Fit heads of any users to their rows, whether or not the users took part in the fit. Nothing is released."""
        check_is_fitted(self)
        frame, ids = self._read(X, users, reset=False)
        shared, labels = self.shared_, self._labels(X, y)
        data, names = in_memory(shared.schema, frame, labels, ids, shared.max_samples, shared.schema.dim, False)
        new = local_heads(shared, names, data)
        self.local_ = new if self.local_ is None else self.local_.updated(new)
        return self

    def summary(self) -> Summary:
        """Return tables of what was released, with the names and units of the data; as text they may be published."""
        check_is_fitted(self)
        return Summary.of(self.shared_, self.privacy_, self.advice_)

    def _check(self) -> None:
        check_fields(self)
        ensure(self.method == "prior" or self.rank, "rank", self.rank, "unit steps need one")

    def _read(self, X, users, *, reset: bool, needed: bool = True) -> tuple[pd.DataFrame, Any]:
        """Return features as a table, and the ids of the rows' users, (N,), or None."""
        X = in_pandas(X)
        if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
            raise ValueError(f"X has the column {X.columns[X.columns.duplicated()][0]!r} twice")
        if isinstance(X, pd.DataFrame) and self.users is not None:
            if self.users in X:
                column, X = X[self.users], X.drop(columns=self.users)
                users = column if users is None else same_people(users, column)
            elif users is None and self.users in X.index.names:
                raise ValueError(f"users is {self.users!r}, which is the index; X.reset_index() makes it a column")
            else:
                ensure(users is not None or not needed, "users", self.users, "the table has no such column")
        if isinstance(X, pd.DataFrame):
            validate(self, X, reset=reset, skip_check_array=True)
            if len(X) < 1:
                raise ValueError(f"Found array with {len(X)} sample(s) while a minimum of 1 is required.")
            frame = X
        else:
            X = self._array(X, reset)
            names = [f"x{index}" for index in range(X.shape[1])] if reset else list(self.shared_.schema.features)
            frame = pd.DataFrame(X, columns=names)
        if users is not None:
            if self.unit == "row":
                raise ValueError("users is given; with unit='row' each row is a person of its own, and it must be None")
            check_index(frame, users, "users")
            ids = column_or_1d(users)
            check_consistent_length(frame, ids)
            people(ids, "users")
            return frame, ids
        if self.unit == "row":
            return frame, np.arange(len(frame))
        if needed:
            raise ValueError("users is None; say whose each row is, or set unit='row' where each row is a person")
        return frame, None

    def _array(self, X, reset: bool) -> np.ndarray:
        """Return features that are in no table as an array of numbers; an error quotes no value of the features."""
        try:
            return validate(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        except ValueError as error:
            if "Complex data" in str(error):
                text = "Complex data not supported"
            elif "could not convert" in str(error):
                text = "X has a text that is no number; levels of a category stand in a DataFrame"
            elif "setting an array element" in str(error):
                text = "X has lists or tables in place of single values"
            else:
                raise
        raise ValueError(text)

    def _labels(self, X, y) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X = in_pandas(X)
        check_index(X, y, "y")
        if np.iscomplexobj(np.asarray(y)):
            raise ValueError("y has complex numbers; it must have real ones")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        return self._numbers(labels)

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        """Return labels as numbers, NaN where one is missing."""
        return check_finite(numbers(labels, "y"), "y")

    def _rank(self, schema: Schema) -> int:
        rank = self.rank or schema.dim
        ensure(rank <= schema.dim, "rank", rank, f"the scaled features have {schema.dim} dimensions")
        return rank

    def _method(self, schema: Schema) -> Method:
        label, family = schema.label, self.family
        fits = family != BINARY or (self.method, label.low, label.high) == ("prior", 0, 1)
        ensure(fits, "family", family, "it needs method 'prior' and labels from 0 to 1")
        if self.method == "prior":
            return MixedModel(LABEL_SD, self.rank, True, varying(schema, self.structure), family)
        signal = LABEL_SD**2 / (1 + UNIT_STEPS_NOISE**2)
        rank = self._rank(schema)
        return UnitSteps(rank, math.sqrt(signal / rank), UNIT_STEPS_NOISE * math.sqrt(signal))

    def _shared(self, schema: Schema, last: Iterate) -> SharedPrior:
        found: Any = last.personal and last.personal.models
        if self.method == "prior":
            others = found.mean_noise, found.mean_reach, found.error, found.calibration
            return SharedPrior(schema, found.mean, found.mixture, self.max_samples, *others)
        nothing = np.zeros(schema.dim)
        last_round: Round = found.__self__  # the models of unit steps are a bound method of the last round
        heads = Mixture((last_round.prior,))
        return SharedPrior(schema, nothing, heads, self.max_samples, nothing, 0.0, math.nan)


def with_heads_to_workers(kind: type[PrivateRepresentation]) -> None:
    """Let estimators of a class keep their heads on the way to and from processes of this machine."""
    for register in (ForkingPickler.register, register_for_workers):
        register(kind, lambda model: (copyreg.__newobj__, (type(model),), vars(model)))  # pyright: ignore[reportAttributeAccessIssue] -- unlisted


with_heads_to_workers(PrivateRepresentation)


def check_index(X: object, other: object, name: str) -> None:
    """Raise ValueError if a Series has another index than the table, since rows are matched by their place."""
    if isinstance(X, pd.DataFrame) and isinstance(other, pd.Series) and not X.index.equals(other.index):
        raise ValueError(f"{name} has another index than X; rows are matched by their place: give both the same index")


def same_people(users: Any, column: pd.Series) -> object:
    """Return the argument `users`; raise ValueError if the table's column of users has other users."""
    check_consistent_length(users, column)
    other = spelled(users, "users") != spelled(column, "users")
    if other.any():
        row = np.argmax(other) + 1
        raise ValueError(f"users has in row {row} another user than column {column.name!r} of X; give one of them")
    return users


def in_pandas(X: Any) -> Any:
    """Return another library's table as one of pandas, anything else as it is; raise ValueError for a lazy frame."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(type(X), "columns") and (hasattr(X, "collect") or hasattr(X, "compute")):
        raise ValueError("X is a lazy frame; collect() or compute() reads it, and fit_table reads what is larger")
    return X


def varying(schema: Schema, structure: object) -> np.ndarray:
    """Mark the coordinates in which heads differ from the mean, (d,); raise ValueError where a column is unknown."""
    named: dict[object, list[str]] = {"level": [], "full": list(schema.features)}
    names = named.get(structure, structure) if isinstance(structure, str) else structure
    if not isinstance(names, list | tuple):
        raise ValueError(f"structure is {structure!r}; it must be 'full', 'level', or a list of columns")
    for name in names:
        if name not in schema.features:
            raise ValueError(f"structure: {misnamed(name, 'no column of the table', schema.features)}")
    return np.r_[
        True, np.repeat([name in names for name in schema.features], [one.width for one in schema.features.values()])
    ]


def in_memory(
    schema: Schema, frame: pd.DataFrame, labels: np.ndarray, ids: np.ndarray, cap: int, rank: int, strict: bool
) -> tuple[GivenUsers, np.ndarray]:
    """Lay out the rows of a table by user; return the users and their ids (n,), sorted as texts."""
    number, texts = pd.factorize(spelled(ids), sort=True)
    odd = Oddities(len(frame))
    scaled = schema.scaled_labels(labels, odd)
    if np.isnan(scaled).all():
        raise ValueError("y has no label that is a number")
    data = GivenUsers.capped(scaled, schema.scaled(frame, odd), number, len(texts), cap, rank)
    odd.tell(strict)
    return data, np.asarray(ids)[np.unique(number, return_index=True)[1]]


def local_heads(shared: SharedPrior, ids: np.ndarray, data: UserData) -> LocalHeads:
    """Return the posterior means of all users' heads, with `Mixture.doubts`."""
    heads, doubts = (partial(by_size, shared.heads.heads), partial(by_size, shared.heads.doubts, shared.error))
    return LocalHeads(ids, *rows(data, lambda block: (heads(block).values, doubts(block).values)))


def predicted(
    shared: SharedPrior, local: LocalHeads | None, frame: pd.DataFrame, place: np.ndarray, with_sd: bool, odd: Oddities
) -> tuple[np.ndarray, Any]:
    """Return labels (N,) of rows, and their standard deviations, by the heads at these places, -1 for the shared mean;
    count odd rows in `odd`."""
    stranger, has = shared.stranger if with_sd else shared.mean, place >= 0  # may raise, before rows are read

    def of_rows(name: str, other: np.ndarray) -> np.ndarray:
        return np.where(has[:, None], getattr(local, name)[place], other) if has.any() else other[None]

    scaled = shared.schema.scaled(frame, odd)
    labels = shared.labels(np.einsum("nd,nd->n", scaled, of_rows("vectors", shared.mean)))
    return labels, shared.sd(scaled, of_rows("doubts", stranger)) if with_sd else None


def noise_from(seed: int | None) -> Callable[[str], np.random.Generator]:
    """Return a function from a role of noise to its stream in a fit, the system's randomness if there is no seed; it
    raises ValueError for other roles, whose draws would be public."""

    def start(role: str) -> np.random.Generator:
        ensure(role in NOISE_ROLES, "role", role, f"a fit of given rows draws from {' and '.join(NOISE_ROLES)} alone")
        if seed is None:
            return SystemNoise()  # pyright: ignore[reportReturnType] -- of these roles Gaussian noise alone is drawn
        return stream(int(seed), role, {"estimator": "PrivateRepresentation"})

    return start


def advice(last: Iterate, schema: Schema) -> dict:
    """Return the released advice on sharing, errors in the label's unit; empty for a method that gives none."""
    log, half_range = last.log, (schema.label.high - schema.label.low) / 2
    if "answer" not in log:
        return {}
    answer = ANSWERS[int(log["answer"])]
    gains = {name: float(log[name]) * half_range**2 for name in ("gain", "gain_low", "gain_high")}
    numbers = {"typical_error": float(log["level"]) * half_range, "weight_of_own_data": float(log["own_part"])}
    models: Any = last.personal and last.personal.models
    numbers["typical_error_noise"] = float(models.level_noise) * half_range
    return {"answer": answer, "text": ADVICE[answer], **gains, **numbers}
