"""Requantisation of the packed kernels, all shifts and edges, against fixedpoint.py."""

import numpy as np
import pytest

from tests.c.host import answer_of
from tinyrt import fixedpoint
from tinyrt.backends.c.blocks.layer import MAX_SHIFT

PROGRAM = """
#include <stdio.h>
#include "tinyrt_requant4.h"

int main(void) {
    int32_t t[4];
    while (fread(t, sizeof t, 1, stdin) == 1) {
        const int32_t zp = 2 * t[3] + 1;
        const int32_t rounding = tinyrt_rounding_of(t[2] + 1, zp);
        const int8_t y = tinyrt_requant_rounded(2 * t[0], t[1], t[2] + 1, rounding);
        if (t[2] > 0 && (y != tinyrt_requant_doubled(2 * t[0], t[1], t[2], zp) ||
                         y != tinyrt_requant_alike(2 * t[0], t[1], t[2], zp))) {
            return 1;
        }
        fwrite(&y, sizeof y, 1, stdout);
    }
    return 0;
}
"""


def operands():
    """Accumulators around every half of every shift, extreme mantissas and zero points."""
    rng = np.random.default_rng(3)
    rows = []
    for shift in range(MAX_SHIFT + 1):
        halves = (np.arange(-140, 140) * 2 + 1) << shift
        near = (halves[:, None] + np.arange(-3, 4)).ravel()
        acc = np.concatenate([near, rng.integers(-(2**23), 2**23, 2000), [0, 2**23, -(2**23)]])
        acc = acc[np.abs(acc) <= 2**23]
        edges = np.array([0, 2**30, 2**30 + 1, 2**31 - 1], np.int64)
        mult = np.where(
            rng.random(acc.size) < 0.7,
            rng.choice(edges, acc.size),
            rng.integers(2**30, 2**31, acc.size),
        )
        zp = rng.choice([-128, -1, 0, 127], acc.size)
        rows.append(np.stack([acc, mult, np.full(acc.size, shift), zp], axis=1))
    return np.concatenate(rows)


@pytest.mark.parametrize("isa", ["scalar", "dsp"])
def test_c_equals_python(tmp_path, isa):
    acc, mult, shift, zp = (rows := operands()).T
    found = answer_of(PROGRAM, tmp_path, rows.astype(np.int32).tobytes(), isa=isa)
    scaled = fixedpoint.multiply_by_quantized_multiplier(acc, mult, -shift)
    expected = np.clip(scaled + zp, -128, 127)
    np.testing.assert_array_equal(np.frombuffer(found, np.int8), expected)


FLOORED = """
#include <stdio.h>
#include "tinyrt_simd.h"

int main(void) {
    int32_t t[2];
    while (fread(t, sizeof t, 1, stdin) == 1) {
        const int32_t y = tinyrt_add_floored_mul(t[0], t[1], 3);
        fwrite(&y, sizeof y, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize("core", ["", "-D__ARM_ARCH_ISA_THUMB=1"])
def test_products_are_rounded_down_whatever_their_factors(tmp_path, core):
    """Of halves on cores without long products, which carry into each other."""
    rng = np.random.default_rng(4)
    ends = [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFC7F00, 2**31 - 2**15, 2**31 - 1]
    any_b = np.concatenate([ends, rng.integers(0, 2**31, 300)])
    any_a = np.concatenate([any_b, -any_b, [-(2**31)]])
    a, b = (grid.ravel() for grid in np.meshgrid(any_a, any_b))
    rows = np.stack([a, b], axis=1).astype(np.int32)
    found = answer_of(FLOORED, tmp_path, rows.tobytes(), "-DTINYRT_NO_ASM", *core.split())
    np.testing.assert_array_equal(np.frombuffer(found, np.int32), (a * b >> 32) + 3)
