"""Each kind of bad input: its message, and that nothing is left behind."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.calls import call, call_json

RNG = np.random.default_rng(11)


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
