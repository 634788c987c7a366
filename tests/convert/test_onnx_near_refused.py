"""Nodes whose operands nearly have the form that is asked for: each is refused, and says why."""

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.convert.onnx_small import at, conv, dequantised, lstm, quantised, scan, up
from tests.convert.test_onnx_errors import refused
from tests.convert.test_onnx_near_forms import I8, I32, U8, as_float, counted, fused
from tinyrt.errors import TinyrtError

F64 = onnx.TensorProto.DOUBLE


def doubles(m, divisor):
    x = m.op("Cast", m.input(2, 3), to=F64)
    return as_float(m, m.op("Div", x, m.const(divisor, np.float64)))


def padded(m, fill, **attrs):
    return m.op("Pad", m.input(2, 3), m.ints(1, 0, 0, 0), fill, **attrs)


def rotated(m, *shape, pairs=2, **attrs):
    places, angles = m.const([[0, 1, 2]], np.int64), (m.weights(3, pairs), m.weights(3, pairs))
    return fused(m, "RotaryEmbedding", m.input(*shape), places, *angles, **attrs)


def written(m, op, *shape):
    """Nothing is written."""
    indices, updates = m.const(np.zeros((0, *shape)), np.int64), m.const(np.zeros((0, *shape[:-1])))
    if op == "ScatterElements":
        updates = m.const(np.zeros((0, *shape)))
    return at(m, 16).op(op, m.input(2, 3), indices, updates)


def solid(m, op, **attrs):
    """A pool over three dimensions, which is made of taps."""
    return m.op(op, m.input(1, 2, 4, 4, 4), **({"kernel_shape": [2, 2, 2]} | attrs))


