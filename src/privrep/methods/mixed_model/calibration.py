"""Calibration: one release turns predictions of labels 0 and 1 by squared-loss heads into probabilities.

Knots are public and evenly spaced over the range of a probability. A prediction counts at the two knots around it, with
weights that add up to one. With r_ij the error of user i on its left-out row j over the level, and h_ijk the weight of
its prediction at knot k,

    a_ik = mean_j h_ijk,   e_ik = mean_j h_ijk r_ij,   released: sum_i clip( (a_i / 2, e_i); c ) + noise.

Privacy: a user's left-out predictions follow from its own rows and from earlier releases; knots, level and c are
releases or public. So replacing a user changes its own vector alone. Both vectors have norm at most c after the clip,
and the sum moves by at most 2 c, by the triangle inequality. Two users with one row at a knot and errors of q and -q
levels are nearly opposite: (1/2, q) and (1/2, -q), clipped, are 2 c q / sqrt(q^2 + 1/4) apart.

Clipping biases probabilities of rare outcomes towards 0, and noise has no bias: c grows with n mu up to the largest
error in levels, where hardly anything is clipped.

Where n mu is small, probabilities keep a distance of `plan.LEAST_SURE` / (n mu) from 0 and 1. Shrinking all of them to
the released mean label was tried and does worse: that mean is as noisy.

All else is computed from the release. The change at a knot is the posterior mean in e = a * change under a normal prior
of sd `CHANGE_SD` levels, with the variance of the noise and of users' errors: knots of few users keep the identity.
Isotonic regression follows, with the posterior precisions as weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import isotonic_regression

from privrep.methods.mixed_model import plan
from privrep.methods.mixed_model.stacking import errors, mean_over_samples
from privrep.methods.steps.posterior import Mixture, by_size
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData

GAUSSIAN, BINARY = "gaussian", "binary"
"""Families of labels; predictions of the second are calibrated."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A monotone map of predictions to mean labels, linear between knots and constant beyond them."""

    knots: np.ndarray  # (k,), ascending
    values: np.ndarray  # (k,), ascending

    def __call__(self, predictions: np.ndarray) -> np.ndarray:
        return np.interp(predictions, self.knots, self.values)


def left_out_changes(mixture: Mixture, knots: np.ndarray, level: float, block: Block) -> np.ndarray:
    """Contribution of users: (a / 2, e) of their left-out predictions, (2 k,)."""
    weights = np.concatenate([prior.weights for prior in mixture.priors])
    predicted = block.labels.T - np.einsum("c,cbm->bm", weights, errors(mixture.priors, block)[0])
    near = np.array([np.interp(predicted, knots, hat) for hat in np.eye(len(knots))])
    near = np.where(np.isfinite(block.feature_norms).T, near, 0.0)
    sums = near / 2, near * (block.labels.T - np.clip(predicted, knots[0], knots[-1])) / level
    return np.concatenate([mean_over_samples(part, block) for part in sums]).T


def calibration(users: UserData, mixture: Mixture, level: float, unit: float, release: Release) -> Calibration:
    """Release the calibration of a mixture.

    level : typical error of own data, in the scale of the labels, which lie in [-unit, unit]."""
    n, knots = users.known.users, unit * np.linspace(-1, 1, plan.KNOTS)
    clip = plan.between(n / max(release.noise_multiplier, 1e-9) / plan.UNCLIPPED, 1.0, 2 * unit / level)
    sums = release.sum("mixed_calibration", users, partial(by_size, left_out_changes, mixture, knots, level), clip=clip)
    there, left = np.clip(2 * sums.value[: plan.KNOTS], 0.0, n), sums.value[plan.KNOTS :]
    variance = np.maximum(sums.sd**2 + there, 1e-9)
    precision = there**2 / variance + plan.CHANGE_SD**-2
    values = isotonic_regression(knots + level * there * left / variance / precision, weights=precision).x
    least = 2 * unit * plan.between(plan.LEAST_SURE * release.multiplier / n, plan.LEAST_PROBABILITY, 0.5)
    return Calibration(knots, np.clip(values, least - unit, unit - least))
