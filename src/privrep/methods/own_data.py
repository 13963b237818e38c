"""Each user alone: `Own data` of jain2021's Figure 2, `Stand-alone-no-FL` of shen2023's Section 6. Nothing is released.

With m < d samples the regression is underdetermined and jain2021 does not say how it was solved. `penalty` 0 is the
minimum-norm solution, whose expected excess risk is (1 - m/d) E||theta||^2; a positive `penalty` is ridge regression.
With m > d penalty 0 is ordinary least squares.

>>> from privrep.simulate import fit
>>> row, ledger = fit("own_data", users=2000, samples=16, dim=8, rank=2)
>>> ledger.entries, row["excess_risk"] < 0.01
([], True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privrep.methods.running.method import FullRank, Iterate
from privrep.options import Declared, check_nonnegative, option
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known


def own_data_models(features: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """Return the ridge or minimum-norm model of each user of a block, (B, d). An all-zero sample does not count."""
    features, labels = features.transpose(1, 0, 2).astype(np.float64), labels.astype(np.float64)
    _, samples, dim = features.shape
    if samples <= dim:
        return _by_kernel(features, labels, penalty)
    few = features.any(axis=2).sum(axis=1) < dim
    penalties = penalty + few.astype(float)  # keeps systems regular; these users' models are replaced
    gram = features.transpose(0, 2, 1) @ features + penalties[:, None, None] * np.eye(dim)
    right = np.einsum("bmd,mb->bd", features, labels)
    models = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    if few.any():
        models[few] = _by_kernel(features[few], labels[:, few], penalty)
    return models


def _by_kernel(features: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """Return X_j^T (X_j X_j^T + penalty I)^{-1} y_j, with a one on the diagonal for a sample that is zero."""
    eye = np.eye(features.shape[1])
    kernel = features @ features.transpose(0, 2, 1) + penalty * eye + ~np.any(features, axis=2)[:, :, None] * eye
    dual = np.linalg.solve(kernel, labels.T[:, :, None])
    return np.einsum("bmd,bm->bd", features, dual[:, :, 0])


@dataclass(frozen=True)
class OwnDataOptions(Declared):
    """Ridge regression on each user's own data; the penalty is in units of one squared feature."""

    penalty: float = option("ridge penalty; 0 is minimum norm", check_nonnegative, 0.0)

    def build(self, known: Known) -> OwnDataOptions:
        return self

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        yield Iterate(None, FullRank(self.models))

    def models(self, block: Block) -> np.ndarray:
        return own_data_models(block.features, block.labels, self.penalty)
