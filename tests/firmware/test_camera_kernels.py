"""Cameras of all kinds on emulated cores, one after the other: the rows that the host has."""

import numpy as np
import pytest

from tests.dsp.counting import with_kernels
from tests.dsp.device import run_invoke
from tests.dsp.test_camera import KINDS, METHODS, a_camera, frames_of, record
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Camera

pytestmark = pytest.mark.device

CORES = ["cortex-m55", "cortex-m0", "cortex-m4", "rv32imc"]
KERNELS = [f"tinyrt_camera_{method}_{kind}" for method in METHODS for kind in KINDS]
MOST_BYTES, MOST_ROWS = 3_000, 3_000
"""Of what a camera is given, and of its image."""

FRAME = """
#include <string.h>
#include "clip.h"
#include "tinyrt/tinyrt_camera.h"

typedef int32_t taking(const tinyrt_camera_params *, const uint8_t *, void *, uint8_t *);
static taking *const all[] = { KERNELS };
static int32_t state[3 * 1024 + 3];
static uint16_t tables[MOST];

/* The camera and its frame, as tests/dsp/camera.c reads them. */
int clip_invoke(const clip_io_t *io, void *arena) {
    const int32_t *const head = arena;
    const uint16_t *from = (const uint16_t *)(head + 18);
    const int32_t down = head[16], across = head[17], count = 2 * (down + across);
    uint8_t *row = (uint8_t *)arena + CLIP_OUTPUT_0_OFFSET;
    (void)io;
    memcpy(tables, from, 2 * (size_t)count);
    const tinyrt_camera_params p = {
        head[1], head[2], head[3], head[4], head[5], head[6], head[7], head[8], head[9], head[10],
        {(uint8_t)head[11], (uint8_t)head[12], (uint8_t)head[13]},
        tables, tables + down, tables + 2 * down, tables + 2 * down + across,
    };
    memset(row, 0xA5, CLIP_OUTPUT_0_BYTES);
    memset(state, 0xA5, sizeof state);
    memset(state, 0, sizeof(tinyrt_camera_state));
    const uint8_t *line = (const uint8_t *)(from + count);
    for (int32_t y = 0; y < p.height; ++y) {
        while (all[head[0]](&p, line, state, row) != 0) {
            row += p.columns * p.channels;
        }
        line += head[15];
    }
    return 0;
}
""".replace("KERNELS", ", ".join(KERNELS)).replace("MOST", str(MOST_BYTES))


def wide(rng):
    """Few lines of many pixels: more than are looked at ahead, from any pixel on."""
    small, width = a_camera(rng, 8), int(rng.integers(60, 280))
    width += width % 2
    left = int(rng.integers(0, width - 4))
    crop = (0, left, small.height, int(rng.integers(2, width - left + 1)))
    options = small.as_dict() | {"width": width, "crop": crop}
    columns = int(rng.integers(1, crop[3] + 1))
    most = min(small.rows, small.height)
    return Camera.from_dict(options | {"columns": columns, "rows": most})


def as_it_is(rng):
    """Colours of many pixels, none of which is mixed with others."""
    pixels = ("yuyv", "uyvy", "rgb565", "rgb565_swapped")[rng.integers(4)]
    return Camera(4, 240, 4, 240, pixels, 3)


def cameras(count):
    rng, found = np.random.default_rng(11), []
    while len(found) < count:
        camera = (a_camera, wide, a_camera, wide, as_it_is)[len(found) % 5](rng)
        given = record(camera, frames_of(camera, rng, 1 + len(found) // 3 % 2)[-1:])
        if len(given) <= MOST_BYTES and camera.rows * camera.row_size <= MOST_ROWS:
            frame = np.frombuffer(given[-camera.height * camera.line_bytes :], np.uint8)
            image = camera.image(frame.reshape(camera.height, -1))
            found.append((camera, given, image.tobytes()))
    return found


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_rows_are_the_hosts(core, tmp_path):
    """Byte for byte, and nothing is written behind them."""
    require_core(core)
    ones = cameras(sampled(80, 2_000))
    data = np.zeros((len(ones), MOST_BYTES), np.uint8)
    for place, (_, given, _) in zip(data, ones, strict=True):
        place[: len(given)] = np.frombuffer(given, np.uint8)
    there = with_kernels(KERNELS, core, tmp_path)
    where = (there, "top_k", core, tmp_path)
    _, done = run_invoke(*where, FRAME, data, 8, MOST_ROWS)
    found = np.frombuffer(done.outputs, np.uint8).reshape(len(ones), MOST_ROWS)
    for rows, (camera, _, image) in zip(found, ones, strict=True):
        assert rows[: len(image)].tobytes() == image, camera
        assert (rows[len(image) :] == 0xA5).all(), camera
    taken = {(c.resize, c.format.kind, c.channels, c.format.nbytes) for c, *_ in ones}
    assert len(taken) >= 16
