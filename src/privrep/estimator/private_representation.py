"""A scikit-learn estimator that fits a publishable prior under user-level privacy and keeps users' heads local."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from privrep.estimator.journal import entered
from privrep.estimator.shared_prior import SharedPrior
from privrep.estimator.stated import stated
from privrep.estimator.statement import statement
from privrep.methods.mixed_model import MixedModel
from privrep.methods.running.method import Iterate, Method, Task
from privrep.methods.running.runner import open_release
from privrep.methods.steps.posterior import Mixture, Prior
from privrep.methods.steps.stacking import ANSWERS, OWN, SHARE, UNKNOWN
from privrep.methods.unit_steps import UnitSteps
from privrep.options import among, check_count, check_positive, check_whole, unless
from privrep.privacy.accounting import Budget, check_delta, gdp_mu
from privrep.privacy.lattice import SystemNoise
from privrep.privacy.ledger import Ledger
from privrep.users.engines import running_on
from privrep.users.given_users import GivenUsers
from privrep.users.passes import rows
from privrep.users.problem import UserData
from privrep.users.rng import stream
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import Schema

CHECKS = {
    "epsilon": check_positive,
    "method": among(("prior", "unit_steps")),
    "rank": unless(None, check_count),
    "unit": among(("user", "row")),
    "max_samples": check_count,
    "unseen": among(("shared", "raise")),
    "heads": among(("local", "pickle")),
    "random_state": unless(None, check_whole),
}
"""What a parameter may be; kinds and bounds are checked with the table."""
LABEL_SD = 0.55
"""Public guess of the root mean square label, and of the residual, in units of half the label's range."""
UNIT_STEPS_NOISE = 0.5
"""Public guess of the label noise over a label's root mean square, for unit steps."""
DELTA_POWER = 2.0
"""delta is n to this power, inverted, where none is given: beside 1/n, that of one user exposed entirely, it is small."""
ADVICE = {
    SHARE: "sharing helps",
    UNKNOWN: "it cannot be told whether sharing helps; take it as no",
    OWN: "do not share: users' own data serve as well",
}


