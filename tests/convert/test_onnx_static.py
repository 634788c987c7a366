"""Shape arithmetic that exporters leave is computed on import, as onnxruntime computes it."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.onnx.static import STATIC, STATIC_SEVERAL, Static
from tinyrt.errors import DefectError

I64 = np.int64
Chain = Callable[[OnnxModel], str]

VALUES = (7, -7, 2, 3)
"""Both signs, for division and remainders."""


ROUNDED = (1.0001, -3.1415927, 0.3333333, 1000.3)
"""What types of 16 bits do not hold."""


def chain(m: OnnxModel, op: str, *inputs: str, **attrs) -> str:
    """The op's result on constants, as an addend."""
    return m.op("Cast", m.op(op, *inputs, **attrs), to=1)


def ints(m):
    return m.ints(*VALUES)


def _threes_and_a_four(m):
    return m.op("Add", m.op("EyeLike", m.const(np.zeros((2, 4)), I64), k=-1), m.ints(3))


UNARY = ["Abs", "Ceil", "Exp", "Floor", "Identity", "Neg", "Reciprocal", "Round"]
POSITIVE = ["Cos", "Log", "Sin", "Sqrt"]
BINARY = ["Add", "Div", "Max", "Min", "Mod", "Mul", "Sub", "Sum"]
COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]
REDUCTIONS = ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"]
FLOAT_ONLY = {"Sum", "ReduceMean"}

