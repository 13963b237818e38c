"""A Slurm of a test's own: two nodes on this machine, from the programs of the packages munge, slurmctld, slurmd and
slurm-client of Debian. It needs no systemd, no cgroups, no file in /etc, and listens on 127.0.0.1 alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from patience import patience

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
    """Daemons of a Slurm, which a test may kill and start again."""

    def __init__(self, folder: Path):
        self.folder, self._daemons = folder, {}
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
        own = os.environ | self.environment | {"TEST_DAEMON": f"{at}/{name}"}
        with open(at / f"{name}.said", "a") as said:
            self._daemons[name] = subprocess.Popen(
                command, env=own, stdout=said, stderr=said, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """End a daemon with kill -9; the jobs of a node go on."""
        self._daemons[name].kill()
        self._daemons.pop(name).wait()

    def lose(self, node: str) -> None:
        """A node vanishes: its daemon and all processes of its jobs are gone at once."""
        self.kill(node)
        marks = {f"TEST_DAEMON={self.folder}/{node}".encode(), f"SLURMD_NODENAME={node}".encode()}
        conf = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        deadline = time.monotonic() + patience()
        while left := [pid for pid, own in environments() if marks & own and (conf in own or len(marks & own) > 1)]:
            assert time.monotonic() < deadline, f"processes of {node} do not end: {left}"
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def wait(self, what: str, *words: str) -> None:
        """Wait until a command of Slurm prints a text."""
        deadline, said = time.monotonic() + patience(), ""
        while what not in said:
            ended = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"{' '.join(words)} did not print {what}; ended: {ended}\n{said}\n{self.logs()}")
            with suppress(subprocess.CalledProcessError):
                said = self.call(*words)
            time.sleep(0.1)

    def logs(self) -> str:
        """The ends of the logs of all daemons."""
        paths = [*self.folder.glob("*.log"), *self.folder.glob("*.said")]
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in paths)

    def jobs(self, folder: Path) -> list[dict[str, str]]:
        """All jobs that were submitted from a folder, in order: id, state, memory, node and name."""
        fields = {"id": "%A", "state": "%T", "memory": "%m", "node": "%N", "name": "%j", "folder": "%Z"}
        said = self.call("squeue", "--noheader", "--states=all", "--sort=i", f"--format={'|'.join(fields.values())}")
        jobs = [dict(zip(fields, line.split("|"), strict=True)) for line in said.splitlines()]
        return [job for job in jobs if job["folder"] == str(folder)]


def environments() -> Iterator[tuple[int, set[bytes]]]:
    """Process ids and environments of all processes that can be looked at."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            yield int(path.parent.name), set(path.read_bytes().split(b"\0"))


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
        finally:
            for node in NODES:
                if node in one._daemons:
                    one.lose(node)
            for name in list(one._daemons):
                one.kill(name)