@dataclass(eq=False)
class LocalHeads:
    """Heads (n, d) of the users `ids`, in the features of a schema: local, not private."""

    ids: np.ndarray
    vectors: np.ndarray

    def of(self, users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the heads of users (N,), zeros where one has none, and which users have one."""
        found = pd.Index(self.ids).get_indexer(users)
        return self.vectors[np.maximum(found, 0)], found >= 0

    def updated(self, new: LocalHeads) -> LocalHeads:
        """Add the heads of other users, and replace those of the same."""
        kept = ~pd.Index(self.ids).isin(new.ids)
        return LocalHeads(np.concatenate([self.ids[kept], new.ids]), np.concatenate([self.vectors[kept], new.vectors]))


class PrivateRepresentation(RegressorMixin, BaseEstimator):
    """Regression with a head for each user, about a prior that is learned under user-level differential privacy.

    Parameters
    ----------
    epsilon : of the whole fit; replacing all rows of one user is what it holds for.
    delta : by default 1/n^2 for n users; above 1/n it warns.
    method : "prior", the released mixed model, or "unit_steps", a subspace of the given rank.
    rank : of the released prior; None for all of it. Unit steps need one.
    kinds : of the features: "number", "flag" or the levels of a category; by name or in order. By default numbers.
    feature_bounds : (low, high) of all numbers, or one pair for each. Required, public; values beyond count as nearest.
    label_bounds : (low, high) of the label. Required, public.
    unit : "user", or "row" where each row is a person of its own, and fit takes no users.
    users : name of the column that says whose a row is, where X is a DataFrame; else `users` goes to fit.
    max_samples : rows of a user that are used at most, a random choice.
    unseen : prediction for users without a head: "shared", by the shared mean, or "raise".
    heads : whether pickles have the users' heads: "local", no, or "pickle", yes.
    random_state : None draws exact discrete Gaussian noise from the system's randomness; a seed is for experiments,
        and warns.
    engine, scheduler : where the passes over users run, see `privrep.users.engines.running_on`. The same comes out. The
        workers of Dask are trusted with the data: rows that are in memory are sent to them, in clear unless the
        scheduler has TLS; those of a table on disk lie in TMPDIR for the time of the fit, which the workers must see.

    Attributes
    ----------
    shared_ : `SharedPrior`, which may be published. privacy_ : `PrivacyStatement`. ledger_ : all releases.
    advice_ : whether sharing helps, and the gain over own data in squared error with its 95 % interval. Released.
    local_ : `LocalHeads`, or None after unpickling.

    References
    ----------
    The method is `privrep.methods.mixed_model`; sums and noise are `privrep.privacy.mechanisms`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        method: str = "prior",
        rank: int | None = None,
        kinds: object = None,
        feature_bounds: object = None,
        label_bounds: object = None,
        unit: str = "user",
        users: str | None = None,
        max_samples: int = 64,
        unseen: str = "shared",
        heads: str = "local",
        random_state: int | None = None,
        engine: str = "process",
        scheduler: str | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.rank = rank
        self.kinds = kinds
        self.feature_bounds = feature_bounds
        self.label_bounds = label_bounds
        self.unit = unit
        self.users = users
        self.max_samples = max_samples
        self.unseen = unseen
        self.heads = heads
        self.random_state = random_state
        self.engine = engine
        self.scheduler = scheduler

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a guarantee for a user of few rows leaves little of few users
        tags.non_deterministic = self.random_state is None
        return tags

    def __getstate__(self):
        state = super().__getstate__()
        return state if self.heads == "pickle" or "local_" not in state else state | {"local_": None}

    def fit(self, X, y, users=None) -> PrivateRepresentation:
        """Learn the shared prior, and the heads of the users.

        Parameters
        ----------
        X : (N, d) numbers, or a DataFrame of whatever kinds.
        y : (N,); of a DataFrame, rows without a label are dropped.
        users : (N,) whose each row is. None where a column says so, or each row is a person.

        Raises
        ------
        ValueError
            If a parameter, a bound or `users` is missing or makes no sense.
        """
        self._check()
        frame, ids = self._read(X, users, reset=True)
        labels = self._labels(X, y)
        schema = stated(list(frame.columns), self.kinds, self.feature_bounds, self.label_bounds)
        data, names = in_memory(schema, frame, labels, ids, self.max_samples, self._rank(schema))
        with running_on(self.engine, self.scheduler):
            return self._fit(schema, data, names)

    def fit_table(self, path: str | Path, *, user: str, label: str, schema: Schema) -> PrivateRepresentation:
        """The same from a table on disk, of whatever size, with rows in any order.

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
        if self.unit != "user":
            raise ValueError(f"unit is {self.unit!r}; a table on disk has a column of users, and unit must be 'user'")
        with running_on(self.engine, self.scheduler):
            data = ScatteredUsers.of(
                path,
                user=user,
                label=label,
                schema=schema,
                max_samples=self.max_samples,
                rank=self._rank(schema),
                elsewhere=self.engine == "dask",
            )
            self.feature_names_in_ = np.array(list(schema.features), object)
            self.n_features_in_ = len(schema.features)
            return self._fit(schema, data, data.ids.to_numpy(zero_copy_only=False))

    def _fit(self, schema: Schema, data: UserData, ids: np.ndarray) -> PrivateRepresentation:
        """Fit to users who are laid out."""
        n = data.known.users
        delta = min(n**-DELTA_POWER, 0.5) if self.delta is None else self.delta
        check_delta(delta)
        if self.delta is not None and delta > 1 / n:
            warnings.warn(
                f"delta is {delta:g}, more than 1/n = {1 / n:.3g}: a mechanism with this delta may expose one user in "
                f"{n} entirely",
                stacklevel=3,
            )
        seeded = self.random_state is not None
        if seeded:
            warnings.warn(
                f"random_state is {self.random_state}: noise can be drawn again by whoever knows it; leave it None for "
                "data that matter",
                stacklevel=3,
            )
        # Written down before anything is released: a crash in between may count too much, never too little.
        people = ids if self.unit == "user" else np.char.add(f"{n} rows, ", np.arange(n).astype(str))
        record = entered(people, gdp_mu(float(self.epsilon), delta) ** 2)
        ledger, method = Ledger(), self._method(schema)
        task = Task(data, Budget(float(self.epsilon), delta, "exact"), noise_from(self.random_state), ledger)
        last = list(method.fit(data, open_release(method, task)))[-1]
        self.shared_, self.advice_ = self._shared(schema, last), advice(last, schema)
        self.ledger_ = ledger
        self.privacy_ = statement(ledger, delta, n, self.unit, seeded, record)
        self.local_ = LocalHeads(ids, heads(self.shared_.heads, data))
        return self

    def predict(self, X, users=None) -> np.ndarray:
        """(N,); by the heads of users who have one, else as `unseen` says. Local, and not private.

        Raises
        ------
        ValueError
            If a user has no head, and `unseen` is "raise".
        """
        check_is_fitted(self)
        frame, ids = self._read(X, users, reset=False, needed=False)
        shared = self.shared_
        vectors = np.tile(shared.mean, (len(frame), 1))
        if ids is not None and self.unit == "user":
            found, has = self.local_.of(ids) if self.local_ is not None else (vectors, np.zeros(len(ids), bool))
            if self.unseen == "raise" and not has.all():
                raise ValueError(f"user {ids[~has][0]!r} has no head; call personalise with rows of theirs")
            vectors = np.where(has[:, None], found, vectors)
        return shared.schema.labels(np.einsum("nd,nd->n", shared.schema.scaled(frame), vectors))

    def score(self, X, y, users=None) -> float:
        """R^2 of the predictions. Local, and not private."""
        return float(r2_score(y, self.predict(X, users)))

    def personalise(self, X, y, users=None) -> PrivateRepresentation:
        """Heads of anybody from rows of theirs, whether or not they took part. Nothing is released."""
        check_is_fitted(self)
        frame, ids = self._read(X, users, reset=False)
        shared, labels = self.shared_, self._labels(X, y)
        data, names = in_memory(shared.schema, frame, labels, ids, shared.max_samples, shared.schema.dim)
        new = LocalHeads(names, heads(shared.heads, data))
        self.local_ = new if self.local_ is None else self.local_.updated(new)
        return self

    def _check(self) -> None:
        for name, check in CHECKS.items():
            check(name, getattr(self, name))
        if self.method == "unit_steps" and self.rank is None:
            raise ValueError("rank is None; unit steps need one")

    def _read(self, X, users, *, reset: bool, needed: bool = True) -> tuple[pd.DataFrame, np.ndarray | None]:
        """Return features as a table, and the ids of the rows' users."""
        if isinstance(X, pd.DataFrame) and self.users is not None:
            if self.users in X:
                users = X[self.users] if users is None else users
                X = X.drop(columns=self.users)
            elif users is None and needed:
                raise ValueError(f"users is {self.users!r}; the table has no such column")
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) < 1:
                raise ValueError(f"Found array with {len(X)} sample(s) while a minimum of 1 is required.")
            frame = X
        else:
            X = validate_data(self, X, reset=reset, dtype=np.float64)
            names = [f"x{index}" for index in range(X.shape[1])] if reset else list(self.shared_.schema.features)
            frame = pd.DataFrame(X, columns=names)
        if users is not None:
            if self.unit == "row":
                raise ValueError("users is given; with unit='row' each row is a person of its own, and it must be None")
            ids = column_or_1d(users)
            check_consistent_length(frame, ids)
            if pd.isna(ids).any():
                raise ValueError("users has a missing value; each row needs a user")
            return frame, ids
        if self.unit == "row":
            return frame, np.arange(len(frame))
        if needed:
            raise ValueError(
                "users is None; say whose each row is, or set unit='row' where each row is a person of its own"
            )
        return frame, None

    def _labels(self, X, y) -> np.ndarray:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        labels = labels.astype(np.float64)
        if not isinstance(X, pd.DataFrame) and not np.isfinite(labels).all():
            raise ValueError("Input y contains NaN or infinity.")
        return labels

    def _rank(self, schema: Schema) -> int:
        if self.rank is not None and self.rank > schema.dim:
            raise ValueError(f"rank is {self.rank}; the scaled features have {schema.dim} dimensions")
        return self.rank or schema.dim

    def _method(self, schema: Schema) -> Method:
        if self.method == "prior":
            return MixedModel(LABEL_SD, self.rank, constant=True)
        signal = LABEL_SD**2 / (1 + UNIT_STEPS_NOISE**2)
        return UnitSteps(self.rank, math.sqrt(signal / self.rank), UNIT_STEPS_NOISE * math.sqrt(signal))

    def _shared(self, schema: Schema, last: Iterate) -> SharedPrior:
        if self.method == "prior":
            found = last.personal.models
            return SharedPrior(schema, found.mean, found.mixture, self.max_samples)
        ridge, nothing = last.personal.heads, np.zeros(schema.dim)
        alone = Mixture((Prior(nothing, ridge.basis, np.array([1 / ridge.penalty]), np.ones(1)),))
        return SharedPrior(schema, nothing, alone, self.max_samples)


