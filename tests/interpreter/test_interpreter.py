"""The interpreter's interface: TFLite's method names, its moments of error, one arena."""

import os
import subprocess
import sys
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.memory.targets import SCALAR
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tinyrt.backends.numba.choice import KERNELS
from tinyrt.backends.support import support_rows
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError, DataError, ShapeError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter, Model
from tinyrt.interpreter.backends import candidates
from tinyrt.memory import plan_memory
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form, NoAttrs
from tinyrt.ops.transpose import TransposeAttrs


@pytest.fixture
def interpreter():
    return Interpreter(model_content=write_tflite(small_cnn()))


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(1, 8, 8, 3)).astype(np.float32)


def test_it_answers_what_the_reference_answers(interpreter, x):
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    (expected,) = evaluate(small_cnn(), {"x": x}).values()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(found, expected)


def test_details_before_allocation(interpreter):
    (detail,) = interpreter.get_input_details()
    assert detail["name"] == "x"
    assert detail["dtype"] is np.float32
    assert detail["shape"].tolist() == [1, 8, 8, 3]
    assert detail["quantization"] == (0.0, 0)
    names = [d["name"] for d in interpreter.get_tensor_details()]
    assert names[detail["index"]] == "x"


def test_details_of_a_graph_are_those_of_its_file():
    rng = rng_of("depthwise_conv2d", 0)
    graph = build_s8(CASES["depthwise_conv2d"](rng), rng).graph
    of_graph, of_file = (
        {d["name"]: d for d in found.get_tensor_details()}
        for found in (
            Interpreter.from_graph(graph),
            Interpreter(model_content=write_tflite(graph)),
        )
    )
    assert any(d["quantization"][1] for d in of_graph.values())
    for name, found in of_graph.items():
        expected = of_file[name]
        assert found["dtype"] is expected["dtype"]
        assert found["quantization"] == expected["quantization"]
        for key, value in expected["quantization_parameters"].items():
            np.testing.assert_array_equal(found["quantization_parameters"][key], value, strict=True)


def test_the_reference_runs_in_a_device_s_arena_others_in_one_without_overlaps():
    graph = small_cnn()
    for backend in ("numba", "reference"):
        interpreter = Interpreter.from_graph(graph, backend=backend)
        interpreter.allocate_tensors()
        expected = plan_memory(graph, SCALAR, overlap=backend == "reference")
        assert interpreter.plan.offsets == expected.offsets


def test_activations_lie_in_one_arena_of_the_planned_size(interpreter):
    interpreter.allocate_tensors()
    arenas = set()
    for detail in interpreter.get_tensor_details():
        value = interpreter.graph.values.get(detail["name"])
        # Constants that became attributes are tensors of the file, not values of the graph.
        if value is not None and not value.is_constant and value.name != "x":
            base = interpreter.tensor(detail["index"])()
            while base.base is not None:
                base = base.base
            arenas.add(id(base))
            assert base.nbytes == interpreter.plan.arena_bytes
    assert len(arenas) == 1


def test_inputs_survive_invoking(interpreter, x):
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    first = interpreter.get_tensor(answer["index"])
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(given["index"]), x)
    np.testing.assert_array_equal(interpreter.get_tensor(answer["index"]), first)


def test_tensor_is_a_view_and_get_tensor_a_copy(interpreter, x):
    interpreter.allocate_tensors()
    index = interpreter.get_input_details()[0]["index"]
    interpreter.tensor(index)()[...] = x
    copied = interpreter.get_tensor(index)
    np.testing.assert_array_equal(copied, x)
    copied[...] = 0
    np.testing.assert_array_equal(interpreter.get_tensor(index), x)


@pytest.mark.parametrize("method", ["invoke", "get"])
def test_nothing_runs_before_allocation(interpreter, method):
    with pytest.raises(TinyrtError, match="allocate_tensors"):
        interpreter.invoke() if method == "invoke" else interpreter.get_tensor(0)


