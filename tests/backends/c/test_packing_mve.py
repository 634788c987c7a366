"""Filters and scales as products with vectors read them, and how these are rounded."""

from itertools import product

import numpy as np
import pytest

from tinyrt.backends.c.mve import packing as mve_packing
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


@pytest.mark.parametrize(("channels", "length"), [(1, 1), (4, 16), (5, 17), (8, 40)])
def test_vectors_take_four_filters_by_sixteen_weights(channels, length):
    """Zeros lie before the first weight and behind the last filter."""
    w = np.random.default_rng(7).integers(-128, 128, (channels, length)).astype(np.int8)
    packed = mve_packing.pack_filters(w)
    assert packed.shape == (-(-channels // 4), -(-length // 16), 4, 16)
    for (quad, block, row, lane), value in np.ndenumerate(packed):
        channel, tap = 4 * quad + row, 16 * block + lane - -length % 16
        assert value == (w[channel, tap] if channel < channels and tap >= 0 else 0)


@pytest.mark.parametrize("channels", [1, 4, 7, 8])
def test_vectors_take_nine_words_of_scales_to_four_channels(channels):
    """Zeros stand behind the last channel; the bytes of the last word are shifts, lowest first."""
    rng = np.random.default_rng(9)
    bias, mult = rng.integers(-(2**31), 2**31, (2, channels))
    shift = rng.integers(-31, 31, channels)
    packed = mve_packing.pack_scales(bias, mult, shift)
    assert packed.dtype == np.int32
    assert packed.shape == (-(-channels // 4), 9)
    for (quad, word), value in np.ndenumerate(packed[:, :8]):
        channel = 4 * quad + word % 4
        wanted = (bias if word < 4 else mult)[channel] if channel < channels else 0
        assert value == wanted
    bytes_of = packed[:, 8].astype("<i4").tobytes()
    found = np.frombuffer(bytes_of, np.int8)
    assert found[:channels].tolist() == shift.tolist()
    assert not found[channels:].any()


FULL = (-128, 127)


@pytest.mark.parametrize(
    ("shifts", "y_zp", "limits", "wanted"),
    [
        ((-1, -7), -128, FULL, 0),
        ((0, -7), -128, FULL, 0),
        ((1, -7), -128, FULL, 2),
        ((-1, -7), -127, FULL, 1),
        ((0, -7), 3, FULL, 2),
        ((-1, -7), -128, (-127, 127), 2),
        ((-1, -7), 3, (-128, 126), 2),
    ],
)
def test_vectors_round_as_simply_as_scales_allow(shifts, y_zp, limits, wanted):
    requant = Requant(np.array([2**30, 2**30], np.int32), np.array(shifts), y_zp, *limits)
    assert mve_packing.rounding(requant) == wanted


def test_lines_of_a_few_rows_are_rows_however_many_there_are():
    """Their number changes from call to call, and the code does not."""
    for rows, columns in product(range(1, 9), range(1, 9)):
        window = Window.of((rows + 2, columns), (3, 3), (1, 1), "ROWS")
        assert mve_packing.lines_of(window) == (0, 1)
    whole = Window.of((4, 3), (3, 3), (1, 1), "SAME")
    assert mve_packing.lines_of(whole) == (1, 0)
