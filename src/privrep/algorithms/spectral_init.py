"""Private spectral initialisation (jain2021, Algorithm 3 `Priv-init`).

    W_jp <- sym( x_a x_b^T / (||x_a|| ||x_b||) * clip(y_a; zeta) clip(y_b; zeta) )      pairs p of one user's samples
    M    <- ( sum_jp W_jp + N_sym(0, (2 P zeta^2 Delta)^2) ) / (n P)                    P pairs per user
    U    <- eigenvectors of the k largest eigenvalues of M

E[M] has eigenvalues c_d^2 lam_i in the true subspace, c_d ~ d^{-1/2}, and 0 outside.

Differs from the print: pairs are (2p-1, 2p), where Algorithm 3 prints (2p, 2p+1), which reads sample m+1 (E19); the noise is
2 P zeta^2 Delta for any number of pairs, which for P = m/2 is the printed m zeta^2 Delta (E7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound, clip_scalar, within_float32
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST, release_symmetric
from privrep.problem import Problem, Users
from privrep.splits import count, split_samples
from privrep.task import Outcome, Task
from privrep.thresholds import check_scale, label_threshold

LEMMA_4_5 = Theorem("A-L4.5", 8)
"""Delta = sqrt(8 L)/eps for one release of M."""


def pair_moments(users: Users, samples: slice, label_clip: float) -> np.ndarray:
    """sum_jp W_jp over all users and pairs, (d, d) float64; sym() copies the upper triangle, it does not average."""
    dim = users.problem.dim
    firsts = slice(samples.start, samples.stop, 2)
    seconds = slice(samples.start + 1, samples.stop, 2)
    total = np.zeros((dim, dim))
    # d squares under a norm, and P pairs in a sum.
    bound = within_float32(label_clip, dim + count(samples) // 2)
    for block in users.blocks():
        labels, norms = clip_scalar(block.labels, bound), block.feature_norms
        weights = np.divide(labels, norms, out=np.zeros_like(labels), where=np.isfinite(norms))
        left = (block.features[firsts] * weights[firsts, :, None]).reshape(-1, dim)
        right = (block.features[seconds] * weights[seconds, :, None]).reshape(-1, dim)
        total += left.T @ right
    return np.triu(total) + np.triu(total, 1).T


def spectral_init(
    users: Users,
    *,
    samples: slice,
    label_clip: float,
    noise_multiplier: float,
    rng: np.random.Generator,
    ledger: Ledger,
) -> np.ndarray:
    """The released subspace, (d, k) orthonormal.

    Sensitivity: ||W_jp|| has an upper triangle of norm at most zeta^2, so a user adds at most P zeta^2 and replacing one
    moves the sum by at most 2 P zeta^2 (Lemma 4.5), attained by flipping the sign of one label in each pair.
    """
    check_bound("init_label_clip", label_clip)
    pairs = count(samples) // 2
    moments = release_symmetric(
        pair_moments(users, samples, label_clip),
        bound=pairs * label_clip**2,
        noise_multiplier=noise_multiplier,
        rng=rng,
        ledger=ledger,
        users=range(users.problem.users),
        name="spectral_init",
    )
    vectors = np.linalg.eigh(moments)[1]
    return np.ascontiguousarray(vectors[:, ::-1][:, : users.problem.rank])


@dataclass(frozen=True)
class Algorithm:
    """Algorithm 3 alone, for the laws of Lemma 4.6: it releases a subspace and personalises nothing.

    Parameters
    ----------
    init_label_clip : zeta, in units of `clip_scale` (see `privrep.thresholds`).
    split : name in `privrep.splits.PRESETS`; its range for the initialisation is used.
    """

    init_label_clip: float
    split: str = "all-samples-reused"
    clip_scale: str = "absolute"

    def __post_init__(self):
        check_bound("init_label_clip", self.init_label_clip)
        check_scale(self.clip_scale)

    @property
    def cost(self) -> Cost:
        """Of one user: one Gaussian release."""
        return GAUSSIAN_COST

    def check(self, problem: Problem) -> None:
        split_samples(self.split, problem.samples)

    def fit(self, task: Task) -> Outcome:
        problem = task.users.problem
        noise_multiplier = task.budget.noise_multiplier(self.cost, LEMMA_4_5)
        label_clip = label_threshold(self.clip_scale, self.init_label_clip, problem)
        basis = spectral_init(
            task.users,
            samples=split_samples(self.split, problem.samples).init,
            label_clip=label_clip,
            noise_multiplier=noise_multiplier,
            rng=task.stream("init_noise"),
            ledger=task.ledger,
        )
        return Outcome(
            subspace=basis,
            theorem=LEMMA_4_5.id,
            epsilon_paper=LEMMA_4_5.epsilon(noise_multiplier, task.budget.delta),
            log={"noise_multiplier": noise_multiplier, "zeta": label_clip},
        )
