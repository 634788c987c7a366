"""What this processor could do at most: products of bytes per second in one thread."""

from __future__ import annotations

import ctypes
import time

from tinyrt import kernels_c
from tinyrt.errors import ToolError
from tinyrt.export.target import find_core
from tinyrt.files import make_folder, scratch_folder, write_text
from tinyrt.interpreter.native import (
    build_library,
    core_of,
    find_compiler,
    load_library,
)

SUMS = 16
"""Independent sums: as many as keep the multipliers busy."""

PRODUCTS = 4 * 16
"""Of one step of a sum: four in each of sixteen lanes."""

STEPS = 100_000
ROUNDS = 20

_SOURCE = f"""
#include "tinyrt_lanes.h"

int tinyrt_peak(int steps, const uint8_t *x, int8_t *y);

int tinyrt_peak(int steps, const uint8_t *x, int8_t *y) {{
    tinyrt_lanes sums[{SUMS}];
    const tinyrt_lanes a = tinyrt_load_lanes(x);
    const tinyrt_lanes b = tinyrt_load_lanes(x + 64);
#pragma GCC unroll {SUMS}
    for (int i = 0; i < {SUMS}; ++i) sums[i] = tinyrt_set_lanes(i);
    for (int k = 0; k < steps; ++k) {{
#pragma GCC unroll {SUMS}
        for (int i = 0; i < {SUMS}; ++i) sums[i] = tinyrt_dot4(sums[i], a, b);
    }}
#pragma GCC unroll {SUMS}
    for (int i = 0; i < {SUMS}; ++i) tinyrt_store_lanes(sums[i], y + 16 * i, 16);
    return 0;
}}
"""


def peak_macs_per_second() -> float | None:
    """int8 multiply-accumulates per second of one thread that does nothing else, measured.

    None where there is no C compiler, or no vector kernel for this processor.
    """
    try:
        compiler = find_compiler()
    except ToolError:
        return None
    isa = find_core(core_of(compiler)).isa.value
    lanes = kernels_c.header("tinyrt_lanes.h", isa)
    if not lanes.is_file():
        return None
    with scratch_folder() as folder:
        project = folder / "peak"
        include = make_folder(project / "tinyrt")
        write_text(project / "peak.c", _SOURCE)
        for header in (
            lanes,
            *(kernels_c.header(n, isa) for n in ("tinyrt_types.h", kernels_c.NAMES)),
        ):
            write_text(include / header.name, header.read_text(encoding="utf-8"))
        run = load_library(build_library(compiler, project)).tinyrt_peak
    x, y = ctypes.create_string_buffer(bytes(range(128)), 128), ctypes.create_string_buffer(16 * 16)
    return PRODUCTS * SUMS * STEPS / min(_timed(run, x, y) for _ in range(ROUNDS))


def _timed(run: ctypes._NamedFuncPointer, x: object, y: object) -> float:
    start = time.perf_counter()
    run(STEPS, x, y)
    return time.perf_counter() - start