POOLS = ("MaxPool", "AveragePool", "LpPool")
REFUSED = {
    "integers and floats": (
        "Add on integers",
        lambda m: as_float(m, m.op("Add", counted(m), m.op("Relu", m.input(2, name="z")))),
    ),
    "integers and floats that are constant": (
        "Add on integers",
        lambda m: as_float(m, m.op("Add", counted(m), m.const([0.5, 1.5]))),
    ),
    "integers and none": (
        "s64[0]",
        lambda m: as_float(m, m.op("Add", counted(m), m.const([], np.int64))),
    ),
    "integers beside constant floats that they are compared with": (
        "Greater on integers",
        lambda m: as_float(m, m.op("Greater", counted(m, I32), m.const([0.5, 1.5]))),
    ),
    "stored integers that are compared": (
        "Greater on a tensor of integers",
        lambda m: as_float(m, m.op("Greater", quantised(m, m.input(2, 3)), quantised(m, "x"))),
    ),
    "integers by a constant matrix": (
        "MatMul on integers that depend",
        lambda m: as_float(
            m, m.op("MatMul", m.op("Reshape", counted(m), m.ints(1, 2)), m.weights(2, 3))
        ),
    ),
    "doubles by zeros": ("the divisor has zeros", lambda m: doubles(m, [1, 0, 2])),
    "a border of no number": (
        "the pad value has shape [0]",
        lambda m: padded(m, m.const([])),
    ),
    "a border of two numbers": (
        "the pad value has shape [2]",
        lambda m: padded(m, m.const([1, 2])),
    ),
    "pads in a matrix": (
        "the pads is int64[2, 2]",
        lambda m: m.op("Pad", m.input(2, 3), m.const([[1, 0], [0, 0]], np.int64)),
    ),
    "a border of integers of no scale": (
        "integers without a scale",
        lambda m: dequantised(
            m, m.op("Pad", m.input(2, 3, dtype=U8), m.ints(1, 0, 0, 0), m.const(3, np.uint8))
        ),
    ),
    "a norm of each place": (
        "spatial=0",
        lambda m: at(m, 7).op(
            "BatchNormalization", m.input(1, 2, 3), *[m.weights(2, low=0.5)] * 4, spatial=0
        ),
    ),
    "a norm that learns": (
        "in training mode",
        lambda m: at(m, 14).op(
            "BatchNormalization", m.input(1, 2, 3), *[m.weights(2, low=0.5)] * 4, training_mode=1
        ),
    ),
    "a variance that leaves nothing to divide by": (
        "the variance is not positive",
        lambda m: m.op(
            "BatchNormalization",
            m.input(1, 2, 3),
            *[m.weights(2, low=0.5)] * 3,
            m.const([1, -0.25]),
            epsilon=0.25,
        ),
    ),
    "eleven dimensions": (
        "expected: 11 labels",
        lambda m: m.op("Einsum", m.input(*[1] * 11), equation="...->..."),
    ),
    "constants of other ranks": (
        "constant weights of shape [1, 3, 4]",
        lambda m: m.op("MatMul", m.weights(2, 3), m.weights(1, 3, 4)),
    ),
    "a dimension without a label": (
        "'ij' in 'ij->i'",
        lambda m: m.op("Einsum", m.input(2, 3, 4), equation="ij->i"),
    ),
    "a dimension too many labels": (
        "'...ijkl' in '...ijkl->i'",
        lambda m: m.op("Einsum", m.input(2, 3, 4), equation="...ijkl->i"),
    ),
    **{
        f"a number in place {place} of a product": (
            "a product with a scalar",
            lambda m, place=place: m.op(
                "MatMul", *sorted([m.input(), m.input(3, name="z")], reverse=place == 1)
            ),
        )
        for place in (0, 1)
    },
    "neighbours of size 0": (
        "LRN of size 0",
        lambda m: m.op("LRN", m.input(1, 2, 3), size=0),
    ),
    "neighbours of two dimensions": (
        "LRN of size 3 of f32[2,3]",
        lambda m: m.op("LRN", m.input(2, 3), size=3),
    ),
    "a scan of opset 8": ("Scan of 1 sequences", lambda m: scan(at(m, 8), m.input(1, 3, 2))),
    "batches that are turned": (
        "turns the dimensions of the batch",
        lambda m: fused(
            m, "FusedMatMul", m.input(2, 3, 4), m.input(2, 4, 3, name="y"), transBatchB=1
        ),
    ),
    "no heads": (
        "0 heads of 4",
        lambda m: fused(m, "MultiHeadAttention", m.input(1, 3, 4), "x", "x", num_heads=0),
    ),
    "integers below those that are computed with": (
        "reaches from -2147483649 to 0",
        lambda m: as_float(m, m.op("Add", counted(m, I32), m.const([0, -(2**31) - 1], np.int64))),
    ),
    "heads that do not part a row": (
        "RotaryEmbedding of [1, 3, 5] by 1 angles",
        lambda m: rotated(m, 1, 3, 5, pairs=1, num_heads=2),
    ),
    "angles of a matrix": ("RotaryEmbedding of [3, 4]", lambda m: rotated(m, 3, 4)),
    "angles of five dimensions": (
        "RotaryEmbedding of [1, 1, 1, 3, 4]",
        lambda m: rotated(m, 1, 1, 1, 3, 4),
    ),
    "a scale of 0": (
        "the scale is [0.0]",
        lambda m: dequantised(m, quantised(m, m.input(2, 3), scale=0.0)),
    ),
    "a third part on another grid": (
        "joins integers of different scales",
        lambda m: dequantised(
            m,
            m.op(
                "Concat",
                *(quantised(m, m.input(2, name=f"x{i}"), s) for i, s in enumerate((0.1, 0.1, 0.2))),
                axis=0,
            ),
        ),
    ),
    "no parts": (
        "indices [0, 1]",
        lambda m: m.op("GatherND", m.input(2, 4), m.const(np.zeros((0, 1)), np.int64)),
    ),
    "no scale": (
        "the scale is []",
        lambda m: dequantised(
            m, m.op("QuantizeLinear", m.input(2, 3), m.const([]), m.const([], np.uint8))
        ),
    ),
    "several zero points of an activation": (
        "an activation has several scales",
        lambda m: m.op("QuantizeLinear", m.input(2, 3), *of_columns(m, [0.1, 0.1, 0.1], [0, 1, 0])),
    ),
    "a zero point beyond the integers": (
        "integers of uint8, and a zero point of int32",
        lambda m: m.op(
            "DequantizeLinear", m.input(2, 3, dtype=U8), m.const(0.1), m.const(300, np.int32)
        ),
    ),
    "integers of two types that are joined": (
        "joins integers of different scales",
        lambda m: m.op(
            "DequantizeLinear",
            m.op("Concat", m.input(2, 3, dtype=U8), m.input(2, 3, name="z", dtype=I8), axis=0),
            m.const(0.1),
        ),
    ),
    "stored integers and another zero point": (
        "integers of uint8, and a zero point of int8",
        lambda m: m.op(
            "Add",
            m.input(2),
            m.op("DequantizeLinear", m.const([1, 2], np.uint8), m.const(0.1), m.const(3, np.int8)),
        ),
    ),
    "an output type beside another zero point": (
        "integers of uint8, and a zero point of int8",
        lambda m: at(m, 21).op(
            "QuantizeLinear", m.input(2, 3), m.const(0.1), m.const(3, np.int8), output_dtype=U8
        ),
    ),
    "one class": (
        "1 rows of coefficients for 1 classes",
        lambda m: m.op(
            "LinearClassifier",
            m.input(2, 3),
            domain="ai.onnx.ml",
            classlabels_ints=[0],
            coefficients=[1.0, 2.0, 3.0],
            intercepts=[0.0],
        ),
    ),
    "a constant as the integers of an activation": (
        "cast to the integers of another",
        lambda m: dequantised(m, m.op("CastLike", m.const([1.0, 2.0]), quantised(m, m.input(2)))),
    ),
    "a first state of one dimension": (
        "a first state, has shape [2]",
        lambda m: lstm(at(m, 14), h0=(2,), layout=1),
    ),
    "no elements that are written": (
        "ScatterElements of [0, 3]",
        lambda m: written(m, "ScatterElements", 3),
    ),
    "no rows that are written": ("ScatterND of [0]", lambda m: written(m, "ScatterND", 2)),
    "a dimension of 0 and one that fills up": (
        "can't take shape [0, -1]",
        lambda m: at(m, 14).op("Reshape", m.input(2, 3), m.ints(0, -1), allowzero=1),
    ),
    **{
        f"negative pads of {op}": (
            "pads of 0 and more",
            lambda m, op=op: solid(m, op, pads=[-1, 0, 0, 0, 0, 0]),
        )
        for op in POOLS
    },
    **{
        f"{op} of more than there is": (
            "a window of [5, 2, 2]",
            lambda m, op=op: solid(m, op, kernel_shape=[5, 2, 2]),
        )
        for op in POOLS
    },
    "a convolution without outputs": (
        "weights [0, 2, 3, 3] with 1 groups",
        lambda m: conv(m, w=(0, 2, 3, 3)),
    ),
    "a turned convolution without outputs": (
        "weights [2, 0, 3, 3] with 1 groups",
        lambda m: up(m, (2, 0, 3, 3)),
    ),
    "three channels in two groups": (
        "weights [3, 2, 3, 3] with 2 groups",
        lambda m: m.op("ConvTranspose", m.input(1, 3, 6, 6), m.weights(3, 2, 3, 3), group=2),
    ),
    **{
        f"negative pads of a turned convolution, {i}": (
            "pads that leave some output",
            lambda m, i=i: up(m, pads=[-(i == j) for j in range(4)]),
        )
        for i in range(4)
    },
}


def of_columns(m, scales, zeros):
    return m.const(scales), m.const(zeros, np.int8)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name, tmp_path):
    told, build = REFUSED[name]
    m = OnnxModel()
    refused(m.save(tmp_path, build(m)), TinyrtError, told)
