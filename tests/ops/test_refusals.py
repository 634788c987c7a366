"""Shape rules: what does not fit is refused by name, whatever a file may claim."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ops.cases import PLAIN
from tests.ops.signal_refusals import SIGNAL_FIELDS, SIGNAL_REFUSED
from tests.sampling import sampled
from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.evaluate import as_tuple
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

LARGEST = 20_000


def f32(*shape):
    return TensorType(DType.FLOAT32, shape)


def s8(*shape):
    return TensorType(DType.INT8, shape)


def steps(*parts):
    return PointwiseAttrs(tuple(Step(*part) for part in parts))


IMAGE = f32(1, 8, 8, 4)
SSD = DetectionPostprocessAttrs(5, 2, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0)
DETECTED = [TensorType(DType.FLOAT32, shape) for shape in ((1, 9, 4), (1, 9, 2), (9, 4))]
PLACES, SEVEN = (TensorType(DType.INT32, (n,)) for n in (3, 7))

COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
UNSIGNED = (DType.UINT32, DType.UINT64)
LOGICAL = {"logical_and": 2, "logical_not": 1, "logical_or": 2}
REFUSED = [
    ("add", AddAttrs(), [f32(2, 3), f32(2, 4)], "do not broadcast"),
    ("add", AddAttrs(), [f32(2), s8(2)], "inputs are"),
    ("average_pool2d", Pool2dAttrs(kernel=(9, 9)), [IMAGE], "does not fit"),
    ("batch_norm", BatchNormAttrs(), [IMAGE, f32(4), f32(4), f32(3), f32(4)], "mean is"),
    ("batch_norm", BatchNormAttrs(), [IMAGE, f32(4), f32(4), f32(4), s8(4)], "variance is"),
    ("concatenation", ConcatenationAttrs(0), [f32(1, 2), f32(1, 3)], "input 1 is"),
    ("concatenation", ConcatenationAttrs(0), [f32(1, 2), s8(1, 2)], "input 1 is"),
    ("concatenation", ConcatenationAttrs(2), [f32(1, 2)], "axis 2"),
    ("concatenation", ConcatenationAttrs(0, "RELU"), [f32(1, 2)], "fused RELU"),
    ("conv2d", Conv2dAttrs(), [IMAGE, f32(8, 3, 3, 3)], "input channels"),
    ("conv2d", Conv2dAttrs(), [IMAGE, f32(8, 3, 3, 4), f32(9)], "bias is"),
    ("conv2d", Conv2dAttrs(stride=(0, 1)), [IMAGE, f32(8, 3, 3, 4)], "stride is"),
    ("conv2d", Conv2dAttrs(padding="FULL"), [IMAGE, f32(8, 3, 3, 4)], "padding is"),
    ("conv2d", Conv2dAttrs(activation="GELU"), [IMAGE, f32(8, 3, 3, 4)], "fused activation"),
    ("conv2d", Conv2dAttrs(), [IMAGE, s8(8, 3, 3, 4)], "weights"),
    ("depthwise_conv2d", DepthwiseConv2dAttrs(), [IMAGE, f32(1, 3, 3, 6)], "input channels"),
    ("dequantize", NoAttrs(), [f32(2)], "input is"),
    ("fully_connected", FullyConnectedAttrs(), [f32(2, 5), f32(3, 4)], "input f32"),
    ("fully_connected", FullyConnectedAttrs(True), [f32(4, 2), f32(3, 4)], "input f32"),
    ("l2_normalization", L2NormalizationAttrs(), [TensorType(DType.INT16, (2, 3))], "input is s16"),
    ("max_pool2d", Pool2dAttrs(kernel=(2, 2)), [f32(8, 8, 4)], "input is"),
    ("maximum", NoAttrs(), [f32(2)], "missing"),
    ("arg_max", ArgAttrs(2), [f32(2, 3)], "axis 2"),
    ("arg_min", ArgAttrs(0, DType.INT8), [f32(2, 3)], "indices s8"),
    ("batch_matmul", BatchMatmulAttrs(), [f32(2, 3), f32(2, 3)], "do not multiply"),
    ("batch_matmul", BatchMatmulAttrs(), [f32(3), f32(3, 2)], "inputs are"),
    ("batch_matmul", BatchMatmulAttrs(), [s8(2, 2), TensorType(DType.INT16, (2, 2))], "inputs are"),
    ("broadcast_to", BroadcastToAttrs((2, 4)), [f32(3)], "broadcast"),
    ("broadcast_to", BroadcastToAttrs((1,)), [f32(3)], "to [1]"),
    ("cast", CastAttrs(DType.UINT64), [f32(3)], "a cast of"),
    ("depth_to_space", BlockAttrs(2), [f32(1, 2, 2, 6)], "blocks of 2"),
    ("space_to_depth", BlockAttrs(0), [f32(1, 2, 2, 6)], "blocks of 0"),
    ("cumsum", CumsumAttrs(2), [f32(2, 3)], "axis 2"),
    ("div", DivAttrs(), [s8(2), f32(2)], "inputs are s8"),
    ("fake_quantize", FakeQuantizeAttrs(0.5, 200), [f32(2)], "zero point 200"),
    ("fake_quantize", FakeQuantizeAttrs(0.0), [f32(2)], "scale 0.0"),
    ("fake_quantize", FakeQuantizeAttrs(dtype=DType.INT32), [f32(2)], "a grid of int32"),
    ("embedding", EmbeddingAttrs(), [f32(4, 2), f32(3)], "indices are f32"),
    ("embedding", EmbeddingAttrs(1), [f32(4, 2), PLACES], "indices are s32[3]"),
    ("embedding", EmbeddingAttrs(2), [f32(4, 2), PLACES], "table is f32[4,2], behind 2 dimensions"),
    ("embedding", EmbeddingAttrs(-1), [f32(4, 2), PLACES], "behind -1 dimensions"),
    ("gather", GatherAttrs(0, (2,), (1,)), [f32(2)], "indices [2]"),
    ("gather", GatherAttrs(0, (1,), (2,)), [f32(2)], "indices [1]"),
    ("gather_nd", GatherNdAttrs(), [f32(2, 3), PLACES], "places are s32[3]"),
    ("gather_nd", GatherNdAttrs(), [f32(2, 3), f32(4, 1)], "places are f32[4,1]"),
    ("gather_nd", GatherNdAttrs(), [f32(2), TensorType(DType.INT32, ())], "places are s32[]"),
    ("gather_nd", GatherNdAttrs(), [f32(*[1] * 7), SEVEN], "places are s32[7]"),
    ("gather_nd", GatherNdAttrs(), [TensorType(DType.BOOL, (3,)), PLACES], "input is b8[3]"),
    ("log_softmax", NoAttrs(), [f32()], "input is"),
    ("floor_div", NoAttrs(), [s8(2), s8(2)], "inputs are s8"),
    ("floor_mod", NoAttrs(), [f32(2), f32(3)], "do not broadcast"),
    ("pow", NoAttrs(), [f32(2), f32(3)], "do not broadcast"),
    ("prelu", NoAttrs(), [f32(1, 2), f32(3, 2)], "slopes"),
    ("reduce_max", ReduceAttrs((1,)), [f32(2)], "axis 1"),
    ("reduce_min", ReduceAttrs((1,)), [f32(2)], "axis 1"),
    ("reduce_prod", ReduceAttrs((1,)), [f32(2)], "axis 1"),
    ("sum", ReduceAttrs((1,)), [s8(2)], "axis 1"),
    ("resize_bilinear", ResizeAttrs((2, 0)), [IMAGE], "size"),
    ("resize_nearest_neighbor", ResizeAttrs((2, 2), True, True), [IMAGE], "corners"),
    ("select_v2", NoAttrs(), [f32(2), f32(2), f32(2)], "condition"),
    ("dynamic_update_slice", NoAttrs(), [f32(), f32(), PLACES], "input is f32[]"),
    (
        "dynamic_update_slice",
        NoAttrs(),
        [f32(*[1] * 7)] * 2 + [PLACES],
        "input is f32[1,1,1,1,1,1,1]",
    ),
    ("dynamic_update_slice", NoAttrs(), [PLACES, f32(3), PLACES], "the part is f32[3]"),
    ("dynamic_update_slice", NoAttrs(), [f32(2, 3), f32(2, 4), PLACES], "the part is f32[2,4]"),
    ("dynamic_update_slice", NoAttrs(), [f32(2, 3), f32(2), PLACES], "the part is f32[2]"),
    ("dynamic_update_slice", NoAttrs(), [f32(2, 3), f32(2, 3), PLACES], "it begins at s32[3]"),
    (
        *("dynamic_update_slice", NoAttrs()),
        [TensorType(DType.BOOL, (3,)), TensorType(DType.BOOL, (3,)), PLACES],
        "input is b8[3]",
    ),
    ("slice_at", SliceAtAttrs((2,)), [TensorType(DType.INT64, (3,)), PLACES], "input is s64[3]"),
    ("slice_at", SliceAtAttrs((1,) * 7), [f32(*[1] * 7), PLACES], "input is f32[1,1,1,1,1,1,1]"),
    ("slice_at", SliceAtAttrs(()), [f32(), PLACES], "input is f32[]"),
    ("slice_at", SliceAtAttrs((1, 1)), [f32(2, 3), PLACES], "it begins at s32[3]"),
    ("slice_at", SliceAtAttrs((1, 1, 1, 1)), [f32(2, 3, 4), PLACES], "(1, 1, 1, 1) elements of"),
    ("slice_at", SliceAtAttrs((1, 4, 1)), [f32(2, 3, 4), PLACES], "(1, 4, 1) elements of"),
    ("slice_at", SliceAtAttrs((1, 0, 1)), [f32(2, 3, 4), PLACES], "(1, 0, 1) elements of"),
    ("slice", SliceAttrs((0,), (3,), (1,)), [f32(2)], "elements from"),
    ("slice", SliceAttrs((0,), (2,), (1,), (0,)), [f32(2)], "elements from"),
    ("squared_difference", NoAttrs(), [f32(2), f32(3)], "do not broadcast"),
    ("tile", TileAttrs((2, 2)), [f32(2)], "multiples"),
    ("topk_v2", TopkV2Attrs(0), [f32(2, 3)], "the 0 largest of f32[2,3]"),
    ("topk_v2", TopkV2Attrs(4), [f32(2, 3)], "the 4 largest of f32[2,3]"),
    ("topk_v2", TopkV2Attrs(1), [TensorType(DType.BOOL, (3,))], "input is"),
    ("topk_v2", TopkV2Attrs(1), [f32()], "input is f32[]"),
    *((op, NoAttrs(), [TensorType(DType.UINT8, (2,))] * 2, "inputs are u8") for op in COMPARISONS),
    *((op, NoAttrs(), [f32(2), f32(2)][:n], "inputs are") for op, n in LOGICAL.items()),
    ("leaky_relu", LeakyReluAttrs(float("inf")), [f32(2)], "alpha"),
    ("gelu", GeluAttrs(), [None], "missing"),
    *((op, NoAttrs(), [TensorType(DType.INT32, (2,))], "input is s32") for op in PLAIN),
    ("mean", MeanAttrs((4,)), [IMAGE], "axis 4"),
    ("mirror_pad", MirrorPadAttrs(((0, 2),)), [f32(2)], "paddings"),
    ("mirror_pad", MirrorPadAttrs(((0, 1),), "WRAP"), [f32(2)], "mode"),
    ("minimum", NoAttrs(), [f32(0), f32(1)], "the first input is"),
    ("mul", MulAttrs("SIGN_BIT"), [f32(2), f32(2)], "fused activation"),
    ("pad", PadAttrs(((0, 1),)), [f32(2, 2)], "paddings"),
    ("pad", PadAttrs(((0, -1), (0, 0))), [f32(2, 2)], "paddings"),
    ("quantize", QuantizeAttrs(DType.UINT8), [f32(2)], "uint8"),
    ("quantize", QuantizeAttrs(DType.INT16, kept=True), [s8(2)], "kept as s16"),
    ("relu", NoAttrs(), [None], "missing"),
    ("relu6", NoAttrs(), [TensorType(DType.INT64, (2,))], "input is s64"),
    ("relu_n1_to_1", NoAttrs(), [f32(-1, 3)], "input is"),
    ("reshape", ReshapeAttrs((2, -1, -1)), [f32(8)], "new shape"),
    ("reshape", ReshapeAttrs((3, -1)), [f32(8)], "input f32"),
    ("softmax", SoftmaxAttrs(), [f32()], "input is"),
    ("softmax", SoftmaxAttrs(float("nan")), [f32(2)], "beta"),
    ("softmax", SoftmaxAttrs(widen=True), [f32(2)], "input is f32"),
    ("sub", AddAttrs(), [f32(2), f32(3)], "do not broadcast"),
    ("tanh", NoAttrs(), [None], "missing"),
    ("transpose_conv", TransposeConvAttrs((8, 9)), [IMAGE, f32(8, 3, 3, 4)], "an output of [8, 9]"),
    ("transpose_conv", TransposeConvAttrs((9, 8)), [IMAGE, f32(8, 3, 3, 4)], "an output of [9, 8]"),
    ("transpose_conv", TransposeConvAttrs((8, 8)), [IMAGE, f32(8, 3, 3, 3)], "weights"),
    ("transpose", TransposeAttrs((0, 0)), [f32(2, 2)], "permutation"),
    ("pointwise", PointwiseAttrs(()), [f32(2)], "no steps"),
    ("pointwise", steps(("conv2d", NoAttrs(), (0,))), [f32(2)], "conv2d(0)"),
    ("pointwise", steps(("mul", NoAttrs(), (0, 0.5))), [f32(2)], "mul(0, 0.5) with"),
    ("pointwise", steps(("abs", NoAttrs(), (1,))), [f32(2)], "operands of abs(1)"),
    ("pointwise", steps(("abs", NoAttrs(), ())), [f32(2)], "operands of abs()"),
    ("pointwise", steps(("less", NoAttrs(), (0, 0.5))), [f32(2)], "the result is b8"),
    ("svdf", SvdfAttrs(2), [f32(1, 4), f32(3, 4), f32(3, 2), None, f32(1, 6)], "rank 2"),
    ("svdf", SvdfAttrs(), [f32(1, 4), s8(3, 4), f32(3, 2), None, f32(1, 6)], "feature weights s8"),
    (
        "unidirectional_sequence_lstm",
        LstmAttrs(),
        [f32(1, 5, 3), *[f32(4, 3)] * 4, *[f32(4, 5)] * 4, *[f32(4)] * 4, f32(1, 4), f32(1, 4)],
        "input 5 is f32[4,5]",
    ),
    ("batch_norm", BatchNormAttrs(), [s8(2)], "input is s8[2]"),
    ("embedding", EmbeddingAttrs(), [f32(), PLACES], "table is f32[]"),
    ("sub", AddAttrs(), [TensorType(DType.BOOL, (2,))] * 2, "inputs are b8"),
    ("pow", NoAttrs(), [s8(2), s8(2)], "inputs are s8"),
    ("max_pool2d", Pool2dAttrs((9_000, 1), (1, 1)), [IMAGE], "does not fit"),
    ("conv2d", Conv2dAttrs(dilation=(60_000, 1)), [IMAGE, f32(8, 3, 3, 4)], "120,001 elements"),
    ("transpose_conv", TransposeConvAttrs((0, 4)), [IMAGE, f32(8, 3, 3, 4)], "a size of [0, 4]"),
    (
        "unidirectional_sequence_lstm",
        LstmAttrs(),
        [TensorType(DType.INT32, (1, 5, 3)), *[None] * 12, f32(1, 4), f32(1, 4)],
        "input is s32[1,5,3]",
    ),
    *(("add", AddAttrs(), [TensorType(d, (2,))] * 2, f"inputs are {d.short}") for d in UNSIGNED),
    *SIGNAL_REFUSED,
    ("detection_postprocess", SSD, [f32(2, 9, 4), f32(2, 9, 3), f32(9, 4)], "boxes f32[2,9,4]"),
    ("detection_postprocess", SSD, [f32(1, 9, 3), f32(1, 9, 3), f32(9, 4)], "boxes f32[1,9,3]"),
    ("detection_postprocess", SSD, [f32(1, 9, 4), f32(1, 8, 3), f32(9, 4)], "scores f32[1,8,3]"),
    ("detection_postprocess", SSD, [f32(1, 9, 4), f32(1, 9, 3), f32(9, 5)], "anchors f32[9,5]"),
    ("detection_postprocess", SSD, [f32(1, 9, 4), f32(1, 9, 4), f32(9, 4)], "for 2 classes"),
    ("detection_postprocess", SSD, [f32(1, 9, 4), f32(1, 9, 1), f32(9, 4)], "for 2 classes"),
    ("detection_postprocess", SSD, [f32(9, 4), f32(1, 9, 3), f32(9, 4)], "boxes"),
    ("detection_postprocess", SSD, [s8(1, 9, 4), f32(1, 9, 3), f32(9, 4)], "inputs are s8"),
    *(
        ("detection_postprocess", replace(SSD, **changed), DETECTED, says)
        for changed, says in (
            ({"num_classes": 0}, "for 0 classes"),
            ({"max_detections": 0}, "0 detections, 100 of a class"),
            ({"max_detections": 65_537}, "65537 detections"),
            ({"detections_per_class": 0}, "5 detections, 0 of a class"),
            ({"y_scale": 0.0}, "y_scale is 0.0"),
            ({"w_scale": math.inf}, "w_scale is inf"),
            ({"score_threshold": math.nan}, "score_threshold is nan"),
            ({"iou_threshold": 0.0}, "iou_threshold is 0.0"),
            ({"iou_threshold": 1.5}, "iou_threshold is 1.5"),
            ({"h_scale": 1e300}, "h_scale is 1e+300"),
            ({"x_scale": 1e-60}, "x_scale is 1e-60"),
        )
    ),
]


@pytest.mark.parametrize(("op", "attrs", "types", "says"), REFUSED)
def test_what_does_not_fit_is_refused(op, attrs, types, says):
    with pytest.raises(ShapeError) as caught:
        OPS[op].infer(attrs, types)
    assert says in caught.value.problem
    assert caught.value.expected


def test_every_op_refuses_something():
    assert {op for op, *_ in REFUSED} == set(OPS)


small = st.integers(-2, 5)
pairs = st.tuples(small, small) | st.lists(small, max_size=3).map(tuple)
lists = st.lists(small, max_size=5).map(tuple)
FIELDS = {
    "adj_x": st.booleans(),
    "adj_y": st.booleans(),
    "align_corners": st.booleans(),
    "alpha": st.floats(),
    "begin": lists,
    "block": small,
    "dropped": lists,
    "half_pixel_centers": st.booleans(),
    "indices": lists,
    "mode": st.sampled_from(["REFLECT", "SYMMETRIC", ""]),
    "multiples": lists,
    "rank": small,
    "scale": st.floats(),
    "shape": lists,
    "size": pairs | lists,
    "strides": lists,
    "time_major": st.booleans(),
    "approximate": st.booleans(),
    "batch_dims": small,
    "k": small,
    "activation": st.sampled_from(["NONE", "RELU", "RELU6", "GELU", ""]),
    "axes": lists,
    "axis": small,
    "beta": st.floats(),
    "cell_clip": st.floats(),
    "dilation": pairs,
    "dtype": st.sampled_from(DType),
    "exclusive": st.booleans(),
    "from_end": st.booleans(),
    "reverse": st.booleans(),
    "epsilon": st.floats(1e-5, 1.0),
    "keep_dims": st.booleans(),
    "detections_per_class": small,
    "h_scale": st.floats(width=32),
    "iou_threshold": st.floats(-1, 2, width=32),
    "max_detections": small,
    "num_classes": small,
    "score_threshold": st.floats(width=32),
    "use_regular_nms": st.booleans(),
    "w_scale": st.floats(width=32),
    "x_scale": st.floats(width=32),
    "y_scale": st.floats(width=32),
    "keep_num_dims": st.booleans(),
    "kept": st.booleans(),
    "legacy": st.booleans(),
    "widen": st.booleans(),
    "kernel": pairs,
    "new_shape": lists,
    "padding": st.sampled_from(["SAME", "VALID", "FULL"]),
    "paddings": st.lists(pairs, max_size=5).map(tuple),
    "perm": st.permutations(range(4)).map(tuple) | lists,
    "steps": st.lists(
        st.builds(
            Step,
            st.sampled_from([*(name for name, spec in OPS.items() if spec.pointwise), "conv2d"]),
            st.sampled_from([NoAttrs(), MulAttrs(), CastAttrs(DType.INT32)]),
            st.lists(st.integers(-1, 3) | st.floats(), max_size=3).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
    "stride": pairs,
    "value": st.floats(-10, 10),
    "wide": st.booleans(),
    "zero_point": st.integers(-200, 200),
    **SIGNAL_FIELDS,
}
shapes = st.lists(st.integers(1, 6), min_size=4, max_size=4) | st.lists(
    st.integers(-1, 6), max_size=5
)
dtypes = st.sampled_from([DType.FLOAT32] * 6 + [DType.INT8, DType.INT32])
operands = st.none() | st.builds(TensorType, dtypes, shapes.map(tuple))


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(OPS))
@settings(max_examples=sampled(6, 60), deadline=None, derandomize=True)
@given(data=st.data())
def test_hostile_records_are_refused_or_right(op, data):
    """Any attributes on any inputs: a ``ShapeError``, or the shape that the float kernel gives."""
    spec = OPS[op]
    drawn = {f.name: data.draw(FIELDS[f.name], label=f.name) for f in fields(spec.attrs)}
    attrs = spec.attrs(**drawn)
    count = data.draw(st.integers(0, min(spec.arity[1], 5)), label="inputs")
    types = [data.draw(operands, label=f"input {i}") for i in range(count)]
    try:
        output, *_ = spec.infer(attrs, types)
    except ShapeError:
        return
    assert all(d >= 1 for d in output.shape)
    floats = all(t is not None and t.dtype is DType.FLOAT32 for t in types)
    if spec.ref_f32 is not None and floats and np.prod(output.shape) <= LARGEST:
        found, *_ = as_tuple(spec.ref_f32(attrs, *(np.ones(t.shape, np.float32) for t in types)))
        assert (found.shape, found.dtype) == (output.shape, output.dtype.numpy)
