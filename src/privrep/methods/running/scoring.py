"""Scores of a fit against the truth, not released: distances of its iterates, and norms watched before a clip."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.methods.running.method import EXACT, Candidates, FullRank, Iterate, LowRank
from privrep.users.risk import model_risk, personal_risk
from privrep.users.simulated import Users
from privrep.users.subspace import average, dist2, dist_frobenius


@dataclass
class NormWatch:
    """Norms of users' contributions before a clip, as `privrep.privacy.mechanisms.Release` reports them."""

    longest: float = 0.0
    clipped: int = 0
    seen: int = 0

    def lengths(self, norms: np.ndarray, bound: float) -> None:
        """Count the norms of a release, and those beyond the bound."""
        self.longest = max(self.longest, float(norms.max()))
        self.clipped += int((norms > bound).sum())
        self.seen += norms.size


@dataclass(frozen=True)
class Path:
    """The iterates of a fit, the start first, together with the truth."""

    iterates: list[Iterate]
    truth: np.ndarray  # (d, k)
    watch: NormWatch
    excess_loss: Callable[[], float] = lambda: math.nan  # mean over users, of their last models

    @property
    def candidates(self) -> Candidates:
        candidates = self.iterates[0].candidates
        assert candidates is not None
        return candidates

    def runs(self, distance: Callable[[np.ndarray, np.ndarray], float]) -> np.ndarray:
        return np.array([distance(basis, self.truth) for basis in self.candidates.bases])

    def steady(self, distance: Callable[[np.ndarray, np.ndarray], float]) -> float:
        """Return the root mean square distance over the second half of the rounds."""
        late = self.iterates[1 + (len(self.iterates) - 1) // 2 :]
        return float(np.sqrt(np.mean([distance(iterate.basis, self.truth) ** 2 for iterate in late])))

    def over_runs(self, distance: Callable[[np.ndarray, np.ndarray], float]) -> float:
        """Return the root mean square distance of the candidates."""
        return float(np.sqrt((self.runs(distance) ** 2).mean()))


SCORES: dict[str, Callable[[Path], float]] = {
    "steady_dist2": lambda path: path.steady(dist2),
    "steady_distF": lambda path: path.steady(dist_frobenius),
    "largest_dist2": lambda path: max(dist2(iterate.basis, path.truth) for iterate in path.iterates[1:]),
    "start_dist2": lambda path: float(path.runs(dist2)[path.candidates.chosen]),
    "start_dist2_median": lambda path: float(np.median(path.runs(dist2))),
    "runs_dist2": lambda path: path.over_runs(dist2),
    "runs_distF": lambda path: path.over_runs(dist_frobenius),
    "runs_dist2_median": lambda path: float(np.median(path.runs(dist2))),
    "runs_dist2_max": lambda path: float(path.runs(dist2).max()),
    "runs_log_tangent": lambda path: float(np.mean(np.log(np.tan(np.arcsin(path.runs(dist2)))))),
    "runs_within": lambda path: float((path.runs(dist2) <= path.candidates.accuracy).mean()),
    "average_dist2": lambda path: dist2(average(path.candidates.bases), path.truth),
    "product_norm_max": lambda path: path.watch.longest,
    "clipped_share": lambda path: path.watch.clipped / path.watch.seen,
    "excess_loss": lambda path: path.excess_loss(),
}
"""Name of a column -> function that computes its value. An algorithm's options name the scores of its rows."""
WATCHED = {"product_norm_max", "clipped_share"}  # scores that look at norms before a clip
SCORE_COLUMNS = {
    "steady_dist2": "root mean square of dist2 over the second half of the rounds",
    "steady_distF": "root mean square of distF over the second half of the rounds",
    "largest_dist2": "largest dist2 over the rounds",
    "start_dist2": "dist2 of the start that was selected",
    "start_dist2_median": "median dist2 of the candidates",
    "runs_dist2": "root mean square of dist2 over independent runs of the power method",
    "runs_distF": "root mean square of distF over independent runs of the power method",
    "runs_dist2_median": "median of dist2 over the same runs",
    "runs_dist2_max": "largest dist2 over the same runs",
    "runs_log_tangent": "mean over the same runs of the logarithm of the tangent of the largest angle",
    "runs_within": "share of the same runs with dist2 at most the accuracy",
    "average_dist2": "dist2 of the subspace closest to all of the same runs",
    "product_norm_max": "largest ||Y_i||_F before the clip over users, iterations and runs of the power method" + EXACT,
    "excess_loss": "mean over users of the expected loss less that of the true models, exact population value",
    "clipped_share": "share of the updates, Y_i or G_i, that the clip shortens" + EXACT,
}
"""Name of a column -> its meaning."""


def scores(names: tuple[str, ...], path: Path) -> dict[str, float]:
    """Compute the named scores; those of candidates are left out where the start was not chosen among several."""
    left_out = ("start_", "runs_", "average_") if path.iterates[0].candidates is None else ()
    return {name: SCORES[name](path) for name in names if not name.startswith(left_out)}


def excess_risk(users: Users, personal: LowRank | FullRank | None) -> float | None:
    """Return the exact mean excess risk of personalised models; None where nothing was personalised."""
    if isinstance(personal, LowRank):
        return personal_risk(users, personal.basis, personal.heads)
    return None if personal is None else model_risk(users, personal.models)
