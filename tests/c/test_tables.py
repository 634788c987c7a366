"""Numbers that C code holds, beside the formulas that they come from.

Outputs of few bits seldom show that an entry is wrong by one.
"""

import re

import numpy as np

from tinyrt import kernels_c
from tinyrt.ops.signal_filter_bank import LN2, log_table


def numbers(path, name):
    """The elements of a constant array."""
    text = (kernels_c.ROOT / path).read_text()
    (body,) = re.findall(rf"\b{name}\[\d*\] = \{{([^}}]*)\}}", text)
    return [int(number) for number in body.split(",")]


def test_logarithms_of_filter_banks():
    path = "internal/tinyrt_log_table.h"
    np.testing.assert_array_equal(numbers(path, "TINYRT_LOG_TABLE"), log_table())
    assert f"TINYRT_LN2 UINT64_C({LN2})" in (kernels_c.ROOT / path).read_text()


def test_powers_of_e_in_softmax():
    """exp(-1/4), exp(-1/2), exp(-1), ..., as 2**31sts."""
    found = numbers("src/tinyrt_softmax_s8.c", "powers")
    exponents = 2.0 ** np.arange(-2, len(found) - 2)
    np.testing.assert_array_equal(found, np.rint(2.0**31 * np.exp(-exponents)))


def test_inverse_roots_that_roots_begin_with():
    """128 / sqrt(m) in the middle of each 128th of m from 1/4 to 1."""
    found = numbers("internal/tinyrt_root_table.h", "TINYRT_INVERSE_ROOTS")
    middles = (np.arange(32, 128) + 0.5) / 128
    np.testing.assert_array_equal(found, np.rint(128 / np.sqrt(middles)))
