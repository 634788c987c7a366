"""Every command, end to end, by its JSON; each kind of bad input, by its message."""

import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from tests.graphs import small_cnn
from tinyrt import api
from tinyrt.cli.app import app
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ops import OPS

RNG = np.random.default_rng(11)


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def call_json(*arguments, code=0):
    """The one object on stdout: anything else there would not parse."""
    return json.loads(call(*arguments, "--json", code=code).stdout)


@pytest.fixture
def files(tmp_path):
    """A float model, calibration data and labelled test data."""
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    x = RNG.normal(size=(24, 8, 8, 3)).astype(np.float32)
    np.savez(tmp_path / "calib.npz", x=x)
    np.savez(tmp_path / "test.npz", x=x, y=RNG.integers(0, 5, 24))
    return tmp_path


@pytest.fixture
def quantized(files):
    call("quantize", files / "net.tflite", "-c", files / "calib.npz", "-o", files / "q.tflite")
    return files


def test_convert_explains_its_passes(files):
    model = files / "net.tflite"
    found = call_json("convert", model, "-o", files / "out.tflite", "--explain")
    assert set(found) >= {"applied", "refused"}
    assert all(set(entry) == {"pass", "op"} for entry in found["applied"])
    shown = call("convert", model, "-o", files / "out.tflite", "--explain")
    assert "applied" in shown.stdout
    assert "refused" in shown.stdout


def test_passes_are_chosen_by_name(files):
    model, out = files / "net.tflite", files / "out.tflite"
    found = call_json("convert", model, "-o", out, "--explain", "--passes", "remove_dead")
    assert {entry["pass"] for entry in found["applied"]} <= {"remove_dead"}
    call("convert", model, "-o", out, "--skip-pass", "fuse_activation", "--skip-pass", "fuse_pad")
    result = call("convert", model, "-o", out, "--skip-pass", "fuse_everything", code=1)
    assert "there is no pass 'fuse_everything'" in result.stderr


def test_convert(files):
    found = call_json("convert", files / "net.tflite", "-o", files / "out.tflite")
    assert found["bytes"] == (files / "out.tflite").stat().st_size
    assert found["inputs"] == {"x": [1, 8, 8, 3]}


@pytest.mark.slow
def test_quantize_and_eval(quantized):
    found = call_json(
        *("eval", quantized / "q.tflite", "-d", quantized / "test.npz"),
        *("--against", quantized / "net.tflite"),
    )
    assert found["samples"] == 24
    assert found["top1"] == found["correct"] / 24
    assert found["agreement"] > 0.8
    assert found["sqnr_db"] > 25
    assert found["samples_per_second"] > 0
    assert found["backend"] == "numba"


@pytest.mark.slow
def test_quantize_takes_a_preset_and_single_choices(files):
    arguments = ("quantize", files / "net.tflite", "-c", files / "calib.npz")
    best = call_json(*arguments, "-o", files / "best.tflite", "--preset", "best")
    assert best["warnings"] == []
    call(*arguments, "-o", files / "a.tflite", "--preset", "best", "--no-tune-ranges")
    call(*arguments, "-o", files / "b.tflite", "--calibrator", "percentile", "--percentile", "99")
    contents = {(files / f"{n}.tflite").read_bytes() for n in ("best", "a", "b")}
    assert len(contents) >= 2
    call(*arguments, "-o", files / "c.tflite", "--preset", "worst", code=2)


@pytest.mark.slow
def test_debug_bisects_and_writes_a_page(quantized):
    arguments = ("debug", quantized / "net.tflite", quantized / "q.tflite")
    options = ("-d", quantized / "test.npz", "--bisect", "--min-accuracy", "60dB")
    found = call_json(*arguments, *options, "--html", quantized / "page.html")
    bisected = found["bisect"]
    assert set(bisected) >= {"start", "reached", "steps", "kept", "result", "options"}
    assert bisected["steps"]
    assert bisected["result"]["sqnr_db"] > bisected["start"]["sqnr_db"]
    assert "<svg" in (quantized / "page.html").read_text()
    shown = call(*arguments, *options).stdout
    assert "Quantise again with" in shown
    assert "--keep-float" in shown or "--scheme-for" in shown