CHAINS: dict[str, Chain] = {
    **{op: lambda m, op=op: m.op(op, m.const([1.5, -2.5, 0.25, 3])) for op in UNARY},
    **{
        op: lambda m, op=op: m.op(op, m.const([0.5, 2, 4, 9]))
        for op in ("Cos", "Log", "Sin", "Sqrt")
    },
    **{
        op: lambda m, op=op: (
            m.op(op, m.const(VALUES), m.const([2.0]))
            if op in FLOAT_ONLY
            else chain(m, op, ints(m), m.ints(2, 2, -3, 5))
        )
        for op in BINARY
    },
    **{op: lambda m, op=op: chain(m, op, ints(m), m.ints(2, 2, 2, 3)) for op in COMPARISONS},
    **{op: lambda m, op=op: m.op(op, m.weights(3, 4), axes=[0]) for op in REDUCTIONS},
    "ReduceSum": lambda m: m.op("ReduceSum", m.weights(3, 4), m.ints(0), keepdims=0),
    "Pow": lambda m: m.op("Pow", m.const([1, 2, 3, 4]), m.ints(2)),
    "fmod": lambda m: chain(m, "Mod", ints(m), m.ints(2, 2, -3, 5), fmod=1),
    "And": lambda m: chain(m, "And", *bools(m)),
    "Or": lambda m: chain(m, "Or", *bools(m)),
    "Xor": lambda m: chain(m, "Xor", *bools(m)),
    "Cast to 16 bits": lambda m: m.op("Cast", m.op("Cast", m.const(ROUNDED), to=10), to=1),
    "Cast to bfloat16": lambda m: m.op("Cast", m.op("Cast", m.const(ROUNDED), to=16), to=1),
    "CastLike": lambda m: m.op("CastLike", m.ints(*VALUES), m.weights(1)),
    "CumSum": lambda m: m.op("CumSum", m.weights(4), m.const(0, I64), exclusive=1, reverse=1),
    "Trilu": lambda m: m.op("Trilu", m.weights(2, 4), m.const(1, I64)),
    "Trilu of the main diagonal": lambda m: m.op("Trilu", m.weights(2, 4)),
    "Trilu of several": lambda m: m.op("Trilu", m.weights(1, 1, 2, 4)),
    "the lower part": lambda m: m.op("Trilu", m.weights(2, 4), upper=0),
    "Split": lambda m: m.op("Split", m.weights(8), m.ints(4, 4), outputs=2),
    "parts of other sizes": lambda m: m.op(
        "Split", m.weights(2, 6), m.ints(4, 2), axis=1, outputs=2
    ),
    "sums down the columns": lambda m: m.op("CumSum", m.weights(2, 4), m.const(-2, I64)),
    "Not": lambda m: chain(m, "Not", bools(m)[0]),
    "Where": lambda m: m.op("Where", bools(m)[0], m.weights(4), m.weights(4)),
    "Constant": lambda m: m.op("Constant", value_floats=[1.0, 2.0, 3.0, 4.0]),
    "Constant int": lambda m: chain(m, "Identity", m.op("Constant", value_int=3)),
    "Constant float": lambda m: m.op("Constant", value_float=2.5),
    "ConstantOfShape": lambda m: m.op("ConstantOfShape", m.ints(4)),
    "Range": lambda m: chain(m, "Range", *(m.const(v, I64) for v in (8, 0, -2))),
    "Expand": lambda m: m.op("Expand", m.weights(2, 1), m.ints(1, 4)),
    "Tile": lambda m: m.op("Tile", m.weights(2), m.ints(2)),
    "Gather": lambda m: m.op("Gather", m.weights(3, 4), m.const(-1, I64), axis=0),
    "Gather of columns": lambda m: m.op("Gather", m.weights(4, 4), m.const(1, I64), axis=-1),
    "GatherElements along rows": lambda m: m.op(
        "GatherElements", m.weights(2, 4), m.const([[0, -1, 1, 0]] * 2, I64), axis=1
    ),
    "GatherElements": lambda m: m.op(
        "GatherElements", m.weights(3, 4), m.const([[0, -1, 2, -3]], I64), axis=0
    ),
    "GatherND": lambda m: m.op("GatherND", m.weights(3, 2, 4), m.const([[0, -1], [2, 0]], I64)),
    "GatherND of each sample": lambda m: m.op(
        "GatherND", m.weights(2, 3, 4), m.const([[2], [-1]], I64), batch_dims=1
    ),
    "ScatterElements": lambda m: m.op(
        "ScatterElements", m.weights(2, 4), m.const([[1, -2, 0, -1]], I64), m.weights(1, 4), axis=0
    ),
    "ScatterND": lambda m: m.op(
        "ScatterND", m.weights(2, 4), m.const([[1], [-2]], I64), m.weights(2, 4)
    ),
    "Slice": lambda m: m.op("Slice", m.weights(7), *(m.ints(v) for v in (-1, -99, 0, -2))),
    "Concat": lambda m: m.op("Concat", m.weights(1), m.weights(3), axis=-1),
    "NonZero": lambda m: chain(m, "Squeeze", m.op("NonZero", m.ints(1, 1, 0, 1, 1)), m.ints(0)),
    "Reshape": lambda m: m.op("Reshape", m.weights(2, 2), m.ints(-1)),
    "Flatten": lambda m: m.op("Flatten", m.weights(2, 2), axis=0),
    "Transpose": lambda m: m.op("Transpose", m.weights(4, 2)),
    "Unsqueeze": lambda m: m.op("Unsqueeze", m.weights(4), m.ints(0)),
    "Squeeze": lambda m: m.op("Squeeze", m.weights(1, 4)),
    "Shape of an activation": lambda m: chain(m, "Shape", "x"),
    "part of a Shape": lambda m: chain(m, "Shape", "x", start=-1),
    "Size": lambda m: chain(m, "Size", "x"),
    "EyeLike": lambda m: m.op("EyeLike", m.op("Reshape", "x", m.ints(2, 4)), k=2),
    "EyeLike of integers": lambda m: chain(m, "Div", _threes_and_a_four(m), m.ints(2)),
    "EyeLike of a type": lambda m: chain(m, "EyeLike", m.weights(2, 4), k=-9, dtype=7),
}


BITS = ((12, 10, -7, 255), (10, -1, 3, 16))
SHIFTED = ((1, 3, 128, 255), (7, 1, 2, 0))
NEWER: dict[str, Chain] = {
    **{
        op: lambda m, op=op: chain(m, op, *(m.ints(*bits) for bits in BITS))
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
    },
    "BitwiseNot": lambda m: chain(m, "BitwiseNot", m.const(SHIFTED[0], np.uint8)),
    **{
        f"BitShift {way}": lambda m, way=way: chain(
            m, "BitShift", *(m.const(n, np.uint8) for n in SHIFTED), direction=way
        )
        for way in ("LEFT", "RIGHT")
    },
}
"""Those of operator set 18."""


