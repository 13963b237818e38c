"""A run on a Slurm that this test starts, and what profiles/slurm asks for."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from slurm_cluster import Cluster, cluster, missing
from workflow_helpers import at_tiny, copy_project, environment, patience, snakemake

CELLS = "results/tiny/figure2/cells.csv"
# The executor looks at the queue less and less often, up to minutes.
OFTEN = """\
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, seconds: None)
main()
"""
RUN = [sys.executable, "-c", OFTEN, CELLS, "--profile", "profiles/slurm", "--configfile", "config/scales/tiny.yaml"]
KILLED_ONCE = """\
import os, sys
if sys.argv[sys.argv.index("--shard") + 1] == "0" and not os.path.exists("killed"):
    open("killed", "w").close()
    os.kill(os.getpid(), 9)
"""


def test_a_cluster_is_asked_for_what_a_shard_needs(tmp_path):
    """Memory beyond that of this machine, minutes from what shards cost, four shards a submission. A run on this
    machine has no groups and asks for what there is."""
    folder = copy_project(tmp_path / "copy")
    path = folder / "config/config.yaml"
    path.write_text(path.read_text().replace("memory_budget_mb: 600", "memory_budget_mb: 9000000"))
    plan = snakemake(folder, "-n", "--profile", "profiles/slurm").stdout
    shards = re.findall(r"mem_mb=(\d+).*slurm_partition=main, runtime=(\d+)", plan)
    assert sorted(shards) == 3 * [("9000300", "10")] + 2 * [("9000300", "9")]
    assert plan.count("Group job shards") == 2
    here = snakemake(folder, "-n").stdout
    assert "Group job" not in here and "mem_mb=9000300" not in here and "slurm_partition" not in here


@pytest.fixture
def slurm() -> Iterator[Cluster]:
    if missing():
        pytest.skip(f"no Slurm here ({', '.join(missing())}): see .ci/run")
    with cluster() as one:
        yield one


def test_a_run_on_slurm_has_the_same_bytes(tiny_run, slurm, tmp_path):
    """In two submissions; that of a shard which is killed goes in once more, with twice the memory."""
    folder = copy_project(tmp_path / "copy")
    at_tiny(folder, "shards: 3", "shards: 6")
    script = folder / "workflow/scripts/run_shard.py"
    script.write_text(KILLED_ONCE + script.read_text())
    with open(folder / "said", "w") as said:
        own = environment(folder)
        own |= slurm.environment | {"PATH": f"{own['PATH'].partition(':')[0]}:{slurm.environment['PATH']}"}
        run = subprocess.run(RUN, cwd=folder, env=own, stdout=said, stderr=said, timeout=patience())
        jobs = slurm.jobs(folder)
    assert not run.returncode, (folder / "said").read_text()
    assert (folder / CELLS).read_bytes() == (tiny_run / CELLS).read_bytes()
    assert sorted(jobs) == [("COMPLETED", "1800M"), ("COMPLETED", "900M"), ("FAILED", "900M")]
