"""Private FedRep for a linear representation (Snedeker, Zhou and Bassily, "Private Model Personalization Revisited",
ICML 2025).

    U <- U_init
    for t = 1..T:
        each user: v_i <- least squares of y on U^T x
                   G_i <- (1/m) sum (v_i^T U^T x - y) x v_i^T                          half the printed gradient
        G <- ( sum_i clip(G_i; c) + N(0, (2 c Delta)^2) ) / n                         Frobenius norm, whole user
        U <- QR( U - eta G )                                                          eta = step / s_1^2
    each user: v_i <- least squares in the final U

Each step takes all samples of a user, as does the public code (github.com/learningformality/Private_FedRep,
FedRep_Ready.py), which fits the last heads on equally many separate samples. The code runs T = 5, step 2.5 and clip 10
on the gradient of the mean squared error, twice the above, for heads with E v v^T = I/k. For heads with E v v^T = I, as
here, and half the gradient, clip 10 is 10 k/2, which at the code's d = 50, k = 2 is 0.5 sqrt(d) k^1.5, and step 2.5 is
2.5: the defaults. Its noise multiplier is sqrt(12 T ln(1.25/delta)) / eps; here the budget decides. Its baseline,
alternating minimisation, has m times the noise on b that it needs, and clips of 1e-4, so that the ridge of 1e-8 decides
A. According to a second-hand note (the paper's text was not at hand) each round takes two disjoint batches of
floor(m/2T) samples, each used once, and clips at order sqrt(dk) for heads of norm one, here sqrt(d) k^1.5. Notes
contradict each other, so no claim here rests on one.

U_init differs from both. The code takes singular vectors of a matrix that is zero up to rounding (it subtracts the
same sum twice), without noise. The note describes a private one with half of the budget, after Duchi et al., from all
pairs of samples, clipped: `init_pairs` "all" clips by user. By default U_init is that of Algorithm 3 of jain2021, with
`init_share` of the cost. eta in units of 1 / s_1^2, a clip that changes over the rounds and an average of the last
subspaces are this project's, and so is `features` "whitened": the same method on W x, with W released as in unit steps,
at the same shares of the cost.

>>> from privrep.simulate import fit
>>> row, _ = fit("private_fedrep", users=2000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["dist2"] < 0.5
(6, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privrep.methods.centaur import RepresentationGradients
from privrep.methods.running.method import Iterate
from privrep.methods.spectral_init import StartedSpectrally
from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, UPDATE_SCALES, gradient_threshold
from privrep.methods.steps.descent import Descent
from privrep.methods.steps.server import SERVER_COLUMNS, Server
from privrep.methods.steps.starts import START_COLUMNS, check_start
from privrep.methods.unit_steps.schedule import SCALE, descent_share
from privrep.methods.unit_steps.whitening import WhitenedUsers, learned_whitening
from privrep.options import among, check_count, check_positive, check_share, check_sine, ensure, option
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.heads import FINAL_HEADS, FINAL_HEADS_COLUMN
from privrep.users.known import Known


@dataclass(frozen=True)
class PrivateFedrepOptions(Descent, StartedSpectrally):
    """Private FedRep and its options. The defaults are those of the public code, except for the start."""

    rounds: int = option(SERVER_COLUMNS["rounds"], check_count, 5)
    clip: float = option(SERVER_COLUMNS["clip"], check_bound, 0.5)
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(UPDATE_SCALES), "practical")
    step: float = option("step size, in units of 1 / s_1^2", check_positive, 2.5)
    init: str = option(START_COLUMNS["init"], among(("planted", "random", "spectral")), "spectral")
    start_sine: float = option(START_COLUMNS["start_sine"], check_sine, 0.1)
    init_label_clip: float = option("clipping bound of the labels in Algorithm 3", check_bound, 0.5)
    init_share: float = option("share of the privacy cost that Algorithm 3 takes", check_share, 0.5)
    features: str = option("features as given, or whitened as in unit steps", among(("given", "whitened")), "given")
    final_heads: str = option(FINAL_HEADS_COLUMN, among(FINAL_HEADS), "least squares")
    numbers: ClassVar = {"zeta": SERVER_COLUMNS["zeta"]}
    theorem = None

    def build(self, known: Known) -> PrivateFedrepOptions:
        """Return the method with clips and step in absolute terms, after checking that there are samples for a head."""
        check_start(self.init, known)
        fits = self.init != "planted" or self.features == "given"
        ensure(fits, "init", self.init, "it must be spectral or random where features are whitened")
        # Least squares on k samples leaves no residual, and no gradient on the same ones.
        least = known.rank + 1
        ensure(known.samples >= least, "samples", known.samples, f"it must be at least rank + 1 = {least}")
        return replace(
            self,
            clip_scale="absolute",
            **{name: gradient_threshold(self.clip_scale, clip, known) for name, clip in self.clips.items()},
            init_label_clip=self.label_threshold(known),
            step=self.step / known.head_condition**2,
        )

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        if self.features == "given":
            return self.rounds_on(users, release)
        _, whitening, releases = learned_whitening(users, release.share(self.cost.mu_squared))
        left = release.share(float(descent_share(releases)) + SCALE)
        return map(whitening.given, self.rounds_on(WhitenedUsers(users, whitening), left))

    def rounds_on(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Yield the iterates of start and rounds, which spend the whole cost at the handle's multiplier."""
        everything = np.arange(users.known.samples)
        start = self.start().first(users, release, self.server.cost)
        yield start
        yield from self.descent(
            start, lambda basis: RepresentationGradients(basis, everything, everything), users, release
        )

    @property
    def server(self) -> Server:
        return Server(self.rounds, self.clip, last_clip=self.last_clip)

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1 of the rounds; the share of a start sets its noise."""
        return self.start().cost_with(self.server.cost)
