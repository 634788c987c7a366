"""Loops over floats, compiled by Numba at their first call and kept on disk where that may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba
from numba.core.registry import cpu_target

Loop = TypeVar("Loop", bound=Callable[..., object])

FEATURES: frozenset[str] = frozenset(
    cpu_target.target_context.codegen().magic_tuple()[2].split(",")
)
"""What LLVM knows of this CPU: "+avx512f" and the like."""


def compiled(loop: Loop) -> Loop:
    """The loop as machine code that holds no lock, its sums neither reordered nor contracted."""
    try:
        found: Loop = numba.njit(cache=True, nogil=True, error_model="numpy")(loop)
    except RuntimeError:  # no folder to keep it in can be written: compile it in each process
        found = numba.njit(nogil=True, error_model="numpy")(loop)
    return found
