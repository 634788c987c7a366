"""Loops over floats: Numba compiles them at their first call and caches them on disk if it can."""

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
"""LLVM's feature flags of this CPU, such as "+avx512f"."""


def compiled(loop: Loop) -> Loop:
    """The loop as machine code: it releases the GIL and neither reorders nor contracts sums."""
    dispatcher = numba.njit(nogil=True, error_model="numpy")(loop)
    dispatcher._cache = KernelCache(loop)
    return cast("Loop", dispatcher)
