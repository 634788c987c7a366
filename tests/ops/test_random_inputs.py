"""Random inputs reach the whole range of their dtype, and pick nothing that is not there."""

import numpy as np
import pytest

from tinyrt.api import random_inputs
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.reshape import ReshapeAttrs


def picking(dtype: DType, *tables: int) -> Graph:
    """One input that picks rows from tables of so many rows, or a pass through without one."""
    picked = Value("x", dtype, (2, 20))
    constants = [Value.constant(f"table{n}", np.zeros((n, 2), np.float32)) for n in tables]
    values = {v.name: v for v in (picked, *constants)}
    nodes = []
    for n in tables:
        values[f"y{n}"] = Value(f"y{n}", DType.FLOAT32, (2, 20, 2))
        nodes.append(Node("embedding", f"y{n}", (f"table{n}", "x"), (f"y{n}",), EmbeddingAttrs()))
    outputs = tuple(node.outputs[0] for node in nodes) or ("x",)
    graph = Graph("net", ("x",), outputs, values, tuple(nodes))
    return verify(graph) if tables else graph


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT16])
def test_integers_reach_both_ends(dtype):
    (x,) = random_inputs(picking(dtype), 10_000).values()
    limits = np.iinfo(dtype.numpy)
    assert x.shape == (20_000, 20)
    assert (x.dtype, x.min(), x.max()) == (dtype.numpy, limits.min, limits.max)


def test_truth_values_are_both():
    (x,) = random_inputs(picking(DType.BOOL), 3).values()
    assert x.dtype == bool
    assert set(x.reshape(-1).tolist()) == {False, True}


@pytest.mark.parametrize(("tables", "rows"), [((5,), 5), ((9, 3, 7), 3)])
def test_indices_lie_in_every_table_that_they_pick_from(tables, rows):
    (x,) = random_inputs(picking(DType.INT32, *tables), 20).values()
    assert x.dtype == np.int32
    assert set(x.reshape(-1).tolist()) == set(range(rows))


def test_indices_lie_in_their_own_sample_s_table():
    x = Value("x", DType.INT32, (4, 30))
    tables = Value.constant("tables", np.zeros((4, 3, 2), np.float32))
    y = Value("y", DType.FLOAT32, (4, 30, 2))
    values = {v.name: v for v in (x, tables, y, Value("z", DType.INT32, (4, 30)))}
    read = Node("reshape", "z", ("x",), ("z",), ReshapeAttrs((4, 30)))
    pick = Node("embedding", "y", ("tables", "x"), ("y",), EmbeddingAttrs(batch_dims=1))
    graph = verify(Graph("net", ("x",), ("y", "z"), values, (read, pick)))
    assert set(random_inputs(graph, 5)["x"].reshape(-1).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
def test_indices_of_no_table_are_few(dtype):
    (x,) = random_inputs(picking(dtype), 20).values()
    assert x.dtype == dtype.numpy
    assert set(x.reshape(-1).tolist()) == {0, 1}


def test_they_are_the_same_each_time_and_others_with_another_seed():
    graph = picking(DType.FLOAT32)
    one, same, other = (random_inputs(graph, 4, seed)["x"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert one.dtype == np.float32
    assert not np.array_equal(one, other)


def test_a_number_is_drawn_for_each_sample():
    value = Value("x", DType.FLOAT32, ())
    (x,) = random_inputs(Graph("net", ("x",), ("x",), {"x": value}, ()), 5).values()
    assert x.shape == (5,)
