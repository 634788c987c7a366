"""What the interpreter cannot do says what it would have taken."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.graphs import small_cnn
from tests.memory.nets import random_net
from tests.memory.targets import SCALAR
from tests.memory.test_segments import ranges
from tests.ops.quantised import f32, graph_of
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import DataError, NotAllocatedError, ShapeError, ToolError, UnsupportedError
from tinyrt.interpreter import Interpreter, native
from tinyrt.interpreter.signature import find_signature
from tinyrt.memory import plan_memory, plan_segments
from tinyrt.ops.shared.spec import NoAttrs


def refused(action, kind):
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def planned(plan=None, **options):
    """An interpreter in a plan, with its buffers."""
    graph = small_cnn()
    plan = plan or plan_memory(graph, SCALAR)
    interpreter = Interpreter.from_graph(graph, plan=plan, **{"backend": "reference"} | options)
    interpreter.allocate_tensors()
    return interpreter


@pytest.mark.parametrize(
    "use",
    [lambda i: i.plan, lambda i: i.run_op(0), lambda i: i.invoke(), lambda i: i.get_tensor(0)],
)
def test_it_asks_for_allocation_first(use):
    text = refused(lambda: use(Interpreter.from_graph(small_cnn())), NotAllocatedError)
    assert "tensors are not allocated" in text
    assert "allocate_tensors()" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": "numba"}, "backend numba cannot follow a plan"),
        ({"on_op": print}, "backend reference cannot follow a plan and be watched"),
    ],
)
def test_only_the_reference_follows_a_plan(options, says):
    text = refused(lambda: planned(**options), UnsupportedError)
    assert says in text
    assert "expected: reference" in text


def test_a_plan_keeps_its_batch():
    text = refused(lambda: planned().resize_tensor_input(0, (2, 8, 8, 3)), UnsupportedError)
    assert "the plan is for one batch size" in text
    assert "expected: 1" in text
    assert "plan anew" in text


def test_an_op_among_rows_does_not_run_alone():
    graph = random_net(7)
    segment = max(ranges(graph), key=lambda s: s.stop - s.first)
    plan = plan_segments(graph, SCALAR, (segment,))
    interpreter = Interpreter.from_graph(graph, plan=plan, backend="reference")
    interpreter.allocate_tensors()
    assert segment.stop - segment.first > 1
    for index in range(segment.first, segment.stop):
        text = refused(partial(interpreter.run_op, index), UnsupportedError)
        assert f"op {index} runs row by row together with others" in text
        assert "a plan without segments" in text


def test_a_single_number_has_no_batch():
    graph = graph_of("abs", NoAttrs(), [f32()], [f32()])
    interpreter = Interpreter.from_graph(graph)
    text = refused(lambda: interpreter.resize_tensor_input(0, ()), ShapeError)
    assert "a single number has no batch axis" in text
    assert "'a' f32[]" in text


def test_a_closed_batch_stays_as_it_is():
    interpreter = Interpreter(model_content=write_tflite(small_cnn()))
    (port,) = interpreter.get_input_details()
    resize = interpreter.resize_tensor_input
    text = refused(lambda: resize(port["index"], (2, 8, 8, 3), strict=True), DataError)
    for part in ["[2, 8, 8, 3]: the batch size is fixed", "'x' f32[1,8,8,3]", "strict=True"]:
        assert part in text


def test_a_tensor_that_no_op_computes_has_no_content():
    graph = small_cnn()
    spare = replace(graph.value("x"), name="spare")
    graph = replace(graph, values={**graph.values, "spare": spare})
    interpreter = Interpreter.from_graph(graph)
    interpreter.allocate_tensors()
    indices = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    text = refused(lambda: interpreter.get_tensor(indices["spare"]), DataError)
    assert "no op computes this tensor" in text
    assert "'spare' f32[1,8,8,3]" in text


def compiled():
    """A compiled model whose function says that it failed."""
    library = type("Library", (), {native.RUN: staticmethod(lambda *_: 1)})
    return native._Native(library, [np.zeros(4, np.int8)], 1, 16, 0)


def test_a_compiled_model_that_fails_says_so():
    text = refused(lambda: compiled().run(), ToolError)
    assert "the compiled model returned 1" in text
    assert "backend 'numba'" in text


def test_a_compiled_model_does_not_stop_between_ops():
    text = refused(lambda: compiled().run_op(3), UnsupportedError)
    assert "cannot stop at op 3" in text
    assert "another backend" in text


def test_backend_native_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(native, "first_program", lambda names: None)
    text = refused(native.find_compiler, ToolError)
    assert "there is no C compiler for backend native" in text
    assert f"one of {', '.join(native.COMPILERS)}" in text
    assert "apt install gcc" in text


@pytest.mark.parametrize(
    ("signatures", "key", "expected"),
    [
        ({}, None, "the file has no signatures"),
        ({"serve": None, "b": None}, "train", "serve, b"),
        ({"serve": None, "b": None}, None, "serve, b"),
    ],
)
def test_signatures_are_asked_for_by_their_names(signatures, key, expected):
    text = refused(lambda: find_signature(signatures, key), DataError)
    assert f"there is no signature '{key}'" in text
    assert expected in text
    assert "set_tensor and invoke" in text


def test_delegates_of_litert_are_not_run():
    data = write_tflite(small_cnn())
    make = partial(Interpreter, model_content=data, experimental_delegates=[object()])
    text = refused(make, UnsupportedError)
    assert "tinyrt runs no delegates" in text
    assert "choose a backend instead" in text


def test_a_signature_takes_its_arguments_by_name():
    ports = Subgraph([Tensor(n, (1, 3)) for n in "xy"], [Op("ABS", ["x"], ["y"])], ["x"], ["y"])
    interpreter = Interpreter(model_content=build(ports, signatures={"serve": 0}))
    run = interpreter.get_signature_runner("serve")
    text = refused(lambda: run(image=np.zeros((1, 3), np.float32)), DataError)
    assert "inputs are named ['image']" in text
    assert "['x'], the arguments of signature" in text


@pytest.mark.parametrize("names", ["", "a", "b", "abc"])
def test_a_signature_takes_all_of_its_arguments(names):
    """What is left out would be what an earlier call gave."""
    tensors = [Tensor(n, (1, 3)) for n in "aby"]
    ports = Subgraph(tensors, [Op("ADD", ["a", "b"], ["y"], "AddOptions")], ["a", "b"], ["y"])
    interpreter = Interpreter(model_content=build(ports, signatures={"serve": 0}))
    run = interpreter.get_signature_runner("serve")
    one = np.ones((1, 3), np.float32)
    assert run(a=one, b=one)["y"].tolist() == [[2, 2, 2]]
    text = refused(lambda: run(**dict.fromkeys(names, one)), DataError)
    assert f"inputs are named {sorted(names)}" in text