def test_wrong_inputs_are_refused_with_what_was_expected(interpreter, x):
    interpreter.allocate_tensors()
    index = interpreter.get_input_details()[0]["index"]
    with pytest.raises(
        DataError, match=r"float64.*\n.*'x' f32\[1,8,8,3\]\n.*float32\[1, 8, 8, 3\]"
    ):
        interpreter.set_tensor(index, x.astype(np.float64))
    with pytest.raises(DataError, match=r"\[1, 8, 8, 2\]"):
        interpreter.set_tensor(index, x[..., :2])
    count = len(interpreter.get_tensor_details())
    with pytest.raises(DataError, match=f"there is no tensor {count}"):
        interpreter.get_tensor(count)


def test_resizing_changes_the_batch_and_back(interpreter, x):
    index = interpreter.get_input_details()[0]["index"]
    single = Model(small_cnn())(x)
    for batch in (3, 2, 1):
        interpreter.resize_tensor_input(index, (batch, 8, 8, 3))
        interpreter.allocate_tensors()
        interpreter.set_tensor(index, np.repeat(x, batch, axis=0))
        interpreter.invoke()
        found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(found, np.repeat(single, batch, axis=0), rtol=1e-5)
    with pytest.raises(DataError, match="batch size only"):
        interpreter.resize_tensor_input(index, (1, 9, 8, 3))


def _resident_bytes():
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs Linux to tell how much memory is resident")
    line = next(ln for ln in status.read_text().splitlines() if ln.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.mark.slow
def test_opening_a_large_read_only_model_leaves_its_weights_on_disk(tmp_path):
    b = Builder((1, 4096))
    y, zeros = "x", np.zeros((2048, 4096), np.float32)
    for _ in range(3):
        y = b.op("fully_connected", (y, b.constant(zeros)), FullyConnectedAttrs())
        y = b.op("concatenation", (y, y), ConcatenationAttrs(axis=1))
    path = tmp_path / "large.tflite"
    with path.open("wb") as file:
        file.write(write_tflite(b.graph(y)))
        os.fsync(file.fileno())
        # What was just written lies in huge pages, of which one byte maps 2 MiB: start from disk.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    path.chmod(0o400)
    Interpreter(model_content=write_tflite(small_cnn()))  # what the first model imports
    before = _resident_bytes()
    interpreter = Interpreter(path)
    assert path.stat().st_size > 96 << 20
    assert _resident_bytes() - before < 5 << 20
    interpreter.allocate_tensors()
    interpreter.invoke()


READER = """
import sys
from tinyrt.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
interpreter.invoke()
print("ready", flush=True)
sys.stdin.read()
"""


def _mapped(pid, path):
    """Field of the kernel's account of a process's mapping of a file -> bytes."""
    _, _, entry = Path(f"/proc/{pid}/smaps").read_text().partition(f"{path}\n")
    lines = (line.split() for line in entry.splitlines())
    return {n[:-1]: int(size) << 10 for n, size, *_ in islice(lines, 20) if n.endswith(":")}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's smaps")
def test_processes_share_the_pages_of_a_model(tmp_path):
    b, rng = Builder((1, 1024)), np.random.default_rng(0)
    w = rng.normal(size=(1024, 1024)).astype(np.float32)
    path = tmp_path / "model.tflite"
    path.write_bytes(
        write_tflite(b.graph(b.op("fully_connected", ("x", b.constant(w)), FullyConnectedAttrs())))
    )
    command = [sys.executable, "-c", READER, str(path)]
    with ExitStack() as stack:
        readers = [
            stack.enter_context(subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True))
            for _ in range(2)
        ]
        assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 2
        for reader in readers:
            found = _mapped(reader.pid, path)
            # Just written to the file, the pages may still be called dirty.
            assert found["Shared_Clean"] + found["Shared_Dirty"] >= w.nbytes
            assert found["Anonymous"] == 0
            reader.stdin.close()


def _elu_of_numba():
    return {row["op"]: row["numba"] for row in support_rows()}["elu"]