def test_debug(quantized):
    arguments = ("debug", quantized / "net.tflite", quantized / "q.tflite")
    found = call_json(*arguments, "-d", quantized / "calib.npz")
    assert {"samples", "sqnr_db", "equalized", "layers"} == set(found)
    layer = found["layers"][0]
    assert {"name", "op", "own_db", "accumulated_db", "cosine", "cause", "cure"} <= set(layer)
    assert "worst layer first" in call(*arguments, "-d", quantized / "calib.npz").stdout
    call("debug", quantized / "q.tflite", quantized / "q.tflite", "-d", "none.npz", code=1)


def test_run_gives_real_values_for_real_inputs_and_raw_ones_for_raw(quantized):
    real = call_json(
        *("run", quantized / "q.tflite", "-i", quantized / "test.npz"),
        *("-o", quantized / "real.npz"),
    )
    (name,) = real["outputs"]
    outputs = np.load(quantized / "real.npz")[name]
    assert outputs.dtype == np.float32
    np.testing.assert_allclose(outputs.sum(axis=1), 1, atol=0.05)
    raw = RNG.integers(-128, 128, (3, 8, 8, 3)).astype(np.int8)
    np.savez(quantized / "raw.npz", x=raw)
    call("run", quantized / "q.tflite", "-i", quantized / "raw.npz", "-o", quantized / "y.npz")
    assert np.load(quantized / "y.npz")[name].dtype == np.int8


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["auto", "reference"])
def test_run_and_eval_name_the_backend_that_ran(quantized, asked):
    arguments = (quantized / "q.tflite", "--backend", asked)
    test = quantized / "test.npz"
    ran = call_json("run", *arguments, "-i", test, "-o", quantized / "y.npz")
    found = call_json("eval", *arguments, "-d", test)
    assert ran["backend"] == found["backend"]
    assert ran["backend"] in ({"native", "numba"} if asked == "auto" else {asked})


@pytest.mark.parametrize(
    "command", [("run", "-o", "y.npz", "-i"), ("eval", "-d")], ids=lambda c: c[0]
)
def test_models_that_ask_for_too_much_memory_are_refused(quantized, command):
    arguments = (*command, quantized / "test.npz", "--max-memory", "100")
    result = call(arguments[0], quantized / "q.tflite", *arguments[1:], code=1)
    assert "--max-memory" in result.stderr
    assert not (quantized / "y.npz").exists()


@pytest.mark.slow
def test_inspect(quantized):
    found = call_json("inspect", quantized / "q.tflite", "--html", quantized / "page.html")
    assert [op["op"] for op in found["ops"]][:3] == ["conv2d", "conv2d", "add"]
    assert {"name", "op", "macs", "output_shape", "arena_bytes"} <= set(found["ops"][0])
    assert found["ops"][0]["macs"] == 8 * 8 * 8 * 27
    assert found["macs"] == sum(op["macs"] for op in found["ops"])
    assert found["arena_bytes"] >= max(op["arena_bytes"] for op in found["ops"])
    page = (quantized / "page.html").read_text()
    assert page.count("<rect") == len(api.inspect_model(quantized / "q.tflite").plan.buffers)
    assert "http" not in page
    shown = call("inspect", quantized / "q.tflite").stdout
    assert "conv2d" in shown
    assert "The arena is fullest at op #" in shown
    assert shown.count("█") > 32
    assert found["arena_optimal"]
    assert found["arena_lower_bound"] == found["arena_bytes"]
    assert all(a["arena_bytes"] < found["arena_bytes"] for a in found["advice"])
    call("inspect", quantized / "q.tflite", "--max-arena", "64", code=1)


