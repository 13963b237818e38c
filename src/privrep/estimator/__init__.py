"""A private mixed model of people's own tables, in scikit-learn's manner.

>>> import numpy as np
>>> from privrep.estimator import PrivateRepresentation
>>> rng = np.random.default_rng(0)
>>> people, features = np.repeat(np.arange(3000), 10), rng.uniform(-1, 1, (30_000, 3))
>>> labels = (features * rng.normal(0, 0.3, (3000, 3))[people]).sum(axis=1).clip(-1, 1)
>>> model = PrivateRepresentation(epsilon=4.0, feature_bounds=(-1, 1), label_bounds=(-1, 1))
>>> model.fit(features, labels, users=people).advice_["answer"]
'heads'
"""

from privrep.estimator.private_representation import PrivateRepresentation
from privrep.estimator.row_splits import RowsWithinUsers

__all__ = ["PrivateRepresentation", "RowsWithinUsers"]
