"""Ops are written with the lowest version that expresses them: LiteRT's rules, op by op."""

from __future__ import annotations

import pytest
import tflite

from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
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
ROUNDED = [(F32, S8, 1), (F32, S16, 2), (S16, S8, 1), (S8, S16, 2), (S8, S8, 1)]


def version_of(graph: Graph) -> int:
    model = tflite.Model.GetRootAs(write_tflite(graph))
    assert model.OperatorCodesLength() == 1
    return int(model.OperatorCodes(0).Version())


@pytest.mark.parametrize(("op", "attrs", "dtype", "shapes", "version"), CASES)
def test_the_lowest_version_is_written(op, attrs, dtype, shapes, version):
    assert version_of(only_op(op, attrs, dtype, shapes, None)) == version


@pytest.mark.parametrize(("dtype", "to", "version"), ROUNDED)
def test_roundings(dtype, to, version):
    graph = only_op("quantize", QuantizeAttrs(to), dtype, SQUARE, to)
    assert version_of(graph) == version