def test_export(quantized):
    found = call_json("export", quantized / "q.tflite", "-o", quantized / "c")
    assert found["name"] == "q"
    assert (quantized / "c" / "q.h").is_file()
    plan = call_json("inspect", quantized / "q.tflite", "--core", "cortex-m4")
    assert found["arena_bytes"] >= found["arena_lower_bound"] == plan["arena_lower_bound"] > 0
    shown = call("export", quantized / "q.tflite", "-o", quantized / "c").stdout
    for row in ("of these, no plan can do without", "gap to that bound"):
        assert re.search(rf"{row} +[\d.,]+", shown)


@pytest.mark.slow
def test_an_arena_over_budget_is_refused_with_what_is_in_the_way(quantized):
    arguments = ("export", quantized / "q.tflite", "-o", quantized / "c", "--max-arena")
    call(*arguments, "2k")
    call(*arguments, "900")  # with ops that run row by row
    result = call(*arguments, "500", code=1)
    assert "at most 500" in result.stderr
    assert "alive at this op, in bytes: '" in result.stderr
    assert "conv2d" in result.stderr
    call(*arguments, "many", code=1)


@pytest.mark.device
@pytest.mark.slow
def test_emulate(quantized):
    found = call_json("emulate", quantized / "q.tflite", "-i", quantized / "test.npz")
    assert found["bit_exact"] is True
    assert (found["core"], found["board"]) == ("cortex-m4", "mps2-an386")
    assert found["samples"] == 24
    assert found["instructions"] > 0
    assert found["instructions_per_mac"] > 0
    assert min(found["flash"]["code"], found["flash"]["weights"]) > 0
    assert min(found["ram"]["arena"], found["ram"]["stack"]) > 0
    assert found["ram"]["static"] == 0
    assert np.shape(next(iter(found["outputs"].values()))) == (24, 5)


def test_ops():
    rows = call_json("ops")["ops"]
    assert [row["op"] for row in rows] == list(OPS)
    assert next(r for r in rows if r["op"] == "conv2d")["C"].startswith("f32 s8")


def test_wrong_usage_exits_2():
    call("convert", code=2)
    call("nonsense", code=2)
    call("quantize", "m", "-c", "c", "-o", "o", "--scheme", "int3", code=2)


# ---- what can be wrong with the input ------------------------------------------------------


def _onnx(folder, op="Relu", shape=(1, 4), **attributes):
    node = helper.make_node(op, ["x"], ["y"], name="the_node", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def _truncated(folder):
    data = (folder / "net.tflite").read_bytes()
    (folder / "cut.tflite").write_bytes(data[: len(data) // 2])
    return folder / "cut.tflite"


def _random(folder):
    (folder / "random.tflite").write_bytes(RNG.bytes(5000))
    return folder / "random.tflite"


def _random_onnx(folder):
    (folder / "random.onnx").write_bytes(RNG.bytes(5000))
    return folder / "random.onnx"


def _unsupported_op(folder):
    return _onnx(folder, "Det", (1, 4, 4))


def _dynamic_shape(folder):
    return _onnx(folder, "Relu", (1, "time", 4))


def _external_data(folder):
    weights = numpy_helper.from_array(np.ones(4, np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4))],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save_model(
        model,
        folder / "external.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    (folder / "weights.bin").unlink()
    return folder / "external.onnx"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (_truncated, ["cut.tflite", "try:"]),
        (_random, ["random.tflite", "try:"]),
        (_random_onnx, ["random.onnx", "try:"]),
        (_unsupported_op, ["model.onnx", "Det", "the_node", "try:"]),
        (_dynamic_shape, ["model.onnx", "'x'", "time", "--shape x="]),
        (_external_data, ["external.onnx", "weights.bin", "try:"]),
        (lambda folder: folder / "nowhere.onnx", ["nowhere.onnx", "check the path"]),
    ],
)
def test_bad_models_are_refused_on_one_screen(files, model, says):
    path = model(files)
    before = set(files.iterdir())
    result = call("convert", path, "-o", files / "out.tflite", code=1)
    for text in says:
        assert text in result.stderr
    assert len(result.stderr.splitlines()) <= 12
    assert "Traceback" not in result.output
    assert set(files.iterdir()) == before


def test_a_shape_option_resolves_what_the_file_leaves_open(files):
    path = _dynamic_shape(files)
    found = call_json("convert", path, "-o", files / "out.tflite", "--shape", "x=1,7,4")
    assert found["inputs"] == {"x": [1, 7, 4]}
    result = call("convert", path, "-o", files / "o.tflite", "--shape", "x=1,none", code=1)
    assert "--shape x=1,49,10,1" in result.stderr


def _nan():
    x = np.zeros((4, 8, 8, 3), np.float32)
    x[2, 0, 0, 0] = np.nan
    return {"x": x}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": np.zeros((4, 8, 8, 2), np.float32)}, ["(4, 8, 8, 2)", "(N, 8, 8, 3)"]),
        (_nan(), ["NaN", "sample 2"]),
        ({"image": np.zeros((4, 8, 8, 3), np.float32)}, ["'image'", "'x'"]),
        ({"x": np.zeros((4, 8, 8, 3), np.int8)}, ["int8", "float"]),
        ({"y": np.zeros(4, np.int64)}, ["no inputs", "'x'"]),
    ],
)
def test_bad_calibration_data_are_refused(files, arrays, says):
    np.savez(files / "bad.npz", **arrays)
    before = set(files.iterdir())
    result = call(
        *("quantize", files / "net.tflite", "-c", files / "bad.npz", "-o", files / "q.tflite"),
        code=1,
    )
    for text in [*says, "bad.npz"]:
        assert text in result.stderr
    assert set(files.iterdir()) == before


