"""Vectors of front ends, where numbers are at their limits: the host's, on a Cortex-M55."""

import numpy as np
import pytest

from tests.dsp.counting import with_kernels
from tests.dsp.device import run_invoke
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Camera
from tinyrt.export.camera import arrays_of, camera_definitions
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import ref_square_root

pytestmark = pytest.mark.device

CORE = "cortex-m55"

ROOTS = """
#include "clip.h"
#include "tinyrt/tinyrt_signal_filter_bank.h"

int clip_invoke(const clip_io_t *io, void *arena) {
    const int32_t none = 0;
    (void)io;
    tinyrt_signal_filter_bank_square_root(
        CLIP_INPUT_0_BYTES / 8, arena, &none, (uint32_t *)((int8_t *)arena + CLIP_OUTPUT_0_OFFSET));
    return 0;
}
"""


def squares(rng):
    """Around squares, and half way from each to the next; of all lengths, and the largest."""
    lengths = rng.integers(0, 33, 4_000)
    roots = [
        int(n) >> (32 - int(k)) for n, k in zip(rng.integers(0, 2**32, 4_000), lengths, strict=True)
    ]
    roots += [0, 1, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
    near = [r * r + d for r in roots for d in (-1, 0, 1, r - 1, r, r + 1, 2 * r)]
    return np.array([n for n in near if 0 <= n < 2**64], np.uint64)


def test_roots_of_what_lies_around_squares(tmp_path):
    require_core(CORE)
    x = squares(np.random.default_rng(0))
    x = x[(len(x) - 1) % 4 :]
    there = with_kernels(["tinyrt_signal_filter_bank_square_root"], CORE, tmp_path)
    where = (there, "top_k", CORE, tmp_path)
    _, done = run_invoke(*where, ROOTS, x[None], 8, 4 * len(x))
    want = ref_square_root(NoAttrs(), x, np.array(0, np.int32))
    np.testing.assert_array_equal(np.frombuffer(done.outputs, np.uint32), want)
    assert (len(x) % 4, int(x.max())) == (1, 2**64 - 1)


FRAME = """
#include "clip.h"
#include "tinyrt/tinyrt_camera.h"

int clip_invoke(const clip_io_t *io, void *arena) {
    const uint8_t *line = arena;
    uint8_t *row = (uint8_t *)arena + CLIP_OUTPUT_0_OFFSET;
    tinyrt_camera_state *const state = (void *)((uint8_t *)arena + CLIP_STATE);
    (void)io;
    *state = (tinyrt_camera_state){0};
    for (int32_t y = 0; y < eye.height; ++y) {
        while (tinyrt_camera_area_rgb565(&eye, line, state, row) != 0) {
            row += eye.columns;
        }
        line += LINE;
    }
    return 0;
}
"""


FRAMES = [("rgb565", 0), ("rgb565", 70), ("rgb565_swapped", 3)]


@pytest.mark.parametrize(("pixels", "left"), sampled(FRAMES[:1], FRAMES))
def test_grey_of_all_words(pixels, left, tmp_path):
    """From a piece's beginning, and from its midst; the last one is not full."""
    require_core(CORE)
    camera = Camera(256, 256, 256, 256 - left, pixels, 1, (0, left, 256, 256 - left))
    frame = np.arange(1 << 16, dtype="<u2").reshape(256, 256)
    frame = np.roll(frame, left, axis=1).byteswap() if "swapped" in pixels else frame
    there = with_kernels(["tinyrt_camera_area_rgb565"], CORE, tmp_path)
    arrays = arrays_of(camera)
    code = FRAME.split("int clip_invoke")
    definitions = "\n".join(camera_definitions(camera, arrays, "eye"))
    text = f"{code[0]}{definitions}\nint clip_invoke{code[1]}".replace("LINE;", "512;")
    state = -(-(12 + 4 * 256) // 8) * 8
    lines = frame.view(np.uint8).reshape(1, -1)
    where = (there, "top_k", CORE, tmp_path)
    _, done = run_invoke(*where, text, lines, state, camera.rows * camera.columns)
    want = camera.image(frame.view(np.uint8).reshape(256, -1))
    np.testing.assert_array_equal(np.frombuffer(done.outputs, np.uint8), want.ravel())
