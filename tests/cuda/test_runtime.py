"""Batches over streams, recorded graphs and segments, on a stand-in for the driver."""

import gc
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.cuda.fake_driver import FakeDriver, compile_on_host
from tests.cuda.requirements import needs_cxx
from tinyrt.backends.cuda import backend as cuda_backend
from tinyrt.backends.cuda import runtime
from tinyrt.backends.cuda.layout import LATENCY, THROUGHPUT, Shape
from tinyrt.backends.cuda.program import generate
from tinyrt.backends.cuda.runtime import CudaModel, shape_for
from tinyrt.cli.app import app
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ToolError, UnsupportedError
from tinyrt.interpreter import Interpreter, Model, load
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

pytestmark = needs_cxx
Q = QParams((0.1,), 3)


def small_graph():
    """Two ops of 24 elements."""
    x, h, y = (Value(n, DType.INT8, (1, 24), Q) for n in ("x", "h", "y"))
    nodes = (
        Node("relu", "first", ("x",), ("h",), NoAttrs()),
        Node("mul", "second", ("h", "x"), ("y",), MulAttrs()),
    )
    return verify(Graph("small", ("x",), ("y",), {v.name: v for v in (x, h, y)}, nodes))


def bound(graph, samples, driver, **options):
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (samples, 24)).astype(np.int8)
    y = np.zeros((samples, 24), np.int8)
    expected = Model(graph, backend="numba")(x)
    return (
        CudaModel(graph, [x, y], samples, driver, compile_=compile_on_host, **options),
        x,
        y,
        expected,
    )


def test_a_small_batch_is_recorded_once_and_replayed():
    driver = FakeDriver()
    model, x, y, expected = bound(small_graph(), 5, driver)
    model.run()
    np.testing.assert_array_equal(y, expected)
    x[:] = x[::-1].copy()
    for _ in range(2):
        model.run()
        np.testing.assert_array_equal(y, expected[::-1])
    # The first run loads, the second records.
    assert (driver.captures, driver.replays, len(driver.launches)) == (1, 2, 2)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("samples", [1, 300, 513, 1300])
