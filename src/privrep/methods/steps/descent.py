"""Rounds of gradient steps on a subspace, for CENTAUR and private FedRep, with two additions to the papers: a clip that
follows a public schedule, and an average of the last subspaces, which costs no privacy.

    B <- QR( B - eta G_t )              G_t the noisy mean of a round, clipped at its own bound
    the subspace is that of the mean of the last projectors B_t B_t^T
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.server import Server
from privrep.options import Declared, check_any_sine, option
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.heads import FittedHeads, final_penalty
from privrep.users.subspace import average, orthonormalise


@dataclass(frozen=True, kw_only=True)
class Descent(Declared):
    """Base class of methods whose rounds are gradient steps; they have `server`, `clip`, `step` and `final_heads`."""

    if TYPE_CHECKING:  # options that each method declares, in its own order
        server: ClassVar[Server]
        clip: ClassVar[float]
        step: ClassVar[float]
        final_heads: ClassVar[str]
    last_clip: float | None = option("clipping bound of the last round, reached in equal ratios", check_bound, None)
    average_last: float = option("share of rounds, the last ones, whose subspaces are averaged", check_any_sine, 0.0)

    @property
    def clips(self) -> dict[str, float]:
        """Name of an option -> clipping bound: of the first round and, where `last_clip` is set, of the last."""
        return {"clip": self.clip} | ({} if self.last_clip is None else {"last_clip": self.last_clip})

    def descent(
        self, start: Iterate, contribution: Callable[[np.ndarray], Callable], users: UserData, release: Release
    ) -> Iterator[Iterate]:
        """Yield an iterate per round after a start; `contribution` maps a subspace to the contribution of users."""
        basis, last = start.basis, []
        everything, penalty = slice(0, users.known.samples), final_penalty(self.final_heads, users.known)
        averaged = max(1, round(self.average_last * self.server.rounds))
        for number in range(self.server.rounds):
            gradient = self.server.mean("gradient", users, contribution(basis), release, number)
            basis = orthonormalise(basis - self.step * gradient)
            last = [*last, basis][-averaged:]
            mean = average(np.array(last)) if len(last) > 1 else basis
            personal = LowRank(mean, FittedHeads(mean, everything, penalty))
            yield Iterate(mean, personal, {"zeta": self.server.clip_of(number), **start.log})
