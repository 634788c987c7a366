"""Windows of features by themselves on emulated cores, of all sizes: the host's rows."""

import numpy as np
import pytest

from tests.dsp.counting import with_kernels
from tests.dsp.device import run_invoke
from tests.dsp.test_standard import a_window
from tests.dsp.window_costs import KERNELS
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp.standard import GROUPS, standardized

pytestmark = pytest.mark.device

CORES = ["cortex-m55", "cortex-m4", "cortex-m0", "rv32imc"]
MOST = 40 * 40

INVOKE = f"""
#include "clip.h"
#include "tinyrt/tinyrt_standard.h"

static tinyrt_standard_group groups[40];

int clip_invoke(const clip_io_t *io, void *arena) {{
    const int32_t *const head = arena;
    const tinyrt_standard_params p = {{head[0], head[1], head[2], (uint16_t)head[3]}};
    const uint16_t *const window = (const uint16_t *)(head + 4);
    int32_t *const out = (int32_t *)(void *)((uint8_t *)arena + CLIP_OUTPUT_0_OFFSET);
    (void)io;
    tinyrt_standard(&p, window, groups);
    for (int32_t i = 0; i < {MOST}; ++i) {{
        out[i] = 1 << 20;
    }}
    for (int32_t y = 0; y < p.rows; ++y) {{
        tinyrt_standard_row(&p, groups, window + p.size * y, out + p.size * y);
    }}
    return 0;
}}
"""


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_rows_are_the_hosts(core, tmp_path):
    require_core(core)
    rng = np.random.default_rng(9)
    ones = [(a_window(rng), GROUPS[i % 2]) for i in range(sampled(120, 1_000))]
    data = np.zeros((len(ones), 16 + 2 * MOST), np.uint8)
    for row, (x, group) in zip(data, ones, strict=True):
        groups = 1 if group == "window" else x.shape[1]
        head = [*x.shape, groups, 0x8000 * (x.dtype == np.int16)]
        row[:16] = np.array(head, np.int32).view(np.uint8)
        row[16 : 16 + x.nbytes] = x.view(np.uint8).ravel()
    where = (with_kernels(KERNELS, core, tmp_path), "top_k", core, tmp_path)
    _, done = run_invoke(*where, INVOKE, data, 8, 4 * MOST)
    found = np.frombuffer(done.outputs, np.int32).reshape(len(ones), MOST)
    for row, (x, group) in zip(found, ones, strict=True):
        np.testing.assert_array_equal(row[: x.size], standardized(x[None], group).ravel())
        assert (row[x.size :] == 1 << 20).all()