def in_memory(
    schema: Schema, frame: pd.DataFrame, labels: np.ndarray, ids: np.ndarray, cap: int, rank: int
) -> tuple[GivenUsers, np.ndarray]:
    """Lay out the rows of a table by user; return the users and their ids (n,), in the order of the ids."""
    number, names = pd.factorize(ids, sort=True)  # unlike np.unique it sorts numbers and text together
    scaled = schema.scaled_labels(labels)
    if np.isnan(scaled).all():
        raise ValueError("y has no label that is a number")
    return GivenUsers.capped(scaled, schema.scaled(frame), number, len(names), cap, rank), names


def heads(mixture: Mixture, data: UserData) -> np.ndarray:
    """Return the posterior means of all users' heads, (n, d)."""
    return rows(data, lambda block: (mixture.heads(block),))[0]


def noise_from(seed: int | None) -> Callable[[str], np.random.Generator | SystemNoise]:
    """Return the streams of a fit by role: noise from the operating system where there is no seed; other draws are
    public."""

    def start(role: str) -> np.random.Generator | SystemNoise:
        if seed is None and role in ("noise", "init_noise"):
            return SystemNoise()
        return stream(0 if seed is None else int(seed), role, {"estimator": "PrivateRepresentation"})

    return start


def advice(last: Iterate, schema: Schema) -> dict:
    """Return the released advice on sharing, errors in the label's unit; empty for a method that gives none."""
    log, half_range = last.log, (schema.label.high - schema.label.low) / 2
    if "answer" not in log:
        return {}
    answer = ANSWERS[int(log["answer"])]
    gains = {name: float(log[name]) * half_range**2 for name in ("gain", "gain_low", "gain_high")}
    numbers = {"typical_error": float(log["level"]) * half_range, "weight_of_own_data": float(log["own_part"])}
    return {"answer": answer, "text": ADVICE[answer], **gains, **numbers}