def test_an_op_without_a_form_is_named_with_the_model_it_is_of_and_the_hint_helps(files):
    model = _onnx(files, op="Sin")
    np.savez(files / "four.npz", x=np.ones((3, 4), np.float32))
    command = ("quantize", model, "-c", files / "four.npz", "-o", files / "q.tflite")
    command = (*command, "--scheme", "int16x8")
    result = call(*command, code=1)
    assert "file:     " + str(model) in result.stderr
    assert "sin has no int16x8 form" in result.stderr
    assert "--keep-float 'sin'" in result.stderr
    assert "--scheme-for 'sin=int8'" in result.stderr
    call(*command, "--keep-float", "sin")
    call(*command, "--scheme-for", "sin=int8")


def test_a_calibration_file_that_is_none_is_refused(files):
    (files / "bad.npz").write_bytes(b"not an archive")
    result = call(
        *("quantize", files / "net.tflite", "-c", files / "bad.npz", "-o", files / "q.tflite"),
        code=1,
    )
    assert "numpy.savez" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["convert", "quantize", "export", "run"])
def test_folders_that_cannot_be_written_are_refused(quantized, command):
    (quantized / "file").write_text("in the way")
    blocked = quantized / "file" / "out"
    before = set(quantized.iterdir())
    arguments = {
        "convert": ("net.tflite",),
        "quantize": ("net.tflite", "-c", quantized / "calib.npz"),
        "export": ("q.tflite",),
        "run": ("q.tflite", "-i", quantized / "test.npz"),
    }[command]
    result = call(command, quantized / arguments[0], *arguments[1:], "-o", blocked, code=1)
    assert str(blocked) in result.stderr
    assert "try:" in result.stderr
    assert set(quantized.iterdir()) == before


def test_errors_are_one_json_object_too(files):
    found = call_json("convert", _random(files), "-o", files / "out.tflite", code=1)
    assert found["error"]["file"].endswith("random.tflite")
    assert "problem" in found["error"]


def test_a_quantised_model_is_not_quantised_again(quantized):
    result = call(
        *("quantize", quantized / "q.tflite", "-c", quantized / "calib.npz"),
        *("-o", quantized / "qq.tflite"),
        code=1,
    )
    assert "quantised already" in result.stderr
