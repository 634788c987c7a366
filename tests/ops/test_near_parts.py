"""One part of a condition alone is not met: found by ``tools.differing``."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.ops.corners.recurrent import LSTM, recurrent
from tests.ops.quantised import constant, f32, node_of, s8, s16, value, weights
from tinyrt.errors import ShapeError, VerifyError
from tinyrt.ir import DType, QParams, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.cast import ref_f32 as cast
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.mirror_pad import picks as mirrored
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pointwise import Step
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs, fixed_shares, nearest, nearest_indices, nearest_picks
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.move import Picks
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.requant import (
    Requant,
    WideRequant,
    legacy_steps,
    legacy_thresholds,
    multiplier,
)
from tinyrt.ops.shared.spec import Form, NoAttrs, form_of
from tinyrt.ops.shared.table_s16 import half_tanh_table, prepare_sigmoid
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.slice import rebatch as slice_rebatch
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.svdf import infer as svdf_infer
from tinyrt.ops.svdf import ref_f32 as svdf_f32
from tinyrt.ops.svdf import ref_s8 as svdf_s8

POOL = Pool2dAttrs((4, 5), (1, 1))
FOLD, ROWS, NONE = "fold", "rows", "none"


def pooled(attrs, make=s8, out=(1, 1)):
    return node_of("average_pool2d", attrs, [make(1, 4, 5, 3)], [make(1, *out, 3)])


def averaged(axes, make=s8, shape=(1, 4, 5, 3)):
    rest = tuple(d for i, d in enumerate(shape) if i not in axes)
    return node_of("mean", MeanAttrs(axes), [make(*shape)], [make(*rest)])


BY_ROWS = {
    "a pool of all": (pooled(POOL), FOLD),
    "a pool of four columns": (pooled(replace(POOL, kernel=(4, 4), stride=(1, 2))), ROWS),
    "a pool of two rows": (pooled(replace(POOL, kernel=(2, 5)), out=(3, 1)), ROWS),
    "a pool of all, at each place": (pooled(replace(POOL, padding="SAME"), out=(4, 5)), NONE),
    "a pool of int16": (pooled(POOL, s16), NONE),
    "a pool that rounds as on uint8": (pooled(replace(POOL, legacy=True)), NONE),
    "a mean of all": (averaged((1, 2)), FOLD),
    "a mean of columns and channels": (averaged((2, 3)), NONE),
    "a mean of int16": (averaged((1, 2), s16), NONE),
    "a mean of three dimensions": (averaged((1, 2), s8, (4, 5, 3)), NONE),
}


@pytest.mark.parametrize("name", BY_ROWS)
def test_averages_of_whole_images_of_int8_are_sums_of_rows(name):
    node, kind = BY_ROWS[name]
    found = OPS[node.op].rows(node)
    kinds = {None: NONE} if found is None else {}
    assert kinds.get(found, FOLD if found is not None and found.fold is not None else ROWS) == kind


@pytest.mark.parametrize("at", [None, 1, 2])
def test_layers_whose_weights_or_bias_are_computed_have_no_rows(at):
    inputs = [s8(1, 6, 6, 4), weights(2, 3, 3, 4), constant(DType.INT32, 2, scale=0.01)]
    if at is not None:
        inputs[at] = replace(inputs[at], data=None)
    node = node_of("conv2d", Conv2dAttrs(), inputs, [s8(1, 6, 6, 2, scale=2.0)])
    assert (OPS["conv2d"].rows(node) is None) is (at is not None)


@pytest.mark.parametrize(
    ("align", "out", "places"), [(True, 3, [0, 2, 4]), (False, 3, [0, 1, 3]), (True, 1, [0])]
)
def test_corners_of_more_outputs_than_one_are_aligned(align, out, places):
    attrs = ResizeAttrs((out, out), align_corners=align, half_pixel_centers=False)
    assert fixed_shares(attrs, 5, out).first.tolist() == places


@pytest.mark.parametrize(
    ("grid", "n", "out", "places"),
    [
        ({}, 5, 3, [0, 1, 3]),
        ({}, 2, 5, [0, 0, 0, 1, 1]),
        ({"half_pixel_centers": True}, 5, 3, [0, 2, 4]),
        ({"half_pixel_centers": True}, 2, 5, [0, 0, 1, 1, 1]),
        ({"align_corners": True}, 2, 3, [0, 1, 1]),
        ({"align_corners": True}, 4, 7, [0, 1, 1, 2, 2, 3, 3]),
        ({"align_corners": True}, 5, 1, [0]),
    ],
)
def test_the_nearest_of_halves_is_the_later_where_corners_are_aligned(grid, n, out, places):
    assert nearest_indices(ResizeAttrs((out, out), **grid), n, out).tolist() == places
    image = np.arange(2 * n * 4 * 3).reshape(2, n, 4, 3)
    for axis, size in ((1, (out, 4)), (2, (4, out))):
        x, attrs = image.swapaxes(1, axis), ResizeAttrs(size, **grid)
        picks = nearest_picks(attrs, x.shape)
        at = (picks.rows[:, None] + picks.columns)[..., None] + np.arange(picks.run)
        for found in (nearest(attrs, x), x.reshape(picks.n, picks.x_size)[:, at]):
            np.testing.assert_array_equal(found, x.take(places, axis))


@pytest.mark.parametrize(("height", "width"), [(2, 6), (6, 2), (2, 2), (1, 1)])
def test_steps_beyond_the_image_leave_derivatives_of_nothing(height, width):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, height, width, 2)), rng.normal(size=(3, 1, 1, 2))
    attrs = Conv2dAttrs(stride=(3, 3), padding="SAME")
    y = x[:, ::3, ::3] @ w[:, 0, 0].T
    grad = rng.normal(size=y.shape)
    found = OPS["conv2d"].vjp(attrs, (x, w), y, grad)[:2]
    dx, dw = (d() if callable(d) else d for d in found)
    wanted = np.zeros_like(x)
    window = slice(None), slice(None, None, 3), slice(None, None, 3)
    # SAME puts the one tap of each step where the step begins.
    wanted[window] = grad @ w[:, 0, 0]
    np.testing.assert_allclose(dx, wanted)
    np.testing.assert_allclose(dw[:, 0, 0], np.einsum("nhwo,nhwi->oi", grad, x[window]))


@pytest.mark.parametrize("bias", [None, DType.INT32, DType.INT64])
def test_layers_of_int16_take_wide_sums_unless_their_bias_has_32_bits(bias):
    inputs = [s16(1, 4, scale=0.01), weights(3, 4)]
    inputs += [] if bias is None else [constant(bias, 3, scale=0.001)]
    node = node_of("fully_connected", OPS["fully_connected"].attrs(), inputs, [s16(1, 3)])
    requant = OPS["fully_connected"].prepared(node).requant
    assert type(requant) is (Requant if bias is DType.INT32 else WideRequant)


@pytest.mark.parametrize(
    ("scale", "right"), [(2.0**-12, 0), (2.0**-12 * 1.1, 13), (1e-12, 31), (2.0**-14, None)]
)
def test_inputs_of_any_scale_have_a_multiplier_of_32_bits(scale, right):
    ports = [s16(4, scale=scale)], [s16(4, scale=2.0**-15)]
    found = prepare_sigmoid(node_of("logistic", OPS["logistic"].attrs(), *ports), 3)
    assert 0 <= found.right <= 31
    assert right is None or found.right == right
    assert found.mult <= np.iinfo(np.int16).max
    if scale > 1e-9:
        assert math.isclose(found.mult / 2.0**found.right, scale * 4096 * 3, rel_tol=1e-3)


def test_a_multiplier_of_a_huge_scale_has_31_bits():
    ports = [s16(4, scale=1e6)], [s16(4, scale=2.0**-15)]
    found = prepare_sigmoid(node_of("logistic", OPS["logistic"].attrs(), *ports), 3)
    assert (found.mult, found.right) == (np.iinfo(np.int32).max, 0)


def test_half_of_a_tanh_is_tabled_from_one_step_before_zero():
    steps = np.arange(-1, 256)
    found = half_tanh_table()
    assert found.dtype == np.int16
    np.testing.assert_allclose(found, -32768 * np.tanh(steps / 48), atol=4)
    assert (found[0], found[1]) == (-found[2], 0)


def legacy_dense(scales=(0.3,)):
    """A dense layer that rounds as on uint8; accumulators times 0.6 are its outputs above -10."""
    w = constant(DType.INT8, 2, 3, scale=scales, axis=0 if len(scales) > 1 else None)
    ports = [s8(4, 3, scale=0.5), w], [s8(4, 2, scale=0.25, zp=-10)]
    return node_of("fully_connected", FullyConnectedAttrs(legacy=True), *ports)


def test_thresholds_of_a_legacy_layer_are_where_its_outputs_go_up():
    node = legacy_dense()
    steps, least = legacy_steps(node, 0), legacy_thresholds(node, 0)
    assert len(least) == 255
    np.testing.assert_array_equal(steps.apply(least), np.arange(-127, 128))
    np.testing.assert_array_equal(steps.apply(least - 1), np.arange(-128, 127))


def test_rounding_as_on_uint8_takes_one_scale():
    with pytest.raises(VerifyError, match="one scale for all weights") as caught:
        legacy_steps(legacy_dense((0.3, 0.2)), 0)
    assert "[2,3]" in caught.value.tensor


@pytest.mark.parametrize("product_f32", [False, True])
def test_slopes_that_were_uint8_are_rescaled_in_float32(product_f32):
    scales = 0.1234567, 0.7654321, 0.0333333
    alpha = replace(s8(3), q=replace(s8(3, scale=scales[1]).q, product_f32=product_f32))
    node = node_of(
        "prelu", NoAttrs(), [s8(2, 3, scale=scales[0]), alpha], [s8(2, 3, scale=scales[2])]
    )
    found, kind = OPS["prelu"].prepared(node), np.float32 if product_f32 else np.float64
    x, a, y = (kind(np.float32(s)) for s in scales)
    assert (found.pos_mult, found.pos_shift) == multiplier(float(x / y))
    assert (found.neg_mult, found.neg_shift) == multiplier(float(x * a / y))


def test_bytes_are_kept_or_given_with_another_sign():
    x = np.arange(-128, 128).astype(np.int8)
    kept = node_of(
        "quantize", QuantizeAttrs(DType.INT8, kept=True), [s8(256)], [s8(256, scale=3.0)]
    )
    np.testing.assert_array_equal(OPS["quantize"].prepared(kept).lookup(x), x)
    y = value(DType.UINT8, 256, zp=128)
    turned = node_of("quantize", QuantizeAttrs(DType.UINT8), [s8(256)], [y])
    found = OPS["quantize"].prepared(turned).lookup(x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.arange(256))


@pytest.mark.parametrize("axis", [0, 1])
def test_weights_are_dequantised_along_the_axis_of_their_scales(axis):
    scales = np.array([0.5, 2.0, 4.0][: 3 - axis], np.float32)
    w = constant(DType.INT8, 3, 2, fill=3, scale=tuple(map(float, scales)), axis=axis)
    node = node_of("dequantize", NoAttrs(), [w], [f32(3, 2)])
    wanted = np.full((3, 2), 3) * (scales[:, None] if axis == 0 else scales)
    np.testing.assert_array_equal(reference_kernel(node)(w.data), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_an_svdf_without_a_bias_adds_none(dtype):
    rng, attrs = np.random.default_rng(1), SvdfAttrs(2)
    shapes = (2, 4), (6, 4), (6, 5), (2, 30)
    x, features, time, state = (rng.integers(-9, 9, s).astype(dtype) for s in shapes)
    compute, bias = svdf_f32, np.zeros(3, np.float32)
    if dtype is np.int8:
        scaled = [s8(*s, scale=1.0) for s in (*shapes[:3], (3,), shapes[3])]
        scaled[3] = constant(DType.INT32, 3, fill=0, scale=1.0)
        outputs = [s8(2, 3, scale=50.0), s8(2, 30, scale=1.0)]
        attrs = OPS["svdf"].prepared(node_of("svdf", attrs, scaled, outputs))
        compute, bias = svdf_s8, np.zeros(3, np.int32)
    found = compute(attrs, x, features, time, None, state)
    for one, wanted in zip(found, compute(attrs, x, features, time, bias, state), strict=True):
        np.testing.assert_array_equal(one, wanted)
    assert found[0].any()


def test_a_number_has_no_border_to_mirror():
    assert mirrored(MirrorPadAttrs(()), ()) == Picks(1, 1, *[np.zeros(1, np.int64)] * 2, 1)


def test_a_step_is_told_with_what_is_not_its_default():
    plain, clamped = Step("mul", MulAttrs(), (0, 0.5)), Step("add", AddAttrs("RELU"), (1, 0))
    assert (repr(plain), repr(clamped)) == ("mul(0, 0.5)", "add(1, 0, activation=RELU)")


def test_a_grid_has_the_parameters_of_integers_on_it():
    assert FakeQuantizeAttrs(0.25, -3).q == QParams((0.25,), -3)


@pytest.mark.parametrize("i", [13, 14])
def test_an_lstm_gives_its_states_the_scales_that_it_reads_them_in(i):
    graph = recurrent()[f"{LSTM}: 17 to 7"].graph
    state = graph.value(f"in{i}")
    values = graph.values | {state.name: replace(state, q=QParams((state.q.scale / 2,), 0))}
    with pytest.raises(VerifyError, match="has another scale or zero point than its state"):
        OPS["unidirectional_sequence_lstm"].prepared(replace(graph, values=values).bind(0))


def svdf(x=(2, 4), features=(6, 4), time=(6, 5), state=(2, 30), kind=DType.INT16, before=None):
    shapes = (DType.INT8, x), (DType.INT8, features), (kind, time), None, (before or kind, state)
    return [None if s is None else TensorType(*s) for s in shapes]


SVDF = {
    "another number of inputs": ({"features": (6, 3)}, 1),
    "a state of another memory": ({"state": (2, 24)}, 1),
    "a state of another batch": ({"state": (1, 30)}, 1),
    "a rank of 0": ({}, 0),
    "a rank that does not divide": ({}, 4),
    "float time weights": ({"kind": DType.FLOAT32}, 1),
    "a state of another type": ({"before": DType.INT8}, 1),
}


@pytest.mark.parametrize("name", SVDF)
def test_an_svdf_of_parts_that_do_not_fit_is_refused(name):
    options, rank = SVDF[name]
    assert svdf_infer(SvdfAttrs(2), svdf())
    with pytest.raises(ShapeError, match="expected"):
        svdf_infer(SvdfAttrs(rank), svdf(**options))


CUTS = {
    "all samples": (SliceAttrs((0, 1), (2, 3), (1, 1)), True),
    "one of them": (SliceAttrs((0, 1), (1, 3), (1, 1)), False),
    "the second": (SliceAttrs((1, 1), (1, 3), (1, 1)), False),
    "dropped": (SliceAttrs((0, 1), (2, 3), (1, 1), (0,)), False),
    "backwards": (SliceAttrs((1, 1), (2, 3), (-1, 1)), False),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_cut_that_takes_all_samples_takes_more_of_them(name):
    attrs, grows = CUTS[name]
    assert slice_rebatch(attrs, 2, 5).size == ((5, 3) if grows else attrs.size)


@pytest.mark.parametrize("shape", [(0, 6), (-2, 6), (-1, 0), (-1, -1, 2), (-1, 4)])
def test_shapes_that_hold_another_number_of_elements_are_refused(shape):
    with pytest.raises(ShapeError):
        OPS["reshape"].infer(ReshapeAttrs(shape), [TensorType(DType.INT8, (2, 3))])


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (DType.BOOL, [True, False, True, True]),
        (DType.FLOAT32, [-2.5, 0.0, 1e9, np.inf]),
        (DType.INT8, [-2, 0, 127, 127]),
        (DType.UINT8, [0, 0, 255, 255]),
    ],
)
def test_floats_are_cast_to_any_type(dtype, wanted):
    found = cast(CastAttrs(dtype), np.array([-2.5, 0, 1e9, np.inf], np.float32))
    assert found.dtype == dtype.numpy
    assert found.tolist() == wanted


S32 = value(DType.INT32, 2)
FORMS = {
    "bytes": ([s8(2), s8(2)], [s8(2)], Form.INT8),
    "bytes and an absent operand": ([s8(2), s8(2), None], [s8(2)], Form.INT8),
    "an int16 operand": ([s8(2), s16(2)], [s8(2)], Form.INT16X8),
    "a constant of int16": ([s8(2), constant(DType.INT16, 2)], [s8(2)], Form.INT8),
    "a state of int16": ([s8(2), s16(2)], [s8(2), s16(2)], Form.INT8),
    "numbers of 32 bits": ([S32], [s8(2)], Form.INT16X8),
    "an answer of 32 bits": ([s8(2)], [S32], Form.INT16X8),
    "places": ([s8(2), value(DType.INT32, 2, scale=0.0)], [s8(2)], Form.INT8),
    "places first": ([value(DType.INT32, 2, scale=0.0), s8(2)], [s8(2)], Form.INT8),
    "floats": ([f32(2), constant(DType.INT8, 2)], [f32(2)], Form.FLOAT),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_those_of_activations(name):
    inputs, outputs, form = FORMS[name]
    assert form_of(node_of("add", NoAttrs(), inputs, outputs)) is form
