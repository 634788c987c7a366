"""Files whose ops nearly are what the reader asks for: answers by hand, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
import tflite

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, single
from tests.ops.corners.recurrent import recurrent
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.tensors import TensorReader
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import TinyrtError, UnsupportedError
from tinyrt.ir import DType, QParams
from tinyrt.ops import verify
from tinyrt.ops.shared.evaluate import evaluate


def ints(name, *numbers, shape=None, dtype=np.int32):
    data = np.array(numbers, dtype)
    return Tensor(name, data.shape if shape is None else shape, f"{data.dtype.name.upper()}", data)


def grid(name, numbers=None, scale=0.5):
    data = None if numbers is None else np.array(numbers, np.int8)
    return Tensor(name, (3,), "INT8", data, scale)


def test_a_sum_of_stored_numbers_is_one_of_what_they_stand_for():
    """2 + 3 on grids of 0.5 and 1 is 5: of the integers 4 and 3 it is not their sum."""
    tensors = [grid("a", [4, 4, 4]), grid("b", [3, 3, 3], 1.0), grid("t"), grid("x"), grid("y")]
    ops = [Op("ADD", ["a", "b"], ["t"], "AddOptions"), Op("ADD", ["t", "x"], ["y"], "AddOptions")]
    graph = parse_tflite(build(Subgraph(tensors, ops, ["x"], ["y"])))
    found = evaluate(graph, {"x": np.array([0, 2, 4], np.int8)})["y"]
    assert found.tolist() == [10, 12, 14]


def test_all_that_is_not_0_is_true():
    truth = Tensor("t", (3,), "BOOL", np.array([0, 2, 1], np.uint8))
    floats = [Tensor(name, (3,)) for name in "xy"]
    ones = Tensor("o", (3,), data=np.ones(3, np.float32))
    op = Op("SELECT", ["t", "x", "o"], ["y"], "SelectOptions")
    graph = parse_tflite(build(Subgraph([truth, *floats, ones], [op], ["x"], ["y"])))
    assert graph.value("t").data.tolist() == [False, True, True]
    found = evaluate(graph, {"x": np.array([5, 6, 7], np.float32)})["y"]
    assert found.tolist() == [1, 6, 7]


@pytest.mark.parametrize("wide", [True, False])
def test_truth_of_one_dimension_chooses_rows(wide):
    shape = (2, 3) if wide else (2,)
    truth = Tensor("t", (2,), "BOOL", np.array([1, 0], np.uint8))
    floats = [Tensor(name, shape) for name in "xy"]
    ones = Tensor("o", shape, data=np.ones(shape, np.float32))
    op = Op("SELECT", ["t", "x", "o"], ["y"], "SelectOptions")
    graph = parse_tflite(build(Subgraph([truth, *floats, ones], [op], ["x"], ["y"])))
    x = np.full(shape, 5, np.float32)
    rows = np.array([True, False]).reshape(2, *(1,) * (len(shape) - 1))
    found = evaluate(graph, {"x": x})["y"]
    np.testing.assert_array_equal(found, np.where(rows, x, 1))


X, Y = Tensor("x", (2, 3)), Tensor("y", (2, 3))


def beside(builtin, *tensors):
    """An op on constants alone, beside one on the model's input."""
    ops = [Op(builtin, [t.name for t in tensors[:-1]], ["y"]), Op("ABS", ["x"], ["z"])]
    ports = [X, Tensor("z", (2, 3))]
    return build(Subgraph([*tensors, *ports], ops, ["x"], ["z", "y"]))


def twice(first, second):
    """Two ops that define one tensor."""
    other = Tensor("k", (2, 3), data=np.ones((2, 3), np.float32))
    return build(Subgraph([X, Y, other], [first, second], ["x"], ["y"]))


ABS, OF_CONSTANT = Op("ABS", ["x"], ["y"]), Op("ABS", ["k"], ["y"])
FLOAT, RANGE = Tensor("s", (), "FLOAT32", np.float32(0)), Tensor("y", (3,), "INT32")
LIMIT, STEP = ints("l", 3, shape=()), ints("d", 1, shape=())
REFUSED = {
    "an axis behind all": (
        "axis 2",
        single("GATHER", [X, ints("i", 0), Tensor("y", (2, 1))], "GatherOptions", Axis=2),
    ),
    "a place below all": (
        "an index lies outside",
        single("GATHER_ND", [X, ints("i", 0, -1, shape=(2, 1)), Y]),
    ),
    "a place above all": (
        "an index lies outside",
        single("GATHER_ND", [X, ints("i", 0, 2, shape=(2, 1)), Y]),
    ),
    "blocks of all dimensions": (
        "blocks [1, 1]",
        single("SPACE_TO_BATCH_ND", [X, ints("b", 1, 1), ints("p", 0, 0, 0, 0, shape=(2, 2)), Y]),
    ),
    "blocks of 0": (
        "blocks [0]",
        single("SPACE_TO_BATCH_ND", [X, ints("b", 0), ints("p", 0, 0, shape=(1, 2)), Y]),
    ),
    "pairs of another dimension": (
        "blocks [1]",
        single("SPACE_TO_BATCH_ND", [X, ints("b", 1), ints("p", 0, 0, 0, 0, shape=(2, 2)), Y]),
    ),
    "several numbers to pad with": (
        "what to pad with",
        single(
            "PADV2",
            [X, ints("p", 0, 0, 0, 0, shape=(2, 2)), ints("v", 1, 2, dtype=np.float32), Y],
        ),
    ),
    "a mirror of mode 2": (
        "in mode 2",
        single(
            "MIRROR_PAD", [X, ints("p", 0, 0, 0, 0, shape=(2, 2)), Y], "MirrorPadOptions", Mode=2
        ),
    ),
    "a range from a float": ("the start of RANGE", beside("RANGE", FLOAT, LIMIT, STEP, RANGE)),
    "a range from two numbers": (
        "the start of RANGE",
        beside("RANGE", ints("s", 0, 1), LIMIT, STEP, RANGE),
    ),
    "numbers without zeros of another type": (
        "DENSIFY of",
        beside("DENSIFY", ints("k", 1, 2, 3), Tensor("y", (3,))),
    ),
    "numbers without zeros on another grid": (
        "DENSIFY of",
        beside("DENSIFY", grid("k", [1, 2, 3]), grid("y", None, 0.25)),
    ),
    "a constant that an op has computed": ("'y' is defined twice", twice(ABS, OF_CONSTANT)),
    "a value that is a constant": ("'y' is defined twice", twice(OF_CONSTANT, OF_CONSTANT)),
}


