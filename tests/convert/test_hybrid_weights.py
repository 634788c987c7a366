"""Which constants of ops on floats are widened: integers with scales, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from tinyrt.convert.hybrid import dequantize_weights
from tinyrt.convert.tflite.declared import computed_shapes
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

Q = QParams((0.5,), 0)


def adding(x: DType, *operands: Value) -> Graph:
    """A sum of the input and each operand."""
    values = [Value("x", x, (3,), None if x is DType.FLOAT32 else Q), *operands]
    names = [f"y{i}" for i in range(len(operands))]
    values += [Value(name, DType.FLOAT32, (3,)) for name in names]
    nodes = [
        Node("add", name, ("x", operand.name), (name,), AddAttrs())
        for name, operand in zip(names, operands, strict=True)
    ]
    return Graph("net", ("x",), tuple(names), {v.name: v for v in values}, tuple(nodes))


def constant(name: str, dtype: type, q: QParams | None) -> Value:
    return Value.constant(name, np.array([1, 2, 3], dtype), q)


@pytest.mark.parametrize(
    ("x", "operand"),
    [
        (DType.FLOAT32, constant("k", np.int8, None)),
        (DType.FLOAT32, constant("k", np.int16, Q)),
        (DType.FLOAT32, constant("k", np.int32, Q)),
        (DType.FLOAT32, constant("k", np.float32, Q)),
        (DType.FLOAT32, constant("k", np.float32, None)),
        (DType.FLOAT32, Value("x", DType.FLOAT32, (3,))),
        (DType.INT8, constant("k", np.int8, Q)),
    ],
)
def test_other_operands_stay_as_they_are(x, operand):
    graph = adding(x, operand)
    assert dequantize_weights(graph) is graph


def test_a_computed_operand_stays_as_it_is():
    graph = adding(DType.FLOAT32, Value("computed", DType.INT8, (3,), Q))
    assert dequantize_weights(graph) is graph


def test_weights_are_widened_once_for_all_that_read_them():
    k = constant("k", np.int8, Q)
    graph = dequantize_weights(adding(DType.FLOAT32, k, k, constant("other", np.int8, Q)))
    assert [node.op for node in graph.nodes] == ["dequantize", "add", "add", "dequantize", "add"]
    first, second, third = (node for node in graph.nodes if node.op == "add")
    assert first.inputs == second.inputs == ("x", "k/float")
    assert third.inputs == ("x", "other/float")
    for name in ("k/float", "other/float"):
        assert graph.value(name).type == Value(name, DType.FLOAT32, (3,)).type


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT4])
def test_shapes_of_float_layers_with_integer_weights_are_computed(dtype):
    """As those that they become: whatever the file declares."""
    w = Value.constant("w", np.ones((4, 6), np.int8), Q, dtype)
    node = Node("fully_connected", "y", ("x", "w"), ("y",), FullyConnectedAttrs())
    assert computed_shapes(node, [Value("x", DType.FLOAT32, (3, 6)), w]) == ((3, 4),)
    other = replace(w, q=None)
    assert computed_shapes(node, [Value("x", DType.FLOAT32, (3, 6)), other]) == ()
