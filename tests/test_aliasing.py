"""What a caller is given is the caller's own, and what a caller gives stays as it was."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.raw_tflite import build, scaled
from tests.export.models import Q
from tests.graphs import small_cnn
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

BACKENDS = ("numba", "native", "reference")
RNG = np.random.default_rng(8)
X = RNG.integers(-128, 128, (5, 12)).astype(np.int8)


def graph_of(*outputs):
    """x -> relu -> a view of it -> relu; and a view of the input."""
    shapes = {"x": (1, 12), "a": (1, 12), "view": (3, 4), "b": (3, 4), "x_view": (4, 3)}
    values = {name: Value(name, DType.INT8, shape, Q) for name, shape in shapes.items()}
    nodes = (
        Node("relu", "first", ("x",), ("a",), NoAttrs()),
        Node("reshape", "fold", ("a",), ("view",), ReshapeAttrs((3, 4))),
        Node("relu", "second", ("view",), ("b",), NoAttrs()),
        Node("reshape", "same", ("x",), ("x_view",), ReshapeAttrs((4, 3))),
    )
    needed = {"x": 0, "a": 1, "view": 2, "b": 3, "x_view": 4}
    kept = tuple(
        n
        for n in nodes
        if n.outputs[0] in outputs
        or any(n.outputs[0] in ("a", "view") and needed[o] in (2, 3) for o in outputs)
    )
    names = {"x", *outputs, *(n.outputs[0] for n in kept)}
    used = {name: value for name, value in values.items() if name in names}
    return verify(Graph("net", ("x",), outputs, used, kept))


OUTPUTS = {
    "an output": ("b",),
    "a view": ("view",),
    "a tensor and a view of it": ("a", "view"),
    "a tensor that is read on": ("a", "b"),
    "a view of the input": ("x_view", "b"),
    "the input": ("x", "b"),
    "the input alone": ("x",),
    "an output twice": ("b", "b"),
}


REFUSED = {
    ("native", "the input"): "there is nothing to compute",
    ("native", "the input alone"): "there is nothing to compute",
    ("native", "an output twice"): "several of the model's outputs",
}


def opened(case, backend):
    """The interpreter of a graph, through a file's bytes; None where it is refused by name."""
    graph = parse_tflite(write_tflite(graph_of(*OUTPUTS[case])))
    interpreter = Interpreter.from_graph(graph, backend=backend)
    if (backend, case) in REFUSED:
        with pytest.raises(UnsupportedError, match=REFUSED[backend, case]):
            interpreter.allocate_tensors()
        return None
    interpreter.allocate_tensors()
    return interpreter


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", OUTPUTS)
def test_a_second_run_leaves_the_first_answers(case, backend):
    interpreter = opened(case, backend)
    if interpreter is None:
        return
    (given,) = interpreter.get_input_details()

    def run(sample):
        interpreter.set_tensor(given["index"], sample)
        interpreter.invoke()
        return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]

    found = [run(sample[None]) for sample in X]
    for sample, answers in zip(X, found, strict=True):
        wanted = evaluate(interpreter.graph, {"x": sample[None]})
        for name, answer in zip(interpreter.graph.outputs, answers, strict=True):
            np.testing.assert_array_equal(answer, wanted[name])
            answer[...] = 1
    wanted = evaluate(interpreter.graph, {"x": X[:1]})
    for name, answer in zip(interpreter.graph.outputs, run(X[:1]), strict=True):
        np.testing.assert_array_equal(answer, wanted[name])


def test_what_is_said_of_tensors_is_the_callers_own():
    """By every call that describes some, all arrays of it."""
    samples = RNG.normal(size=(4, 8, 8, 3)).astype(np.float32)
    interpreter = Interpreter(model_content=write_tflite(quantize_graph(small_cnn(), samples)))
    for way in ("get_tensor_details", "get_input_details", "get_output_details"):
        describe = getattr(interpreter, way)
        before = repr(describe())
        for detail in describe():
            for array in (*detail.values(), *detail["quantization_parameters"].values()):
                if isinstance(array, np.ndarray):
                    array += 1
        assert repr(describe()) == before


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", [c for c in OUTPUTS if ("native", c) not in REFUSED])
def test_a_models_answers_are_the_callers_own(case, backend):
    """Changed by the caller, they change neither the next answers nor what was fed."""
    model, fed = Model(graph_of(*OUTPUTS[case]), backend=backend), X.copy()
    first = model.run_raw({"x": fed})
    kept = {name: array.copy() for name, array in first.items()}
    for array in first.values():
        array[...] = 1
    np.testing.assert_array_equal(fed, X)
    for name, array in model.run_raw({"x": fed}).items():
        np.testing.assert_array_equal(array, kept[name])


@pytest.mark.parametrize("case", ["the input", "the input alone", "an output twice"])
def test_odd_outputs_of_a_model_are_the_callers_own_too(case):
    test_a_models_answers_are_the_callers_own(case, "numba")


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("preserve", [False, True])
def test_what_a_signature_answers_stays(preserve, backend):
    data = build(scaled(2), signatures={"double": 0})
    runner = Interpreter(
        model_content=data, backend=backend, experimental_preserve_all_tensors=preserve
    ).get_signature_runner("double")
    pieces = [np.full((rows, 3), rows, np.float32) for rows in (1, 1, 3, 1)]
    answers = [next(iter(runner(x=piece).values())) for piece in pieces]
    for answer, piece in zip(answers, pieces, strict=True):
        np.testing.assert_array_equal(answer, 2 * piece)
        answer[...] = 7
    (again,) = runner(x=pieces[0]).values()
    np.testing.assert_array_equal(again, 2 * pieces[0])


def test_preserved_tensors_are_all_there_and_the_answers_the_same():
    """Every tensor keeps memory of its own, and what it held."""
    x = np.random.default_rng(0).normal(size=(32, 8, 8, 3)).astype(np.float32)
    graph = quantize_graph(small_cnn(), x, QuantConfig())
    stored = Model(graph).stored_inputs(x)["x"][:1]
    wanted = Model(replace(graph, outputs=tuple(n.outputs[0] for n in graph.nodes)))
    expected = wanted.run_raw({"x": stored})
    interpreter = Interpreter(
        model_content=write_tflite(graph), experimental_preserve_all_tensors=True
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], stored)
    interpreter.invoke()
    found = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    for name, array in expected.items():
        np.testing.assert_array_equal(interpreter.get_tensor(found[name]), array)
