"""Instructions of a camera's frames on emulated cores."""

from __future__ import annotations

from pathlib import Path

import jinja2
import numpy as np

from tests.dsp.counting import APART, counted, hooked, invoking, renamed, with_kernels
from tinyrt.dsp import Camera
from tinyrt.dsp.camera_terms import image_step
from tinyrt.export import text as c_text
from tinyrt.export.camera import arrays_of, camera_definitions
from tinyrt.export.rendering import TEMPLATES

BYTES = 4_096

TABLE = c_text.array("static const", "int8_t", "to_input", np.arange(768) * 37 % 256 - 128)

BEGIN = f"""
#include "clip.h"
#include "tinyrt/tinyrt_camera.h"

static uint64_t state[600];
static uint8_t bytes[{BYTES}], row[1024];
{TABLE}
"""

ONE = """
static void camera_NUMBER(void) {
    for (int32_t i = 0; i < 600; ++i) {
        state[i] = 0;
    }
    BEGIN(0);
    for (int32_t y = 0; y < LINES; ++y) {
        while (KERNEL(&eye_NUMBER, bytes + (2 * y), state, row) != 0) {
        }
    }
    END(0);
    BEGIN(1);
    for (int32_t y = 0; y < ROWS; ++y) {
        store_NUMBER((int8_t *)row);
    }
    END(1);
}
"""

VARIANTS = [
    *(("grey", 1), ("rgb888", 1), ("bgr888", 3), ("rgb565", 1), ("rgb565_swapped", 3)),
    *(("yuyv", 1), ("uyvy", 3)),
]
"""Pixels and channels that have code of their own."""
METHODS = ("area", "bilinear")


def camera_of(pixels: str, channels: int, resize: str, seed: int) -> Camera:
    """A camera of random sizes, mostly one that makes frames smaller."""
    rng = np.random.default_rng(seed)
    height, width = int(rng.integers(10, 40)), 2 * int(rng.integers(36, 70))
    lines, across = int(rng.integers(8, height)), int(rng.integers(66, width))
    rows, columns = (int(side / rng.uniform(1.1, 4)) for side in (lines, across))
    crop = (height - lines, 1, lines, across - 1)
    return Camera(height, width, rows, columns, pixels, channels, crop, resize)


def of_all(count: int, seed: int) -> list[Camera]:
    """So many of each kind."""
    kinds = [(*variant, method) for variant in VARIANTS for method in METHODS]
    return [
        camera_of(*kind, seed + count * i + k) for i, kind in enumerate(kinds) for k in range(count)
    ]


def store_of(camera: Camera) -> str:
    """The function that fills the model's input, from the template of an export."""
    text = (TEMPLATES / "camera.c.j2").read_text(encoding="utf-8")
    function = (
        "TINYRT_NOINLINE static void store(" + text.split("static void store(")[1].split("\n}\n")[0]
    )
    made = jinja2.Template(function, trim_blocks=True)
    return made.render(camera=camera, is_each=camera.channels == 3) + "\n}\n"


def measured(cameras: list[Camera], core: str, folder: Path) -> list[dict[str, int]]:
    """Step -> instructions of a frame of each."""
    kernels = {c: f"tinyrt_camera_{c.resize}_{c.format.kind}" for c in cameras}
    there = with_kernels(sorted({*kernels.values()}), core, folder)
    parts, calls = [BEGIN], []
    for k, camera in enumerate(cameras):
        arrays = arrays_of(camera)
        text = "\n".join(camera_definitions(camera, arrays, "eye"))
        parts.append(renamed(text, [*arrays, "eye"], k))
        parts.append(renamed(store_of(camera), ["store"], k))
        one = ONE.replace("NUMBER", str(k)).replace("KERNEL", kernels[camera])
        one = one.replace("LINES", str(camera.height)).replace("ROWS", str(camera.rows))
        parts.append(hooked(one, k))
        calls.append(f"camera_{k}();")
    fill = f"""
    uint32_t random = 7;
    for (int32_t i = 0; i < {BYTES}; ++i) {{
        random = random * 1664525U + 1013904223U;
        bytes[i] = (uint8_t)(random >> 24);
    }}
"""
    parts.append(invoking(fill + "\n".join(calls)))
    found = counted(there, "top_k", core, "\n".join(parts), folder)
    return [
        {
            image_step(camera): found[APART * k],
            "table" if camera.channels == 1 else "tables": found[APART * k + 1],
        }
        for k, camera in enumerate(cameras)
    ]
