"""One part of a condition alone is not met: found by ``tools.differing``."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.backends.c.test_packing import DSP, SCALAR, requant
from tests.ops.build import Case, build_s8
from tests.ops.quantised import constant, node_of, s8, s16, weights
from tinyrt.backends.c.blocks import fours, relu, winograd
from tinyrt.backends.c.blocks.block import long_block, pair_block
from tinyrt.backends.c.blocks.depthwise import LONG_ROW, has_few_rows
from tinyrt.backends.c.blocks.groups import _joined
from tinyrt.backends.c.blocks.layer import (
    MAX_SHIFT,
    MAX_SINGLE_SUM,
    QUAD,
    Layer,
    PackedRequant,
    pack_requant,
    simplify,
)
from tinyrt.backends.c.blocks.nibbles import MAX_NARROW_SUM, nibble_block
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.fields import requant_fields
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Target
from tinyrt.backends.c.mve.depthwise import _requant_fields as vector_fields
from tinyrt.backends.c.mve.depthwise import whole_eights
from tinyrt.backends.c.reductions import _columns
from tinyrt.backends.c.sums import MIN_EXPONENT, _is_plain_sum
from tinyrt.backends.c.wide import _reads_pixels
from tinyrt.ir import DType, Value
from tinyrt.ops.add import HALF, AddS8
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.window import ROWS, Window
from tinyrt.ops.softmax import SoftmaxAttrs

MVE, AVX2 = InstructionSet.MVE, InstructionSet.AVX2
M4, FOURS = Target(DSP), Target(SCALAR, fours=True, mla=True, high_products=True)
INTS = np.arange(-2, 3, dtype=np.int32)


@pytest.mark.parametrize(
    ("mult", "shift", "step"), [((5, 5), (3, 3), 0), ((5, 5), (3, 4), 4), ((5, 6), (3, 3), 4)]
)
def test_channels_share_scales_where_mantissas_and_shifts_are_alike(mult, shift, step):
    plain = np.zeros(2, np.int64)
    layer = Layer(np.ones((2, 4), np.int8), plain, np.array(mult), np.array(shift), plain)
    packed = pack_requant(layer)
    assert packed.step == step
    both = Requant(*(np.array(a, np.int32) for a in (mult, shift)), 0, -128, 127)
    for fields in (requant_fields(both), vector_fields(both, whole_eights)):
        assert fields["step"] == (step > 0)
    assert packed.shift[:2].tolist() == list(shift)
    assert packed.mult[:2].tolist() == list(mult)


@pytest.mark.parametrize(
    ("second", "step"), [((5, 3, 0), 0), ((5, 4, 0), 4), ((6, 3, 0), 4), ((5, 3, 4), 4)]
)
def test_groups_share_scales_where_mantissas_and_shifts_are_alike(second, step):
    """Of two quads each: what is alike in a group is written once there."""

    def scales(mult, shift, own):
        entries = 2 * QUAD if own else QUAD
        return PackedRequant(np.full(entries, mult), np.full(entries, shift, np.int8), own)

    joined = _joined([scales(5, 3, 0), scales(*second)], 2 * QUAD)
    assert joined.step == step
    mult, shift, _ = second
    for found, first, other in ((joined.mult, 5, mult), (joined.shift, 3, shift)):
        expected = [first] * 2 * QUAD + [other] * 2 * QUAD if step else [first] * QUAD
        assert found.tolist() == expected


@pytest.mark.parametrize("raises", [True, False])
def test_exponents_beyond_what_kernels_shift_are_refused(raises):
    w = np.full((1, 512), 127, np.int8)
    found = [
        simplify(w, None, 0, requant(1, shift=shift), MAX_SINGLE_SUM, raises=raises)
        for shift in (-MAX_SHIFT - 1, -MAX_SHIFT, 0, MAX_SHIFT, MAX_SHIFT + 1, 30)
    ]
    assert [layer is not None for layer in found] == [False, True, True, False, False, False]


@pytest.mark.parametrize("raises", [True, False])
def test_a_sum_that_wraps_around_is_no_constant_output(raises):
    """Shifted by 22 bits, both ends of 1024 times an input are 0, and 1024 is not."""
    w, own = np.array([[127] * 8 + [8]], np.int8), requant(1, shift=22)
    assert own.apply(np.array([-128 * 1024, 1, 127 * 1024])).tolist() == [5, 127, 5]
    assert simplify(w, None, 0, own, MAX_SINGLE_SUM, raises=raises) is None


@pytest.mark.parametrize("raises", [True, False])
def test_a_bias_that_wraps_around_is_refused(raises):
    w, bias = np.zeros((1, 4), np.int8), np.array([2], np.int32)
    assert requant(1, shift=30).apply(bias.astype(np.int64)).tolist() == [-128]
    assert simplify(w, bias, 0, requant(1, shift=30), MAX_SINGLE_SUM, raises=raises) is None


@pytest.mark.parametrize(("less", "packed"), [(0, False), (1, True)])
def test_sums_of_nibbles_keep_below_their_bound(less, packed):
    w = np.full((4, 256), 7, np.int8)
    bias = np.full(4, MAX_NARROW_SUM - 15 * 128 * 256 - less, np.int32)
    block = nibble_block(w, bias, 0, requant(4, shift=-16), DSP)
    assert (block is not None) is packed


def test_layers_of_one_row_with_sums_or_weights_that_do_not_fit_stay_as_they_are():
    w = np.full((4, 4096), 127, np.int8)
    bias = np.full(4, MAX_SINGLE_SUM - 127 * 127 * 4096, np.int32)
    assert long_block(w, bias - 1, 0, requant(4, shift=-22), DSP) is not None
    assert long_block(w, bias, 0, requant(4, shift=-22), DSP) is None
    w[0], w[1] = -1, -128
    assert long_block(w, bias * 0, 0, requant(4, shift=-10), DSP) is None


WIDE = {"kernel": (3, 3), "stride": (1, 1), "padding": ROWS}
FEW_ROWS = {
    "rows": (WIDE, 8, True),
    "an image": (WIDE | {"padding": "SAME"}, 8, False),
    "steps": (WIDE | {"stride": (2, 2)}, 8, False),
    "no padding": (WIDE | {"padding": "BARE_ROWS"}, 8, False),
    "a column": (WIDE, 1, False),
    "two columns": (WIDE, 2, True),
    "almost long": (WIDE, LONG_ROW - 1, True),
    "long": (WIDE, LONG_ROW, False),
}


@pytest.mark.parametrize("name", FEW_ROWS)
def test_the_kernel_of_few_rows_takes_short_ones_with_a_column_of_padding(name):
    options, columns, few = FEW_ROWS[name]
    window = Window.of((5, columns), **options)
    assert has_few_rows(window, (1, 5, columns, 4)) is few


def test_words_for_four_pixels_tiles_and_scales_without_a_sign_are_of_weights_in_bytes():
    """Kernels for these do not know weights of four bits."""
    w, window = np.ones((8, 36), np.int8), Window.of((8, 8), (3, 3), (1, 1), "SAME")
    for target in (FOURS, replace(M4, fours=True)):
        wide = pair_block(w, None, 0, requant(8), target.isa)
        narrow = nibble_block(w, None, 0, requant(8), target.isa)
        assert narrow is not None
        for block, fits in ((wide, True), (narrow, False)):
            assert fours.fits(block, 64, target) is fits
            assert relu.counts(block, target) is fits
            assert winograd.fits(block, window, target) is fits


OTHER = (1 << 30, -3)
SUM = AddS8(0, *HALF, 0, *OTHER, 1 << 30, -5, 0, -128, 127)
SUMS = {
    "the first halved": (SUM, True),
    "the second halved": (
        replace(SUM, a_mult=1 << 30, a_shift=-3, b_mult=HALF[0], b_shift=0),
        True,
    ),
    "none halved": (replace(SUM, a_shift=-1), False),
    "another mantissa": (replace(SUM, a_mult=HALF[0] + 1), False),
    "the least exponent": (replace(SUM, b_shift=MIN_EXPONENT), True),
    "below it": (replace(SUM, b_shift=MIN_EXPONENT - 1), False),
    "an output of exponent -1": (replace(SUM, y_shift=-1), True),
    "an output of exponent 0": (replace(SUM, y_shift=0), False),
    "the most to the right": (replace(SUM, y_shift=-MAX_SHIFT), True),
    "too far to the right": (replace(SUM, y_shift=-MAX_SHIFT - 1), False),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_a_half_and_a_scaled_input_within_the_kernels_exponents(name):
    p, plain = SUMS[name]
    assert _is_plain_sum(p) is plain


REDUCED = {
    "pixels": ((2, 3, 4, 5), (1, 2), (2, 12, 5)),
    "rows": ((2, 3, 4, 5), (1,), (2, 3, 20)),
    "images": ((2, 3, 4, 5), (0,), (1, 2, 60)),
    "with ones": ((2, 3, 1, 5), (1, 2), (2, 3, 5)),
    "channels": ((2, 3, 4, 5), (3,), None),
    "apart": ((2, 3, 4, 5), (0, 2), None),
    "nothing": ((2, 3, 4, 5), (), None),
    "ones alone": ((2, 1, 1, 5), (1, 2), None),
    "all": ((2, 3, 4, 5), (0, 1, 2, 3), None),
    "all but ones": ((1, 3, 4, 1), (1, 2), None),
}


@pytest.mark.parametrize("name", REDUCED)
def test_axes_are_reduced_as_pixels_where_they_are_neighbours_in_front_of_channels(name):
    shape, axes, expected = REDUCED[name]
    found = _columns(shape, axes)
    assert found == expected
    if found is not None:
        x = np.arange(math.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(
            x.reshape(found).sum(axis=1).ravel(), x.sum(axis=axes).ravel()
        )


PIXELS = {
    "pixels": (Conv2dAttrs(), (4, 1, 1, 8), True),
    "groups": (Conv2dAttrs(), (4, 1, 1, 4), False),
    "columns": (Conv2dAttrs(), (4, 1, 2, 8), False),
    "rows": (Conv2dAttrs(), (4, 2, 1, 8), False),
    "a rest": (Conv2dAttrs(), (4, 1, 1, 8), False),
}


@pytest.mark.parametrize("name", PIXELS)
def test_outputs_of_int16_read_pixels_where_they_lie(name):
    attrs, w, direct = PIXELS[name]
    node = node_of("conv2d", attrs, [s16(1, 5, 5, 8), weights(*w)], [s16(1, 5, 5, 4)])
    assert _reads_pixels(node, 16 if name == "a rest" else 2) is direct


SAME_DATA = {
    "the same": (Data("w", INTS), True),
    "part of it": (Data("w", INTS, skip=2), True),
    "a copy": (Data("w", INTS.copy()), True),
    "another role": (Data("bias", INTS), False),
    "a table": (Data("w", INTS, "int32_t"), False),
    "other numbers": (Data("w", -INTS), False),
    "another type": (Data("w", INTS.astype(np.int8)), False),
}


@pytest.mark.parametrize("name", SAME_DATA)
def test_data_are_the_same_that_one_array_can_hold(name):
    other, same = SAME_DATA[name]
    data = Data("w", INTS)
    assert data.is_same(other) is same
    assert (data.contents == other.contents) is same


def test_a_zero_with_a_sign_is_another_number():
    zero = np.zeros(2, np.float32)
    assert not Data("w", zero).is_same(Data("w", -zero))


def less(make, shapes, constant=False, scale=0.2, op="less"):
    a, b = make(*shapes[0]), make(*shapes[1], scale=scale)
    if constant:
        b = replace(b, data=np.ones(b.shape, b.dtype.numpy))
    shape = np.broadcast_shapes(*shapes)
    return node_of(op, NoAttrs(), [a, b], [Value("", DType.BOOL, shape)])


MANY, FEW = ((1, 4, 4, 8),) * 2, ((1, 4, 8),) * 2
LESS = {
    "many": (less(s8, MANY), M4, "compare_table_s8"),
    "few": (less(s8, FEW), M4, "compare_rescaled_s8"),
    "many, small code": (less(s8, MANY), replace(M4, small=True), "compare_rescaled_s8"),
    "many of int16": (less(s16, MANY, op="equal"), M4, "compare_rescaled_s16"),
    "many on one grid": (less(s8, MANY, scale=0.1), M4, "compare_s8"),
    "one number": (less(s8, (FEW[0], (1,)), True), M4, "lut_s8"),
    "two numbers": (less(s8, ((1, 4, 1), (2,)), True), M4, "compare_rescaled_s8"),
    "one number of int16": (
        less(s16, (FEW[0], (1,)), True, op="equal"),
        M4,
        "compare_rescaled_s16",
    ),
}


@pytest.mark.parametrize("name", LESS)
def test_comparisons_by_table_are_of_int8(name):
    node, target, kernel = LESS[name]
    assert choose(node, target).name == f"tinyrt_{kernel}"


def softmax(y, scale=0.1):
    return node_of("softmax", SoftmaxAttrs(), [s8(1, 10, scale=scale)], [y])


OUT8, OUT16 = s8(1, 10, scale=1 / 256, zp=-128), s16(1, 10, scale=1 / 65535, zp=-32768)
ROWS_OF_TEN = {
    "plain": (softmax(OUT8), "softmax_s8"),
    "of a scale of half a step": (softmax(OUT8, 2.0**-27), "softmax_s8"),
    "of a fine scale": (softmax(OUT8, 2.0**-28), "softmax_table_s8"),
    "to int16": (softmax(OUT16), "softmax_table_s8_s16"),
}


@pytest.mark.parametrize("name", ROWS_OF_TEN)
def test_exponentials_come_from_a_table_for_fine_scales_and_outputs_of_int16(name):
    node, kernel = ROWS_OF_TEN[name]
    assert choose(node, M4).name == f"tinyrt_{kernel}"


POOLS = {
    "few taps": (MVE, (2, 11), "few"),
    "more taps on vectors": (MVE, (1, 23), "pool2d"),
    "more taps on x86": (AVX2, (1, 23), "pool2d"),
    "more taps": (DSP, (1, 23), "short"),
}


@pytest.mark.parametrize("name", POOLS)
def test_averages_take_the_kernel_of_their_taps_and_core(name):
    isa, kernel, function = POOLS[name]
    attrs = Pool2dAttrs(kernel, (1, 1))
    node = build_s8(
        Case("average_pool2d", attrs, ((1, 24, 24, 8),)), np.random.default_rng(0)
    ).graph.bind(0)
    assert choose(node, Target(isa)).name == f"tinyrt_average_{function}_s8"


@pytest.mark.parametrize("number", [100, 200])
def test_rows_of_groups_and_images_may_not_overwrite_what_vectors_read(number):
    """A convolution on vectors goes group by group over the whole image, of wide weights, too."""
    dtype = DType.INT8 if number < 128 else DType.INT16
    for c_in in (8, 4):
        w = constant(dtype, 8, 3, 3, c_in, fill=number, scale=0.1)
        layer = node_of("conv2d", Conv2dAttrs(), [s8(1, 6, 6, 8), w], [s8(1, 4, 4, 8, scale=50.0)])
        assert (choose(layer, Target(MVE)).sweep() is not None) is (c_in == 8)
