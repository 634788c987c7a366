"""Requantisation of int16 outputs, all shifts and edges, against ``WideRequant``."""

import numpy as np

from tests.c.host import answer_of
from tinyrt.ops.shared.requant import WideRequant

PROGRAM = """
#include <stdio.h>
#include "tinyrt_requant_s16.h"

int main(void) {
    int64_t t[5];
    while (fread(t, sizeof t, 1, stdin) == 1) {
        const int32_t mult = (int32_t)t[1];
        const int8_t shift = (int8_t)t[2];
        const tinyrt_requant_s16_params p = {&mult, &shift, 0, 1, (int32_t)t[3], (int32_t)t[4]};
        const int16_t y = tinyrt_requant_s16(&p, 0, t[0]);
        fwrite(&y, sizeof y, 1, stdout);
    }
    return 0;
}
"""
MULTS = (0, 1, 1 << 14, (1 << 14) + 1, (1 << 15) - 1)
LIMITS = ((-32768, 32767), (0, 32767), (-300, 200))
SHIFTS = range(8, 47)


def accumulators(mult, shift, rng):
    """Around halves of outputs, the ends of 32 and of 47 bits, and some at random."""
    outputs = np.concatenate([np.arange(-40, 40), [-32769, -32768, 32767, 32768]])
    halves = [((2 * int(n) + 1) << (shift - 1)) // max(mult, 1) for n in outputs]
    ends = [-(1 << 31), (1 << 31) - 1, -(1 << 47) + 3, (1 << 47) - 3, 0]
    near = (np.array(halves + ends)[:, None] + np.arange(-2, 3)).ravel()
    both = np.concatenate(
        [near, rng.integers(-(2**46), 2**46, 40), rng.integers(-(2**31), 2**31, 40)]
    )
    return both[np.abs(both) < 1 << 47]


def test_c_equals_python(tmp_path):
    rng = np.random.default_rng(7)
    rows, expected = [], []
    for shift in SHIFTS:
        for mult in (*MULTS, int(rng.integers(1 << 14, 1 << 15))):
            acc = accumulators(mult, shift, rng)
            low, high = LIMITS[int(rng.integers(len(LIMITS)))]
            rows += [(int(a), mult, shift, low, high) for a in acc]
            wide = WideRequant(np.array([mult], np.int32), np.array([shift], np.int32), low, high)
            expected.append(wide.apply(acc[:, None])[:, 0])
    data = np.array(rows, np.int64).tobytes()
    found = np.frombuffer(answer_of(PROGRAM, tmp_path, data), np.int16)
    assert found.size > 50_000
    np.testing.assert_array_equal(found, np.concatenate(expected))