def test_int8_ops_without_a_kernel_run_only_where_the_table_says_so(monkeypatch):
    rng = rng_of("elu", 0)
    built = build_s8(CASES["elu"](rng), rng)
    expected = evaluate(built.graph, built.feeds)["out"]
    assert _elu_of_numba() == "f32 (NumPy) s8"
    monkeypatch.setitem(KERNELS, "elu", {Form.FLOAT: None, Form.INT8: None})
    assert _elu_of_numba() == "f32 s8 (NumPy)"
    np.testing.assert_array_equal(Model(built.graph).run_raw(built.feeds)["out"], expected)
    monkeypatch.setitem(KERNELS, "elu", {Form.FLOAT: None})
    assert _elu_of_numba() == "f32 (NumPy)"
    with pytest.raises(UnsupportedError, match="no int8 kernel for elu"):
        Interpreter.from_graph(built.graph).allocate_tensors()


def test_unknown_backends_are_refused():
    for name, hint in (("magic", None), ("refrence", "did you mean 'reference'?")):
        with pytest.raises(UnsupportedError, match="reference") as caught:
            Interpreter(model_content=write_tflite(small_cnn()), backend=name)
        assert caught.value.hint == hint


def _mixing_graph():
    """Samples would mix: the first axis is moved and joined."""
    b = Builder((1, 2, 3))
    turned = b.op("transpose", ("x",), TransposeAttrs((1, 0, 2)))
    back = b.op("transpose", (turned,), TransposeAttrs((1, 0, 2)))
    return b.graph(b.op("concatenation", ("x", back), ConcatenationAttrs(axis=0)))


def test_a_model_that_mixes_samples_runs_them_one_by_one():
    graph = _mixing_graph()
    with pytest.raises(ShapeError, match="keep samples apart"):
        rebatch(graph, 2)
    x = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    found = Model(graph)(x)
    np.testing.assert_array_equal(found, np.repeat(x, 2, axis=0))


@pytest.mark.parametrize("axis", [0, -2])
def test_a_running_sum_along_the_first_axis_keeps_to_its_own_rows(axis):
    b = Builder((3, 2))
    graph = b.graph(b.op("cumsum", ("x",), CumsumAttrs(axis)))
    with pytest.raises(ShapeError, match="adds samples up"):
        rebatch(graph, 1)
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    found = Model(graph)(x)
    np.testing.assert_array_equal(found, x.reshape(2, 3, 2).cumsum(axis=1).reshape(6, 2))


def test_a_single_number_is_one_row_of_data():
    b = Builder(())
    graph = b.graph(b.op("neg", ("x",), NoAttrs()))
    np.testing.assert_array_equal(Model(graph)(np.array([1, 2, 3], np.float32)), [-1, -2, -3])


def test_the_short_form_checks_names_values_and_shapes():
    model = Model(small_cnn())
    good = np.zeros((2, 8, 8, 3), np.float32)
    np.testing.assert_array_equal(model({"x": good}), model(good))
    with pytest.raises(DataError, match="'y'"):
        model({"y": good})
    with pytest.raises(DataError, match=r"expected:.*\(N, 8, 8, 3\)"):
        model(good[:, :4])
    bad = good.copy()
    bad[1, 2, 3, 0] = np.nan
    with pytest.raises(DataError, match="first in sample 1"):
        model(bad)
    for dtype in (np.int32, np.int64):
        with pytest.raises(DataError, match=dtype.__name__):
            model(good.astype(dtype))


def test_a_model_that_asks_for_too_much_memory_is_refused():
    graph = small_cnn()
    need = max(v.nbytes for v in graph.values.values() if not v.is_constant)
    interpreter = Interpreter.from_graph(graph, max_memory=need)
    with pytest.raises(BudgetError, match="--max-memory"):
        interpreter.allocate_tensors()
    assert not interpreter.allocated


@pytest.mark.parametrize(
    ("backend", "watched", "tried"),
    [
        ("cuda", True, ("cuda",)),
        ("auto", False, ("native", "numba")),
        ("auto", True, ("numba",)),  # the others' ops run in one call
    ],
)
def test_which_backends_are_tried(backend, watched, tried):
    assert candidates(backend, small_cnn(), watched) == tried
