"""Options of ``tinyrt convert``."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.made import written
from tests.cli.shown import shows
from tests.convert.onnx_build import OnnxModel
from tests.convert.test_sequence_lstm import OP, classifier
from tests.graphs import Builder
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ops.add import AddAttrs


def ops_of(graph):
    return [node.op for node in graph.nodes]


@shows("convert", "model", "output")
def test_the_model_named_is_written_to_the_file_named(made, tmp_path):
    for model, classes in ((made.net, "float32"), (made.int8, "int8")):
        path = tmp_path / f"{classes}.tflite"
        found = call_json("convert", model, "-o", path)
        assert found["output"] == str(path)
        graph = read_tflite(path)
        assert graph.value(graph.inputs[0]).dtype.value == classes


@shows("convert", "shape")
def test_a_shape_fixes_what_the_file_leaves_open(made, tmp_path):
    out = tmp_path / "o.tflite"
    assert "rows" in call("convert", made.open_conv, "-o", out, code=1).stderr
    for rows in (5, 9):
        found = call_json("convert", made.open_conv, "-o", out, "--shape", f"x=1,3,{rows},6")
        assert found["inputs"] == {"x": [1, rows, 6, 3]}
        assert list(found["outputs"].values()) == [[1, rows - 2, 4, 4]]


@shows("convert", "value")
def test_a_value_makes_an_input_a_constant(made, tmp_path):
    for options, inputs in (((), {"x", "gain"}), (("--value", "gain=0.5"), {"x"})):
        graph = written(tmp_path / "o.tflite", "convert", made.gain, *options)
        assert set(graph.inputs) == inputs
    (value,) = (v for v in graph.values.values() if v.is_constant)
    assert value.data == 0.5


@shows("convert", "keep_layout")
def test_the_layout_is_kept_on_request(made, tmp_path):
    arguments = ("convert", made.open_conv, "-o", tmp_path / "o.tflite", "--shape", "x=1,3,5,6")
    found = call_json(*arguments, "--keep-layout")
    assert found["inputs"] == {"x": [1, 3, 5, 6]}
    assert list(found["outputs"].values()) == [[1, 4, 3, 4]]


@shows("convert", "sequence_lstm")
def test_an_lstm_is_kept_whole_on_request(tmp_path):
    command = ("convert", classifier(tmp_path))
    assert OP not in ops_of(written(tmp_path / "a.tflite", *command))
    assert OP in ops_of(written(tmp_path / "b.tflite", *command, "--sequence-lstm"))


@shows("convert", "stream", "hop")
def test_a_stream_takes_the_newest_rows_and_keeps_the_others(tmp_path):
    m = OnnxModel()
    model = m.save(tmp_path, m.op("Conv", m.input(1, 2, 12), m.weights(3, 2, 5)))
    arguments = ("convert", model, "-o", tmp_path / "o.tflite")
    whole = call_json(*arguments)
    assert "state_bytes" not in whole
    (axis,) = (i for i, n in enumerate(whole["inputs"]["x"]) if n == 12)
    for hop in (1, 2):
        found = call_json(*arguments, "--stream", str(axis), "--hop", str(hop))
        assert found["inputs"]["x"][axis] == hop
        kept = read_tflite(tmp_path / "o.tflite").states
        assert found["state_bytes"] > 0
        assert kept
    assert call_json(*arguments, "--stream", f"x={axis}")["inputs"]["x"][axis] == 1
    assert "'y'" in call(*arguments, "--stream", f"y={axis}", code=1).stderr


@pytest.fixture
def two_steps(tmp_path):
    """An addition, and a relu behind it that a pass makes a part of it."""
    b = Builder((1, 4))
    total = b.op("add", ("x", "x"), AddAttrs())
    save_tflite(b.graph(b.op("relu", (total,))), tmp_path / "two.tflite")
    return tmp_path / "two.tflite"


@shows("convert", "passes", "skip_pass")
def test_passes_are_chosen_and_left_out_by_name(two_steps, tmp_path):
    command = ("convert", two_steps)
    out = tmp_path / "o.tflite"
    assert "relu" not in ops_of(written(out, *command))
    assert "relu" in ops_of(written(out, *command, "--skip-pass", "fuse_activation"))
    assert "relu" in ops_of(written(out, *command, "--passes", "remove_dead"))
    chosen = ("--passes", "remove_dead,fuse_activation")
    assert "relu" not in ops_of(written(out, *command, *chosen))
    for option in ("--skip-pass", "--passes"):
        refused = call(*command, "-o", out, option, "fuse_everything", code=1)
        assert "there is no pass 'fuse_everything'" in refused.stderr


def test_passes_of_an_integer_model_can_be_chosen(made, tmp_path):
    command = ("convert", made.int8, "-o", tmp_path / "o.tflite")
    call(*command, "--skip-pass", "cut_channels")
    call(*command, "--passes", "drop_clamp,cut_channels")
    refused = call(*command, "--skip-pass", "fuse_activation", code=1)
    assert "'fuse_activation' does not run on a model that is quantised" in refused.stderr
    assert "drop_clamp, drop_unchanged, known_truth, count_from_front, " in refused.stderr
    assert "narrow_integers, cut_channels" in refused.stderr


@shows("convert", "target")
def test_a_target_gets_ops_that_it_has(tmp_path):
    b = Builder((1, 4))
    save_tflite(b.graph(b.op("sign", ("x",))), tmp_path / "sign.tflite")
    command = ("convert", tmp_path / "sign.tflite")
    assert ops_of(written(tmp_path / "a.tflite", *command)) == ["sign"]
    assert "sign" not in ops_of(written(tmp_path / "b.tflite", *command, "--target", "tflm"))
    assert "arduino" in call(*command, "-o", "o", "--target", "arduino", code=1).stderr


@shows("convert", "explain")
def test_an_explanation_lists_what_passes_did(two_steps, tmp_path):
    arguments = ("convert", two_steps, "-o", tmp_path / "o.tflite")
    assert not {"applied", "refused"} & set(call_json(*arguments))
    found = call_json(*arguments, "--explain")
    assert {"pass": "fuse_activation", "op": "relu_1"} in found["applied"]
    shown = call(*arguments, "--explain").stdout
    assert all(word in shown for word in ("applied", "refused", "fuse_activation"))
