"""Packed weights, unpacked again; channels that give one output; what packing refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyrt.backends.c.blocks.block import pair_block
from tinyrt.backends.c.blocks.depthwise import pack_filters
from tinyrt.backends.c.blocks.layer import padded, simplify
from tinyrt.backends.c.blocks.lstm import side_by_side
from tinyrt.backends.c.blocks.nibbles import nibble_block, pack_filters_s4
from tinyrt.backends.c.blocks.rows import Rows, are_mostly_padding
from tinyrt.backends.c.blocks.words import eight_at_a_time
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve import packing as mve_packing
from tinyrt.backends.c.mve.lstm import quad_filters, quad_sums
from tinyrt.backends.c.wide import in_eights, in_pairs
from tinyrt.backends.c.x86.products import pack_columns
from tinyrt.backends.finishes import LANES, QUANT, SIGN, Finish, Weighted, pack_finish
from tinyrt.backends.lanes import pack_eights, pack_weights
from tinyrt.ir.types import unpack_int4
from tinyrt.ops.shared.requant import Requant

SCALAR, DSP = InstructionSet.SCALAR, InstructionSet.DSP


def requant(channels, *, shift=-8):
    mult = np.full(channels, 3 << 29, np.int32)
    return Requant(mult, np.full(channels, shift, np.int32), 5, -128, 127)


def halves(words):
    """Low and high halves of 32-bit words, signed."""
    return words.astype(np.int16).astype(int), words.astype(int) >> 16


def split(half):
    """The even and odd channel's weights of 16-bit halves."""
    even = half.astype(np.int8).astype(int)
    return even, (half - even) >> 8


