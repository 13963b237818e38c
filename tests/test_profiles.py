"""What profiles/slurm asks of a cluster, seen in a plan: no Slurm is needed for it."""

from __future__ import annotations

import re

from workflow_helpers import copy_project, snakemake


def test_a_cluster_is_asked_for_what_a_shard_needs(tmp_path):
    """Memory beyond that of this machine, minutes from measured costs, and one submission for all shards of less than a
    minute. A run on this machine has no groups and asks for what there is."""
    folder = copy_project(tmp_path / "copy")
    path = folder / "config/config.yaml"
    path.write_text(path.read_text().replace("memory_budget_mb: 600", "memory_budget_mb: 9000000"))
    plan = snakemake(folder, "-n", "--profile", "profiles/slurm").stdout
    shards = re.findall(r"mem_mb=(\d+).*slurm_partition=main, runtime=(\d+)", plan)
    assert len(shards) == 5 and set(shards) == {("9000300", "6")}
    assert plan.count("Group job shards") == 1
    here = snakemake(folder, "-n").stdout
    assert "Group job" not in here and "mem_mb=9000300" not in here and "slurm_partition" not in here