def assert_refused(told: str, data: bytes) -> None:
    """Reading the file ends in an error with these words."""
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(data)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    assert_refused(*REFUSED[name])


def kept(**changes):
    """An op that keeps a state of zeros, which begins anew in each run."""
    graph = recurrent()["svdf: 17 units"].graph
    state = graph.value("in4")
    zeros = np.full(state.shape, changes.get("fill", state.q.zero_point), state.dtype.numpy)
    values = graph.values | {"in4": replace(state, data=zeros)}
    outputs = ("out", "out1") if changes.get("read") else ("out",)
    return replace(graph, inputs=("in0",), outputs=outputs, values=values)


def test_a_state_of_zeros_that_nobody_reads_comes_back_as_it_was():
    graph = kept()
    read = parse_tflite(write_tflite(graph), graph.name)
    (node,) = read.bound()
    assert node.op == "svdf"
    np.testing.assert_array_equal(node.input(4).data, graph.value("in4").data)


@pytest.mark.parametrize("changes", [{"fill": 3}, {"read": True}], ids=["not zeros", "read"])
def test_other_constant_states_cannot_be_written(changes):
    with pytest.raises(UnsupportedError, match="give this op its state"):
        write_tflite(kept(**changes))


def test_two_ops_that_begin_with_one_constant_have_states_of_their_own():
    graph = kept()
    (node,) = graph.nodes
    other = replace(node, name="other", outputs=("other", "after"))
    made = {
        n: replace(graph.value(old), name=n)
        for n, old in zip(other.outputs, node.outputs, strict=True)
    }
    both = verify(
        replace(
            graph,
            outputs=("out", "other"),
            nodes=(node, other),
            values=graph.values | made,
        )
    )
    read = parse_tflite(write_tflite(both), both.name)
    assert [n.op for n in read.nodes] == ["svdf", "svdf"]
    assert len({n.inputs[4] for n in read.nodes}) == 2


LIST = np.array([3, -1], np.int32)
TENSORS = {
    "a list": (Tensor("t", (2,), "INT32", LIST), DType.INT32, None, [3, -1]),
    "no entries": (Tensor("t", (0,), "INT32"), DType.INT32, None, []),
    "no wide entries": (Tensor("t", (0,), "INT64"), DType.INT64, None, []),
    "no bytes of weights": (Tensor("t", (0,), "INT8"), DType.INT8, None, None),
    "no real numbers": (Tensor("t", (0,)), DType.FLOAT32, None, None),
    "no rows": (Tensor("t", (0, 2), "INT64"), DType.INT64, None, None),
    "a computed list": (Tensor("t", (2,), "INT64"), DType.INT64, None, None),
    "a computed number": (Tensor("t", (), "INT32"), DType.INT32, None, None),
    "truth": (Tensor("t", (3,), "BOOL", np.uint8([0, 2, 1])), DType.BOOL, None, [0, 1, 1]),
    "half bytes": (
        Tensor("t", (3,), "INT4", np.uint8([0x2F, 0x08])),
        DType.INT4,
        None,
        [-1, 2, -8],
    ),
    "a scale": (Tensor("t", (2,), "INT8", scale=0.5, zero_point=3), DType.INT8, ((0.5,), 3), None),
    "scales of slices, of an axis that is not there": (
        *(Tensor("t", (2,), "INT32", LIST, scale=[0.5, 1], axis=3), DType.INT32),
        *(((0.5, 1.0), 0, 0), [3, -1]),
    ),
    "a variable's name": (Tensor("t", (), "RESOURCE"), DType.INT32, None, None),
}
"""What is written -> dtype, quantisation and elements of what is read."""


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_is_read_whole(name):
    written, dtype, q, elements = TENSORS[name]
    data = build(Subgraph([written], [], [], []))
    model = tflite.Model.GetRootAs(data)
    (found,) = TensorReader(data, model, model.Subgraphs(0)).read()
    shape = (1,) if written.dtype == "RESOURCE" else written.shape
    assert (found.name, found.dtype, found.shape) == ("t", dtype, shape)
    assert found.q == (q and QParams(*q))
    assert (found.data is None) is (elements is None)
    if elements is not None:
        np.testing.assert_array_equal(found.data, np.array(elements, dtype.numpy), strict=True)


def test_tensors_have_names_of_their_own():
    written = [Tensor(name, (1,), variable=name == "a") for name in ("a", "", "a", "a:2", "a")]
    data = build(Subgraph(written, [], [], []))
    model = tflite.Model.GetRootAs(data)
    reader = TensorReader(data, model, model.Subgraphs(0))
    names = [value.name for value in reader.read()]
    assert names == ["a", "tensor_1", "a:2", "a:2:3", "a:4"]
    assert reader.changing == {"a", "a:2", "a:4"}
