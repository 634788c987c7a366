"""Sums at their bounds, and what kernels on vectors keep: sizes that just fit, and one more."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backends.c.test_mve_costs import depthwise
from tests.backends.c.test_packing import DSP, requant
from tests.backends.c.test_relu import layer_of
from tests.backends.c.test_winograd import block_of
from tests.ops.quantised import constant, f32, node_of, s8, s16, value, weights
from tinyrt.backends.c.blocks.relu import LEAST_SHIFT, PER_QUAD, either, relu_scales
from tinyrt.backends.c.choice import KERNELS, choose
from tinyrt.backends.c.float_convolutions import FILTERS, takes_few
from tinyrt.backends.c.general import check_accumulator
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Null, Scratch, Target
from tinyrt.backends.c.mve.cost import element_cost
from tinyrt.backends.c.mve.depthwise import _sweep, fit_in_pairs
from tinyrt.backends.c.mve.packing import pack_filters_s4
from tinyrt.backends.c.mve.planes import MAX_PLACE, Planes, _fits_places, _positions, planes_of
from tinyrt.backends.c.mve.raised import raised_requant
from tinyrt.backends.c.planning import kernels_of
from tinyrt.backends.c.wide import MAX_ACCUMULATOR, weights_of
from tinyrt.errors import UnsupportedError
from tinyrt.fixedpoint import INT32_MAX
from tinyrt.ir import DType, Value
from tinyrt.ops import prepared
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs
from tinyrt.ops.shared.unsupported import NOT_ON_DEVICES
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionS16
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.ops.unidirectional_sequence_lstm import DTYPES, LstmAttrs

MVE = InstructionSet.MVE


def stored(dtype, values, scale=0.1):
    return replace(constant(dtype, len(values), scale=scale), data=np.array(values, dtype.numpy))


def summed(make, bias, w=(1, -2)):
    """A convolution of one channel, with weights of these two inputs."""
    filters = replace(weights(1, 1, 1, 2), data=np.array(w, np.int8).reshape(1, 1, 1, 2))
    dtype = DType.INT32 if make is s8 else DType.INT64
    inputs = [make(1, 2, 2, 2), filters, stored(dtype, [bias], 0.01)]
    return node_of("conv2d", Conv2dAttrs(), inputs, [make(1, 2, 2, 1)])


@pytest.mark.parametrize(("zero_point", "reach"), [(0, 128), (100, 228), (-50, 177)])
@pytest.mark.parametrize("sign", [1, -1])
def test_accumulators_of_int8_are_refused_beyond_32_bits(zero_point, reach, sign):
    most = INT32_MAX - 3 * reach
    check_accumulator(summed(s8, sign * most), zero_point)
    with pytest.raises(UnsupportedError, match="channel 0 can reach 2147483648"):
        check_accumulator(summed(s8, sign * (most + 1)), zero_point)


LAYERS = {
    "conv2d": (Conv2dAttrs(), (1, 2, 2, 2), (2, 1, 1, 2), (1, 2, 2, 2)),
    "depthwise_conv2d": (DepthwiseConv2dAttrs(), (1, 2, 2, 2), (1, 2, 1, 2), (1, 2, 1, 2)),
    "fully_connected": (FullyConnectedAttrs(), (1, 2), (2, 2), (1, 2)),
    "transpose_conv": (TransposeConvAttrs((2, 2)), (1, 2, 2, 2), (2, 1, 1, 2), (1, 2, 2, 2)),
}


@pytest.mark.parametrize("stored_weights", [True, False])
@pytest.mark.parametrize("isa", InstructionSet)
@pytest.mark.parametrize("op", LAYERS)
def test_all_layers_are_refused_on_all_cores_beyond_32_bits(op, isa, stored_weights):
    attrs, x, w, y = LAYERS[op]
    filters, most = weights(*w, fill=-127), INT32_MAX - 2 * 127 * 228
    if not stored_weights:
        filters, most = s8(*w), INT32_MAX - 2 * 128 * 228
    for more, fits in ((0, True), (1, False)):
        inputs = [s8(*x, zp=100), filters, stored(DType.INT32, [5, most + more], 0.01)]
        node = node_of(op, attrs, inputs, [s8(*y)])
        if fits:
            assert choose(node, Target(isa)).calls
        else:
            with pytest.raises(UnsupportedError, match="channel 1 can reach 2147483648"):
                assert choose(node, Target(isa)).calls


def lstm(dtype, bias):
    """Of one gate the last unit has a bias; sums of weights are 200."""
    _, bias_dtype, _ = DTYPES[dtype]
    gates = [stored(bias_dtype, [0, n]) for n in (0, 0, bias, 0)]
    states = [value(dtype, 1, 2), value(DType.INT16, 1, 2, scale=2.0**-12)]
    inputs = [value(dtype, 1, 1, 2), *[weights(2, 2, fill=100)] * 8, *gates, *states]
    return node_of(
        *("unidirectional_sequence_lstm", LstmAttrs()), inputs, [value(dtype, 1, 1, 2), *states]
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("isa", InstructionSet)
@pytest.mark.parametrize(("dtype", "bits", "x"), [(DType.INT8, 31, 8), (DType.INT16, 47, 15)])
def test_lstms_are_refused_on_all_cores_whose_sums_do_not_fit(dtype, bits, x, isa, sign):
    most = (1 << bits) - (200 << x) - 1
    assert choose(lstm(dtype, sign * most), Target(isa)).calls
    with pytest.raises(UnsupportedError, match=f"an accumulator may reach {1 << bits}"):
        assert choose(lstm(dtype, sign * (most + 1)), Target(isa)).calls


@pytest.mark.parametrize("sign", [1, -1])
def test_accumulators_of_int16_are_refused_from_48_bits_on(sign):
    most = MAX_ACCUMULATOR - 1 - (3 << 15)
    assert weights_of(summed(s16, sign * most)).tolist() == [[[[1, -2]]]]
    with pytest.raises(UnsupportedError, match=f"may reach {MAX_ACCUMULATOR}"):
        weights_of(summed(s16, sign * (most + 1)))


@pytest.mark.parametrize("more", [0, 1])
def test_vectors_sum_below_their_limit(more):
    node = summed(s16, -7)
    own = prepared(node, ConvolutionS16).requant
    found = raised_requant(node, own, 0, limit=(3 << 15) + 7 + more)
    assert (found is not None) is bool(more)


SCALAR = InstructionSet.SCALAR
COLUMNS = [
    # set, filters, largest bias, kernel, taps as they are packed, whether pixels are read directly
    (SCALAR, (1, 1, 2), 5, "block", 2, 1),
    (SCALAR, (1, 1, 3), 5, "block", 3, 1),
    (SCALAR, (3, 3, 3), 5, "block", 27, 0),
    (SCALAR, (1, 1, 2), 2**40, "", 2, 1),
    (SCALAR, (1, 1, 3), 2**40, "", 4, 0),
    (SCALAR, (3, 3, 3), 2**40, "", 28, 0),
    (DSP, (3, 3, 3), 5, "block", 27, 0),
    (DSP, (3, 3, 2), 2**40, "", 18, 0),
    (MVE, (1, 1, 8), 5, "raised", 8, 1),
    (MVE, (1, 1, 9), 5, "raised", 16, 0),
    (MVE, (3, 3, 2), 5, "raised", 24, 0),
    (MVE, (1, 1, 8), 2**40, "", 8, 1),
    (MVE, (3, 3, 2), 2**40, "", 24, 0),
]


@pytest.mark.parametrize(("isa", "window", "bias", "kernel", "taps", "direct"), COLUMNS)
def test_columns_of_int16_have_two_bytes_for_each_tap(isa, window, bias, kernel, taps, direct):
    biases = stored(DType.INT64, [bias, -bias, 0, 1, -1], 0.01)
    inputs = [s16(1, 6, 5, window[2]), weights(5, *window), biases]
    node = node_of("conv2d", Conv2dAttrs(), inputs, [s16(1, 6, 5, 5)])
    found = choose(node, Target(isa))
    assert found.name == f"tinyrt_conv2d_{kernel}{'_' * bool(kernel)}s16"
    assert found.scratch_bytes == (0 if direct else 2 * taps)
    (made,) = found.calls
    params, _, packed, _, column, _ = made.args
    assert {name: params.fields[name] for name in ("taps", "direct", "groups")} == {
        **{"taps": taps, "direct": direct, "groups": 1}
    }
    assert column == (Null() if direct else Scratch(pointer="int16_t *"))
    assert packed.array.nbytes == 8 * (taps + (isa is DSP and taps % 2))


@pytest.mark.parametrize(
    ("pair", "fits"), [((1, -255), True), ((2, -255), False), ((256, 0), True), ((256, 1), False)]
)
def test_products_of_two_wide_taps_fit_16_bits(pair, fits):
    """127 and 255 times 128 are the greatest of 16 bits; 256 times -128 is the least."""
    w = np.zeros((1, 2, 8), np.int16)
    w[0, :, 3] = pair
    assert fit_in_pairs(w, [(0, 1)]) is fits


@pytest.mark.parametrize(
    ("first", "second", "byte"), [(0, -8, -128), (7, -8, -121), (-1, -8, None), (-8, 7, 104)]
)
def test_two_channels_weights_of_four_bits_are_one_byte(first, second, byte):
    w = np.zeros((4, 16), np.int8)
    w[:2, 5] = first, second
    packed = pack_filters_s4(w)
    assert (packed is None) is (byte is None)
    assert packed is None or packed[packed != 0].tolist() == [byte]


def test_few_channels_of_floats_are_no_convolution_of_one():
    def few(channels, filters, bias=None):
        w = constant(DType.FLOAT32, 1, 3, 2, channels * filters)
        x, y = f32(1, 5, 5, channels), f32(1, 3, 4, channels * filters)
        return takes_few(node_of("depthwise_conv2d", DepthwiseConv2dAttrs(), [x, w, bias], [y]))

    assert few(1, FILTERS - 1)
    assert not few(1, FILTERS)
    assert few(2, FILTERS)
    assert few(FILTERS, 1)
    assert not few(FILTERS + 1, 1)
    assert not few(1, 1, Value("b", DType.FLOAT32, (1,)))


def test_scales_that_need_a_sign_take_as_much_room_as_those_that_need_none():
    """Of five channels: six entries for each four, of which four are mantissas."""
    rng = np.random.default_rng(0)
    w = rng.integers(-9, 10, (5, 1, 1, 8)).astype(np.int8)
    block = block_of(w, rng.integers(-9, 10, 5).astype(np.int32))
    own = requant(5)
    found = either(None, block, own)
    mult, shift = (v.reshape(2, PER_QUAD) for v in (found.scales, found.shifts))
    packed = block.packed.requant
    assert mult[:, :4].ravel().tolist() == np.resize(packed.mult, 8).tolist()
    assert shift[:, :4].ravel().tolist() == np.resize(packed.shift, 8).tolist()
    assert not mult[:, 4:].any()
    assert not shift[:, 4:].any()
    assert (found.step, found.raised) == (PER_QUAD, own.y_zp)
    assert found.first.tolist() == block.layer.first_sums(block.x_zp).tolist()


def test_sums_that_are_shifted_far_are_not_raised():
    layer, _ = layer_of([[1, 2]], [0], [LEAST_SHIFT + 4], [1 << 30])
    assert relu_scales(layer, -128, -128).raised == 0
    near, _ = layer_of([[1, 2]], [0], [LEAST_SHIFT - 2], [1 << 30])
    assert relu_scales(near, -128, -128).raised == 2


# Vectors


def planes(lines, on_rows, band, positions=7, points=5):
    window = Window((3, 3), (1, 1), (1, 1), (0, 0), (0, 0), (lines, points), on_rows)
    return Planes((0, 1), window, 4, positions, 4, (lines + 2, points + 2), band)


@pytest.mark.parametrize(
    ("lines", "band", "on_rows", "times", "plane"),
    [
        # Two of two lines, of three groups' windows; a group's places are seven fours of bytes.
        (9, 4, False, 2, 2 * 28 + 28),
        (9, 4, True, 2, 2 * 28 + 28),
        (3, 4, True, 3, 28 + 28),
        (60, 40, False, 2, 20 * 28 + 28),
        (60, 40, True, 35, 19 * 28 + 28),
    ],
)
def test_scratch_memory_has_room_for_any_number_of_lines(lines, band, on_rows, times, plane):
    expected = 8 * 48 + (times + 1) * 16 + 8 * plane + 3 * 4 + 16
    assert planes(lines, on_rows, band).scratch_bytes() == expected


@pytest.mark.parametrize(
    ("lines", "band", "on_rows", "fits"),
    [
        *((4, 4, False, True), (5, 5, False, False), (9, 4, True, True)),
        *((9, 6, True, False), (4, 6, True, True), (9, 6, False, True)),
    ],
)
def test_outputs_of_a_loop_lie_within_the_greatest_place(lines, band, on_rows, fits):
    """Three lines and a point of 4681 channels, of two points to a line, are that place."""
    assert MAX_PLACE == (2 * 3 + 1) * 4681
    node = node_of("depthwise_conv2d", DepthwiseConv2dAttrs(), [], [s8(1, lines, 2, 4681)])
    assert _fits_places(node, planes(lines, on_rows, band, points=2)) is fits


@pytest.mark.parametrize(
    ("kernel", "before", "points", "inside", "positions"),
    [(3, 1, 5, 9, 5), (3, 1, 5, 11, 6), (1, 3, 5, 6, 5), (5, 0, 2, 5, 4)],
)
def test_a_group_begins_behind_the_windows_the_inputs_and_the_padding(
    kernel, before, points, inside, positions
):
    window = Window((3, kernel), (1, 2), (1, 1), (0, before), (0, 0), (4, points))
    assert _positions(inside, window) == positions


def test_a_long_line_may_take_more_than_other_copies():
    node, window = depthwise((3, 700), DepthwiseConv2dAttrs(padding="VALID"))
    found = planes_of(node, window)
    assert found is not None
    assert found.scratch_bytes() > 4096


def test_channels_on_vectors_have_an_order_by_bands_of_rows():
    node, window = depthwise((9, 9), DepthwiseConv2dAttrs(padding="VALID"))
    assert _sweep(node, window, (0, 1), 3) is not None
    assert _sweep(node, window, (1, 0), 3) is None
    assert _sweep(node, window, (1, 0), 7) is not None


@pytest.mark.parametrize(("columns", "in_order"), [(32, False), (33, True)])
def test_pixels_on_vectors_have_an_order_where_they_are_copied(columns, in_order):
    x, y = (s8(1, 16, columns, 8) for _ in "xy")
    kernel = choose(node_of("conv2d", Conv2dAttrs(), [x, weights(8, 1, 1, 8)], [y]), Target(MVE))
    assert kernel.name == "tinyrt_conv2d_s8"
    assert (kernel.sweep() is not None) is in_order


def test_pixels_on_vectors_with_steps_between_them_are_read_where_they_lie():
    """Not before the outputs of their line are written."""
    ports = [s8(1, 8, 8, 16), weights(16, 1, 1, 16)], [s8(1, 4, 4, 16)]
    kernel = choose(node_of("conv2d", Conv2dAttrs(stride=(2, 2)), *ports), Target(MVE))
    assert kernel.name == "tinyrt_conv2d_s8"
    assert [step.reads_first for step in kernel.sweep()] == [False] * 4


# Ops that devices do not have, and copies


def test_ops_without_a_kernel_name_those_that_have_one():
    node = node_of("pointwise", NoAttrs(), [f32(2, 3)], [f32(2, 3)])
    with pytest.raises(UnsupportedError) as refused:
        choose(node, Target(DSP))
    having = sorted(op for op in KERNELS if Form.FLOAT in KERNELS[op])
    assert "add" in having
    assert refused.value.expected == ", ".join(having)
    assert refused.value.tensor == node.output.describe()
    assert refused.value.hint == NOT_ON_DEVICES["pointwise"]
    plan = kernels_of(DSP)
    assert (plan.kernel(node), plan.scratch_bytes(node), plan.sweep(node)) == (None, 0, None)
    assert plan.cost(node) == element_cost(node)


@pytest.mark.parametrize("make", [s8, s16])
def test_integers_that_stay_are_copied(make):
    x, y = make(2, 3), make(2, 3, scale=0.2)
    attrs = QuantizeAttrs(y.dtype, kept=True)
    (one,) = choose(node_of("quantize", attrs, [x], [y]), Target(DSP)).calls
    assert (one.function, one.args[0].value) == ("tinyrt_reshape", 6 * y.dtype.itemsize)
