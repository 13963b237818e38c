"""The estimator `PrivateRepresentation` for labels of two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from privrep.estimator.parameters import documented
from privrep.estimator.private_representation import PrivateRepresentation
from privrep.methods.mixed_model.calibration import BINARY
from privrep.options import ensure, option
from privrep.users.identity import is_missing, numbers, spell, spelled
from privrep.users.schema import Category, Schema


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRepresentationClassifier(ClassifierMixin, PrivateRepresentation):
    """Probabilities of two classes, no more, by heads fitted by squared loss and calibrated by one further release.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : (2,) names in ascending order, as scikit-learn has them. Probabilities of the second are calibrated.

    All other attributes are as in `PrivateRepresentation`; `advice_` is on squared errors with the classes as 0 and 1.

    Notes
    -----
    The method is "prior", and the range of the label 0 to 1. You state the names of classes, which are public, since
    which labels occur is private: a class of one person alone would reveal this person. 0 and 1 may also be false and
    true. "found" takes the classes that occur; which ones do then counts as public, and `privacy_` says so.
    """

    classes: str | Sequence[object] | None = option(
        'names of the two classes, such as ("no", "yes"), in any order; by default 0 and 1; or found', default=None
    )
    method: str = field(default="prior", init=False)
    family: str = field(default=BINARY, init=False)
    label_bounds: object = field(default=(0, 1), init=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags, tags.classifier_tags = None, ClassifierTags(poor_score=True, multi_class=False)
        return tags

    def fit(self, X, y, users=None) -> Self:
        """Learn the shared prior, and the heads of the users.

        Parameters
        ----------
        X, users : as in `PrivateRepresentation.fit`.
        y : (N,) names of classes; rows without a label are dropped, which a warning counts.

        Raises
        ------
        ValueError
            As `PrivateRepresentation.fit`, and if `classes` makes no sense or a label is none of the classes.
        """
        vars(self).pop("classes_", None)
        super().fit(X, y, users)
        if isinstance(self.classes, str):
            self.privacy_["assumed_public"].append("which labels occur")
        return self

    def fit_table(self, path: str | Path, *, user: str, label: str, schema: Schema) -> Self:
        """Fit a table on disk, with labels 0 and 1, or false and true, as `PrivateRepresentation.fit_table` does."""
        self.classes_ = self._classes(np.arange(2))
        of_numbers = [*spelled(self.classes_)] == ["0", "1"]
        ensure(of_numbers, "classes", self.classes, "of a table on disk it must be 0 and 1")
        return super().fit_table(path, user=user, label=label, schema=schema)

    def predict_proba(self, X, users=None) -> np.ndarray:
        """Return probabilities (N, 2) of `classes_`, at least 0.01 from 0 and 1, or 3 / (users mu) if that is more;
        errors as in `PrivateRepresentation.predict`.

        Local, and not private."""
        second = np.asarray(super().predict(X, users))
        return np.stack([1 - second, second], axis=1)

    def predict(self, X, users=None) -> np.ndarray:
        """Return the names (N,) of the more probable classes. Local, and not private."""
        likelier = np.argmax(self.predict_proba(X, users), axis=1)
        return self.classes_[likelier]

    def score(self, X, y, users=None, sample_weight=None) -> float:
        """Return the weighted share of labelled rows whose class is predicted correctly. Local, and not private."""
        labels = self._labels(X, y)
        there = ~np.isnan(labels)
        weights = None if sample_weight is None else column_or_1d(sample_weight)[there]
        right = np.argmax(self.predict_proba(X, users), axis=1) == labels
        return float(np.average(right[there], weights=weights))

    @np.errstate(invalid="ignore")  # scikit-learn may cast values that are not finite
    def _classes(self, labels: np.ndarray) -> np.ndarray:
        """Return the two classes in ascending order."""
        names = [0, 1] if self.classes is None else self.classes
        if isinstance(names, str) and names == "found":
            names = pd.unique(labels[~is_missing(spelled(labels))])
            check_classification_targets(names)
        try:
            ascending = np.unique(sorted(Category(tuple([names] if isinstance(names, str) else names)).levels))
        except (ValueError, TypeError):
            ascending = ()
        text = "it must be two names of one kind, not one class. Only binary classification is supported."
        ensure(len(ascending) == 2, "classes", self.classes, text)
        return np.asarray(ascending)

    def _numbers(self, labels: np.ndarray) -> np.ndarray:
        """Return 0 for the first class, 1 for the second, NaN for a missing label."""
        self.classes_ = self.classes_ if hasattr(self, "classes_") else self._classes(labels)
        texts = spelled(numbers(labels, "y") if self.classes is None else labels, "y")
        codes = pd.Index([*map(spell, self.classes_)], dtype=object).get_indexer(pd.Index(texts))
        if (wrong := (codes < 0) & ~is_missing(texts)).any():
            raise ValueError(f"y has in row {np.argmax(wrong) + 1} none of the two classes; more are not served")
        return np.where(codes < 0, np.nan, codes)
