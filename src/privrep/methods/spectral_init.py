"""Private spectral initialisation (jain2021, Algorithm 3 `Priv-init`).

    W_jp <- sym( x_a x_b^T / (||x_a|| ||x_b||) * clip(y_a; zeta) clip(y_b; zeta) )      pairs p of one user's samples
    M    <- ( sum_jp W_jp + N_sym(0, (2 P zeta^2 Delta)^2) ) / (n P)                    P pairs per user
    U    <- eigenvectors of the k largest eigenvalues of M

E[M] has eigenvalues c_d^2 lam_i in the true subspace, c_d ~ d^{-1/2}, and 0 outside.

Clips and sensitivities are in `privrep.privacy.paired_samples`. Not in the paper: with `init_pairs` "all", W_j takes
all pairs of a user's samples and is clipped as a whole; with "models" it is theta theta^T of the user's ridge model
scaled to norm one, as in unit steps, and no label is clipped.

Differences from the print: pairs are (2p-1, 2p), where Algorithm 3 prints (2p, 2p+1), which reads sample m+1 (E19);
the noise is 2 P zeta^2 Delta for any number of pairs, which for P = m/2 is the printed m zeta^2 Delta (E7).

>>> from privrep.simulate import fit
>>> row, _ = fit("spectral_init", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, init_label_clip=1.5)
>>> row["releases"], row["dist2"] < 0.5
(1, True)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privrep.methods.running.method import Iterate
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, SCALES, label_threshold
from privrep.methods.steps.starts import Start, free_start
from privrep.methods.unit_steps.round import ridge_models, unit
from privrep.options import Declared, among, option
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Semidefinite
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.privacy.paired_samples import AllPairs, DisjointPairs, LabelledDirections
from privrep.users.blocks import Block, UserData
from privrep.users.heads import final_penalty
from privrep.users.known import Known
from privrep.users.splits import SPLIT_COLUMN, split_samples


@dataclass(frozen=True)
class SamplePairs:
    """Contribution of users: pairs within a range of their samples."""

    samples: slice
    kind: type[DisjointPairs] | type[AllPairs]

    @property
    def key(self) -> Hashable:
        """All that the sum depends on besides the data."""
        return self.samples.start, self.samples.stop, self.kind

    @property
    def narrow(self) -> bool:
        """Whether the sum is taken in float32, as for disjoint pairs."""
        return self.kind is DisjointPairs

    def __call__(self, block: Block) -> LabelledDirections:
        return self.kind(block.features[self.samples], block.labels[self.samples], block.feature_norms[self.samples])


@dataclass(frozen=True)
class OwnModels:
    """Contribution of users: theta_j theta_j^T / |theta_j|^2 of ridge models on a range of their samples."""

    samples: slice
    penalty: float

    def __call__(self, block: Block) -> Semidefinite:
        return Semidefinite(unit(ridge_models(block.features[self.samples], block.labels[self.samples], self.penalty)))


PAIRS = {"disjoint": DisjointPairs, "all": AllPairs, "models": OwnModels}  # disjoint as printed


@dataclass(frozen=True)
class SpectralInit:
    """Algorithm 3, alone or as the start of other methods."""

    samples: slice  # whose pairs are used
    label_clip: float  # zeta
    # Share of the whole cost mu^2 for a start; by default start and steps have one noise multiplier, as printed.
    share: float | None = None
    pairs: str = "disjoint"  # one of `PAIRS`
    samples_used = 0

    def __post_init__(self):
        check_bound("init_label_clip", self.label_clip)

    cost = GAUSSIAN_COST
    theorem = Theorem("A-L4.5", 8)  # Lemma 4.5: Delta = sqrt(8 L)/eps for one release of M

    def subspace(self, users: UserData, release: Release) -> np.ndarray:
        """Release U, (d, k) orthonormal."""
        known, contribution, clip = users.known, SamplePairs(self.samples, PAIRS[self.pairs]), self.label_clip
        if self.pairs == "models":
            contribution, clip = OwnModels(self.samples, final_penalty("ridge", known) * known.dim / known.rank), 1.0
        noisy = release.sum("spectral_init", users, contribution, clip=clip)
        return np.ascontiguousarray(np.linalg.eigh(noisy.value)[1][:, ::-1][:, : users.known.rank])

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Run Algorithm 3 alone: it releases a subspace and personalises nothing."""
        yield Iterate(self.subspace(users, release.start()), log={"zeta": self.label_clip})

    # As the start of another method

    def cost_with(self, steps: Cost) -> Cost:
        return self.cost + steps if self.share is None else (1 / (1 - self.share)) * steps

    def first(self, users: UserData, release: Release, steps: Cost) -> Iterate:
        """Return U_init, with a noise multiplier such that the release takes `share` of the cost."""
        relative = 1.0
        if self.share is not None:
            relative = (self.cost.mu_squared / steps.mu_squared * (1 - self.share) / self.share) ** 0.5
        return Iterate(self.subspace(users, release.start(relative)))


@dataclass(frozen=True, kw_only=True)
class StartedSpectrally(Declared):
    """Base class of the methods that may start with Algorithm 3."""

    if TYPE_CHECKING:  # options that each method declares, in its own order
        init: ClassVar[str]
        init_label_clip: ClassVar[float]
        init_share: ClassVar[float | None]
        start_sine: ClassVar[float | None]
        clip_scale: ClassVar[str]
    init_pairs: str = option(
        "pairs of samples in Algorithm 3: disjoint, all, or models squared", among(PAIRS), "disjoint"
    )

    def start(self, samples: slice = slice(None)) -> Start:
        """Return the start; a spectral one uses these samples, and its cost does not depend on them."""
        if self.init == "spectral":
            return SpectralInit(samples, self.init_label_clip, self.init_share, self.init_pairs)
        return free_start(self.init, self.start_sine)

    def label_threshold(self, known: Known) -> float:
        """Return zeta; its unit is a label's sd, c sqrt(k) + sigma_F, unless the other clips are absolute."""
        return label_threshold("absolute" if self.clip_scale == "absolute" else "data", self.init_label_clip, known)


@dataclass(frozen=True)
class SpectralInitOptions(StartedSpectrally):
    """Options of Algorithm 3 alone, for the laws of Lemma 4.6."""

    init_label_clip: float = option("clipping bound of the labels in Algorithm 3", check_bound)
    split: str = option(SPLIT_COLUMN["split"], default="all-samples-reused")
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(SCALES), "absolute")
    numbers: ClassVar = {"zeta": "clipping bound of the labels in absolute terms"}

    def build(self, known: Known) -> SpectralInit:
        label_clip = label_threshold(self.clip_scale, self.init_label_clip, known)
        return SpectralInit(split_samples(self.split, known.samples).init, label_clip, pairs=self.init_pairs)
