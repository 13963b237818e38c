"""A private mixed model of people's own tables, with scikit-learn's interface.

>>> import numpy as np
>>> from privrep.estimator import PrivateRepresentation
>>> rng = np.random.default_rng(0)
>>> people, features = np.repeat(np.arange(3000), 6), rng.uniform(-1, 1, (18_000, 8))
>>> tastes = rng.normal(0, 0.5, (3000, 1)) * rng.normal(0, 1, 8)
>>> labels = (features * tastes[people]).sum(axis=1) + rng.normal(0, 0.3, 18_000)
>>> model = PrivateRepresentation(epsilon=2.0, feature_bounds=(-1, 1), label_bounds=(-5, 5))
>>> model.fit(features, labels, users=people).advice_["answer"]
'share'
"""

from privrep.estimator.classifier import PrivateRepresentationClassifier as PrivateRepresentationClassifier
from privrep.estimator.private_representation import PrivateRepresentation as PrivateRepresentation
from privrep.estimator.row_splits import RowsWithinUsers as RowsWithinUsers
