"""A Slurm of a test's own: two nodes on this machine, from the programs of the packages munge, slurmctld, slurmd and
slurm-client of Debian. It needs no systemd, no cgroups, no file in /etc, and listens on 127.0.0.1 alone."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from workflow_helpers import patience

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
PATH = f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin"
NODES = ("n1", "n2")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
MailProg=/bin/true
AccountingStorageType=accounting_storage/none
MinJobAge=86400
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory,CR_LLN
EnforcePartLimits=ALL
ReturnToService=2
KillWait=2
SlurmdTimeout=10
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=8000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Programs that are not on this machine."""
    return [name for name in PROGRAMS if not shutil.which(name, path=PATH)]


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Daemons of a Slurm."""

    def __init__(self, folder: Path):
        self.folder, self.daemons = folder, {}
        for name in ("munge", "state", "bin", *(f"spool.{node}" for node in NODES)):
            (folder / name).mkdir()
        for path in (folder, folder / "munge"):
            path.chmod(0o711)  # or munged does not start
        key, configuration, srun = folder / "key", folder / "slurm.conf", folder / "bin" / "srun"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        user, host = subprocess.check_output(["id", "-un"], text=True).strip(), socket.gethostname().split(".")[0]
        configuration.write_text(CONFIGURATION.format(folder=folder, user=user, host=host, ports=free_ports(3)))
        said = subprocess.check_output(["slurmctld", "-V"], text=True, env=os.environ | {"PATH": PATH})
        if tuple(map(int, said.split()[1].split(".")[:2])) >= (23, 11):
            (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        # The executor removes SLURM_CONF before it calls srun.
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        self.environment = {"SLURM_CONF": str(configuration), "PATH": f"{folder / 'bin'}:{PATH}"}

    def call(self, *words: str) -> str:
        """What a command of Slurm prints."""
        own = os.environ | self.environment
        return subprocess.check_output(words, env=own, stderr=subprocess.PIPE, text=True, timeout=patience())

    def start(self, name: str) -> None:
        """Start a daemon: munged, slurmctld, or that of a node."""
        at = self.folder
        command = {
            "munged": ["munged", "--foreground", f"--key-file={at}/key", f"--socket={at}/munge/socket"]
            + [f"--{kind}-file={at}/munged.{kind}" for kind in ("pid", "seed", "log")],
            "slurmctld": ["slurmctld", "-D"],
        }.get(name, ["slurmd", "-D", "-N", name])
        with open(at / f"{name}.said", "a") as said:
            self.daemons[name] = subprocess.Popen(
                command,
                env=os.environ | self.environment,
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def wait(self, what: str, *words: str) -> None:
        """Wait until a command of Slurm prints a text."""
        deadline, said = time.monotonic() + patience(), ""
        while what not in said:
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                paths = [*self.folder.glob("*.log"), *self.folder.glob("*.said")]
                logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in paths)
                raise AssertionError(f"{' '.join(words)} did not print {what}; ended: {ended}\n{said}\n{logs}")
            with suppress(subprocess.CalledProcessError):
                said = self.call(*words)
            time.sleep(0.1)

    def jobs(self, folder: Path) -> list[tuple[str, str]]:
        """State and memory of all jobs that were submitted from a folder."""
        said = self.call("squeue", "--noheader", "--states=all", "--format=%T|%m|%Z")
        jobs = [line.split("|") for line in said.splitlines()]
        return [(state, memory) for state, memory, where in jobs if where == str(folder)]


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster that is up; at the end its jobs and daemons are gone."""
    with TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True) as folder:
        one = Cluster(Path(folder))
        try:
            for name in ("munged", "slurmctld", *NODES):
                one.start(name)
            one.wait("2 idle", "sinfo", "--noheader", "--format=%D %T")
            yield one
            one.call("scancel", "--me")
        finally:
            for daemon in reversed(one.daemons.values()):
                daemon.kill()
                daemon.wait()
