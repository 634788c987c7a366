"""Instructions of the steps of features of motion on emulated cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.dsp.counting import APART, counted, hooked, invoking, renamed, with_kernels
from tinyrt.dsp import Motion
from tinyrt.export.front_code import MOTION_KERNELS, front_code

NUMBERS = 8_192
"""Of all samples."""

BEGIN = f"""
#include "clip.h"
#include "tinyrt/tinyrt_motion.h"

/* That of the library, as it is compiled alone. */
static int32_t (*volatile whole)(const tinyrt_motion_params *, const int16_t *, int32_t, void *,
                                 void *, int16_t *, int32_t *) = tinyrt_motion;
#undef tinyrt_motion
#undef tinyrt_motion_reset
#define tinyrt_motion own_motion
#define tinyrt_motion_reset own_reset
#include "tinyrt/tinyrt_motion.c"

static uint64_t state[3000], work[6000];
static int16_t samples[{NUMBERS}], features[1024];

/* Each of them once: not inlined here and there. */
TINYRT_NOINLINE static tinyrt_motion_level level_of(const tinyrt_motion_params *p,
                                                    const int16_t *x) {{
    return statistics(p, x, features);
}}

TINYRT_NOINLINE static void raised(const tinyrt_motion_params *p, const int16_t *x, int32_t mean,
                                   int32_t up, int16_t *y) {{
    tinyrt_axis_raised(x, p->axes, p->window, mean, up, p->weights, y);
}}

TINYRT_NOINLINE static void energies(int32_t count, const int16_t *x, uint32_t *y) {{
    tinyrt_energies(count, x, y);
}}
"""

ONE = """
static void motion_NUMBER(void) {
    const tinyrt_motion_params *volatile hidden = &front_NUMBER;
    const tinyrt_motion_params *const p = hidden;
    const int32_t first = p->edges[0], count = p->bands + p->peaks;
    int16_t *const scaled = (int16_t *)work;
    void *const other = (int8_t *)work + p->second;
    int32_t full;
    own_reset(p, state);
    whole(p, samples, p->window, state, work, features, &full);
    BEGIN(0); whole(p, samples + (p->window * p->axes), p->step, state, work, features, &full); END(0);
    for (int32_t i = 0; i < p->axes; ++i) {
        const int16_t *const x = samples + (p->step * p->axes) + i;
        BEGIN(1); const tinyrt_motion_level level = level_of(p, x); END(1);
        const int32_t up = 16 - ((level.largest != 0) ? tinyrt_bit_length((uint32_t)level.largest) : 0);
        BEGIN(2); raised(p, x, level.mean, up, scaled); END(2);
        BEGIN(3); tinyrt_signal_rfft_s16(&p->fft, scaled, p->roots, p->split, other); END(3);
        BEGIN(4); energies(p->edges[p->bands] - first, (int16_t *)other + (2 * first), (uint32_t *)work + first); END(4);
        BEGIN(5); sums(p, (uint32_t *)work, other, features + 4 + count); END(5);
        BEGIN(6); tinyrt_signal_filter_bank_square_root(count, other, &up, (uint32_t *)work); END(6);
        BEGIN(7); tinyrt_signal_filter_bank_log(count, 0, p->log_scale, (uint32_t *)work, features + 4); END(7);
    }
}
"""  # noqa: E501

STEPS = (
    *("statistics", "raise", "transform", "energies", "bands and peaks", "roots", "logarithm"),
    "samples",
)
"""``samples`` is what no hook is around: they are copied, and the other steps are called."""

FITTED = tuple((40 + 29 * i) for i in range(14))
"""Windows that constants are read off."""


def motion_of(window: int, seed: int) -> Motion:
    """Features of random sizes."""
    rng = np.random.default_rng(seed)
    axes, bands = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    axes = min(axes, NUMBERS // (2 * window))
    edges = (0.5, *np.sort(rng.choice(np.arange(4, 50, 4), bands, replace=False)).tolist())
    step = int(rng.integers(1, window + 1))
    return Motion(axes, 100, window, step, None, edges, int(rng.integers(0, 4)))


def measured(fronts: list[Motion], core: str, folder: Path) -> list[dict[str, int]]:
    """Step -> instructions of a row of each, and ``whole``."""
    there, parts, calls = with_kernels(MOTION_KERNELS, core, folder), [BEGIN], []
    for k, front in enumerate(fronts):
        text = "\n".join(front_code(front).definitions)
        parts.append(renamed(text, ["window", "roots", "split", "edges", "front"], k))
        parts.append(hooked(ONE.replace("NUMBER", str(k)), k))
        calls.append(f"motion_{k}();")
    # A vibration, and noise.
    fill = f"""
    uint32_t random = 7;
    for (int32_t i = 0; i < {NUMBERS}; ++i) {{
        random = random * 1664525U + 1013904223U;
        samples[i] = (int16_t)((int32_t)(random >> 22) + ((i % 53) * 40));
    }}
"""
    parts.append(invoking(fill + "\n".join(calls)))
    found = counted(there, "top_k", core, "\n".join(parts), folder)
    each = []
    for k in range(len(fronts)):
        steps = {step: found[APART * k + 1 + i] for i, step in enumerate(STEPS[:-1])}
        whole = found[APART * k]
        each.append({**steps, "samples": whole - sum(steps.values()), "whole": whole})
    return each
