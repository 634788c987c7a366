"""The C arithmetic of requantisation against the Python one, on random and extreme operands."""

import numpy as np

from tests.c.host import answer_of
from tinyrt import fixedpoint, kernels_c

COUNT = 50_000

PROGRAM = """
#include <stdio.h>
#include "tinyrt_fixedpoint.h"

int main(void) {
    int32_t t[3];
    while (fread(t, sizeof t, 1, stdin) == 1) {
        const int32_t y[] = {tinyrt_requant(t[0], t[1], t[2]),
                             tinyrt_rounding_divide_by_pot(t[0], t[2] < 0 ? -t[2] : t[2]),
                             tinyrt_saturating_shift_left(t[0], 1 + (t[2] & 15)),
                             tinyrt_to_s8(t[0], t[2], -100, 90)};
        fwrite(y, sizeof y, 1, stdout);
    }
    return 0;
}
"""


OF_A_KERNEL = """
#include <stdio.h>
#include "KERNEL.c"

int main(void) {
    int32_t a;
    while (fread(&a, sizeof a, 1, stdin) == 1) {
        const int32_t y[] = {CALLS};
        fwrite(y, sizeof y, 1, stdout);
    }
    return 0;
}
"""
"""Functions inside of a kernel, bit by bit: of their last bits outputs of 8 bits show nothing."""


def answers(source, folder, operands, count):
    """What the program says of the operands, ``count`` numbers of each."""
    found = answer_of(source, folder, operands.tobytes(), f"-I{kernels_c.SRC}")
    return np.frombuffer(found, np.int32).reshape(-1, count).T


def test_c_equals_python(tmp_path):
    rng = np.random.default_rng(1)
    edges = np.array([-(2**31), -(2**31) + 1, -1, 0, 1, 2**30, 2**31 - 1], np.int64)
    x = np.where(
        rng.random(COUNT) < 0.2,
        rng.choice(edges, COUNT),
        rng.integers(-(2**31), 2**31, COUNT) >> rng.integers(0, 31, COUNT),
    )
    mult = rng.integers(2**30, 2**31, COUNT)
    shift = rng.integers(-31, 32, COUNT)
    operands = np.stack([x, mult, shift], axis=1).astype(np.int32)
    found = answers(PROGRAM, tmp_path, operands, 4)

    requantized = fixedpoint.multiply_by_quantized_multiplier(x, mult, shift)
    np.testing.assert_array_equal(found[0], requantized)
    np.testing.assert_array_equal(found[1], fixedpoint.rounding_divide_by_pot(x, np.abs(shift)))
    shifted = np.clip(x << (1 + (shift & 15)), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(found[2], shifted)
    np.testing.assert_array_equal(found[3], np.clip(x + shift, -100, 90))


def of_kernel(kernel, *calls):
    return OF_A_KERNEL.replace("KERNEL", kernel).replace("CALLS", ", ".join(calls))


def test_exponentials_and_reciprocals_equal_python(tmp_path):
    rng = np.random.default_rng(2)
    edges = [-(2**31) + 1, -(2**26), -(2**24) - 1, -(2**24), -(2**24) + 1, -1, 0]
    a = np.append(-(rng.integers(0, 2**31, COUNT) >> rng.integers(0, 31, COUNT)), edges)
    source = of_kernel("tinyrt_softmax_s8", "exp_of_negative(a)", "tinyrt_one_over_one_plus(-a)")
    powers, reciprocals = answers(source, tmp_path, a.astype(np.int32), 2)
    np.testing.assert_array_equal(powers, fixedpoint.exp_on_negative_values(a, 5))
    np.testing.assert_array_equal(reciprocals, fixedpoint.one_over_one_plus_x(-a))


def test_logarithms_equal_python(tmp_path):
    rng = np.random.default_rng(3)
    edges = [1 << 19, (1 << 19) + 1, 1 << 30, (1 << 31) - 1]
    a = np.append(rng.integers(2**30, 2**31, COUNT) >> rng.integers(0, 12, COUNT), edges)
    source = of_kernel("tinyrt_log_softmax_s8", "log_of(a)")
    (logarithms,) = answers(source, tmp_path, a.astype(np.int32), 1)
    np.testing.assert_array_equal(logarithms, fixedpoint.log_of_one_and_more(a, 12, 5))
