"""Search for two users whose exchange changes one release by its stated sensitivity; a larger change is a fault."""

from __future__ import annotations

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Task
from privrep.options import among, check_count, option
from replication.experiments.audit import ReplayedRun, Stage, attained
from replication.experiments.auditing.canaries import Pair, worst_pair
from replication.experiments.auditing.mechanisms import stated_options
from replication.experiments.columns import columns_of

RELEASES = stated_options("releases")
"""Release -> options of a mechanism that makes this one release only."""


@experiment(
    columns_of("sensitivity_search"),
    prepare=lambda options, problem: Spending(RELEASES[options.release].build(problem.known).cost),
)
def sensitivity_search(
    task: Task,
    *,
    release: str = option("searched release, see replication.experiments.sensitivity_search", among(RELEASES)),
    draws: int = option("pairs of users that the adversary draws", check_count, 400),
    changes: int = option("changes of one sample that the adversary tries", check_count, 800),
) -> dict[str, float]:
    """Find the largest change of one release by exchanging a user, over its stated sensitivity."""
    problem, seed = task.simulated.problem, int(task.stream("init").integers(2**31))
    method = RELEASES[release].build(problem.known)
    multiplier = task.given.noise_multiplier(method.cost, None)

    def run(pair: Pair) -> ReplayedRun:
        return Stage.of_pair(method, problem, pair, multiplier, seed).run(0, 0)

    rng = np.random.default_rng([seed, 1])
    pair, distance = worst_pair(lambda pair: attained(run(pair)), problem, draws, changes, rng)
    task.ledger.entries.extend(run(pair).ledger.entries)
    return {"noise_multiplier": multiplier, "attained": distance}
