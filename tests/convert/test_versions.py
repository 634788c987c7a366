"""Ops are written with the lowest version that expresses them: LiteRT's rules, op by op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import tflite

from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES as RANDOM
from tests.ops.cases import rng_of
from tests.sampling import sampled
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.ops import DECODERS, codec_for
from tinyrt.convert.tflite.ops import WRITTEN as IN_FILES
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.log_softmax import LOG_SOFTMAX
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs, Quant
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

F32, S8, S16 = DType.FLOAT32, DType.INT8, DType.INT16
BOOL = DType.BOOL


def only_op(op: str, attrs, dtype: DType, shapes: tuple[Shape, ...], to: DType | None) -> Graph:
    """A graph of one op; integers have one scale, and where an op prescribes its own, that."""
    q = QParams((2.0**-4,), 0) if dtype in (S8, S16) else None
    inputs = [Value(f"x{i}", dtype, shape, q) for i, shape in enumerate(shapes)]
    (kind,) = OPS[op].infer(attrs, [v.type for v in inputs])
    out_q = q if to is None else QParams((2.0**-4,), 0)
    out_q = None if OPS[op].quant is Quant.INPUTS_ONLY else out_q
    forms = OPS[op].forms
    form = {S8: Form.INT8, S16: Form.INT16X8}.get(dtype)
    if form in forms and forms[form].fixed_output is not None:
        scale, zero_point = forms[form].fixed_output
        out_q = QParams((scale,), zero_point)
    values = [*inputs, Value("y", to or kind.dtype, kind.shape, out_q)]
    names = tuple(v.name for v in inputs)
    node = Node(op, "op", names, ("y",), attrs)
    return Graph("net", names, ("y",), {v.name: v for v in values}, (node,))


def cut(rank: int, stride: int = 1) -> SliceAttrs:
    return SliceAttrs((0,) * rank, (1,) * rank, (stride,) * rank)


SQUARE = ((2, 3),)
FIVE, FOUR = (2, 1, 1, 1, 3), (1, 1, 1, 3)
TO_SIX = ResizeAttrs((6, 6), align_corners=True)
CASES = [
    ("transpose", TransposeAttrs((1, 0)), F32, SQUARE, 1),
    ("transpose", TransposeAttrs((1, 0)), S8, SQUARE, 2),
    ("transpose", TransposeAttrs((1, 0)), BOOL, SQUARE, 3),
    ("transpose", TransposeAttrs((0, 1, 2, 4, 3)), S8, (FIVE,), 4),
    ("transpose", TransposeAttrs((1, 0)), S16, SQUARE, 5),
    ("transpose", TransposeAttrs((0, 1, 2, 3, 5, 4)), F32, ((1, *FIVE),), 6),
    ("arg_max", ArgAttrs(1), F32, SQUARE, 1),
    ("arg_max", ArgAttrs(1, DType.INT64), S8, SQUARE, 2),
    ("arg_min", ArgAttrs(0), S8, SQUARE, 2),
    ("slice", cut(2), F32, SQUARE, 1),
    ("slice", cut(2), S8, SQUARE, 2),
    ("slice", cut(2), S16, SQUARE, 4),
    ("slice", cut(5), S8, (FIVE,), 5),
    ("slice", cut(2, 2), F32, SQUARE, 1),
    ("slice", cut(2, 2), BOOL, SQUARE, 3),
    ("slice", cut(5, 2), F32, (FIVE,), 4),
    ("pad", PadAttrs(((0, 1),) * 2), F32, SQUARE, 1),
    ("pad", PadAttrs(((0, 1),) * 5), S8, (FIVE,), 4),
    ("sub", AddAttrs(), F32, (FIVE, FOUR), 3),
    ("sub", AddAttrs(), F32, (FIVE, FIVE), 1),
    ("sub", AddAttrs(), S16, (FIVE, FOUR), 5),
    ("div", DivAttrs(), F32, (FIVE, FOUR), 2),
    ("div", DivAttrs(), F32, (FOUR, FOUR), 1),
    ("maximum", NoAttrs(), S8, (FIVE, FOUR), 3),
    ("maximum", NoAttrs(), S8, (FOUR, FOUR), 2),
    ("leaky_relu", LeakyReluAttrs(0.1), S8, SQUARE, 1),
    ("leaky_relu", LeakyReluAttrs(0.1), S16, SQUARE, 2),
    ("log_softmax", LOG_SOFTMAX.attrs(), F32, SQUARE, 1),
    ("log_softmax", LOG_SOFTMAX.attrs(), S8, SQUARE, 2),
    ("broadcast_to", BroadcastToAttrs((4, 2, 3)), F32, SQUARE, 2),
    ("broadcast_to", BroadcastToAttrs((4, 2, 3)), S8, SQUARE, 3),
    ("tile", TileAttrs((2, 1)), S8, SQUARE, 3),
    ("mirror_pad", MirrorPadAttrs(((0, 1), (0, 1))), S16, SQUARE, 3),
    ("sqrt", NoAttrs(), S8, SQUARE, 2),
    ("sum", ReduceAttrs((1,)), S16, SQUARE, 1),
    *(
        (op, NoAttrs(), dtype, (*SQUARE, *SQUARE), version)
        for op, wide in (
            *(("equal", 4), ("not_equal", 4), ("less", 3), ("less_equal", 1)),
            *(("greater", 1), ("greater_equal", 3)),
        )
        for dtype, version in ((F32, 1), (S8, 2), (S16, wide))
    ),
    ("resize_nearest_neighbor", TO_SIX, F32, ((1, 3, 3, 2),), 3),
    ("resize_bilinear", TO_SIX, F32, ((1, 3, 3, 2),), 1),
    ("resize_bilinear", TO_SIX, S8, ((1, 3, 3, 2),), 2),
]
WRITTEN = {
    **dict.fromkeys(
        ("ceil", "cos", "floor", "logical_and", "logical_not", "logical_or", "neg", "pow", "round"),
        (1,),
    ),
    "detection_postprocess": (1,),
    "floor_mod": (1,),
    "floor_div": (2,),
    **dict.fromkeys(("cast", "sign", "sin", "square"), (1,)),
    **dict.fromkeys(("cumsum", "div", "elu", "hard_swish", "prelu"), (1, 1)),
    **dict.fromkeys(("relu_0_to_1", "relu_n1_to_1"), (1, 1)),
    **dict.fromkeys(("depth_to_space", "space_to_depth", "exp", "gelu", "log"), (1, 2)),
    **dict.fromkeys(("l2_normalization", "log_softmax", "sqrt"), (1, 2)),
    **dict.fromkeys(("abs", "rsqrt"), (1, 2, 3)),
    "resize_bilinear": (1, 2),
    **dict.fromkeys(("reshape", "select_v2"), (1, 1, 1)),
    "leaky_relu": (1, 1, 2),
    **dict.fromkeys(("arg_max", "arg_min", "greater", "less_equal", "sum", "topk_v2"), (1, 2, 1)),
    "squared_difference": (1, 2, 1),
    **dict.fromkeys(("reduce_prod", "transpose_conv"), (1, 2, 2)),
    **dict.fromkeys(("add", "average_pool2d", "max_pool2d", "batch_matmul"), (1, 2, 3)),
    **dict.fromkeys(("concatenation", "mean", "mirror_pad", "pad", "softmax"), (1, 2, 3)),
    **dict.fromkeys(("greater_equal", "less", "logistic", "tanh"), (1, 2, 3)),
    **dict.fromkeys(("reduce_max", "reduce_min", "relu", "relu6"), (1, 2, 3)),
    **dict.fromkeys(("dynamic_update_slice", "gather_nd"), (1, 1, 4)),
    **dict.fromkeys(("embedding", "gather", "equal", "not_equal"), (1, 2, 4)),
    **dict.fromkeys(("maximum", "minimum", "mul", "resize_nearest_neighbor"), (1, 2, 4)),
    "slice": (1, 2, 1),  # with strides
    "slice_at": (1, 2, 4),
    **dict.fromkeys(("sub", "transpose"), (1, 2, 5)),
    "tile": (1, 3, 1),
    "broadcast_to": (2, 3, 3),
    "conv2d": (1, 3, 4),
    "depthwise_conv2d": (1, 3, 5),
    "fully_connected": (1, 4, 7),
}
"""Op -> the lowest version of a file in float, int8 and int16, where it has these forms."""
OF_TYPES = {"dequantize", "quantize"}
"""Their versions are those of the types between which they convert."""
BUILTINS = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
WITH_STATE = {"svdf", "unidirectional_sequence_lstm"}
"""LiteRT reads them and agrees: tests/ops/test_stateful.py."""
CUSTOM = {codec.op for codec in DECODERS.values() if codec.options is not None}
"""TFLM knows them by name, and looks at no version."""
ROUNDED = [(F32, S8, 1), (F32, S16, 2), (S16, S8, 1), (S8, S16, 2), (S8, S8, 1)]


def versions_of(graph: Graph, op: str) -> list[int]:
    """Of all codes by which the op is written."""
    model = tflite.Model.GetRootAs(write_tflite(graph))
    codes = [model.OperatorCodes(i) for i in range(model.OperatorCodesLength())]
    own = {codec_for(node).builtin for node in graph.bound() if node.op == op}
    names = [schema.builtin_name(model, i) for i in range(len(codes))]
    return [int(code.Version()) for code, name in zip(codes, names, strict=True) if name in own]


@pytest.mark.parametrize(
    ("op", "code", "byte", "name"),
    [
        ("add", 0, 0, None),
        ("detection_postprocess", 32, 32, b"TFLite_Detection_PostProcess"),
        ("batch_matmul", 126, 126, None),
        ("cumsum", 128, 127, None),
        ("gelu", 150, 127, None),
        ("sign", 158, 127, None),
    ],
)
def test_codes_that_need_more_than_the_old_byte_are_127_in_it(op, code, byte, name):
    rng = rng_of(op, 0)
    model = tflite.Model.GetRootAs(write_tflite(build_f32(RANDOM[op](rng), rng).graph))
    own = model.OperatorCodes(0)
    found = own.BuiltinCode(), own.DeprecatedBuiltinCode(), own.CustomCode(), own.Version()
    assert found == (code, byte, name, 1)


@pytest.mark.parametrize(
    ("source", "target", "version"),
    [
        (DType.FLOAT32, DType.INT32, 1),
        (DType.INT16, DType.INT32, 1),
        (DType.UINT32, DType.INT32, 2),
        (DType.INT32, DType.UINT32, 2),
        (DType.INT32, DType.INT8, 3),
        (DType.INT8, DType.UINT32, 3),
    ],
)
def test_casts_have_the_version_of_their_types(source, target, version):
    values = {"x": Value("x", source, (3,)), "y": Value("y", target, (3,))}
    node = Node("cast", "op", ("x",), ("y",), CastAttrs(target))
    assert versions_of(Graph("net", ("x",), ("y",), values, (node,)), "cast") == [version]


@pytest.mark.parametrize(("op", "attrs", "dtype", "shapes", "version"), CASES)
def test_the_lowest_version_is_written(op, attrs, dtype, shapes, version):
    assert versions_of(only_op(op, attrs, dtype, shapes, None), op) == [version]


def builds_of(op: str) -> list[Callable]:
    """How random cases of an op are built in float, int8 and int16, as far as there are any."""
    forms = OPS[op].forms
    builds = {Form.FLOAT: build_f32, Form.INT8: build_s8, Form.INT16X8: build_s16}
    return [build for form, build in builds.items() if form is Form.FLOAT or form in forms]


SEEDS = sampled([0, 1, 2, 10], [*range(12)])
"""Of random cases: the lowest version of each form is among them."""


@pytest.mark.parametrize("op", WRITTEN)
def test_every_type_has_its_version(op):
    lowest = []
    for build in builds_of(op):
        cases = [(RANDOM[op](rng), rng) for rng in (rng_of(op, seed) for seed in SEEDS)]
        graphs = [build(case, rng).graph for case, rng in cases]
        lowest.append(min(v for graph in graphs for v in versions_of(graph, op)))
    assert tuple(lowest) == WRITTEN[op]


FORMS = {
    "float": build_f32,
    "int8": build_s8,
    "int16": build_s16,
    "int4": partial(build_s8, weights=DType.INT4),
}
WEIGHTED = {
    "conv2d": ({1, 6}, {3, 6}, {4, 6}, {6, 7}),  # in groups: 6
    "depthwise_conv2d": ({1, 2}, {3}, {5}, {7}),  # dilated in float: 2
    "fully_connected": ({1, 5}, {4, 5, 12}, {7, 12}, {10}),  # keeps dimensions: 5, channels: 12
    "transpose_conv": ({1, 3}, {2, 3}, {2, 3}),  # with a bias: 3
}
"""Op -> all versions that random layers need, with weights of each form."""


@pytest.mark.parametrize("op", WEIGHTED)
def test_layers_have_the_version_of_their_weights_and_form(op):
    for (form, build), versions in zip(FORMS.items(), WEIGHTED[op], strict=False):
        cases = [(RANDOM[op](rng), rng) for rng in (rng_of(op, seed) for seed in range(12))]
        graphs = [build(case, rng).graph for case, rng in cases]
        assert {v for graph in graphs for v in versions_of(graph, op)} == versions, form


def test_every_op_in_a_file_has_its_versions():
    assert {
        *WRITTEN,
        *OF_TYPES,
        *WITH_STATE,
        *CUSTOM,
    } == IN_FILES


@pytest.mark.parametrize(
    ("dtype", "q", "version"),
    [
        (DType.INT4, QParams((0.5,), 0), 6),
        (DType.INT4, QParams((0.5, 0.25), 0, 0), 6),
        (S8, QParams((0.5,), 0), 2),
        (S8, QParams((0.5, 0.25), 0, 0), 5),
    ],
)
def test_weights_that_are_widened(dtype, q, version):
    stored = replace(
        Value.constant("w", np.array([[-8, 7, 1], [2, 0, -3]], np.int8), q), dtype=dtype
    )
    values = [Value("x", F32, (2, 3)), stored, *(Value(n, F32, (2, 3)) for n in ("real", "y"))]
    nodes = [
        Node("dequantize", "real", ("w",), ("real",), NoAttrs()),
        Node("add", "y", ("x", "real"), ("y",), AddAttrs()),
    ]
    graph = Graph("net", ("x",), ("y",), {v.name: v for v in values}, tuple(nodes))
    assert versions_of(graph, "dequantize") == [version]
    assert parse_tflite(write_tflite(graph)).value("w").dtype is dtype


@pytest.mark.parametrize(("dtype", "to", "version"), ROUNDED)
def test_roundings(dtype, to, version):
    graph = only_op("quantize", QuantizeAttrs(to), dtype, SQUARE, to)
    assert versions_of(graph, "quantize") == [version]
