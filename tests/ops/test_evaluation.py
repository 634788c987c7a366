"""Graphs run by reference: what is seen on the way, what is kept, what folding may cost."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.ops.quantised import constant, f32, node_of
from tinyrt.budget import limited
from tinyrt.errors import BudgetError
from tinyrt.ir import DType, Value
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import COMPUTING, MOVING, WIDEST, evaluate, folded


def test_every_input_and_result_is_seen_once_in_order():
    graph, seen = small_cnn(), []
    x = np.ones((1, 8, 8, 3), np.float32)

    def see(value, array):
        assert array.shape == value.shape
        seen.append(value.name)

    found = evaluate(graph, {"x": x}, see)
    assert seen == ["x", *(name for node in graph.nodes for name in node.outputs)]
    assert list(found) == list(graph.outputs)


def test_all_inputs_are_seen_as_they_were_given():
    b, seen = Builder((1, 4), (1, 4)), {}
    total = b.op("add", b.inputs, AddAttrs())
    feeds = {n: np.full((1, 4), i, np.float32) for i, n in enumerate(b.inputs, 1)}
    evaluate(b.graph(total), feeds, lambda value, array: seen.update({value.name: array[0, 0]}))
    assert seen == {b.inputs[0]: 1, b.inputs[1]: 2, total: 3}


def test_outputs_stay_although_ops_read_them_too():
    b = Builder((1, 4))
    first = b.op("neg", ("x",))
    second = b.op("abs", (first,))
    graph = b.graph(second, first, "x")
    x = np.arange(4, dtype=np.float32)[None]
    found = evaluate(graph, {"x": x})
    assert list(found) == [second, first, "x"]
    np.testing.assert_array_equal(found[first], -x)
    np.testing.assert_array_equal(found[second], x)
    np.testing.assert_array_equal(found["x"], x)


def constant_node(op, attrs, *shape):
    b = Builder((1, 4))
    b.op(op, (b.constant(np.ones(shape, np.float32)),), attrs)
    return b.graph(next(reversed(b.values))).bind(0)


@pytest.mark.parametrize(
    ("op", "attrs", "copies"),
    [("neg", OPS["neg"].attrs(), COMPUTING), ("reshape", ReshapeAttrs((50, 2)), MOVING)],
)
def test_folding_costs_room_for_copies_of_all_operands(op, attrs, copies):
    node = constant_node(op, attrs, 100)
    need = copies * 2 * 400
    with limited(memory=need, work=need) as budget:
        (found,) = folded(node)
        assert budget.work_used == need
    np.testing.assert_array_equal(found.ravel(), np.full(100, -1 if op == "neg" else 1))
    for limits in ({"memory": need - 1}, {"work": need - 1}):
        with limited(**limits), pytest.raises(BudgetError) as caught:
            folded(node)
        assert f"'{node.output.name}', the constant result of {op}," in caught.value.problem


def test_folding_counts_products_and_the_windows_that_they_take():
    graph = small_cnn()
    node = graph.bind(0)
    x = Value.constant("x", np.ones((1, 8, 8, 3), np.float32))
    node = replace(node, inputs=(x, *node.inputs[1:]))
    macs = OPS["conv2d"].macs(node)
    moved = sum(value.nbytes for value in (*node.inputs, *node.outputs))
    need = COMPUTING * moved + WIDEST * (macs // 8)
    with limited() as budget:
        folded(node)
        assert budget.work_used == need + macs
    with limited(memory=need - 1), pytest.raises(BudgetError):
        folded(node)


BETWEEN_TWO = {"add": "add", "sub": "subtract", "mul": "multiply", "minimum": "minimum"}
"""Op -> the function of NumPy, which answers numbers without dimensions with a number."""


def test_a_layer_without_a_bias_folds_too():
    stored = constant(DType.FLOAT32, 3, 2, fill=2)
    ports = [constant(DType.FLOAT32, 4, 2), stored, None], [f32(4, 3)]
    with limited():
        (found,) = folded(node_of("fully_connected", OPS["fully_connected"].attrs(), *ports))
    np.testing.assert_array_equal(found, np.full((4, 3), 4))


@pytest.mark.parametrize("op", BETWEEN_TWO)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_what_has_no_dimensions_folds_into_an_array(op, dtype):
    b = Builder((1, 4))
    numbers = np.array(6, dtype), np.array(-4, dtype)
    b.op(op, tuple(b.constant(n) for n in numbers), OPS[op].attrs())
    with limited():
        (found,) = folded(b.graph(next(reversed(b.values))).bind(0))
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == ((), dtype)
    assert found == getattr(np, BETWEEN_TWO[op])(*numbers)
