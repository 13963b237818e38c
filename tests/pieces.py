"""What users add in the methods, clipped and summed: plain functions of data and bounds, to test one at a time."""

import math

import numpy as np

from privrep.methods.power_method import Products
from privrep.methods.spectral_init import SamplePairs
from privrep.methods.steps.moment_step import UserMoments
from privrep.methods.unit_steps.method import RESIDUAL_WIDTH, Round, unit_models
from privrep.methods.unit_steps.method import half_products as products_of_halves
from privrep.methods.unit_steps.method import log_scales as of_log_scales
from privrep.methods.unit_steps.whitening import LOG_LENGTH, Whitening, whitened_samples
from privrep.methods.unit_steps.whitening import log_coordinates as coordinates
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.paired_samples import AllPairs, DisjointPairs


def plain(dim):
    """The whitening that leaves features as they are."""
    return Whitening(np.ones(dim))


def vec(matrix):
    """Its columns in one vector."""
    return matrix.ravel(order="F")


def shortened(vector, bound):
    """clip(a; c) = a min(1, c / ||a||), as papers print it."""
    norm = np.linalg.norm(vector)
    return vector if norm <= bound else vector * (bound / norm)


def clipped_products(block, samples, bases, bound):
    """Sums of all runs, (c, d, k), and norms before the clip, (B, c)."""
    runs = Products(samples, bases, bound)(block)
    return np.array([run.clipped(bound)[0] for run in runs]), np.stack([run.norms for run in runs], axis=1)


def moments(users, batch, rule, samples, clip):
    """A and b."""
    return clipped_sums(users, UserMoments(rule, samples), clip, over=batch)


def pair_moments(users, samples, label_clip):
    """(d, d)."""
    return clipped_sums(users, SamplePairs(samples, DisjointPairs), label_clip)[0]


def all_pairs(users, samples, label_clip):
    """(d, d)."""
    return clipped_sums(users, SamplePairs(samples, AllPairs), label_clip)[0]


def half_products(block, penalty):
    """(d, d)."""
    return products_of_halves(block.features, block.labels, penalty).clipped(1.0)[0]


def start_moments(block, whitening, penalty):
    """(d, d)."""
    return unit_models(whitening, penalty, block).clipped(1.0)[0]


def clipped_moments(block, whitening):
    """(d, d)."""
    return whitened_samples(whitening, block).clipped(1.0)[0]


def log_coordinates(block):
    """(d,)."""
    return coordinates(block).clipped(LOG_LENGTH * math.sqrt(block.features.shape[2]))[0]


def log_scales(block, expected, width):
    """A number."""
    return of_log_scales(expected, block).clipped(width)[0]


def round_sums(block, *given, width=RESIDUAL_WIDTH, **options):
    """Steps (d, k), second moments of heads (k, k), and log residuals, of `Round(*given, **options)`."""
    logs, second, step = Round(*given, **options)(block)
    return step.clipped(1.0)[0], second.clipped(1.0)[0], logs.clipped(width)[0]


def distance_to_net(basis, bases):
    """min over net points N (c, d, k) and rotations R of ||U - N R||_F = sqrt(2 (k - largest sum of the singular values
    of N^T U))."""
    singular = np.linalg.svd(bases.transpose(0, 2, 1) @ basis, compute_uv=False).sum(axis=1)
    return float(np.sqrt(2 * max(basis.shape[1] - singular.max(), 0.0)))
