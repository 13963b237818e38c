"""Memory of a process that allocates arrays of a few MB again and again."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT, LARGE = 2**30, 2**25  # bytes of freed memory to keep; array size from which none is kept, glibc's largest


def keep_freed_memory() -> None:
    """Keep freed memory in the process if glibc is its allocator: requesting it again from the system takes up to half
    of the time of a fit."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGE)
