"""Memory of a process that makes arrays of a few MB again and again."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT, LARGE = 2**30, 2**25  # bytes that stay in the process; of an array that does not, at most what glibc takes


def keep_freed_memory() -> None:
    """Let freed memory stay in the process where glibc is its allocator: to fetch it anew from the system takes up to
    half of the time of a fit."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGE)
