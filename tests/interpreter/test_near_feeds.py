"""What a model is fed with, and what it is nearly fed with; what it answers is the caller's."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.data import ArrayType
from tinyrt.errors import DataError, NotAllocatedError, ShapeError
from tinyrt.interpreter import Interpreter
from tinyrt.interpreter.feeds import (
    check_types,
    fitting,
    named,
    new_batch,
    rows_of,
    stored,
    whole_runs,
)
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs

F32, S32 = np.float32, np.int32


def two_inputs():
    net = Builder((2, 3), (2, 3), (1, 3))
    joined = net.op("concatenation", ("x", "x1", "x2"), ConcatenationAttrs(0))
    return net.graph(net.op("abs", (joined,)))


def one(shape):
    net = Builder(shape)
    return net.graph(net.op("abs", ("x",), NoAttrs()))


SHAPES = {
    "rows": ((1, 3), (5, 3), True),
    "one row": ((1, 3), (1, 3), True),
    "no rows": ((1, 3), (0, 3), False),
    "a row without an axis of rows": ((1, 3), (3,), False),
    "another length": ((1, 3), (5, 4), False),
    "a dimension more": ((1, 3), (5, 3, 1), False),
    "rows of nothing": ((1, 3), (5, 0), False),
    "numbers": ((4,), (8,), True),
    "a single number for numbers": ((4,), (), False),
    "no numbers": ((4,), (0,), False),
    "numbers for a single one": ((), (7,), True),
    "a single number": ((), (), False),
    "rows for a single number": ((), (7, 1), False),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_a_model_is_fed_with(name):
    own, given, taken = SHAPES[name]
    graph = one(own)
    call = ({"x": ArrayType(given, np.dtype(F32))}, rows_of(graph))
    if taken:
        check_types(graph, *call)
    else:
        with pytest.raises(DataError) as caught:
            check_types(graph, *call)
        assert caught.value.problem == f"the data have shape {given}"


@pytest.mark.parametrize(
    ("count", "end"), [(1, "named 'y0'"), (8, ", 'y7'"), (9, ", 'y7' and 1 more")]
)
def test_eight_names_are_listed_and_others_counted(count, end):
    graph = one((1, 3))
    types = {f"y{i}": ArrayType((5, 3), np.dtype(F32)) for i in range(count)}
    with pytest.raises(DataError) as caught:
        check_types(graph, types, rows_of(graph))
    assert caught.value.problem.endswith(end)
    assert caught.value.expected == "'x'"


@pytest.mark.parametrize(
    ("value", "to"),
    [
        (Value("x", DType.INT8, (1, 3), QParams((0.5,), 0)), "float32"),
        (Value("x", DType.FLOAT32, (1, 3)), "float32"),
        (Value("x", DType.INT32, (1, 3)), "int32"),
    ],
)
def test_arrays_of_another_type_are_to_be_real_where_the_input_is(value, to):
    """A cast makes no raw values of real ones."""
    graph = one((1, 3))
    graph = replace(graph, values=graph.values | {"x": value})
    with pytest.raises(DataError, match="the data have dtype int16") as caught:
        check_types(graph, {"x": ArrayType((5, 3), np.dtype(np.int16))}, rows_of(graph))
    assert caught.value.hint == f"convert the array: x.astype('{to}')"


@pytest.mark.parametrize(
    ("lengths", "taken"),
    [
        ((2, 2, 1), True),
        ((4, 4, 2), True),
        ((4, 4, 1), False),
        ((4, 5, 2), False),
        ((5, 4, 2), False),
        ((5, 5, 2), False),
        ((3, 2, 1), False),
    ],
)
def test_inputs_of_several_rows_have_as_many_runs(lengths, taken):
    graph = two_inputs()
    types = {n: ArrayType((k, 3), np.dtype(F32)) for n, k in zip(graph.fed, lengths, strict=True)}
    if taken:
        check_types(graph, types, rows_of(graph))
    else:
        with pytest.raises(DataError, match="different numbers of samples"):
            check_types(graph, types, rows_of(graph))


@pytest.mark.parametrize(
    ("name", "size", "closed", "batch"),
    [
        ("x", (5, 3), False, 5),
        ("x", (1, 3), True, 1),
        ("x", (5, 3), True, None),
        ("x", (5, 4), False, None),
        ("x", (3,), False, None),
        ("x", (), False, None),
        ("abs_0", (5, 3), False, None),
    ],
)
def test_sizes_that_inputs_may_have(name, size, closed, batch):
    graph = one((1, 3))
    if batch is not None:
        assert new_batch(graph, graph.value(name), size, closed) == batch
    else:
        with pytest.raises(DataError, match="cannot resize"):
            new_batch(graph, graph.value(name), size, closed)
    with pytest.raises(ShapeError, match="no batch axis"):
        new_batch(one(()), one(()).value("x"), size, closed)


WIDE = np.array([-(2**40), -3, 5, 2**31], np.int64)
PLACES, SCALED = Value("x", DType.INT32, (4,)), Value("x", DType.INT32, (4,), QParams((0.5,), 0))


def test_wide_integers_are_limited_and_others_are_as_they_are():
    found = fitting(PLACES, WIDE, 0)
    assert (found.tolist(), found.dtype) == ([-(2**31), -3, 5, 2**31 - 1], np.dtype(S32))
    narrow = WIDE[1:3].astype(S32)
    assert fitting(PLACES, narrow, 0) is narrow
    assert fitting(replace(PLACES, dtype=DType.INT64), WIDE, 0) is WIDE


@pytest.mark.parametrize("dtype", [F32, np.float64, np.float16])
def test_real_values_of_wide_integers_are_rounded_in_their_scale(dtype):
    x = np.array([-1.3, 0.4, 2.5], dtype)
    found = fitting(SCALED, x, 0)
    assert found.dtype == F32
    assert stored(SCALED, found).tolist() == [-3, 1, 5]


@pytest.mark.parametrize("threads", [0, -1, 1.0, "1"])
def test_threads_are_a_whole_number_of_at_least_one(threads):
    with pytest.raises(DataError, match="num_threads is"):
        Interpreter.from_graph(small_cnn(), num_threads=threads)


def test_constants_are_not_set():
    interpreter = Interpreter(model_content=write_tflite(small_cnn()))
    interpreter.allocate_tensors()
    constants = [
        (d["index"], d["shape"])
        for d in interpreter.get_tensor_details()
        if interpreter._value(d["index"]).is_constant
    ]
    assert constants
    for index, shape in constants:
        with pytest.raises(DataError, match="the value is"):
            interpreter.set_tensor(index, np.zeros(shape, F32))


def changed(answer):
    """Writes to every array of an answer, wherever it lies."""
    for each in answer.values() if isinstance(answer, dict) else answer:
        if isinstance(each, dict | list):
            changed(each)
        elif isinstance(each, np.ndarray):
            each[...] = 1


GETTERS = {
    "inputs": lambda i: i.get_input_details(),
    "outputs": lambda i: i.get_output_details(),
    "tensors": lambda i: i.get_tensor_details(),
    "a signature": lambda i: i.get_signature_runner().get_input_details(),
    "an answer": lambda i: [i.get_tensor(d["index"]) for d in i.get_output_details()],
    "signatures": lambda i: i.get_signature_list(),
}


@pytest.mark.parametrize("name", GETTERS)
def test_what_is_told_of_a_model_is_the_callers_to_change(name):
    rng = rng_of("conv2d", 0)
    content = write_tflite(build_s8(CASES["conv2d"](rng), rng).graph)
    interpreter = Interpreter(model_content=content, backend="reference")
    interpreter.allocate_tensors()
    interpreter.invoke()
    before = repr(GETTERS[name](interpreter))
    changed(GETTERS[name](interpreter))
    assert repr(GETTERS[name](interpreter)) == before


def test_nothing_is_read_before_there_is_memory():
    interpreter = Interpreter.from_graph(one((1, 3)))
    with pytest.raises(NotAllocatedError):
        interpreter.get_tensor(0)


def test_the_only_input_may_be_called_x_and_no_other_may():
    net = Builder((1, 3))
    net.values["sound"] = replace(net.values.pop("x"), name="sound")
    net.inputs = ("sound",)
    only = net.graph(net.op("abs", ("sound",)))
    x = np.ones((2, 3), F32)
    for given in (x, {"x": x}, {"sound": x}):
        assert list(named(only, given)) == ["sound"]
    assert list(named(only, {"x": x, "y": x})) == ["x", "y"]
    several = two_inputs()
    assert list(named(several, {"x": x})) == ["x"]
    assert list(named(several, {"x": x, "x1": x, "x2": x})) == ["x", "x1", "x2"]


@pytest.mark.parametrize(
    ("rows", "together", "runs"),
    [(6, 2, 3), (6, 1, 6), (2, 2, 1), (5, 2, None), (1, 2, None), (0, 2, None)],
)
def test_runs_are_whole_and_there_is_one(rows, together, runs):
    value = one((2, 3)).value("x")
    if runs is not None:
        assert whole_runs(value, rows, together) == runs
    else:
        with pytest.raises(DataError, match=f"the data have {rows} rows"):
            whole_runs(value, rows, together)
