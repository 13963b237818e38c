"""Record of a run: commit, configuration, versions, machine; and a search for files that were cut or edited."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from replication.run.config import ROOT
from replication.run.models import ConfigError

PACKAGES = ("numpy", "scipy", "pandas", "matplotlib", "snakemake", "jupytext", "nbconvert", "dp-accounting")


UNKNOWN = "unknown"
"""What a record says of the commit, and of uncommitted changes, where git says nothing."""


def _git(*words: str) -> str:
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN


def cpu_model() -> str:
    """Return the name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:(.*)", info.read_text() if info.exists() else "", re.MULTILINE)
    return match[1].strip() if match else platform.processor()


def clean_record(reports: Path) -> dict:
    """Return the provenance of the run with this folder of reports; ConfigError unless it was made from a commit."""
    path = reports / "provenance.json"
    if not path.exists():
        raise ConfigError(f"{path} is missing; run it first")
    record = json.loads(path.read_text())
    if UNKNOWN in (record["dirty"], record["commit"]):
        raise ConfigError(f"the run of {path} is of an unknown commit: git did not answer; run again where it does")
    if record["dirty"]:
        raise ConfigError(f"the run of {path} was made with uncommitted changes; commit, and run again")
    return record


def provenance(config: dict) -> dict:
    """Return commit, dirty flag, configuration and its hash, versions, processor and BLAS of this process."""
    changes = _git("status", "--porcelain")
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": changes if changes == UNKNOWN else bool(changes),
        "config": config,
        "config_sha256": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "simd": [name for name, supported in np._core._multiarray_umath.__cpu_features__.items() if supported],  # pyright: ignore[reportAttributeAccessIssue] -- NumPy has no other place
        "blas": {key: blas[0].get(key) for key in ("internal_api", "version", "architecture")} if blas else {},
    }


def changed(folder: Path) -> list[Path]:
    """Return the files that exist and differ from their job's output, by the lists of checksums below a folder: each
    rule ends with `sha256sum` of its outputs into a file beside its log."""
    paths = []
    for listed in sorted(folder.rglob("*.sha256")):
        for line in listed.read_text(errors="replace").splitlines():
            checksum, _, name = line.partition("  ")
            path = Path(name)
            if len(checksum) == 64 and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
                paths.append(path)
    return paths
