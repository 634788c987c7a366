"""Other numbers of samples: which models have them, and which nearly do."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.build import Case, build_f32, build_s8
from tests.ops.quantised import constant, f32, graph_of
from tinyrt.errors import ShapeError
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.conv2d import ref_f32 as convolution
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import activate
from tinyrt.ops.shared.batch import batch_of, rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

F32, S32 = np.float32, np.int32


def one(op, shape, attrs, *constants):
    """A graph of one op, which reads its input first."""
    net = Builder(shape)
    return net.graph(net.op(op, ("x", *map(net.constant, constants)), attrs))


TABLE = np.arange(12, dtype=F32).reshape(2, 6)


def absent():
    """A layer whose bias is named, and not there."""
    w = Value.constant("", np.arange(18, dtype=F32).reshape(3, 6))
    return graph_of("fully_connected", FullyConnectedAttrs(), [f32(2, 6), w, None], [f32(2, 3)])


def products_of_samples():
    """A column for each sample, in each sample's row."""
    net = Builder((2, 3))
    return net.graph(net.op("batch_matmul", ("x", "x"), BatchMatmulAttrs(adj_y=True)))


APART = {
    "a layer without its bias": absent(),
    "a running sum of a row": one("cumsum", (2, 3), CumsumAttrs(1)),
    "one along the last axis": one("cumsum", (2, 3), CumsumAttrs(-1)),
    "turned axes of a sample": one("transpose", (2, 2, 3), TransposeAttrs((0, 2, 1))),
    "rows that are joined": one("reshape", (2, 3, 4), ReshapeAttrs((2, 12))),
    "some of a row": one("slice", (2, 6), SliceAttrs((0, 1), (2, 3), (1, 2))),
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
    "each sample times each": products_of_samples(),
}


def assert_apart(graph, feeds):
    """All samples at once are what two of them are, and the next two, and the last two."""
    whole = evaluate(rebatch(graph, 6), feeds)
    parts = [evaluate(graph, {n: x[i : i + 2] for n, x in feeds.items()}) for i in (0, 2, 4)]
    for name, found in whole.items():
        np.testing.assert_array_equal(found, np.concatenate([part[name] for part in parts]))


@pytest.mark.parametrize("name", APART)
def test_ops_that_keep_samples_apart_take_more_of_them(name):
    graph = APART[name]
    x = np.random.default_rng(1).normal(size=(6, *graph.input_values[0].shape[1:])).astype(F32)
    assert_apart(graph, {graph.inputs[0]: x})


@pytest.mark.parametrize("name", MIXED)
def test_ops_that_mix_samples_are_refused(name):
    with pytest.raises(ShapeError, match=r"samples|do not broadcast"):
        rebatch(MIXED[name], 6)


def test_steps_before_samples_are_told():
    shapes = *[(4, 3)] * 4, *[(4, 4)] * 4, *[(4,)] * 4, *[(2, 4)] * 2
    held = [constant(DType.FLOAT32, *shape) for shape in shapes]
    attrs = LstmAttrs(time_major=True)
    ports = [f32(2, 2, 3), *held], [f32(2, 2, 4)]
    with pytest.raises(ShapeError, match="time before samples"):
        rebatch(graph_of("unidirectional_sequence_lstm", attrs, *ports), 6)


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


def test_every_input_has_a_row_for_each_sample():
    net = Builder((2, 3), (1, 3))
    graph = net.graph(net.op("add", ("x", "x1"), AddAttrs()))
    with pytest.raises(ShapeError, match="no batch axis of size 2"):
        rebatch(graph, 6)


def test_a_model_without_inputs_is_one_sample():
    value = Value.constant("c", TABLE)
    assert batch_of(Graph("none", (), ("c",), {"c": value}, ())) == 1
    assert batch_of(one("abs", (), NoAttrs())) == 1
    assert batch_of(one("abs", (2, 3), NoAttrs())) == 2


def test_places_in_a_part_for_each_sample_take_more_of_them():
    ports = [f32(2, 4), replace(f32(2, 3), dtype=DType.INT32)], [f32(2, 3)]
    graph = graph_of("embedding", EmbeddingAttrs(1), *ports)
    rng = np.random.default_rng(3)
    feeds = {"a": rng.normal(size=(6, 4)), "b": rng.integers(0, 4, (6, 3))}
    assert_apart(graph, {"a": feeds["a"].astype(F32), "b": feeds["b"].astype(S32)})


def recurrent(build, rows):
    """An LSTM of two samples, whose states are constants with these rows of drawn ones."""
    wide, square, states = ((3, 4),) * 4, ((3, 3),) * 4, ((2, 3),) * 2
    shapes = (2, 2, 4), *wide, *square, *((3,),) * 4, *states
    case = Case("unidirectional_sequence_lstm", LstmAttrs(), shapes, frozenset(range(1, 15)))
    graph = build(case, np.random.default_rng(4)).graph
    values = {n: graph.value(n) for n in ("in13", "in14")}
    repeated = {n: replace(v, data=v.data[rows]) for n, v in values.items()}
    return replace(graph, values=graph.values | repeated)


def feeds_of(graph, samples=6):
    rng, feeds = np.random.default_rng(5), {}
    for value in graph.input_values:
        shape = samples, *value.shape[1:]
        whole = value.dtype is not DType.FLOAT32
        numbers = rng.integers(-100, 100, shape) if whole else rng.normal(size=shape)
        feeds[value.name] = numbers.astype(value.dtype.numpy)
    return feeds


@pytest.mark.parametrize("build", [build_f32, build_s8])
@pytest.mark.parametrize("rows", [[0, 0], [1, 1]])
def test_a_constant_state_is_that_of_each_sample(build, rows):
    graph = recurrent(build, rows)
    assert_apart(graph, feeds_of(graph))


@pytest.mark.parametrize("build", [build_f32, build_s8])
def test_constant_states_that_differ_are_those_of_as_many_samples(build):
    graph = recurrent(build, [0, 1])
    feeds = feeds_of(graph, 2)
    for name, found in evaluate(rebatch(graph, 2), feeds).items():
        np.testing.assert_array_equal(found, evaluate(graph, feeds)[name])
    with pytest.raises(ShapeError, match="samples have constant states of their own"):
        rebatch(graph, 6)


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


def test_a_state_that_is_computed_has_rows_for_its_own_number_of_samples():
    graph = recurrent(build_f32, [0, 0])
    state, (node,) = graph.value("in13"), graph.nodes
    source = replace(state, name="before")
    values = graph.values | {"before": source, "in13": replace(state, data=None)}
    first = Node("abs", "abs", ("before",), ("in13",), NoAttrs())
    with pytest.raises(ShapeError, match=r"\[6,3\]"):
        rebatch(replace(graph, values=values, nodes=(first, node)), 6)
