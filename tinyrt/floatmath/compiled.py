"""Loops over floats, compiled by Numba at their first call and kept on disk where that may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
from numba.core.registry import cpu_target

from tinyrt.floatmath.numba_cache import KernelCache

Loop = TypeVar("Loop", bound=Callable[..., object])

FEATURES: frozenset[str] = frozenset(
    cpu_target.target_context.codegen().magic_tuple()[2].split(",")
)
"""What LLVM knows of this CPU: "+avx512f" and the like."""


def compiled(loop: Loop) -> Loop:
    """The loop as machine code that holds no lock, its sums neither reordered nor contracted."""
    dispatcher = numba.njit(nogil=True, error_model="numpy")(loop)
    dispatcher._cache = KernelCache(loop)
    return cast("Loop", dispatcher)