def test_every_batch_size_in_any_number_of_pieces(samples, fused):
    driver = FakeDriver()
    model, _, y, expected = bound(
        small_graph(), samples, driver, shape=Shape(threads=64, fused=fused)
    )
    model.run()
    np.testing.assert_array_equal(y, expected)
    pieces = -(-samples // max(runtime.MIN_PIECE, -(-samples // runtime.PIECES)))
    assert len(driver.launches) == pieces * len(model.program.kernels)
    assert len({launch[-1] for launch in driver.launches}) == min(pieces, runtime.STREAMS)


def test_blocks_are_as_many_as_fit_and_no_more_than_there_is_work():
    # All that fit; or so many that all go round as often: 10 samples are 5 blocks twice.
    for samples, blocks in ((3, 3), (400, 8), (10, 5)):
        driver = FakeDriver(resident=2)
        model, *_ = bound(small_graph(), samples, driver, shape=Shape(threads=96, samples=1))
        model.run()
        ((_, launched, threads, shared, _),) = driver.launches
        assert (launched, threads, shared) == (blocks, 96, model.program.shared_bytes)


def test_arenas_beyond_shared_memory_lie_in_device_memory():
    driver = FakeDriver(shared_limit=32)
    model, _, y, expected = bound(small_graph(), 700, driver)
    model.run()
    assert not model.program.fused
    assert {shared for _, _, _, shared, _ in driver.launches} == {0}
    np.testing.assert_array_equal(y, expected)
    with pytest.raises(UnsupportedError, match="does not fit shared memory"):
        generate(small_graph(), Shape(fused=True), 32)


@pytest.mark.parametrize(
    ("samples", "allocated"), [(runtime.RECORDED, 1), (runtime.RECORDED + 1, 3)]
)
def test_memory_code_and_streams_are_given_back(samples, allocated):
    """Weights lie on the device, and the ports of large batches."""
    driver = FakeDriver()
    model, *_ = bound(small_graph(), samples, driver)
    model.run()
    assert (len(driver.memory), len(driver.pages), driver.modules) == (allocated, 2, 1)
    del model
    gc.collect()
    assert (len(driver.memory), len(driver.pages), driver.modules) == (0, 0, 0)
    assert not driver.queues


def test_large_inputs_are_sent_from_where_they_lie(monkeypatch):
    for least in (1, 1 << 20):
        monkeypatch.setattr(runtime, "MIN_LOCKED", least)
        driver = FakeDriver()
        model, x, y, expected = bound(small_graph(), 600, driver)
        assert (x.ctypes.data in driver.pages) == (least == 1)
        model.run()
        np.testing.assert_array_equal(y, expected)
        assert driver.from_locked == 2  # pieces
        del model
        gc.collect()
        assert not driver.pages


def test_pages_that_others_hold_are_left_alone(monkeypatch):
    monkeypatch.setattr(runtime, "MIN_LOCKED", 1)
    driver = FakeDriver()
    rows = np.random.default_rng(1).integers(-128, 128, (600, 24)).astype(np.int8)
    part, whole = np.zeros((3, 600, 24), np.int8)[1], rows.copy()
    part[:] = rows
    expected, kept = Model(small_graph(), backend="numba")(rows), []
    for x in (part, whole, whole):  # a part of something; an array that two models read
        y = np.zeros_like(x)
        kept.append(CudaModel(small_graph(), [x, y], 600, driver, compile_=compile_on_host))
        kept[-1].run()
        np.testing.assert_array_equal(y, expected)
    assert [model._memories[0].locked is model._memories[0].rows for model in kept] == [
        False,
        True,
        False,
    ]
    assert driver.from_locked == 6  # pieces


def test_the_command_says_which_ops_run_where(gpu, zoo, tmp_path):
    path, data = str(zoo / "models" / "autoencoder_ad_int8.tflite"), tmp_path / "x.npz"
    np.savez(data, x=np.zeros((3, 640), np.int8))
    options = ["run", path, "-i", str(data), "-o", str(tmp_path / "y.npz"), "--allow-fallback"]
    done = CliRunner().invoke(app, [*options, "--backend", "cuda", "--json"])
    assert done.exit_code == 0, done.output
    (segment,) = json.loads(done.stdout)["segments"]
    assert segment == {"device": "gpu", "nodes": [*range(10)], "ops": ["fully_connected"] * 10}
    done = CliRunner().invoke(app, [*options, "--backend", "numba"])
    assert done.exit_code == 1


@pytest.mark.slow
def test_nothing_of_cuda_is_imported_unless_asked_for():
    code = "import sys, tinyrt.interpreter, tinyrt.cli.app; print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'cuda" not in done.stdout
    assert "tinyrt.backends.cuda" not in done.stdout


def test_few_samples_get_many_threads():
    assert shape_for(1, 132) is LATENCY
    assert shape_for(4096, 132) is THROUGHPUT


@pytest.mark.parametrize(
    ("kilobytes", "threads", "blocks"),
    [
        (1, 128, 6),
        (37, 128, 6),
        (38, 128, 5),
        (56, 128, 4),
        (57, 256, 3),
        (113, 256, 2),
        (114, 512, 1),
    ],
)
def test_blocks_are_small_where_many_fit(kilobytes, threads, blocks):
    """A block takes one KB beside its arena; a multiprocessor has 228 KB."""
    x, y = (Value(n, DType.INT8, (1, 512 * kilobytes), Q) for n in ("x", "y"))
    graph = verify(
        Graph(
            "g", ("x",), ("y",), {"x": x, "y": y}, (Node("relu", "r", ("x",), ("y",), NoAttrs()),)
        )
    )
    program = generate(graph)
    assert program.shared_bytes == 1024 * kilobytes
    assert (program.threads, program.blocks) == (threads, blocks)
    assert f"TINYRT_KERNEL({threads}, {blocks})" in program.source
    by_ops = generate(graph, Shape(fused=False))
    assert (by_ops.threads, by_ops.blocks) == (256, 3)


def test_pieces_have_work_for_all_multiprocessors():
    driver = FakeDriver()
    model, _, y, expected = bound(small_graph(), 1300, driver, shape=Shape(threads=32, samples=2))
    model.run()
    np.testing.assert_array_equal(y, expected)
    assert model._piece == 2 * runtime.MIN_PIECE
    assert len(driver.launches) == 2


def test_small_batches_are_read_where_they_lie(monkeypatch):
    """Kernels read and write locked memory themselves: the caller's, or the model's own."""
    monkeypatch.setattr(FakeDriver, "copy_out", None)
    for least in (1, 1 << 20):
        monkeypatch.setattr(runtime, "MIN_LOCKED", least)
        driver = FakeDriver()
        model, x, y, expected = bound(small_graph(), 7, driver)
        assert (x.ctypes.data in driver.pages) == (y.ctypes.data in driver.pages) == (least == 1)
        for _ in range(3):
            y[:] = 0
            model.run()
            np.testing.assert_array_equal(y, expected)
        assert driver.from_locked == 0
        del model
        gc.collect()


@pytest.fixture
def gpu(monkeypatch):
    """The backend with the stand-in."""
    driver = FakeDriver()
    monkeypatch.setattr(cuda_backend, "open_driver", lambda: driver)
    monkeypatch.setattr(runtime.CudaModel.__init__, "__defaults__", (None, compile_on_host))
    return driver


@pytest.mark.parametrize("name", ["dscnn_kws", "autoencoder_ad"])
def test_the_interpreter_runs_zoo_models(gpu, zoo, name):
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    model = load(zoo / "models" / f"{name}_int8.tflite", backend="cuda")
    np.testing.assert_array_equal(model(golden["inputs"][:, 0]), golden["outputs"][:, 0])
    assert gpu.launches


def test_the_interpreter_gives_ports_memory_of_their_own(gpu, monkeypatch):
    monkeypatch.setattr(runtime, "MIN_LOCKED", 1)
    interpreter = Interpreter.from_graph(small_graph(), backend="cuda")
    interpreter.resize_tensor_input(0, (700, 24))
    interpreter.allocate_tensors()
    assert sorted(gpu.pages.values()) == [700 * 24] * 2
    x = np.random.default_rng(5).integers(-128, 128, (700, 24)).astype(np.int8)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(found, Model(small_graph(), backend="numba")(x))
    assert gpu.from_locked == 2  # pieces


def with_an_op_that_lacks_a_kernel():
    """A float op between ops that the GPU has."""
    shape = (1, 24)
    x, h, r, y = (Value(n, DType.INT8, shape, Q) for n in ("x", "h", "r", "y"))
    f, g = (Value(n, DType.FLOAT32, shape) for n in ("f", "g"))
    nodes = (
        Node("relu", "first", ("x",), ("h",), NoAttrs()),
        Node("dequantize", "out", ("h",), ("f",), NoAttrs()),
        Node("softmax", "choice", ("f",), ("g",), SoftmaxAttrs()),
        Node("quantize", "in", ("g",), ("r",), QuantizeAttrs()),
        Node("mul", "second", ("h", "r"), ("y",), MulAttrs()),
    )
    values = {v.name: v for v in (x, h, r, y, f, g)}
    return verify(Graph("mixed", ("x",), ("h", "y"), values, nodes))


def test_an_op_without_a_kernel_is_named(gpu):
    interpreter = Interpreter.from_graph(with_an_op_that_lacks_a_kernel(), backend="cuda")
    with pytest.raises(UnsupportedError, match="no kernel for softmax") as caught:
        interpreter.allocate_tensors()
    assert "choice" in caught.value.op
    assert "--allow-fallback" in caught.value.hint


def test_with_fallback_the_cpu_runs_what_the_gpu_lacks(gpu):
    graph = with_an_op_that_lacks_a_kernel()
    segments = cuda_backend.segments_of(graph)
    assert [s.describe() for s in segments] == [
        "gpu: #0 to #1 (relu, dequantize)",
        "cpu: #2 (softmax)",
        "gpu: #3 to #4 (quantize, mul)",
    ]
    x = np.random.default_rng(0).integers(-128, 128, (9, 24)).astype(np.int8)
    found = Model(graph, backend="cuda+cpu").run(x)
    for name, expected in Model(graph, backend="numba").run(x).items():
        np.testing.assert_array_equal(found[name], expected)


def test_a_graph_of_one_sample_alone_is_run_as_it_is(gpu):
    """A reshape that drops the batch cannot be had for more samples, or fewer."""
    x, h = (Value(n, DType.INT8, (2, 12), Q) for n in ("x", "h"))
    y = Value("y", DType.INT8, (24,), Q)
    nodes = (
        Node("relu", "first", ("x",), ("h",), NoAttrs()),
        Node("reshape", "flat", ("h",), ("y",), ReshapeAttrs((24,))),
    )
    graph = verify(Graph("flat", ("x",), ("y",), {v.name: v for v in (x, h, y)}, nodes))
    given = np.random.default_rng(3).integers(-128, 128, (2, 12)).astype(np.int8)
    expected = Model(graph, backend="numba")(given)
    np.testing.assert_array_equal(Model(graph, backend="cuda")(given), expected)


def test_weights_of_float_ops_are_left_to_the_cpu(gpu):
    x, y = (Value(n, DType.INT8, (1, 24), Q) for n in ("x", "y"))
    stored = np.arange(24, dtype=np.int8).reshape(1, 24)
    w = Value("w", DType.INT8, (1, 24), QParams((0.5,), 0), stored)
    f, g, h = (Value(n, DType.FLOAT32, (1, 24)) for n in ("f", "g", "h"))
    nodes = (
        Node("dequantize", "weights", ("w",), ("g",), NoAttrs()),
        Node("dequantize", "out", ("x",), ("f",), NoAttrs()),
        Node("mul", "float", ("f", "g"), ("h",), MulAttrs()),
        Node("quantize", "in", ("h",), ("y",), QuantizeAttrs()),
    )
    values = {v.name: v for v in (x, y, w, f, g, h)}
    graph = verify(Graph("hybrid", ("x",), ("y",), values, nodes))
    found = [segment.device for segment in cuda_backend.segments_of(graph)]
    assert found == ["cpu", "gpu", "cpu", "gpu"]
    given = np.random.default_rng(2).integers(-128, 128, (1, 24)).astype(np.int8)
    expected = Model(graph, backend="numba")(given)
    np.testing.assert_array_equal(Model(graph, backend="cuda+cpu")(given), expected)


def test_inspect_shows_which_ops_run_where(tmp_path):
    path, page = tmp_path / "mixed.tflite", tmp_path / "mixed.html"
    save_tflite(with_an_op_that_lacks_a_kernel(), path)
    options = ["inspect", str(path), "--backend", "cuda"]
    done = CliRunner().invoke(app, [*options, "--html", str(page), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [s["device"] for s in found["placement"]] == ["gpu", "cpu", "gpu"]
    assert [i for s in found["placement"] for i in s["nodes"]] == [*range(len(found["ops"]))]
    drawn = page.read_text()
    assert "<li>cpu: #2 (softmax)</li>" in drawn
    assert (drawn.count("<td>gpu</td>"), drawn.count("<td>cpu</td>")) == (4, 1)
    shown = CliRunner().invoke(app, options).stdout
    assert "Where ops run" in shown
    assert "cpu: #2 (softmax)" in shown
    assert "Where ops run" not in CliRunner().invoke(app, options[:2]).stdout
    refused = CliRunner().invoke(app, [*options[:3], "numba"])
    assert refused.exit_code == 1
    assert "backend numba runs all ops in one place" in refused.stderr


@pytest.mark.parametrize("command", ["run", "eval"])
def test_errors_name_the_file_that_they_are_about(monkeypatch, tmp_path, command):
    def no_gpu():
        raise ToolError("backend cuda needs NVIDIA's driver, which is not installed")

    monkeypatch.setattr(cuda_backend, "open_driver", no_gpu)
    good, odd = tmp_path / "good.npz", tmp_path / "odd.npz"
    np.savez(good, x=np.zeros((3, 24), np.int8), y=np.zeros(3, np.int64))
    np.savez(odd, x=np.zeros((3, 25), np.int8), y=np.zeros(3, np.int64))
    small, mixed = tmp_path / "small.tflite", tmp_path / "mixed.tflite"
    save_tflite(small_graph(), small)
    save_tflite(with_an_op_that_lacks_a_kernel(), mixed)

    def named(model, data):
        given = ["-i", str(data), "-o", str(tmp_path / "y.npz")]
        given = given if command == "run" else ["-d", str(data)]
        done = CliRunner().invoke(app, [command, str(model), *given, "--backend", "cuda", "--json"])
        assert done.exit_code == 1
        return json.loads(done.stdout)["error"].get("file")

    assert named(small, good) is None  # the machine's fault, no file's
    assert named(mixed, good) == str(mixed)
    assert named(small, odd) == str(odd)


def test_the_backend_stops_at_no_op(gpu):
    interpreter = Interpreter.from_graph(small_graph(), backend="cuda")
    interpreter.allocate_tensors()
    with pytest.raises(UnsupportedError, match="cannot stop at op 1"):
        interpreter.run_op(1)
