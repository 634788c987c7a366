"""Gather and its like at places that are computed, or the model's inputs: some from the end."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tests.convert.test_onnx_errors import refused
from tests.ops.peers import answers_of_litert, run_tflm
from tests.sampling import sampled
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import Graph, RewriteLog
from tinyrt.ops.shared.places import counts_from_end
from tinyrt.quantize import quantize_graph

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
ROWS = 5


def signed(m: OnnxModel, x: str) -> str:
    """Numbers from -4 to 4."""
    far = m.op("Mul", m.op("Tanh", x), m.const(4.9))
    return m.op("Cast", far, to=INT64)


def rows(m: OnnxModel, x: str) -> str:
    return m.op("Gather", m.weights(ROWS, 4), signed(m, x))


def columns(m: OnnxModel, x: str) -> str:
    return m.op("Gather", m.weights(3, ROWS, 2), signed(m, x), axis=1)


def rows_of_what_is_computed(m: OnnxModel, x: str) -> str:
    table = m.op("Exp", m.op("MatMul", m.weights(ROWS, 3), x))
    return m.op("Gather", table, signed(m, x))


def before_the_place_of_the_largest(m: OnnxModel, x: str) -> str:
    place = m.op("Sub", m.op("ArgMax", x, axis=1, keepdims=0), m.const(3, np.int64))
    return m.op("Gather", m.weights(ROWS, 4), place)


NEGATIVE = {
    f.__name__: f
    for f in (rows, columns, rows_of_what_is_computed, before_the_place_of_the_largest)
}


def from_end(graph: Graph) -> list[bool]:
    """Of each op at computed places, whether they may count from the end."""
    picking = (node for node in graph.bound() if node.op in ("embedding", "gather_nd"))
    return [counts_from_end(node) for node in picking]


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_places_count_from_the_end(name, tmp_path):
    """At no op of their own, also when a file has been written and read."""
    m = OnnxModel()
    path = m.save(tmp_path, NEGATIVE[name](m, m.input(3, 6)))
    x = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32) * 2
    (want,) = expected(path, {"x": x})
    for graph in (read_onnx(path), optimize(read_onnx(path), keep_layout=True)):
        assert from_end(graph) == [True]
        again = parse_tflite(write_tflite(graph))
        assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
        for each in (graph, again):
            assert_close(Model(each)(x), want)


def test_so_do_elements_that_are_each_picked(tmp_path):
    m = OnnxModel()
    x = m.input(2, 9)
    path = m.save(tmp_path, m.op("GatherElements", m.weights(2, ROWS), signed(m, x), axis=1))
    data = np.random.default_rng(0).standard_normal((2, 9)).astype(np.float32) * 2
    (want,) = expected(path, {"x": data})
    assert_close(Model(read_onnx(path))(data), want)


def given(op: str, places: tuple[int, ...], **attrs: int) -> Callable[[OnnxModel, int], str]:
    """An op on a tensor of which each of the three dimensions has as many places."""

    def build(m: OnnxModel, dtype: int) -> str:
        table = m.op("Mul", m.input(*(ROWS,) * 3), m.weights(*(ROWS,) * 3))
        return m.op(op, table, m.input(*places, name="at", dtype=dtype), **attrs)

    return build


def given_of_weights(m: OnnxModel, dtype: int) -> str:
    return m.op("Gather", m.weights(ROWS, 3), m.input(4, 2, name="at", dtype=dtype))


GIVEN: dict[str, tuple[Callable[[OnnxModel, int], str], tuple[int, ...]]] = {
    "rows of weights": (given_of_weights, (4, 2)),
    "rows": (given("Gather", (2, 4)), (2, 4)),
    "columns": (given("Gather", (4,), axis=2), (4,)),
    "elements": (given("GatherElements", (2, ROWS, 4), axis=-1), (2, ROWS, 4)),
    "elements of rows": (given("GatherElements", (7, 3, 4)), (7, 3, 4)),
    "one number": (given("GatherND", (6, 1)), (6, 1)),
    "two numbers": (given("GatherND", (2, 3, 2)), (2, 3, 2)),
    "all numbers": (given("GatherND", (6, 3)), (6, 3)),
    "of each sample": (given("GatherND", (ROWS, 4, 1), batch_dims=1), (ROWS, 4, 1)),
    "of each part": (given("GatherND", (ROWS, ROWS, 1), batch_dims=2), (ROWS, ROWS, 1)),
}
"""What picks at places that are the model's input, and their shape."""

OF_PARTS = ("one number", "two numbers", "all numbers", "of each sample", "of each part")
"""Those whose places are of 64 bits in ONNX."""


