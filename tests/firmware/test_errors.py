"""What the emulation refuses before it starts."""

import numpy as np
import pytest

from tests.export.models import dense
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated, toolchain
from tinyrt.errors import DataError, OutputError, ToolError

GOOD = np.zeros((3, 4), np.int8)


@pytest.fixture
def model(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"other": GOOD}, "no data for input 'x'"),
        ({"x": GOOD.astype(np.float32)}, "input 'x' is float32"),
        ({"x": np.zeros((3, 5), np.int8)}, r"input 'x' is int8\[3, 5\]"),
        ({"x": GOOD[:0]}, r"input 'x' is int8\[0, 4\]"),
    ],
)
def test_inputs_that_do_not_fit(model, tmp_path, inputs, words):
    with pytest.raises(DataError, match=words):
        run_emulated(model, inputs=inputs, build_dir=tmp_path / "build")


def test_difference_from_the_host_is_reported(model, tmp_path):
    report = run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path / "build")
    assert report.bit_exact is None
    assert report.samples == 3
    expected = {"y": report.outputs["y"].copy()}
    expected["y"][2, 1] += 1
    again = run_emulated(model, inputs={"x": GOOD}, expected=expected, build_dir=tmp_path / "build")
    assert again.bit_exact is False


def test_missing_tools_name_their_packages(model, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="not installed: arm-none-eabi-gcc") as caught:
        run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path / "build")
    assert "apt-get install" in str(caught.value)
    assert "libnewlib-arm-none-eabi" in str(caught.value)


def test_build_folder_that_cannot_be_created(model, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot create the folder"):
        run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path / "file" / "build")


def test_compiler_messages_are_shown(tmp_path):
    with pytest.raises(ToolError, match=r"compiling failed:\n.*no input files"):
        toolchain.run(["arm-none-eabi-gcc"], doing="compiling")
