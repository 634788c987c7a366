"""What the exporter refuses, and that a refusal leaves nothing behind."""

from dataclasses import replace

import numpy as np
import pytest

from tests.export.models import dense
from tests.graphs import small_cnn
from tinyrt.backends.c.choice import KERNELS
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ModelFormatError, OutputError, UnsupportedError
from tinyrt.export import export_c, export_graph
from tinyrt.ir import QParams, Value
from tinyrt.ops.shared.spec import Form


def test_float_op_without_a_kernel(tmp_path, monkeypatch):
    save_tflite(small_cnn(), tmp_path / "float.tflite")
    integers = {form: who for form, who in KERNELS["conv2d"].items() if form is not Form.FLOAT}
    monkeypatch.setitem(KERNELS, "conv2d", integers)
    with pytest.raises(UnsupportedError, match="conv2d has no C kernel for float") as caught:
        export_c(tmp_path / "float.tflite", tmp_path / "out")
    message = str(caught.value)
    assert "conv2d" in message
    assert "float.tflite" in message
    assert "tinyrt run" in message
    assert not (tmp_path / "out").exists()


def test_op_without_a_kernel(tmp_path, monkeypatch):
    monkeypatch.setitem(KERNELS, "fully_connected", {})
    with pytest.raises(UnsupportedError, match="fully_connected has no C kernel") as caught:
        export_graph(dense(), tmp_path / "out")
    assert "fully_connected 'dense'" in str(caught.value)
    assert "conv2d" in str(caught.value.expected)


def test_unknown_core(tmp_path):
    with pytest.raises(UnsupportedError, match="no core 'cortex-a9'") as caught:
        export_graph(dense(), tmp_path / "out", core="cortex-a9")
    assert "cortex-m4" in str(caught.value)


def test_accumulator_that_could_overflow(tmp_path):
    export_graph(dense(bias=2**31 - 2**17), tmp_path / "fits")
    with pytest.raises(UnsupportedError, match="output channel 0 can reach 2147") as caught:
        export_graph(dense(bias=2**31 - 1), tmp_path / "out")
    assert "2147483647" in str(caught.value)


def test_output_that_is_a_constant(tmp_path):
    graph = dense()
    constant = Value.constant("c", np.zeros((1, 2), np.int8), QParams((0.5,)))
    graph = replace(graph, outputs=("c",), values={**graph.values, "c": constant})
    with pytest.raises(UnsupportedError, match="nothing to compute"):
        export_graph(graph, tmp_path / "out")


def test_one_tensor_as_several_outputs(tmp_path):
    graph = replace(dense(), outputs=("y", "y"))
    with pytest.raises(UnsupportedError, match="several of the model's outputs"):
        export_graph(graph, tmp_path / "out")


def test_file_that_is_no_model(tmp_path):
    (tmp_path / "noise.tflite").write_bytes(bytes(range(200)))
    with pytest.raises(ModelFormatError, match="this is not a"):
        export_c(tmp_path / "noise.tflite", tmp_path / "out")


def test_code_can_be_made_for_three_things_only(tmp_path):
    with pytest.raises(UnsupportedError, match="cannot optimise for 'fun'") as error:
        export_graph(dense(), tmp_path / "out", optimize="fun")
    assert "speed, balanced, size" in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["file/out", "file"])
def test_folder_that_cannot_be_written(tmp_path, place):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write the C project"):
        export_graph(dense(), tmp_path / place)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "in the way"


def test_exporting_again_keeps_other_files(tmp_path):
    export_graph(dense(), tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    before = (tmp_path / "out" / "net_weights.c").read_text()
    export_graph(dense(bias=8), tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "out" / "net_weights.c").read_text() != before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
