"""Files, benchmarks and the interface of Python: refusals say what would have been taken."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest

import tinyrt
import tinyrt.api
from tests.cli.calls import call
from tests.graphs import Builder, small_cnn
from tests.ops.quantised import constant, f32, graph_of, s8
from tinyrt import bench, folders, npz
from tinyrt.api.models import _apart
from tinyrt.api.quantize import quantize_model
from tinyrt.cli.options import parse_accuracy, parse_schemes, parse_stream
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import FromFile
from tinyrt.errors import DataError, OutputError, TinyrtError, ToolError, UnsupportedError
from tinyrt.export.text import c_type, literal
from tinyrt.files import write_atomic
from tinyrt.floatmath import parallel
from tinyrt.ir import DType
from tinyrt.metrics import evaluate_graph
from tinyrt.npz import ArrayFile
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, Scheme
from tinyrt.quantize.explain.matching import as_quantized, quantized_constants
from tinyrt.quantize.mixed.budget import Budget


def refused(action, kind=DataError):
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def all_in(parts, text):
    assert [part for part in parts if part not in text] == []


def test_the_package_has_its_names_alone():
    text = refused(lambda: tinyrt.nonsense, AttributeError)
    assert "module 'tinyrt' has no attribute 'nonsense'" in text
    text = refused(lambda: tinyrt.api.nonsense, AttributeError)
    assert "module 'tinyrt.api' has no attribute 'nonsense'" in text


# Files


def test_links_in_a_circle_are_no_place_for_a_file(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    def write():
        write_atomic(tmp_path / "a", lambda file: file.write(b"1"))

    all_in([os.strerror(40), str(tmp_path / "a"), "-o"], refused(write, OutputError))


@pytest.mark.parametrize(
    ("files", "folder", "says"),
    [
        ({"a/b": ""}, "a/b", "'a/b' is a folder"),
        ({"a/b": ""}, None, "'a' is not a folder"),
    ],
)
def test_folders_and_files_do_not_replace_each_other(files, folder, says, tmp_path):
    goal = tmp_path / "goal"
    folders.write_folder(goal, {"z": ""})
    if folder:
        (goal / folder).mkdir(parents=True)
    else:
        (goal / "a").write_text("")
    all_in([says, str(goal)], refused(lambda: folders.write_folder(goal, files), OutputError))


def test_two_exports_do_not_write_to_one_folder(tmp_path, monkeypatch):
    goal = tmp_path / "goal"
    folders.write_folder(goal, {"z": ""})
    monkeypatch.setattr(folders, "PATIENCE_S", 0)
    monkeypatch.setattr(folders, "_try_lock", lambda handle: False)
    text = refused(lambda: folders.write_folder(goal, {"z": ""}), OutputError)
    all_in(["another export is writing to it", str(goal)], text)


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((2, 3), np.float32))
    source = FromFile(path)
    np.savez(path, x=np.zeros((2, 4), np.float32))
    all_in(["the file was changed while it was read", str(path)], refused(source.whole))


def test_an_archive_has_few_members(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "MAX_MEMBERS", 1)
    np.savez(tmp_path / "x.npz", x=np.zeros(2), y=np.zeros(2))
    text = refused(lambda: ArrayFile(tmp_path / "x.npz"))
    all_in(["the file has 2 members", "at most 1"], text)


def test_an_archive_has_a_small_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(npz._File, "limit", 30)
    np.savez(tmp_path / "x.npz", x=np.zeros(2))
    all_in(["a directory of", "bytes"], refused(lambda: ArrayFile(tmp_path / "x.npz")))


def test_a_disk_that_fails_is_named(tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(2))

    def fail(file):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(npz, "read_header", lambda *_: fail(path))
    text = refused(lambda: ArrayFile(path))
    all_in(["cannot read the data: Input/output error", str(path), "check the path"], text)


def test_an_order_that_is_none_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(2))
    path.write_bytes(path.read_bytes().replace(b"False", b"'Foo'"))
    all_in(["has a header that cannot be read", str(path)], refused(lambda: ArrayFile(path)))


# Benchmarks


def saved(graph, tmp_path):
    save_tflite(graph, tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


def two_inputs():
    b = Builder((1, 4), (1, 4))
    return b.graph(b.op("maximum", ("x", "x1")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backends": ["fastest"]}, ["there is no backend 'fastest'", "numba", "auto"]),
        ({"against": ["fastest"]}, ["there is no engine 'fastest'", "litert, ", "onnxruntime"]),
        ({"against": ["onnxruntime"]}, ["runs ONNX models only", "--onnx MODEL.onnx"]),
        ({"against": []}, ["the model has 2 inputs", "one input"]),
    ],
)
def test_benchmarks_that_cannot_be_are_refused(options, says, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "peak_macs_per_second", lambda: None)
    path = saved(two_inputs(), tmp_path)
    all_in(says, refused(lambda: bench.bench_model(path, **options)))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("litert", ["'litert' needs the package ai-edge-litert", "pip install ai-edge-litert"]),
        ("onnxruntime", ["onnxruntime is not installed", "pip install onnxruntime"]),
    ],
)
def test_engines_that_are_not_installed_are_named(name, says, monkeypatch):
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    all_in(says, refused(lambda: bench.peers(name, "net.onnx"), ToolError))


def test_an_engine_that_does_not_start_has_its_last_words():
    engine = replace(bench._tinyrt("numba"), imports="import sys; sys.exit('no such engine')")
    text = refused(lambda: engine.cold_start("net.tflite"), ToolError)
    all_in(["tinyrt numba does not start", "no such engine"], text)


# Options


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (lambda: parse_stream("x=y", 1), ["--stream x=y: not an axis", "a number", "--stream x=1"]),
        (lambda: parse_accuracy("good"), ["--min-accuracy good", "a share", "35dB"]),
        (lambda: Budget(min_sqnr_db=float("nan")), ["an SQNR of nan dB", "a finite number"]),
        (lambda: parse_schemes(["conv2d"]), ["--scheme-for conv2d", "PATTERN=SCHEME, with"]),
    ],
)
def test_options_of_another_form_are_refused(action, says):
    all_in(says, refused(action, TinyrtError))


def test_a_budget_needs_data(tmp_path):
    model, output = saved(small_cnn(), tmp_path), tmp_path / "q.tflite"
    answer = call("quantize", model, "-o", output, "--max-bytes", "9k", code=1)
    all_in(["a budget needs calibration data", "-c CALIB.npz"], answer.stderr)


# Models


def test_runs_of_the_device_are_whole():
    graph = graph_of("abs", None, [s8(2, 4)], [s8(2, 4)])
    text = refused(lambda: _apart(graph, {"a": np.zeros((3, 4))}))
    all_in(["the data have 3 rows", "'a' s8[2,4]", "a multiple of 2", "own batch size"], text)


def test_models_with_states_are_quantised_before_they_stream(tmp_path, monkeypatch):
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("abs", ("x",)), b.op("neg", ("x1",)))
    graph = replace(graph, states=(("x1", graph.outputs[1]),))
    monkeypatch.setattr("tinyrt.api.quantize.open_model", lambda *_, **__: graph)
    text = refused(lambda: quantize_model("net.onnx", None, tmp_path / "q"), UnsupportedError)
    all_in(
        ["keeps state from sample to sample", "net.onnx", "that of UNIDIRECTIONAL_SEQUENCE"], text
    )
    assert "--stream AXIS" in text


def test_integers_among_the_states_are_those_of_an_audio_front_end(tmp_path, monkeypatch):
    """One of them is enough: the network behind it keeps states in float."""
    b = Builder((1, 4), (1, 4), (1, 4))
    graph = b.graph(*(b.op("neg", (name,)) for name in ("x", "x1", "x2")))
    states = tuple(zip(("x1", "x2"), graph.outputs[1:], strict=True))
    whole = {n: replace(graph.value(n), dtype=DType.INT16) for n in states[1]}
    graph = replace(graph, states=states, values={**graph.values, **whole})
    monkeypatch.setattr("tinyrt.api.quantize.open_model", lambda *_, **__: graph)
    text = refused(lambda: quantize_model("net.tflite", None, tmp_path / "q"), UnsupportedError)
    assert "quantise the network behind the audio front end as a model of its own" in text


def test_the_default_scheme_is_no_float():
    text = refused(lambda: QuantConfig(scheme=Scheme.FLOAT), TinyrtError)
    all_in(["the default scheme is float", "int8", "--keep-float"], text)


def test_models_without_a_common_layer_are_not_compared():
    b = Builder((1, 4))
    other = b.graph(b.op("abs", ("x",)))
    text = refused(lambda: as_quantized(small_cnn(), other))
    all_in(["no layers of the same name", "was made from", "keeps the names"], text)


def test_layers_with_computed_weights_are_not_compared():
    dense = [s8(1, 8), s8(4, 8)], [s8(1, 4)]
    graph = graph_of("fully_connected", FullyConnectedAttrs(), *dense)
    text = refused(lambda: quantized_constants(graph, graph.bind(0)), UnsupportedError)
    all_in(["weights are no constants", "fully_connected", "'b' s8[4,8]", "freeze"], text)


def test_models_of_different_tasks_are_not_compared():
    def dense(classes):
        w = constant(DType.FLOAT32, classes, 4)
        return graph_of("fully_connected", FullyConnectedAttrs(), [f32(1, 4), w], [f32(1, classes)])

    x = {"a": np.ones((2, 4), np.float32)}
    text = refused(lambda: evaluate_graph(dense(3), x, against=dense(5), backend="reference"))
    all_in(["outputs differ in shape: (2, 3)", "(2, 5)", "models of the same task"], text)


def test_what_c_has_no_form_for_is_refused():
    all_in(["no C literal for object"], refused(lambda: literal(object()), TypeError))
    text = refused(lambda: c_type(DType.FLOAT16), UnsupportedError)
    all_in(["the C kernels have no float16 tensors", "int8", "quantise the model"], text)


def test_a_failure_in_a_helping_thread_comes_to_the_caller(monkeypatch):
    monkeypatch.setattr(parallel._Threads, "count", 2)
    helped = threading.Event()

    def work(block):
        if threading.current_thread() is threading.main_thread():
            assert helped.wait(60)
        else:
            helped.set()
            raise DataError(f"no room for {block.stop - block.start} rows")

    assert "no room for 1 rows" in refused(lambda: parallel.each_block(4, 400, work, 100))