def unpack(words, c_out, taps, isa):
    """(c_out, taps) from packed words, as the kernels read them."""
    blocks, columns = padded(c_out) // 4, padded(taps)
    low, high = halves(words)
    w = np.zeros((blocks, 4, columns), int)
    if isa is SCALAR:
        for first, half in ((0, low), (2, high)):
            even, odd = split(half.reshape(blocks, columns))
            w[:, first], w[:, first + 1] = even, odd
    else:
        order = np.arange(columns).reshape(-1, 2, 2).transpose(0, 2, 1).reshape(-1, 2)
        for tap, half in ((0, low), (1, high)):
            even, odd = split(half.reshape(blocks, columns // 2, 2))
            w[:, 0::2, order[:, tap]] = even.transpose(0, 2, 1)
            w[:, 1::2, order[:, tap]] = odd.transpose(0, 2, 1)
    return w.reshape(-1, columns)


@pytest.mark.parametrize(
    ("weights", "fits"), [((63, -64), True), ((64, 0), False), ((0, -65), False)]
)
def test_weights_are_raised_only_as_far_as_a_byte_holds_them(weights, fits):
    layer = simplify(np.array([weights], np.int8), None, 0, requant(1, shift=1))
    assert (layer is not None) is fits
    if layer is not None:
        np.testing.assert_array_equal(layer.w, [[126, -128]])


@pytest.mark.slow
@given(
    c_out=st.integers(1, 9),
    taps=st.integers(1, 40),
    isa=st.sampled_from([SCALAR, DSP]),
    seed=st.integers(0, 2**32 - 1),
)
def test_unpacking_gives_the_weights(c_out, taps, isa, seed):
    rng = np.random.default_rng(seed)
    w = rng.integers(-127, 128, (c_out, taps)).astype(np.int8)
    bias = rng.integers(-500, 500, c_out).astype(np.int32)
    x_zp = int(rng.integers(-128, 128))
    packed = pair_block(w, bias, x_zp, requant(c_out, shift=-5), isa).packed
    layer = simplify(w, bias, x_zp, requant(c_out, shift=-5))
    unpacked = unpack(packed.w, c_out, taps, isa)
    np.testing.assert_array_equal(unpacked[:c_out, :taps], layer.w)
    assert not unpacked[c_out:].any()
    assert not unpacked[:, taps:].any()
    even, odd = packed.init.reshape(-1, 2).T.astype(int)
    init = np.stack([even, (odd - even) >> 8], axis=1).ravel()[:c_out]
    np.testing.assert_array_equal(init, layer.bias - x_zp * layer.w.sum(axis=1))


def test_rows_take_eight_channels_by_tap():
    w = np.random.default_rng(1).integers(-127, 128, (16, 6)).astype(np.int8)
    words = pair_block(w, None, 0, requant(16), SCALAR).packed.w
    quads = words.reshape(4, 8)
    by_tap = eight_at_a_time(words, padded(6), 6).reshape(2, 6, 2)
    for quad in range(4):
        np.testing.assert_array_equal(by_tap[quad // 2, :, quad % 2], quads[quad, :6])


def nibbles(packed, count):
    return unpack_int4(packed.ravel().view(np.uint8), count).astype(int)


@pytest.mark.parametrize("isa", [SCALAR, DSP])
def test_four_narrow_channels_share_a_half(isa):
    rng = np.random.default_rng(2)
    w = rng.integers(-8, 8, (8, 12)).astype(np.int8)
    packed = nibble_block(w, None, 3, requant(8), isa).packed
    low, high = halves(packed.w)
    taps = np.stack([low, high], axis=1).reshape(2, 12)
    if isa is DSP:
        taps = taps.reshape(2, 3, 2, 2).transpose(0, 1, 3, 2).reshape(2, 12)
    for channel, shift in enumerate((0, 4, 8)):
        unpacked = (taps >> shift & 15) - 8
        np.testing.assert_array_equal(unpacked, w.reshape(2, 4, 12)[:, channel])
    np.testing.assert_array_equal(taps >> 12, w.reshape(2, 4, 12)[:, 3])
    assert packed.w.nbytes == w.size // 2


def test_narrow_filters_of_3x3_take_nine_bytes_for_two_channels():
    w = np.random.default_rng(3).integers(-8, 8, (3, 9)).astype(np.int8)
    unpacked = nibbles(pack_filters_s4(w), 28)
    order = [0, 1, 2, 6, 3, 4, 5, 7]
    assert unpacked[:8].tolist() == w[0, order].tolist()
    assert unpacked[8:10].tolist() == [w[0, 8], w[1, 8]]
    assert unpacked[10:18].tolist() == w[1, order].tolist()
    assert unpacked[18:27].tolist() == [*w[2, order], w[2, 8]]


def test_vectors_take_two_narrow_filters_to_a_byte():
    w = np.random.default_rng(4).integers(-7, 8, (4, 16)).astype(np.int8)
    two = mve_packing.pack_filters_s4(w).reshape(2, 16).astype(int)
    even = ((two + 8) & 15) - 8
    np.testing.assert_array_equal(even, w[0::2])
    np.testing.assert_array_equal((two - even) >> 4, w[1::2])
    w[0, 0], w[1, 0] = -1, -8
    assert mve_packing.pack_filters_s4(w) is None


def test_filters_of_3x3_are_rows_of_9_bytes_along_rows_or_columns():
    w = np.arange(18).reshape(9, 2).astype(np.int8)
    along_rows = [1, 3, 7, 9, 5, 13, 11, 15, 17]
    along_columns = [1, 7, 3, 9, 13, 5, 15, 11, 17]
    assert pack_filters(w, down=False)[1].tolist() == along_rows
    assert pack_filters(w, down=True)[1].tolist() == along_columns


@pytest.mark.parametrize(("bias", "shift"), [(2**30, -26), (-(2**30), -27), (0, 0), (7, -31)])
def test_a_channel_that_gives_one_output_is_resolved(bias, shift):
    """Pruned channels have no weights and exponents far out of the kernels' range."""
    r = requant(1, shift=shift)
    layer = simplify(np.zeros((1, 4), np.int8), np.array([bias], np.int32), 3, r)
    simple = Requant(
        layer.mult.astype(np.int32), -layer.shift.astype(np.int32), r.y_zp, r.act_min, r.act_max
    )
    assert simple.apply(layer.bias) == r.apply(np.array([bias]))


def test_exponents_to_the_left_raise_weights():
    w = np.array([[3, -7], [5, 7]], np.int8)
    bias = np.array([40, -9], np.int32)
    r = requant(2, shift=2)
    layer = simplify(w, bias, 3, r)
    x = np.array([100, -50]) - 3
    simple = Requant(r.mult, -layer.shift.astype(np.int32), r.y_zp, r.act_min, r.act_max)
    assert layer.w.tolist() == (4 * w).tolist()
    np.testing.assert_array_equal(simple.apply(layer.w @ x + layer.bias), r.apply(w @ x + bias))


@pytest.mark.parametrize(
    ("w", "bias", "shift"),
    [(127, 2**24, -18), (127, 0, 0), (1, round(0.5 * 2**23 / 0.75), -23), (-128, 0, -8)],
    ids=[
        "large sum",
        "no shift",
        "large shift",
        "-128 beside negative weights",
    ],
)
def test_layers_for_the_general_kernel(w, bias, shift):
    weights = np.full((4, 64), w, np.int8)
    bias = np.full(4, bias, np.int32)
    assert pair_block(weights, bias, 0, requant(4, shift=shift), DSP) is None


def test_padding_must_not_outgrow_the_weights():
    one = np.ones((1, 4096), np.int8)
    assert pair_block(one, None, 0, requant(1), DSP) is None
    assert pair_block(np.ones((3, 4096), np.int8), None, 0, requant(3), DSP) is not None


def test_wide_filters_go_by_four_channels_and_two_taps():
    """Two taps of channels 0 and 1, first taps first; then of channels 2 and 3."""
    groups, per_group, taps = 2, 5, 3
    w = np.random.default_rng(5).integers(-127, 128, (groups * per_group, taps)).astype(np.int8)
    found = iter(in_pairs(w, groups).tolist())
    for group in range(groups):
        for first in (0, 4):
            for tap in (0, 2):
                for pair in (0, 2):
                    for t in (tap, tap + 1):
                        for channel in (first + pair, first + pair + 1):
                            inside = channel < per_group and t < taps
                            row = w[group * per_group + channel] if inside else None
                            assert next(found) == (row[t] if inside else 0)
    assert list(found) == []


def test_wide_filters_for_vectors_go_by_four_channels_and_eight_taps():
    groups, per_group, taps = 2, 5, 11
    w = np.random.default_rng(6).integers(-127, 128, (groups * per_group, taps)).astype(np.int8)
    found = iter(in_eights(w, groups).tolist())
    for group in range(groups):
        for first in (0, 4):
            for tap in (0, 8):
                for channel in range(first, first + 4):
                    for t in range(tap, tap + 8):
                        inside = channel < per_group and t < taps
                        row = w[group * per_group + channel] if inside else None
                        assert next(found) == (row[t] if inside else 0)
    assert list(found) == []


def test_vectors_of_x86_take_four_rows_of_taps_to_a_lane():
    w = np.random.default_rng(6).integers(-127, 128, (5, 2, LANES + 3)).astype(np.int8)
    packed = pack_columns(w)
    assert packed.shape == (2, 2, 2, LANES, 4)
    for (vector, column, four, lane, part), value in np.ndenumerate(packed):
        row, channel = 4 * four + part, LANES * vector + lane
        inside = row < 5 and channel < LANES + 3
        assert value == (w[row, column, channel] if inside else 0)


@pytest.mark.parametrize("length", [4, 8, 3, 9])
def test_a_product_takes_four_bytes_of_each_lane_s_channel_to_a_step(length):
    """Vectors that are read side by side lie side by side: here two, then a single one."""
    channels = 2 * LANES + 2
    w = np.random.default_rng(8).integers(-128, 128, (channels, 3, length)).astype(np.int8)
    fours = -(-length // 4)
    found = iter(pack_weights(w, [2, 1]).reshape(-1, LANES, 4))
    for group in ((0, 1), (2,)):
        for segment in range(3):
            for four in range(fours):
                for vector in group:
                    for (lane, byte), value in np.ndenumerate(next(found)):
                        channel, at = LANES * vector + lane, 4 * four + byte
                        inside = channel < channels and at < length
                        assert value == (w[channel, segment, at] if inside else 0)
    assert next(found, None) is None


def test_a_product_of_one_vector_takes_eight_bytes_of_half_its_channels():
    w = np.random.default_rng(8).integers(-128, 128, (LANES - 3, 24)).astype(np.int8)
    found = iter(pack_eights(w).reshape(-1, LANES // 2, 8))
    for eight in range(3):
        for half in (0, 8):
            for (lane, byte), value in np.ndenumerate(next(found)):
                inside = half + lane < len(w)
                assert value == (w[half + lane, 8 * eight + byte] if inside else 0)
    assert next(found, None) is None


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
def test_constants_of_lanes_are_a_sum_a_mantissa_and_two_shifts(groups, has_bias):
    """In the general form; ``tests/backends/test_lanes.py`` has the others."""
    channels, x_zp = 2 * (LANES + 1), -7
    rng = np.random.default_rng(9)
    w = rng.integers(-128, 128, (channels, 30)).astype(np.int8)
    bias = rng.integers(-(2**31), 2**31, channels).astype(np.int32) if has_bias else None
    if has_bias:
        bias[0] = 2**31 - 1  # with it a sum may wrap
    mult = rng.integers(1 << 30, 2**31 - 1, channels).astype(np.int32)
    shift = rng.integers(-9, 5, channels).astype(np.int32)
    layer = Weighted(w, bias, x_zp, Requant(mult, shift, 3, -128, 127))
    packed, finish = pack_finish(layer, 0, groups)
    assert finish is Finish.GENERAL
    own = channels // groups
    assert packed.shape == (groups, -(-own // LANES), QUANT, LANES)
    x = rng.integers(-128, 128, 30)
    for (group, vector, _, lane), _ in np.ndenumerate(packed[:, :, :1]):
        first, *others = packed[group, vector, :, lane].tolist()
        if LANES * vector + lane >= own:
            assert [first, *others] == [0, 0, 0, 0, 0]
            continue
        channel = group * own + LANES * vector + lane
        row = w[channel].astype(int)
        start = bias[channel] if has_bias else 0
        total = first + int(row @ (x + SIGN)) - int(row @ (x - x_zp)) - int(start)
        assert total % 2**32 == 0
        assert others == [mult[channel], max(-shift[channel], 0), max(shift[channel], 0), 0]


def test_gates_of_a_unit_are_neighbours():
    rows = np.arange(24).reshape(12, 2)
    assert side_by_side(rows)[:, 0].tolist() == [0, 6, 12, 18, 2, 8, 14, 20, 4, 10, 16, 22]


@pytest.mark.parametrize("isa", [SCALAR, DSP])
def test_rows_unpack_to_the_weights(isa):
    rng = np.random.default_rng(3)
    w = rng.integers(-127, 128, (12, 7)).astype(np.int8)
    first = rng.integers(-5000, 5000, 12)
    rows = Rows(w, first)
    words, starts = rows.words(isa), rows.starts(isa).astype(np.int64)
    channels, taps = (16, 7) if isa is SCALAR else (12, 8)
    if isa is SCALAR:
        # By tap, two words of four channels each: as blocks, the first word of all taps is first.
        words = words.reshape(-1, taps, 2).transpose(0, 2, 1).ravel()
        low, high = halves(words)
        found = np.stack([*split(low), *split(high)]).reshape(4, channels // 4, taps)
        found = found.swapaxes(0, 1).reshape(channels, taps)
    else:
        found = unpack(words, channels, taps, isa)
    np.testing.assert_array_equal(found[:12, :7], w)
    assert not found[12:].any()
    assert not found[:, 7:].any()
    even, odd = starts[0::2], starts[1::2]
    np.testing.assert_array_equal(even[:6], first[0::2])
    np.testing.assert_array_equal((odd - even)[:6] >> 8, first[1::2])


@pytest.mark.parametrize(
    ("weights", "first", "scale", "fits"),
    [
        ((1, 0), (0, (1 << 23) - 129), (1 << 30, -8), True),
        ((1, 1), (0, (1 << 23) - 127), (1 << 30, -8), False),
        ((0, 0), ((1 << 29) - 1, 0), (1 << 30, -8), True),
        ((0, 0), (1 << 29, 0), (1 << 30, -8), False),
        ((0, 0), (0, (1 << 23) - 1), (1 << 30, 5), True),
        ((0, 0), (0, 1 << 22), (1 << 30, 7), False),
        ((0, 0), (0, (1 << 22) - 1), (1 << 30, 7), True),
        ((1, 0), (-1, 0), (1 << 30, -30), True),
        ((1, 0), (-1, 0), (1 << 30, -31), False),
        ((1, 0), (0, 0), (1 << 30, 8), False),
        ((-1, -128), (0, 0), (1 << 30, -8), False),
        ((1, -128), (0, 0), (1 << 30, -8), True),
    ],
)
def test_rows_fit_where_sums_and_scales_keep_within_32_bits(weights, first, scale, fits):
    """Sums of the odd row below 2^23, of all below 2^29 after a shift to the left."""
    rows = Rows(np.array(weights, np.int8)[:, None], np.array(first))
    assert rows.fits((scale,)) is fits


def test_a_row_reaches_as_far_as_inputs_can_take_it():
    rows = Rows(np.array([[3, -2], [-5, 0], [0, 0]], np.int8), np.array([10, -10, -7]))
    x = np.array([[a, b] for a in (-128, 127) for b in (-128, 127)])
    sums = np.abs(x @ rows.w.astype(int).T + rows.first).max(axis=0)
    np.testing.assert_array_equal(rows.reach, sums)


@pytest.mark.parametrize(("units", "is_padding"), [(64, False), (86, True)])
def test_padding_is_judged_by_all_rows_of_an_op(units, is_padding):
    """Three bytes of four beside one tap: more than 1,024, and than half of what there is."""
    thin = Rows(np.ones((4 * units, 1), np.int8), np.zeros(4 * units, np.int64))
    wide = Rows(np.ones((4 * units, 64), np.int8), np.zeros(4 * units, np.int64))
    assert are_mostly_padding((thin,), DSP) is is_padding
    assert not are_mostly_padding((thin, wide), DSP)


def test_vectors_of_gates_unpack_to_the_weights():
    rng = np.random.default_rng(4)
    w, r = (rng.integers(-127, 128, (4 * 6, taps)).astype(np.int8) for taps in (5, 17))
    start, restart = rng.integers(-5000, 5000, (2, 24))
    filters, sums = quad_filters(w, r), quad_sums(start, restart)
    assert filters.shape == (2, 4, 64 + 128)
    for g in range(4):
        of_x = filters[:, g, :64].reshape(2, 4, 16).reshape(8, 16)[:6, -5:]
        of_h = filters[:, g, 64:].reshape(2, 2, 4, 16).transpose(0, 2, 1, 3).reshape(8, 32)
        np.testing.assert_array_equal(of_x, w[6 * g : 6 * g + 6])
        np.testing.assert_array_equal(of_h[:6, -17:], r[6 * g : 6 * g + 6])
        np.testing.assert_array_equal(sums[:, g, 0].ravel()[:6], start[6 * g : 6 * g + 6])
        np.testing.assert_array_equal(sums[:, g, 1].ravel()[:6], restart[6 * g : 6 * g + 6])
    assert not filters[1, :, :64].reshape(4, 4, 16)[:, 2:].any()
