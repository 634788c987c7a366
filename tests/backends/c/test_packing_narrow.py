"""Gates of LSTMs whose weights four bits hold, unpacked again, and what does not fit."""

import numpy as np
import pytest

from tinyrt.backends.c.blocks.lstm import lstm_block
from tinyrt.backends.c.blocks.nibble_rows import NibbleRows, are_narrow
from tinyrt.backends.c.blocks.nibbles import MAX_NARROW_SUM
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve.lstm import narrowest_quad_filters, quad_filters
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.ir import DType
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.table_s16 import SigmoidS16
from tinyrt.ops.unidirectional_sequence_lstm import LstmInteger

SCALAR, DSP = InstructionSet.SCALAR, InstructionSet.DSP
ONE = np.ones(1, np.int32)
SCALE = Requant(ONE << 30, ONE * 0, 0, INT16_MIN, INT16_MAX, DType.INT16)
UNITS = LstmInteger(
    *(0, 0, DType.INT8, (SCALE,) * 4, (SCALE,) * 4, (1 << 30, -9), (1 << 30, -9), (1 << 30, -9)),
    *(SigmoidS16(1, 0), 0, False),
)
"""Scales and shifts that every kernel takes."""


def gates(units, taps, least=-7):
    return np.random.default_rng(taps).integers(least, 8, (4 * units, taps)).astype(np.int8)


def test_what_four_bits_hold():
    w = gates(2, 3, -8)
    assert are_narrow(w, w)
    for beyond in (-9, 8):
        wide = w.copy()
        wide[3, 1] = beyond
        assert not are_narrow(w, wide)


@pytest.mark.parametrize("isa", [SCALAR, DSP])
def test_a_half_has_the_four_gates_of_a_unit(isa):
    units, taps = 3, 8
    w, r = gates(units, taps, -8), gates(units, 4)
    start, restart = np.arange(4 * units) - 5, np.arange(4 * units) * 9
    block = lstm_block((w, r, start, restart), UNITS, isa)
    assert block.kernel == "tinyrt_lstm_block_s4"
    words = block.x.words(isa)
    assert 2 * words.nbytes == w.size
    pairs = np.stack([words & 0xFFFF, words >> 16 & 0xFFFF], axis=1).reshape(units, taps)
    if isa is DSP:
        pairs = pairs.reshape(units, 2, 2, 2).transpose(0, 1, 3, 2).reshape(units, taps)
    by_unit = w.reshape(4, units, taps).swapaxes(0, 1)
    for gate in range(3):
        np.testing.assert_array_equal((pairs >> 4 * gate & 15) - 8, by_unit[:, gate])
    np.testing.assert_array_equal(((pairs >> 12) + 8 & 15) - 8, by_unit[:, 3])
    first = start.reshape(4, units).T
    expected = first * [1, 16, 256, 1]
    expected[:, 1] += first[:, 0]
    np.testing.assert_array_equal(block.x.starts(isa).reshape(-1, 4), expected)


def test_sums_beyond_nibbles_take_bytes():
    w, r = gates(2, 4), gates(2, 2)
    for start, bits in ((MAX_NARROW_SUM - 1920 * 4 - 1, 4), (MAX_NARROW_SUM - 1920 * 4, 8)):
        first = np.zeros(8, np.int64)
        first[0] = start
        assert lstm_block((w, r, first, 0 * first), UNITS, DSP).x.bits == bits


def test_a_doubled_sum_goes_left_by_the_exponent_alone():
    rows = NibbleRows(gates(1, 4), np.zeros(4, np.int64))
    assert [rows.move(channel, shift) for channel, shift in ((0, -3), (1, 0), (3, 2))] == [0, 0, 2]


def test_vectors_take_two_filters_to_a_byte_where_it_holds_both():
    w, r = gates(6, 5), gates(6, 17)
    bits, filters = narrowest_quad_filters(w, r)
    assert bits == 4
    wide = quad_filters(w, r).reshape(2, 4, 3, 2, 2, 16)
    two = filters.reshape(2, 4, 3, 2, 16).astype(int)
    even = ((two + 8) & 15) - 8
    np.testing.assert_array_equal(even, wide[..., 0, :])
    np.testing.assert_array_equal((two - even) >> 4, wide[..., 1, :])
    r[0, 0], r[1, 0] = -1, -8
    bits, filters = narrowest_quad_filters(w, r)
    assert bits == 8
    np.testing.assert_array_equal(filters, quad_filters(w, r))
