"""Weights and tables as device code reads them, beside loops that follow their description."""

from itertools import product

import numpy as np
import pytest

from tests.ops.quantised import s8
from tests.sampling import sampled
from tinyrt.backends.cuda.dense import (
    MAX_MASKED,
    channel_tiles,
    pack_dense,
    pack_depthwise,
    pixel_table,
    window_ints,
)
from tinyrt.ops.shared.window import Window

TILES = {
    1: 1, 16: 1, 17: 2, 32: 2, 33: 1, 48: 1, 49: 4, 64: 4, 65: 1, 80: 1, 81: 2, 96: 2, 113: 4,
    128: 4, 129: 1, 160: 2, 192: 4,
}  # fmt: skip


@pytest.mark.parametrize("channels", sampled([*TILES, 8, 259], range(1, 260)))
def test_a_warp_takes_the_most_channels_that_pad_least(channels):
    def padded(tiles):
        return next(n for n in range(0, 1000, 16 * tiles) if n >= channels)

    least = min(map(padded, (1, 2, 4)))
    assert channel_tiles(channels) == max(t for t in (1, 2, 4) if padded(t) == least)
    assert channel_tiles(channels) == TILES.get(channels, channel_tiles(channels))


def lanes(w, tiles):
    """The bytes of each group, read lane by lane."""
    c_out, k = w.shape
    width, out = 16 * tiles, []

    def at(channel, tap):
        return int(w[channel, tap]) if channel < c_out and tap < k else 0

    def words(first, j, g, start):
        for word in (0, 4):
            for half in (0, 8):
                r = g + half
                channel = first + 2 * tiles * (r % 8) + 2 * j + r // 8
                yield from (at(channel, start + word + byte) for byte in range(4))

    for first in range(0, c_out, width):
        group = []
        start = 0
        while k - start > 32:
            for j, half, lane in product(range(tiles), (0, 8), range(32)):
                g, t = divmod(lane, 4)
                group += words(first, j, g, start + 16 * t + half)
            start += 64
        if k > start:
            for j, lane in product(range(tiles), range(32)):
                g, t = divmod(lane, 4)
                group += words(first, j, g, start + 8 * t)
        out.append(group)
    return np.array(out, np.int8)


@pytest.mark.parametrize("tiles", [1, 2, 4])
@pytest.mark.parametrize(
    ("c_out", "k"), [(5, 3), (16, 32), (17, 33), (70, 64), (64, 97), (33, 100)]
)
def test_dense_weights_lie_as_lanes_read_them(c_out, k, tiles):
    w = np.random.default_rng(c_out + k).integers(-127, 128, (c_out, k)).astype(np.int8)
    np.testing.assert_array_equal(pack_dense(w, tiles), lanes(w, tiles))


@pytest.mark.parametrize(("kh", "kw", "c"), [(3, 3, 8), (1, 5, 4), (2, 4, 12), (3, 1, 8)])
def test_depthwise_weights_lie_by_four_channels_and_taps(kh, kw, c):
    w = np.random.default_rng(kw).integers(-127, 128, (kh, kw, c)).astype(np.int8)
    packed = pack_depthwise(w)
    expected = np.zeros_like(packed)
    assert packed.shape == (c // 4, kh, (kw + 3) // 4, 4, 4)
    for row, tap, channel in product(range(kh), range(kw), range(c)):
        quad, j = divmod(channel, 4)
        byte = j if kw == 1 else tap % 4
        expected[quad, row, tap // 4, j, byte] = w[row, tap, channel]
    np.testing.assert_array_equal(packed, expected)


def window_of(kernel=(3, 2), stride=(2, 1), dilation=(1, 1), before=(1, 1), out=(3, 5)):
    return Window(kernel, stride, dilation, before, (0, 0), out)


@pytest.mark.parametrize("before", [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_pixels_know_their_first_tap_and_which_are_inside(before):
    x = s8(1, 5, 6, 3)
    window = window_of(before=before)
    table = pixel_table(window, x)
    assert table.shape == (3, 5, 2)
    assert table.dtype == np.int32
    for oy, ox in product(range(3), range(5)):
        top, left = 2 * oy - before[0], ox - before[1]
        inside = [0 <= top + i < 5 and 0 <= left + j < 6 for i in range(3) for j in range(2)]
        bits = sum(1 << i for i, tap in enumerate(inside) if tap)
        assert tuple(table[oy, ox]) == ((top * 6 + left) * 3, bits)


def test_the_presence_of_all_masked_taps_fits_a_register():
    window = window_of(kernel=(1, MAX_MASKED), stride=(1, 1), before=(0, 0), out=(1, 1))
    (bits,) = pixel_table(window, s8(1, 1, MAX_MASKED, 1))[..., 1].reshape(-1)
    assert bits == 2**31 - 1


@pytest.mark.parametrize(
    ("changes", "padded"),
    [
        ({"before": (0, 0), "out": (2, 5)}, False),
        ({"before": (0, 0), "out": (3, 5)}, True),
        ({"before": (0, 0), "out": (2, 6)}, True),
        ({"before": (1, 0), "out": (2, 5)}, True),
        ({"before": (0, 1), "out": (2, 5)}, True),
        ({"before": (0, 0), "out": (1, 5), "dilation": (2, 1)}, False),
        ({"before": (0, 0), "out": (2, 5), "dilation": (2, 1)}, True),
        ({"before": (0, 0), "out": (2, 5), "dilation": (1, 2)}, True),
    ],
)
def test_windows_that_leave_the_image_are_padded(changes, padded):
    window = window_of(**changes)
    ints = window_ints(window, s8(1, 5, 6, 3), s8(1, *window.out, 4))
    assert ints["PADDED"] is padded


def test_a_window_s_constants_have_their_names():
    window = window_of((3, 2), (5, 4), (7, 6), (9, 8), (11, 10))
    ints = window_ints(window, s8(1, 13, 12, 3), s8(1, 11, 10, 4))
    del ints["PADDED"]
    assert ints == {
        "IMAGES": 1, "IH": 13, "IW": 12, "C": 3, "OH": 11, "OW": 10, "N": 4, "KH": 3, "KW": 2,
        "SY": 5, "SX": 4, "DY": 7, "DX": 6, "PT": 9, "PL": 8,
    }  # fmt: skip
