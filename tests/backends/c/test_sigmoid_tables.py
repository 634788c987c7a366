"""The table of logistic and tanh of int16, as C reads it."""

import numpy as np

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.tables import sigmoid_data
from tinyrt.ops.shared.table_s16 import sigmoid_table


def test_the_table_ends_in_what_lies_beyond_it():
    """So that kernels with vectors need no comparison: they limit positions to the last one."""
    table = sigmoid_table().astype(int)
    for bits, beyond, rounding in ((9, 0x7FFF << 10, 10), (8, 0xFFFF << 8, 8)):
        part = (1 << bits) - 1
        last = (table[254] << bits) + part * (table[255] - table[254])
        half = 1 << (rounding - 1)
        assert (last + half) >> rounding == (beyond + half) >> rounding
        assert (half - 1 - last) >> rounding == (half - 1 - beyond) >> rounding


def test_cores_with_products_of_pairs_read_the_table_without_its_middle():
    entries = sigmoid_table()
    scalar, pairs = (sigmoid_data(isa).array for isa in (InstructionSet.SCALAR, InstructionSet.DSP))
    np.testing.assert_array_equal(scalar.view(np.uint16), entries)
    np.testing.assert_array_equal(pairs[1:], 32768 - entries)
    assert pairs[0] == -pairs[2] == entries[1] - 32768
    np.testing.assert_array_equal(sigmoid_data(InstructionSet.MVE).array, pairs)
