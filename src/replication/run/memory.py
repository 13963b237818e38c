"""Memory: of a process that allocates arrays of a few MB again and again, and of the machine or container."""

import ctypes
from pathlib import Path

import psutil

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT, LARGE = 2**30, 2**25  # bytes of freed memory to keep; array size from which none is kept, glibc's largest


def keep_freed_memory() -> None:
    """Keep freed memory in the process if glibc is its allocator: requesting it again from the system takes up to half
    of the time of a fit."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGE)


def machine_mb(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the MB of memory of this machine or, if that is less, of the container in which this process runs.

    groups : folder of the container's control group.
    """
    limits = [groups / "memory.max", groups / "memory" / "memory.limit_in_bytes"]
    written = [limit.read_text().strip() for limit in limits if limit.exists()]
    return min([psutil.virtual_memory().total, *map(int, filter(str.isdigit, written))]) // 2**20
