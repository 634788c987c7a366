"""ONNX graphs, values and loops that cannot be read are refused: what, where, what instead."""

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.convert.onnx_small import (
    GOES_ON,
    I64,
    NAN,
    at,
    branch,
    conv,
    dequantised,
    loop,
    quantised,
    resize,
    scan,
    untyped,
)
from tests.convert.test_onnx_errors import refused
from tinyrt.errors import TinyrtError

TWICE = untyped([("Concat", ["x", "x"], ["y"])], [], ["y"])
TWICE.node[0].attribute.append(onnx.helper.make_attribute("axis", 0))
TWO = untyped([("Relu", ["x"], ["y"]), ("Neg", ["x"], ["z"])], [], ["y", "z"])


def positive(m, count):
    return m.op("Greater", m.input(count), m.const([0.0]))


REFUSED = [
    ("input 0 is missing", "", lambda m: m.op("Relu")),
    (
        "input 'nowhere' is not defined",
        "an input, an initialiser or the output of an earlier node",
        lambda m: m.op("Relu", "nowhere"),
    ),
    (
        "the depth has shape [2]",
        "one number",
        lambda m: m.op("OneHot", m.input(2, dtype=I64), m.ints(2, 3), m.const([0, 1])),
    ),
    (
        "the depth is 2.5",
        "a whole number",
        lambda m: m.op("OneHot", m.input(2, dtype=I64), m.const(2.5), m.const([0, 1])),
    ),
    (
        "the shape is float32[2]",
        "a vector of integers",
        lambda m: m.op("Reshape", m.input(2, 3), m.const([3, 2])),
    ),
    (
        "the constant 'c0' holds NaN",
        "numbers",
        lambda m: m.op("Add", m.input(2, 3), m.const([NAN])),
    ),
    (
        "Scan of 0 sequences",
        "opset 9 or later, 1 or more",
        lambda m: scan(m, m.input(3, 2), count=0),
    ),
    (
        "Scan over [3, 4] elements",
        "sequences of one length, at most 4096",
        lambda m: scan(
            m,
            m.input(3, 2),
            m.input(4, 2, name="y"),
            node=("Add", ["e", "f"], ["z"]),
            takes=("e", "f"),
            gives=("z",),
            count=2,
        ),
    ),
    (
        "whether the loop goes on depends on the model's input",
        "a trip count that is known",
        lambda m: loop(
            m,
            3,
            [("Greater", ["s0", m.const([0.0], name="zero")], ["d"]), ("Relu", ["s0"], ["t"])],
            ["t"],
            state=(m.input(1),),
        ),
    ),
    (
        "the condition of If depends on the model's input",
        "a constant",
        lambda m: branch(m, m.op("Greater", m.input(1, dtype=I64), m.const([0], np.int64))),
    ),
    (
        "the branches of If answer [1] and [2]",
        "one shape, where the condition is computed",
        lambda m: branch(m, positive(m, 1), otherwise=TWICE),
    ),
    (
        "the branches of If have 1 and 2 outputs",
        "as many",
        lambda m: branch(m, positive(m, 1), otherwise=TWO),
    ),
    ("a condition of shape [3]", "a scalar", lambda m: branch(m, positive(m, 3))),
    ("a condition of shape [2]", "a scalar", lambda m: branch(m, m.const([True, False], bool))),
    (
        "a scan over integers",
        "numbers",
        lambda m: scan(m, quantised(m, m.input(3, 2)), node=("Identity", ["e"], ["y"])),
    ),
    (
        "a loop gathers integers",
        "numbers",
        lambda m: loop(m, 2, [GOES_ON, ("Identity", [quantised(m, m.input(3, 2))], ["g"])], ["g"]),
    ),
    (
        "the loop never runs, and its outputs are empty",
        "one iteration at least",
        lambda m: loop(m, 0, [GOES_ON, ("Relu", [m.input(2)], ["g"])], ["g"]),
    ),
    ("a body with 2 inputs gets 1", "as many", lambda m: scan(m, m.input(3, 2), takes=("e", "f"))),
    ("a body computes no z", "", lambda m: scan(m, m.input(3, 2), gives=("z",))),
    (
        "Concat joins integers of different scales",
        "one scale and zero point",
        lambda m: dequantised(
            m, m.op("Concat", quantised(m, m.input(1, 2)), quantised(m, "x", 0.2), axis=0)
        ),
    ),
    ("two inputs are called 'x'", "", lambda m: m.op("Add", m.input(2), m.input(2))),
    ("an input has no name", "", lambda m: m.op("Relu", m.input(2, name=""))),
    (
        "the constants define [k] once more",
        "a tensor that nothing before defines",
        lambda m: m.op("Add", m.input(1), m.const([1.0], name=m.const([2.0], name="k"))),
    ),
    (
        "attribute 'keep_aspect_ratio_policy' is [bent]",
        "stretch, not_larger, not_smaller",
        lambda m: resize(at(m, 18), sizes=[1, 2, 8, 8], keep_aspect_ratio_policy="bent"),
    ),
    ("attribute 'strides' is [1, 1, 1]", "2 integers", lambda m: conv(m, strides=[1, 1, 1])),
    (
        "attribute 'body' is missing",
        "a graph",
        lambda m: m.op("Scan", m.input(3, 2), num_scan_inputs=1),
    ),
    ("attribute 'strides' is of type INT", "INTS", lambda m: conv(m, strides=1)),
    (
        "a border of integers without a scale",
        "a border whose integer is given, behind QuantizeLinear",
        lambda m: dequantised(m, m.op("Pad", quantised(m, m.input(1, 2)), m.ints(0, 1, 0, 1))),
    ),
    (
        "scales per block",
        "one scale, or one per channel",
        lambda m: quantised(at(m, 21), m.input(4, 4), block_size=2),
    ),
    (
        "1 scales and 2 zero points",
        "as many",
        lambda m: m.op("QuantizeLinear", m.input(1, 2), m.const(0.1), m.const([1, 2], np.uint8)),
    ),
    (
        "2 scales along axis 1 of [1, 3]",
        "one scale, or one per slice",
        lambda m: m.op(
            "QuantizeLinear", m.input(1, 3), m.const([0.1, 0.2]), m.const([1, 2], np.uint8)
        ),
    ),
    (
        "a tensor is quantised to FLOAT8E4M3FN",
        "int8, uint8, int16, uint16",
        lambda m: at(m, 21).op(
            "QuantizeLinear",
            m.input(1, 3),
            m.const(0.1),
            output_dtype=onnx.TensorProto.FLOAT8E4M3FN,
        ),
    ),
    (
        "a tensor is quantised to int32",
        "int8, uint8, int16, uint16",
        lambda m: m.op("QuantizeLinear", m.input(1, 3), m.const(0.1), m.const(0, np.int32)),
    ),
    (
        "the operand is float32",
        "integers",
        lambda m: m.op("Add", m.input(3), m.op("DequantizeLinear", m.weights(3), m.const(0.1))),
    ),
    (
        "QLinearAveragePool with channels last",
        "channels_last = 0",
        lambda m: m.op(
            "QLinearAveragePool",
            quantised(m, m.input(1, 2, 4, 4)),
            m.const(0.1),
            m.const(3, np.uint8),
            m.const(0.1),
            m.const(3, np.uint8),
            domain="com.microsoft",
            channels_last=1,
            kernel_shape=[2, 2],
        ),
    ),
    (
        "axes [5] of 2 dimensions",
        "different axes that exist",
        lambda m: m.op("Squeeze", m.input(1, 3), m.ints(5)),
    ),
    (
        "shape [2, 3, 0] copies more dimensions than [2, 3]",
        "",
        lambda m: m.op("Reshape", m.input(2, 3), m.ints(2, 3, 0)),
    ),
    ("[2, 3] can't take shape [4, 2]", "", lambda m: m.op("Reshape", m.input(2, 3), m.ints(4, 2))),
    ("axis 5 of 2 dimensions", "", lambda m: m.op("Flatten", m.input(2, 3), axis=5)),
    ("axes [0] of [2, 3]", "dimensions of 1", lambda m: m.op("Squeeze", m.input(2, 3), m.ints(0))),
    ("axes are missing", "", lambda m: m.op("Unsqueeze", m.input(2, 3))),
    (
        "permutation [0, 0] of 2 dimensions",
        "",
        lambda m: m.op("Transpose", m.input(2, 3), perm=[0, 0]),
    ),
    (
        "parts of different ranks are joined",
        "one rank",
        lambda m: m.op(
            "Reshape", m.input(2), m.op("Concat", m.ints(1), m.const([[2]], np.int64), axis=0)
        ),
    ),
    (
        "a range from 0.0 to inf by 1.0",
        "an end",
        lambda m: m.op(
            "Add", m.input(2), m.op("Range", m.const(0.0), m.const(np.inf), m.const(1.0))
        ),
    ),
    (
        "the op's constant operands do not fit together: shape mismat",
        "",
        lambda m: m.op("Add", m.input(2), m.op("Add", m.weights(2), m.weights(3))),
    ),
    (
        "a cast to STRING",
        "float, double, float16, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, bool",
        lambda m: m.op("Add", m.input(2), m.op("Cast", m.weights(2), to=onnx.TensorProto.STRING)),
    ),
    (
        "a diagonal of STRING",
        "float, double, float16, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, bool",
        lambda m: m.op("EyeLike", m.input(2, 2), dtype=onnx.TensorProto.STRING),
    ),
    (
        "EyeLike of [2]",
        "a matrix",
        lambda m: m.op("EyeLike", m.input(2)),
    ),
    (
        "the op's constant operands do not fit together: integer division by zero",
        "",
        lambda m: m.op("Reshape", m.input(2), m.op("Div", m.ints(2), m.ints(0))),
    ),
    (
        "Trilu of [2]",
        "matrices",
        lambda m: m.op("Add", m.input(2), at(m, 14).op("Trilu", m.weights(2))),
    ),
    (
        "constants of bool have no result here",
        "types that ONNX has for this op",
        lambda m: m.op("Add", m.input(1), m.op("Neg", m.const([True], bool))),
    ),
    (
        "OneHot of 3 classes with values [3]",
        "1 to 4,096 classes, two values",
        lambda m: m.op("OneHot", m.input(2, dtype=I64), m.const(3, np.int64), m.const([0, 1, 2])),
    ),
    (
        "GatherND of indices [1] into f32[2,3], batch_dims 1",
        "dimensions of the batch that are equal",
        lambda m: m.op("GatherND", m.input(2, 3), m.ints(0), batch_dims=1),
    ),
    (
        "indices [1] into f32[2,3]",
        "places that lie in its first dimensions, at least one",
        lambda m: m.op("GatherND", m.input(2, 3), m.ints(7)),
    ),
    (
        "starts [0], ends [1, 2], axes [0], steps [1]",
        "lists of one length, steps other than 0",
        lambda m: m.op("Slice", m.input(2, 3), m.ints(0), m.ints(1, 2)),
    ),
    (
        "indices into dimension 0 of f32[2,3]",
        "-2 to 1, at least one",
        lambda m: m.op("Gather", m.input(2, 3), m.ints(5)),
    ),
    (
        "f32[2,3] does not broadcast to [2, 4]",
        "",
        lambda m: m.op("Expand", m.input(2, 3), m.ints(2, 4)),
    ),
]


@pytest.mark.parametrize(("says", "expected", "build"), REFUSED)
def test_what_cannot_be_read_is_refused(says, expected, build, tmp_path):
    m = OnnxModel()
    error = refused(m.save(tmp_path, build(m)), TinyrtError, says, expected)
    assert says in error.problem