def bools(m):
    return m.const([1, 0, 1, 0], bool), m.const([1, 1, 0, 0], bool)


@pytest.mark.parametrize("name", [*CHAINS, *NEWER])
def test_equals_onnxruntime(name, tmp_path):
    m = OnnxModel(opset=18 if name in NEWER else 15)
    x = m.input(1, 1, 2, 4)
    known = (CHAINS | NEWER)[name](m)
    graph, _ = assert_matches(m.save(tmp_path, m.op("Mul", x, known)))
    assert [node.op for node in graph.nodes] in (["mul"], ["reshape", "mul"])


def test_every_static_op_is_tested():
    used = set()
    for build in (*CHAINS.values(), *NEWER.values()):
        m = OnnxModel(opset=15)
        m.input(1, 1, 2, 4)
        build(m)
        used.update(node.op_type for node in m.nodes)
    assert STATIC.keys() | STATIC_SEVERAL.keys() == used


SLICES = {
    "the ends alone": lambda m: m.op("Slice", m.weights(3, 9), m.ints(1, -4), m.ints(2, 99)),
    "axes, every element": lambda m: m.op(
        "Slice", m.weights(2, 7), m.ints(-4), m.ints(99), m.ints(1)
    ),
    "steps of all axes": lambda m: m.op(
        "Slice", m.weights(4, 9), m.ints(0, 1), m.ints(4, 9), "", m.ints(2, 2)
    ),
}


@pytest.mark.parametrize("name", list(SLICES))
def test_slices_of_constants_name_what_they_need(name, tmp_path):
    m = OnnxModel(opset=15)
    x = m.input(2, 4)
    graph, _ = assert_matches(m.save(tmp_path, m.op("Mul", x, SLICES[name](m))))
    assert [node.op for node in graph.nodes] == ["mul"]


@pytest.mark.parametrize(("op", "expected"), [("Sub", "add"), ("Div", "mul")])
def test_a_constant_operand_is_turned_round(op, expected, tmp_path):
    """Sums and products fold into the layer before; a constant first operand stays one."""
    m = OnnxModel()
    graph = read_onnx(m.save(tmp_path, m.op(op, m.input(2, 4), m.const([3.0, 4, 5, 6]))))
    assert [node.op for node in graph.nodes] == [expected]
    m = OnnxModel()
    graph = read_onnx(m.save(tmp_path, m.op(op, m.const([3.0, 4, 5, 6]), m.input(2, 4))))
    assert [node.op for node in graph.nodes] == [op.lower()]


def test_a_fault_of_the_importer_is_not_laid_upon_the_model(monkeypatch, tmp_path):
    def count(call):
        return len(7)

    monkeypatch.setitem(STATIC, "Abs", Static(count))
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Mul", m.input(4), m.op("Abs", ints(m))))
    with pytest.raises(DefectError, match="TypeError: object of type 'int' has no len"):
        read_onnx(path)


def test_slice_took_attributes_before_opset_10(tmp_path):
    m = OnnxModel(opset=9)
    m.op("Slice", m.weights(3, 9), starts=[1, -4], ends=[2, 99], axes=[0, 1])
    assert_matches(m.save(tmp_path, m.op("Mul", m.input(2, 4), "t0")))


def test_a_reshape_may_be_computed_from_the_batch(tmp_path):
    m = OnnxModel()
    x = m.input("n", 3, 4)
    shape = m.op("Shape", x)
    batch = m.op("Unsqueeze", m.op("Gather", shape, m.const(0, I64)), m.ints(0))
    y = m.op("Reshape", x, m.op("Concat", batch, m.ints(-1), axis=0))
    graph, _ = assert_matches(m.save(tmp_path, m.op("Relu", y)))
    assert graph.output_values[0].shape == (1, 12)
