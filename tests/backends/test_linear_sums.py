"""Sums of int8 on the host, where one rounding gives every output."""

import numpy as np
import pytest

from tests.ops.quantised import graph_of, s8
from tinyrt.backends.numba.choice import packer_of
from tinyrt.backends.numba.elementwise import MIN_LINEAR, clamped_linear_sum_s8, linear_sum_s8
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.interpreter import Interpreter
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.shared.evaluate import evaluate

A, B = (part.reshape(1, -1) for part in np.meshgrid(*[np.arange(-128, 128, dtype=np.int8)] * 2))


def all_pairs(op, activation, scale, zero_point):
    """The op on all pairs of int8."""
    inputs = [s8(1, A.size, scale=0.031, zp=-5), s8(1, A.size, scale=0.017, zp=20)]
    outputs = [s8(1, A.size, scale=scale, zp=zero_point)]
    return graph_of(op, AddAttrs(activation), inputs, outputs)


def kernel_of(graph):
    """The kernel that is chosen for the only op."""
    node = graph.bind(0)
    tensors = {name: np.zeros(v.shape, v.dtype.numpy) for name, v in graph.values.items()}
    return packer_of(node)(node, OPS[node.op].prepared(node), Workspace(tensors)).kernel


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize(
    ("activation", "zero_point", "ends", "kernel"),
    [
        ("NONE", 3, (-128, 127), linear_sum_s8),
        ("RELU", -20, (-20, 127), clamped_linear_sum_s8),
        ("RELU_N1_TO_1", -128, (-128, -101), clamped_linear_sum_s8),
        ("RELU_N1_TO_1", 0, (-27, 27), clamped_linear_sum_s8),
    ],
)
def test_all_pairs_equal_the_reference(op, activation, zero_point, ends, kernel):
    graph = all_pairs(op, activation, 0.037, zero_point)
    assert kernel_of(graph) is kernel
    interpreter = Interpreter.from_graph(graph, backend="numba")
    interpreter.allocate_tensors()
    for details, data in zip(interpreter.get_input_details(), (A, B), strict=True):
        interpreter.set_tensor(details["index"], data)
    interpreter.invoke()
    (answer,) = interpreter.get_output_details()
    found = interpreter.get_tensor(answer["index"])
    np.testing.assert_array_equal(found, evaluate(graph, {"a": A, "b": B})["y"])
    assert (found.min(), found.max()) == ends


def test_few_elements_are_not_worth_a_search():
    for size, is_linear in ((MIN_LINEAR - 1, False), (MIN_LINEAR, True)):
        inputs = [s8(1, size, scale=0.031), s8(1, size, scale=0.017)]
        graph = graph_of("add", AddAttrs("NONE"), inputs, [s8(1, size, scale=0.037)])
        assert (kernel_of(graph) is linear_sum_s8) is is_linear
