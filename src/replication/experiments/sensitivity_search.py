"""Search for two users whose exchange changes one release by its stated sensitivity; a larger change is a fault."""

from __future__ import annotations

import numpy as np

from privrep.methods import (
    altmin,
    centaur,
    dp_fedavg,
    full_prior,
    general_centaur,
    pmtl,
    ppsgd,
    single_model,
    spectral_init,
)
from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Task
from privrep.options import among, check_count, option
from replication.experiments.audit import CLIPS, ReplayedRun, Stage, attained
from replication.experiments.auditing.canaries import Pair, worst_pair

ONCE = {"rounds": 1, "clip": 0.4, "batch_samples": 1, "local_step": 0.1}
RELEASES = {
    "pair of Algorithm 2": altmin.AltminOptions(**CLIPS, init="random", split="all-samples-reused"),
    "pair of Algorithm 2, users clipped": altmin.AltminOptions(
        **CLIPS, init="random", split="all-samples-reused", clip_unit="user"
    ),
    "moments of one model": single_model.SingleModelOptions(method="moments", clip_feature=1.0, clip_label=1.0),
    **{
        f"matrix of Algorithm 3{what}": spectral_init.SpectralInitOptions(
            init_label_clip=1.0, clip_scale="absolute", init_pairs=pairs
        )
        for what, pairs in (("", "disjoint"), (", all pairs", "all"), (", models", "models"))
    },
    "full prior": full_prior.FullPriorOptions(),
    "gradient of CENTAUR": centaur.CentaurOptions(
        rounds=1, clip=0.4, batch_samples=1, clip_scale="absolute", init="random"
    ),
    "displacement of CENTAUR": general_centaur.GeneralCentaurOptions(**ONCE),
    "displacement of DP-FedAvg": dp_fedavg.DpFedavgOptions(**ONCE),
    "displacement of PPSGD": ppsgd.PpsgdOptions(**ONCE, personal_step=0.1),
    "displacement of PMTL": pmtl.PmtlOptions(rounds=1, clip=0.4),
}
"""Release -> options of a mechanism that makes this one release only."""


@experiment(
    {"attained": "largest distance found over the stated sensitivity; above 1 is a fault"},
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
