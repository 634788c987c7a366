"""Other numbers of samples: which models have them, and which nearly do."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import ShapeError
from tinyrt.ir import DType, Graph, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.conv2d import ref_f32 as convolution
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.shared.activation import activate
from tinyrt.ops.shared.batch import batch_of, rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.transpose import TransposeAttrs

F32, S32 = np.float32, np.int32


def one(op, shape, attrs, *constants):
    """A graph of one op, which reads its input first."""
    net = Builder(shape)
    return net.graph(net.op(op, ("x", *map(net.constant, constants)), attrs))


TABLE = np.arange(12, dtype=F32).reshape(2, 6)
APART = {
    "a running sum of a row": one("cumsum", (2, 3), CumsumAttrs(1)),
    "one along the last axis": one("cumsum", (2, 3), CumsumAttrs(-1)),
    "turned axes of a sample": one("transpose", (2, 2, 3), TransposeAttrs((0, 2, 1))),
    "a sum with a table": one("add", (2, 6), AddAttrs(), TABLE[:1]),
}
MIXED = {
    "a running sum of samples": one("cumsum", (2, 3), CumsumAttrs(0)),
    "one from the end": one("cumsum", (2, 3), CumsumAttrs(-2)),
    "turned axes, as many rows as samples": one("transpose", (2, 2, 3), TransposeAttrs((1, 0, 2))),
    "joined samples": one("concatenation", (2, 3), ConcatenationAttrs(0), TABLE[:, :3]),
    "a row of each sample": one("add", (2, 6), AddAttrs(), TABLE),
    "numbers": one("abs", (2,), NoAttrs()),
    "rows of samples": one("embedding", (2, 3), EmbeddingAttrs(), np.array([[0], [1]], S32)),
}


@pytest.mark.parametrize("name", APART)
def test_ops_that_keep_samples_apart_take_more_of_them(name):
    graph = APART[name]
    x = np.random.default_rng(1).normal(size=(6, *graph.input_values[0].shape[1:])).astype(F32)
    (whole,) = evaluate(rebatch(graph, 6), {"x": x}).values()
    parts = [next(iter(evaluate(graph, {"x": x[i : i + 2]}).values())) for i in (0, 2, 4)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("name", MIXED)
def test_ops_that_mix_samples_are_refused(name):
    with pytest.raises(ShapeError, match=r"samples|do not broadcast"):
        rebatch(MIXED[name], 6)


def test_places_in_a_table_are_picked_for_each_sample():
    net = Builder((1, 2))
    net.values["x"] = Value("x", DType.INT32, (1, 2))
    graph = net.graph(net.op("embedding", (net.constant(TABLE.T), "x"), EmbeddingAttrs()))
    x = np.array([[0, 5], [1, 1], [4, 0]], S32)
    (found,) = evaluate(rebatch(graph, 3), {"x": x}).values()
    np.testing.assert_array_equal(found, TABLE.T[x])


def test_a_model_that_keeps_state_has_its_own_number_of_samples():
    graph = replace(one("abs", (2, 3), NoAttrs()), states=(("x", "abs_0"),))
    assert rebatch(graph, 2).nodes == graph.nodes
    with pytest.raises(ShapeError, match="keeps state"):
        rebatch(graph, 3)


def test_a_model_without_inputs_is_one_sample():
    value = Value.constant("c", TABLE)
    assert batch_of(Graph("none", (), ("c",), {"c": value}, ())) == 1
    assert batch_of(one("abs", (2, 3), NoAttrs())) == 2


@pytest.mark.parametrize("x", [F32, np.float64, np.float16, S32])
@pytest.mark.parametrize("w", [F32, np.float64, np.float16])
def test_convolutions_of_numbers_of_any_kind_are_of_the_wider_one(x, w):
    rng = np.random.default_rng(2)
    image = rng.integers(-9, 9, (1, 3, 4, 2)).astype(x)
    filters = rng.integers(-9, 9, (5, 1, 1, 2)).astype(w)
    found = convolution(Conv2dAttrs(), image, filters)
    assert found.dtype == np.result_type(x, w, F32)
    np.testing.assert_array_equal(found, image @ filters[:, 0, 0].T.astype(np.float64))


@pytest.mark.parametrize("dtype", [F32, np.float64, S32])
def test_numbers_of_any_kind_are_clamped(dtype):
    x = np.array([-3, 0, 5, 9], dtype)
    assert activate(x, "RELU6").tolist() == [0, 0, 5, 6]
    assert activate(x, "RELU6").dtype == dtype
