"""Zero points that differ between the slices of a constant, and scales of biases: as in LiteRT."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType

EDGES = np.array([[-128, -127, 0, 126, 127, 1]] * 2, np.int8)


def stored(dtype="INT8", data=EDGES, zero_points=(-128, 127), axis=0, outputs=("y",), more=()):
    """x plus a constant that is dequantised; its slices along the axis have scales of their own."""
    scale = (0.25, 0.7, 3.0, 1.0, 0.1, 0.3)[: len(zero_points)]
    tensors = [
        Tensor("x", data.shape),
        Tensor("k", data.shape, dtype, data, scale=scale, zero_point=zero_points, axis=axis),
        Tensor("w", data.shape),
        Tensor("y", data.shape),
    ]
    ops = [Op("DEQUANTIZE", ["k"], ["w"]), Op("ADD", ["x", "w"], ["y"], "AddOptions"), *more]
    return build(Subgraph(tensors, ops, ["x"], list(outputs)))


@pytest.mark.parametrize(
    "file",
    [
        stored(),
        stored(zero_points=(3, -3, 0, 5, 127, -128), axis=1),
        stored("UINT8", EDGES.view(np.uint8), zero_points=(255, 0)),
    ],
    ids=["rows", "columns", "unsigned"],
)
def test_slices_have_zero_points_of_their_own(file):
    agree(file)
    constant = parse_tflite(file).value("k")
    assert constant.dtype is DType.INT16
    assert constant.q.zero_point == 0


@pytest.mark.parametrize(
    "file",
    [
        stored(outputs=("y", "k")),
        stored(more=[Op("RESHAPE", ["k"], ["y"])]),
        stored("INT16", EDGES.astype(np.int16), zero_points=(1, 2)),
    ],
    ids=["an output", "read by another op", "of 16 bits"],
)
def test_they_are_refused_where_something_else_reads_them(file):
    with pytest.raises(UnsupportedError, match="zero points differ between channels"):
        parse_tflite(file)


@pytest.mark.parametrize("zero_points", [(-129, 0), (0, 128)])
def test_each_is_a_value_of_the_dtype(zero_points):
    with pytest.raises(ModelFormatError, match="quantization has zero_point") as caught:
        parse_tflite(stored(zero_points=zero_points))
    assert caught.value.expected == "-128 to 127"


def test_scales_of_a_bias_lie_along_its_only_dimension():
    """Some files give it the quantised dimension of the filter that it belongs to."""
    ramp = np.arange(-6, 6, dtype=np.int8).reshape(3, 1, 1, 4)
    scale = (0.5, 0.25, 0.125)
    tensors = [
        Tensor("x", (1, 2, 2, 4), "INT8", scale=0.5),
        Tensor("w", (3, 1, 1, 4), "INT8", ramp, scale=scale, zero_point=(0, 0, 0)),
        Tensor("b", (3,), "INT32", np.array([9, -7, 5], np.int32), axis=3, zero_point=(0, 0, 0),
               scale=tuple(s / 2 for s in scale)),
        Tensor("y", (1, 2, 2, 3), "INT8", scale=1.0, zero_point=4),
    ]  # fmt: skip
    op = Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1})
    graph = parse_tflite(build(Subgraph(tensors, [op], ["x"], ["y"])))
    assert graph.value("b").q.axis == 0


def test_zero_points_without_scales_say_nothing():
    tensors = [Tensor("x", (2,), zero_point=(1, 2), scale=()), Tensor("y", (2,))]
    file = build(Subgraph(tensors, [Op("ADD", ["x", "x"], ["y"], "AddOptions")], ["x"], ["y"]))
    assert parse_tflite(file).value("x").q is None
