"""Memory that a process keeps between steps of training.

A step frees what the next one asks for. By default glibc's malloc gives much of it back to the
system, page by page, and has it zeroed again: a quarter of the time of training, and half where
Dask has it given back at each release of 64 kB.
"""

from __future__ import annotations

import ctypes
import os

KEPT = 1 << 28
"""Bytes of memory freed at the end of the heap that the process keeps."""

APART = 1 << 25
"""Bytes of the smallest piece that is asked of the system by itself, and given back."""

TRIM, MAP = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"
"""Names of both in the environment, which glibc reads when a process starts."""

_NUMBERS = {TRIM: -1, MAP: -3}
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in malloc.h."""

ENVIRONMENT = {TRIM: KEPT, MAP: APART}
"""Of a process that keeps its memory."""


def keep_memory() -> bool:
    """Have this process keep its memory from now on; what the environment says, stays.

    Returns:
        Whether it does: the C library must be glibc.

    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wanted = {name: n for name, n in ENVIRONMENT.items() if name not in os.environ}
    return all(mallopt(_NUMBERS[name], number) == 1 for name, number in wanted.items())
