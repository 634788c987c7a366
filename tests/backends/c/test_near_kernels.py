"""What kernels get where a size or an exponent is just what they take, or one beyond it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backends.c.test_choice import dense
from tests.backends.c.test_fours import M0
from tests.backends.c.test_packing import DSP, SCALAR, requant
from tests.backends.c.test_winograd import node_of as built
from tests.ops.quantised import constant, node_of, s8, s16, weights
from tinyrt.backends.c.blocks.block import is_mostly_padding
from tinyrt.backends.c.blocks.dense import _row_fields
from tinyrt.backends.c.blocks.groups import groups_of
from tinyrt.backends.c.blocks.layer import MAX_SHIFT, MAX_SINGLE_SUM, simplify
from tinyrt.backends.c.blocks.nibbles import nibble_block
from tinyrt.backends.c.blocks.rows import is_exact
from tinyrt.backends.c.blocks.zeros import kept_of_4
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Data, Number, Params, Target, call
from tinyrt.backends.c.mve.layout import copied_bytes, points_at_once
from tinyrt.backends.c.mve.more import _at_once, _read
from tinyrt.backends.c.mve.packing import pack_scales
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.pools import MANY_TAPS, MANY_TAPS_SMALL
from tinyrt.backends.c.products import MAX_LEFT
from tinyrt.backends.c.sums import _plain_calls
from tinyrt.backends.c.tables import is_short
from tinyrt.backends.c.wide import MAX_NARROW_TAPS
from tinyrt.ir import DType
from tinyrt.ops import prepared
from tinyrt.ops.add import HALF, AddAttrs, AddS8
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.table_s16 import SigmoidS16
from tinyrt.ops.shared.window import ROWS, Window
from tinyrt.ops.shared.windowed import ConvolutionS8

MVE, RVV = InstructionSet.MVE, InstructionSet.RVV


@pytest.mark.parametrize(
    ("isa", "mult", "right", "short"),
    [
        (SCALAR, (1 << 15) - 1, 9, True),
        (SCALAR, 1 << 15, 9, False),
        (DSP, (1 << 31) - 1, 17, True),
        (DSP, (1 << 30) - 1, 16, True),
        (DSP, 1 << 30, 16, False),
        (DSP, 1, 18, False),
    ],
)
def test_products_with_a_multiplier_of_a_sigmoid_fit_32_bits(isa, mult, right, short):
    assert is_short(SigmoidS16(mult, right), isa) is short


@pytest.mark.parametrize(
    ("exponent", "taken"),
    [
        *((-MAX_SHIFT - 1, False), (-MAX_SHIFT, True), (0, True)),
        *((3, True), (MAX_LEFT, True), (MAX_LEFT + 1, False)),
    ],
)
def test_products_are_rescaled_within_the_exponents_of_their_kernel(exponent, taken):
    """The mantissa is 3/4: of a product of halves doubled, or further to the left or right."""
    inputs = [s8(1, 4, scale=0.75 * 2.0**exponent, zp=3), s8(1, 4, scale=1.0, zp=-5)]
    node = node_of("mul", MulAttrs(), inputs, [s8(1, 4, scale=1.0, zp=7)])
    (one,) = choose(node, Target(DSP)).calls
    assert one.function == ("tinyrt_times_s8" if taken else "tinyrt_mul_s8")
    if taken:
        p = params_of(one)
        factor, right = (2 << exponent, 1) if exponent > 0 else (2, 1 - exponent)
        assert (p["b_factor"], p["b_addend"], p["next_shift"]) == (factor, 5 * factor, right)
        assert p["y_mult"] == 3 << 29


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize(
    ("scales", "swapped"),
    [
        ((HALF, (3 << 29, -2)), False),
        (((3 << 29, -2), HALF), True),
        ((HALF, HALF), False),
        ((HALF, (3 << 29, -1)), False),
    ],
)
def test_fields_of_a_plain_sum_give_what_the_sum_is(op, scales, swapped):
    """With no rounding: inputs whose products with both multipliers are whole."""
    p = AddS8(3, *scales[0], -5, *scales[1], 1 << 30, -4, 7, -128, 127, 20)
    node = node_of(op, AddAttrs(), [s8(1, 4), s8(1, 4)], [s8(1, 4)])
    (one,) = _plain_calls(node, p)
    assert [arg.value.name for arg in one.args[1:3]] == (["b", "a"] if swapped else ["a", "b"])
    f = params_of(one)
    for a, b in ((11, 11), (-29, 43), (3, -5)):
        plain, scaled = (b, a) if swapped else (a, b)
        first = f["scaled_factor"] * scaled + f["scaled_addend"]
        rescaled = first * f["scaled_mult"] >> (32 + f["scaled_shift"])
        found = f["plain_factor"] * plain + f["rescaled_factor"] * rescaled + f["addend"]
        signs = (1, -1 if op == "sub" else 1)
        values = [
            (x << 20) * sign * mult * 2.0 ** (shift - 31)
            for x, sign, (mult, shift) in zip((a - 3, b + 5), signs, scales, strict=True)
        ]
        assert found == 2 * sum(values)
    assert (f["y_mult"], f["y_shift"], f["y_zp"]) == (1 << 30, 4, 7)
    assert f["scaled_shift"] >= 1


@pytest.mark.parametrize(("less", "exact"), [(0, False), (2, True)])
def test_numbers_keep_within_32_bits_while_they_are_rescaled(less, exact):
    """Half of the number, and one, is doubled; with half of a step of 2**31 that is 2**31."""
    assert is_exact((1 << 30) - 2 - less, 1 << 30, -30) is exact
    assert is_exact((1 << 28) - 1 - less, 1 << 30, 3)
    assert not is_exact(1 << 28, 1 << 30, 3)


@pytest.mark.parametrize(("taps", "mostly"), [(512, False), (516, True)])
def test_two_channels_of_four_are_mostly_padding_where_they_are_long(taps, mostly):
    """1024 zeros are not."""
    assert is_mostly_padding(np.ones((2, taps), np.int8)) is mostly
    layer = node_of(
        *("conv2d", Conv2dAttrs()),
        [s8(1, 1, 2, taps, scale=0.01), weights(2, 1, 1, taps)],
        [s8(1, 1, 2, 2, scale=2.0)],
    )
    own = prepared(layer, ConvolutionS8)
    assert (groups_of(layer, 0, own.requant, DSP) is None) is mostly


def test_weights_of_four_bits_whose_scales_do_not_fit_do_not_pack():
    """Of one tap, whose products with 128 go left by 22 bits."""
    w, shifts = np.ones((8, 1), np.int8), (MAX_SHIFT - 1, MAX_SHIFT)
    packed = [nibble_block(w, None, 0, requant(8, shift=s), DSP) is not None for s in shifts]
    assert packed == [True, False]


@pytest.mark.parametrize("left", [1, 2, 3])
def test_channels_of_one_output_keep_it_where_others_are_raised(left):
    """Of sums that are raised by some bits a half is rounded, then shifted to the right."""
    w = np.ones((4, 8), np.int8)
    w[1] = 0
    own = requant(4, shift=left)
    block = nibble_block(w, np.array([9, 3, -2, 0], np.int32), 0, own, DSP)
    assert (block.left_shift, block.raised) == (left, 1 + left)
    layer = block.layer
    assert layer.shift.tolist() == [0, max(1, left - 1), 0, 0]
    assert layer.bias[[0, 2, 3]].tolist() == [9, -2, 0]
    output = int(own.apply(np.full(4, 3))[1]) - own.y_zp
    assert (int(layer.bias[1]) << left) * layer.mult[1] * 2 >> 32 >> layer.shift[1] == output
    uneven = Requant(own.mult, np.array([left, left, left - 1, left]), 5, -128, 127)
    assert nibble_block(w, None, 0, uneven, DSP) is None


def test_layers_are_as_they_were_where_no_channel_is_raised():
    w = np.ones((2, 8), np.int8)
    for shift, same in ((-3, True), (0, True), (1, False)):
        own = requant(2, shift=shift)
        layer = simplify(w, None, 0, own, MAX_SINGLE_SUM)
        assert layer.is_as(layer.w, own) is same
        assert layer.is_as(w, own) is same


@pytest.mark.parametrize(("weight", "constant"), [(4, True), (5, False)])
def test_sums_that_just_fit_behind_their_shift_are_constant(weight, constant):
    """-128 times 4, or 127 times -4 and less 4, is the least 32-bit number behind 22 bits."""
    own = Requant(np.full(1, 1 << 30, np.int32), np.full(1, 22), 5, 9, 9)
    for w, bias in ((weight, None), (-weight, np.array([-4], np.int32))):
        layer = simplify(np.full((1, 1), w, np.int8), bias, 0, own, MAX_SINGLE_SUM)
        assert (layer is not None) is (constant and (bias is None or w == -4))


@pytest.mark.parametrize(
    ("w", "kept"),
    [
        (np.zeros((2, 16)), 1),
        (np.eye(4, 16), 1),
        (np.tile([1, 1, 0, 0], (2, 2)), 2),
        (np.tile([1, 1, 1, 0], (2, 4)), None),
        (np.zeros((2, 8)), None),
    ],
)
def test_weights_without_zeros_fill_bytes_of_places(w, kept):
    assert kept_of_4(w.astype(np.int8)) == kept


def test_rows_of_a_segment_have_steps_of_their_own_axes():
    window = Window.of((9, 11), (3, 2), (2, 3), ROWS)
    fields = _row_fields(window, s8(1, 9, 11, 5), s8(1, *window.out, 6))
    assert fields == {
        **{"rows": 4, "width": 4, "kernel_h": 3, "row_bytes": 55, "row_step": 110},
        **{"run": 10, "step": 15, "pad": window.before[1] * 5},
    }


def test_parts_of_raised_weights_keep_what_their_sums_begin_with():
    kernel = choose(built(dense(4, 18, 8)), replace(M0, in_one_go=5_000))
    assert kernel.scratch_bytes == 12 * (20 + 1)


@pytest.mark.parametrize(("small", "many"), [(False, MANY_TAPS), (True, MANY_TAPS_SMALL)])
@pytest.mark.parametrize("less", [0, 1])
def test_averages_by_products_are_of_many_taps(small, many, less):
    kernel = 2, 8
    channels = many // 16 - less
    x, y = s8(1, 2, 8, channels), s8(1, 1, 1, channels)
    node = node_of("average_pool2d", Pool2dAttrs(kernel, (1, 1)), [x], [y])
    name = choose(node, Target(DSP, small=small)).name
    assert name == f"tinyrt_average_{'pool2d' if less else 'short'}_s8"


@pytest.mark.parametrize(("kernel", "quads"), [((7, 73), True), ((16, 32), False)])
def test_channels_of_int16_sum_up_to_511_taps_in_words(kernel, quads):
    assert MAX_NARROW_TAPS == 7 * 73
    x, y = s16(1, *kernel, 4), s16(1, 1, 1, 4)
    attrs = DepthwiseConv2dAttrs(padding="VALID")
    name = choose(node_of("depthwise_conv2d", attrs, [x, weights(1, *kernel, 4)], [y]), Target(DSP))
    assert ("quads" in name.name) is quads


def test_numbers_of_numpy_are_arguments_as_others():
    (arg,) = call("f", np.int32(3)).args
    assert (arg, type(arg.value)) == (Number(3), int)
    assert Target(strips=True).sources is RVV
    assert Target(DSP).sources is DSP


# Vectors


def pixels(x, w, stride=(1, 1), **window):
    made = Window.of(x[1:3], w[1:3], stride, "VALID", **window)
    attrs = Conv2dAttrs(stride, "VALID", made.dilation)
    return node_of("conv2d", attrs, [s8(*x), weights(*w)], [s8(x[0], *made.out, w[0])]), made


AT_ONCE = {
    # 2048 bytes hold 16 columns of two rows of 64 channels: seven steps of two behind the first.
    "lines": (pixels((1, 5, 40, 64), (4, 2, 3, 64), (1, 2)), 7, 15 * 2 * 64),
    "all of a line": (pixels((1, 3, 12, 64), (4, 2, 3, 64), (1, 2)), 5, 11 * 2 * 64),
    "a long window": (pixels((1, 5, 9, 2048), (4, 2, 2, 2048)), 1, 2 * 2 * 2048),
    "apart": (pixels((1, 5, 16, 8), (4, 2, 3, 8), dilation=(1, 2)), 1, 3 * 2 * 8),
    "4096 bytes": (pixels((1, 16, 32, 8), (8, 1, 1, 8)), 512, 0),
    "more": (pixels((1, 16, 33, 8), (8, 1, 1, 8)), 264, 264 * 8),
    "4096 bytes of outputs": (pixels((1, 16, 32, 4), (9, 1, 1, 4)), 512, 0),
    "two groups": (pixels((1, 16, 33, 8), (8, 1, 1, 4)), 528, 0),
    "steps": (pixels((1, 9, 31, 8), (4, 1, 1, 8), (2, 3)), 11, 0),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_as_many_points_are_copied_as_have_room(name):
    (node, window), at_once, copied = AT_ONCE[name]
    assert points_at_once(node, window) == at_once
    assert copied_bytes(node, window) == copied


@pytest.mark.parametrize(
    ("window", "step", "at_once"),
    [
        # Twenty points have room: nine windows, of which eight come in pairs.
        (Window((2, 3), (1, 2), (1, 1), (0, 0), (0, 0), (5, 30)), 100, 8),
        (Window((2, 3), (3, 2), (2, 1), (0, 0), (0, 0), (5, 7)), 100, 7),
        (Window((2, 3), (1, 2), (1, 1), (0, 0), (0, 0), (5, 30)), 600, 1),
        (Window((2, 3), (1, 2), (1, 1), (0, 0), (0, 0), (5, 30)), 2000, 1),
        (Window((2, 3), (1, 2), (1, 2), (0, 0), (0, 0), (5, 30)), 100, 1),
    ],
)
def test_points_with_taps_that_are_read_again_come_in_pairs(window, step, at_once):
    assert _at_once(window, step) == at_once
    assert _read(window, at_once) == 2 * (at_once - 1) + 3


def test_groups_with_taps_that_are_read_again_have_their_own_scales():
    scales = tuple(0.01 * i for i in range(1, 11))
    w = constant(DType.INT16, 10, 2, 3, 4, fill=200, scale=scales, axis=0)
    node = node_of("conv2d", Conv2dAttrs(), [s8(1, 6, 9, 8), w], [s8(1, 5, 7, 10, scale=50.0)])
    own = prepared(node, ConvolutionS8)
    kernel = choose(node, Target(MVE))
    (one,) = kernel.calls
    assert one.function == "tinyrt_conv2d_more_s8"
    found = next(arg for arg in one.args if isinstance(arg, Data) and arg.role == "scales").array
    halves = found.reshape(2, -1)
    for part, first in zip(halves, (0, 5), strict=True):
        bias = np.zeros(5, np.int32)
        mult, shift = (v[first : first + 5] for v in (own.requant.mult, own.requant.shift))
        assert part.tolist() == pack_scales(bias, mult, shift).ravel().tolist()


def test_room_for_later_weights_is_that_of_each_target():
    """A node keeps filters for each number of places that are read again, at least."""
    data = np.arange(-108, 108, dtype=np.int16).reshape(6, 3, 3, 4) * 3
    held = replace(constant(DType.INT16, *data.shape, scale=0.1), data=data)
    node = node_of("conv2d", Conv2dAttrs(), [s8(1, 6, 9, 4), held], [s8(1, 6, 9, 6, scale=99.0)])
    counts = []
    for room in ((), (25,), (32,), ()):
        choices = Choices(frozenset(), frozenset(), room=frozenset((0, n) for n in room))
        (one,) = choose(node, Target(MVE, choices=choices)).calls
        (p,) = (arg.fields for arg in one.args if isinstance(arg, Params))
        assert (one.function, p["column_bytes"], p["gathers"]) == ("tinyrt_conv2d_more_s8", 12, 0)
        counts.append(p["count"])
        packed = next(arg for arg in one.args if isinstance(arg, Data) and arg.role == "w").array
        length = 3 * (12 + p["count"])
        rows = packed.reshape(2, -1, 4, 16).transpose(0, 2, 1, 3).reshape(8, -1)[:6, -length:]
        by_point = rows.reshape(6, 3, -1).astype(int)
        whole = by_point[..., :12].copy()
        np.add.at(whole, (..., p["places"].array), by_point[..., 12:])
        np.testing.assert_array_equal(whole, data.transpose(0, 2, 1, 3).reshape(6, 3, 12))
    # The largest weight, 324, is read three times.
    assert counts == [24, 25, 32, 24]
