"""SERVER and the Gaussian mechanism GM of shen2023 (Algorithm 1), for any CLIENT and any AGGREGATION.

    for t = 1..T:
        C_t <- each user with probability p, on its own
        g   <- ( sum_{i in C_t} clip(g_i; zeta) + N(0, (sigma zeta)^2) ) / (p n)
        b   <- AGGREGATION(b, g)

sigma is twice the noise multiplier: GM's sensitivity under replacement of a user is 2 zeta. Differs from the print: GM divides by
|C_t|, which is not the subsampled Gaussian mechanism, and is undefined for an empty C_t (E51). `divide_by: realised` does so; no gain
from sampling is then claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from privrep.algorithms.method import check_choice, check_count
from privrep.data.passes import total
from privrep.data.problem import Block, UserData
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release

SERVER_COLUMNS = {
    "rounds": "rounds of the server, T_g",
    "clip": "clipping bound of a user's update (zeta_g), in units of clip_scale",
    "participation": "probability with which a user takes part in a round, p_g",
    "divide_by": "what the noisy sum is divided by: expected or realised number of participants",
    "zeta": "clipping bound of a user's update in absolute terms",
}

ClippedSum = Callable[[Block, np.ndarray, np.ndarray], np.ndarray]
"""(block, state, who takes part (B,)) -> sum of the clipped updates of those users, in the shape of the state, float64."""

DIVISORS = ("expected", "realised")


@dataclass(frozen=True)
class Server:
    """How rounds are run. `participation` p in (0, 1]; `divide_by` p n ("expected") or |C_t| ("realised")."""

    rounds: int
    clip: float
    participation: float = 1.0
    divide_by: str = "expected"

    def __post_init__(self):
        check_count("rounds", self.rounds)
        check_bound("clip", self.clip)
        if not 0 < self.participation <= 1:
            raise ValueError(f"participation is {self.participation!r}; it must be greater than 0 and at most 1")
        check_choice("divide_by", self.divide_by, DIVISORS)

    @property
    def cost(self) -> Cost:
        """Of one user; takes no gain from sampling users."""
        return self.rounds * GAUSSIAN_COST

    def run(
        self,
        name: str,
        users: UserData,
        state: np.ndarray,
        client_of_round: Callable[[], ClippedSum],
        aggregate: Callable[[np.ndarray, np.ndarray], np.ndarray],
        release: Release,
    ) -> Iterator[np.ndarray]:
        """The state after each round.

        Parameters
        ----------
        name : of the releases. client_of_round : called at the start of a round, for clients that use other samples each time.

        Raises
        ------
        ArithmeticError
            When nobody takes part in a round and the mean is divided by |C_t|.
        """
        n, everyone = users.problem.users, self.participation == 1
        rate = self.participation if self.divide_by == "expected" else 1.0
        for _ in range(self.rounds):
            # Who takes part is drawn without a look at data.
            taking_part = (
                np.ones(n, bool) if everyone else release.streams["participants"].random(n) < self.participation
            )
            client = client_of_round()

            def updates(block: Block, client=client, state=state, taking_part=taking_part) -> np.ndarray:
                return client(block, state, taking_part[block.start : block.start + block.users])

            clipped = total(users, updates)
            divisor = self.participation * n if self.divide_by == "expected" else int(taking_part.sum())
            if divisor == 0:
                raise ArithmeticError("nobody takes part in a round, and the mean over nobody is not defined")
            state = aggregate(state, release.vector(name, clipped, bound=self.clip, rate=rate) / divisor)
            yield state


def clip_outer(left: np.ndarray, right: np.ndarray, bound: float, taking_part: np.ndarray) -> np.ndarray:
    """sum_i clip(l_i r_i^T; bound) over the users that take part, in Frobenius norm; (d, k) float64.

    ||l r^T|| = ||l|| ||r||, taken in float64 from the numbers that are summed. A user whose numbers overflowed adds nothing.

    Parameters
    ----------
    left : (B, d). right : (B, k).
    """
    left, right = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    sound = np.isfinite(norms) & taking_part
    factor = clip_factor(np.where(sound, norms, 0.0), bound)
    left, right = (np.where(sound[:, None], part, 0.0) for part in (left, right))
    return left.T @ (right * factor[:, None])