def given_model(name: str, dtype: int, folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """The model and its inputs: numbers of both signs for places."""
    build, shape = GIVEN[name]
    m = OnnxModel(18)
    path = m.save(folder, build(m, dtype))
    rng = np.random.default_rng(len(name))
    feeds = {"at": rng.integers(-ROWS, ROWS, shape).astype(np.int32)}
    feeds["at"].flat[-2:] = -ROWS, -1
    if len(m.inputs) > 1:
        feeds = {"x": rng.standard_normal((ROWS,) * 3).astype(np.float32), **feeds}
    return path, feeds


def wanted(path: Path, feeds: dict[str, np.ndarray], dtype: int) -> np.ndarray:
    kind = np.int64 if dtype == INT64 else np.int32
    return expected(path, feeds | {"at": feeds["at"].astype(kind)})[0]


KINDS = [(name, kind) for name in GIVEN for kind in (INT32, INT64)]
KINDS = [(name, kind) for name, kind in KINDS if kind == INT64 or name not in OF_PARTS]


BACKENDS = ("reference", "numba", "native")
EACH_ONCE = [(*kind, backend) for kind, backend in zip(KINDS, cycle(BACKENDS), strict=False)]


@pytest.mark.parametrize(
    ("name", "dtype", "backend"),
    sampled(EACH_ONCE, [(*kind, backend) for kind in KINDS for backend in BACKENDS]),
)
def test_given_places_count_from_the_end_too(name, dtype, backend, tmp_path):
    path, feeds = given_model(name, dtype, tmp_path)
    want = wanted(path, feeds, dtype)
    graph = optimize(read_onnx(path), keep_layout=True)
    assert from_end(graph) == [True]
    interpreter = Interpreter(model_content=write_tflite(graph), backend=backend)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    assert_close(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]), want)


@pytest.mark.parametrize("name", GIVEN)
def test_files_say_so_to_other_runtimes(name, tmp_path):
    path, feeds = given_model(name, INT64, tmp_path)
    want = wanted(path, feeds, INT64)
    graph = optimize(read_onnx(path), keep_layout=True)
    (litert,) = answers_of_litert(graph, feeds)
    assert_close(litert, want)
    if name != "elements of rows":  # TFLM turns no integers of 32 bits
        assert_close(run_tflm(graph, list(feeds.values())), want)
    again = parse_tflite(write_tflite(graph))
    assert [(n.op, n.attrs) for n in again.nodes] == [(n.op, n.attrs) for n in graph.nodes]


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
def test_negative_places_in_int8(backend, tmp_path):
    m = OnnxModel()
    ids = m.op("Sub", m.input(1, 9, dtype=INT64), number(m, ROWS))
    path = m.save(tmp_path, m.op("Gather", m.weights(ROWS, 4), ids))
    rng = np.random.default_rng(0)
    int8 = quantize_graph(optimize(read_onnx(path)), rng.integers(0, 2 * ROWS, (32, 9)))
    x = np.arange(9)[None]
    (want,) = expected(path, {"x": x})
    found = Model(int8, backend=backend)(x.astype(np.int32))
    np.testing.assert_allclose(found, want, atol=0.02)


def test_places_for_another_batch_are_refused(tmp_path):
    m = OnnxModel(18)
    at = m.input(4, 1, name="at", dtype=INT64)
    error = refused(
        m.save(tmp_path, m.op("GatherND", m.input(2, 3), at, batch_dims=1)), ModelFormatError
    )
    assert error.problem == "GatherND of indices [4, 1] into f32[2,3], batch_dims 1"


def tokens(m: OnnxModel) -> str:
    return m.input(2, 3, name="t", dtype=INT64)


def number(m: OnnxModel, n: int, dtype: type = np.int64) -> str:
    return m.const(n, dtype)


def largest(m: OnnxModel) -> str:
    """The place of the largest of six in each of two rows, in 32 bits."""
    return m.op("Cast", m.op("ArgMax", m.input(2, 6), axis=1), to=INT32)


NEVER_BELOW_0 = {
    "a place of the largest": lambda m: m.op("ArgMax", m.input(2, 3), axis=1),
    "a row and a column of the largest": lambda m: m.op(
        "Add",
        m.op("Div", largest(m), number(m, 3, np.int32)),
        m.op("Mod", "t1", number(m, 3, np.int32)),
    ),
    "places of the largest, moved": lambda m: m.op(
        "Transpose", m.op("Cast", m.op("ArgMax", m.input(2, 3, 4), axis=1), to=INT32)
    ),
    "places of the largest two": lambda m: (
        m.op("TopK", m.input(2, 3), m.ints(2), outputs=2),
        "t0_1",
    )[1],
    "places that are held inside": lambda m: m.op(
        "Max", m.op("Sub", tokens(m), number(m, 3)), number(m, 0)
    ),
    "remainders": lambda m: m.op("Mod", m.op("Neg", tokens(m)), number(m, ROWS)),
    "what is counted": lambda m: m.op(
        "Cast", m.op("CumSum", m.op("Sigmoid", m.input(2, 3)), m.const(1, np.int64)), to=INT32
    ),
    "what is chosen": lambda m: m.op(
        "Where", m.op("Greater", tokens(m), number(m, 1)), number(m, 4), number(m, 0)
    ),
    "numbers that have no sign": lambda m: m.op("Cast", m.op("Relu", m.input(2, 3)), to=INT32),
}


@pytest.mark.parametrize("name", NEVER_BELOW_0)
def test_places_that_are_never_negative_are_taken_as_they_are(name, tmp_path):
    m = OnnxModel(18)
    path = m.save(tmp_path, m.op("Gather", m.weights(ROWS, 4), NEVER_BELOW_0[name](m)))
    log = RewriteLog()
    graph = optimize(read_onnx(path), keep_layout=True, log=log)
    assert not any(from_end(graph))
    assert "none of its places is below 0" in log.reasons.values()
    plain = optimize(read_onnx(path), keep_layout=True, skip=["count_from_front"])
    assert from_end(plain)[-1]
