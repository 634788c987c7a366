"""Weights of int16 layers and LSTMs as kernels read them, and which instruction set gets which."""

import numpy as np
import pytest

from benchmarks.kernels import graph_of
from tests.firmware.test_wide import wide
from tinyrt.backends.c.blocks.lstm_wide import SHIFTS, WideLstm, wide_lstm
from tinyrt.backends.c.blocks.row16 import MAX_SUM, row16_words
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.mve.lstm import wide_quad_filters, wide_quad_sums
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.shared.requant import WideRequant
from tinyrt.ops.shared.table_s16 import SigmoidS16
from tinyrt.ops.unidirectional_sequence_lstm import LstmInteger

SCALAR, DSP = InstructionSet.SCALAR, InstructionSet.DSP


def weights(rows, taps):
    return np.random.default_rng(taps).integers(-127, 128, (rows, taps)).astype(np.int8)


@pytest.mark.parametrize("taps", [1, 2, 5, 8])
def test_a_word_has_the_weights_of_a_tap(taps):
    rows = weights(8, taps)
    found = row16_words(rows, SCALAR).astype("<i4").tobytes()
    quads = np.frombuffer(found, np.int8).reshape(2, taps, 4)
    np.testing.assert_array_equal(quads.transpose(0, 2, 1).reshape(8, taps), rows)


@pytest.mark.parametrize("taps", [1, 2, 5, 8])
def test_two_words_have_the_weights_of_two_taps(taps):
    """Halves of 256 * w1 + w0, one tap after the other; what is added is zero."""
    rows = weights(8, taps)
    words = row16_words(rows, DSP).astype("<i4")
    halves = np.frombuffer(words.tobytes(), "<i2").astype(int).reshape(2, -1, 2, 2)
    even = halves.astype(np.int8).astype(int)
    odd = (halves - even) >> 8
    for pair in range(2):
        for i, found in ((0, even), (1, odd)):
            taps_of = found[:, :, pair].reshape(2, -1)
            np.testing.assert_array_equal(taps_of[:, :taps], rows[2 * pair + i :: 4])
            assert not taps_of[:, taps:].any()


def test_vectors_of_gates_of_int16_unpack_to_the_weights():
    w, r = weights(4 * 6, 5), weights(4 * 6, 17)
    start = np.arange(24, dtype=np.int32) - 7
    lstm = WideLstm(w, r, start, (1,) * 4, (1,) * 4)
    filters, sums = wide_quad_filters(lstm), wide_quad_sums(lstm)
    assert filters.shape == (2, 4, 32 + 96)
    for g in range(4):
        of_x = filters[:, g, :32].reshape(2, 4, 8).reshape(8, 8)[:6, -5:]
        of_h = filters[:, g, 32:].reshape(2, 3, 4, 8).transpose(0, 2, 1, 3).reshape(8, 24)
        np.testing.assert_array_equal(of_x, w[6 * g : 6 * g + 6])
        np.testing.assert_array_equal(of_h[:6, -17:], r[6 * g : 6 * g + 6])
        np.testing.assert_array_equal(sums[:, g].ravel()[:6], start[6 * g : 6 * g + 6])


def test_one_node_has_weights_of_its_own_on_each_instruction_set():
    """A graph may be exported for one core, then for another."""
    layer = wide("conv2d", Conv2dAttrs(), (1, 4, 4, 6), (3, 1, 1, 6))
    (node,) = graph_of({"layer": layer})[0].bound()
    packed = {}
    for isa in (SCALAR, DSP, SCALAR):
        (call,) = choose(node, Target(isa)).calls
        packed.setdefault(isa, []).append(call.args[2].array)
    np.testing.assert_array_equal(packed[SCALAR][0], packed[SCALAR][1])
    assert packed[SCALAR][0].tolist() != packed[DSP][0].tolist()


def test_mantissas_keep_within_31_bits():
    assert 0x7FFF << (32 - SHIFTS[0]) < 1 << 31 <= 0x7FFF << (33 - SHIFTS[0])


SCALE = WideRequant(np.array([0x4000], np.int32), np.array([20], np.int32), -(2**15), 2**15 - 1)
UNITS = LstmInteger(
    *(0, 0, DType.INT16, (SCALE,) * 4, (SCALE,) * 4, (1 << 30, -9), (1 << 30, -9), (1 << 30, -9)),
    *(SigmoidS16(1, 0), 0, False),
)
"""Scales and shifts that every kernel takes."""


@pytest.mark.parametrize("isa", MAX_SUM)
@pytest.mark.parametrize("operand", ["w", "r", "start"])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_operand_of_an_lstm_takes_sums_to_the_limit(isa, operand, sign):
    """One gate of one of eight units, each operand by itself."""

    def constants(reach: int):
        taps = -(-reach // (64 << 15))
        w = {name: np.zeros((32, taps), np.int8) for name in ("w", "r")}
        start = np.zeros(32, np.int64)
        if operand == "start":
            start[17] = sign * reach
        else:
            w[operand][17] = sign * 64
        return w["w"], w["r"], start, np.zeros(32, np.int64)

    below = (MAX_SUM[isa] >> 21) - 1 << 21
    assert wide_lstm(constants(below), UNITS, isa) is not None
    assert wide_lstm(constants(MAX_SUM[isa]), UNITS, isa) is None


@pytest.mark.parametrize("operand", [0, 1])
def test_halves_of_a_dsp_core_hold_the_weights_of_either_operand_of_an_lstm(operand):
    """Of -128 above a negative weight they have no room."""
    w = [np.zeros((32, 4), np.int8) for _ in range(2)]
    w[operand][:] = -128
    sums = np.zeros(32, np.int64)
    assert wide_lstm((*w, sums, sums), UNITS, SCALAR) is not None
    assert wide_lstm((*w, sums, sums), UNITS, DSP) is None
