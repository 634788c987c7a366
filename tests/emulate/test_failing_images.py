"""Images that hang, fail or say nothing, and compilers that hang: named, and never waited for."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.models import dense
from tests.faults.test_tools import script
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import qemu, run_emulated, toolchain
from tinyrt.emulate.image import Image, build_library
from tinyrt.emulate.sizes import Sizes
from tinyrt.errors import ToolError
from tinyrt.export.target import find_core


def booted(tmp_path, body, timeout_s=10.0):
    """What becomes of an image that is a script of this machine."""
    image = Image(script(tmp_path, "program", body), None, Sizes(*[0] * 7), None)
    (tmp_path / "run").mkdir()
    return qemu.run_image(image, b"input", tmp_path / "run", timeout_s=timeout_s)


def test_an_emulator_that_hangs_has_its_last_words(tmp_path):
    body = "echo sample 3 >&2; printf 12345 > outputs.bin; sleep 60"
    with pytest.raises(ToolError, match=r"did not finish within 0\.6 seconds") as caught:
        booted(tmp_path, body, 0.6)
    assert "sample 3" in str(caught.value)
    assert "5 bytes of output" in str(caught.value)
    assert "--timeout" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 12


@pytest.mark.parametrize(
    "body",
    [
        "echo bye",
        "echo no number > report.txt",
        "echo x > report.txt",
        "echo arena_bytes 1 > report.txt",
        "echo > outputs.bin; echo stack_bytes 1 > report.txt",
        "echo > outputs.bin; printf 'arena_bytes 1\ninvoke_ticks 1' > report.txt",
    ],
)
def test_an_image_that_ends_without_a_report(tmp_path, body):
    with pytest.raises(ToolError, match="without a report"):
        booted(tmp_path, body)


def test_an_image_that_writes_too_little(tmp_path, monkeypatch):
    save_tflite(dense(), tmp_path / "net.tflite")
    monkeypatch.setattr("tinyrt.emulate.run.build_image", lambda *_, **__: None)
    found = qemu.Run(b"1", None, None, 0)
    monkeypatch.setattr("tinyrt.emulate.run.run_image", lambda *_, **__: found)
    with pytest.raises(ToolError, match="wrote 1 bytes of output"):
        run_emulated(
            tmp_path / "net.tflite",
            inputs={"x": np.zeros((1, 4), np.int8)},
            build_dir=tmp_path / "b",
            core="host",
        )


def test_a_cross_compiler_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_TOOL_SECONDS", "0.3")
    with pytest.raises(ToolError, match="sleep did not finish"):
        toolchain.run(["sleep", "60"], doing="compiling")


def emulated_in(folder):
    """A report of a program of this machine: all is built in the same way."""
    save_tflite(dense(), folder.parent / "net.tflite")
    zeros = {"x": np.zeros((1, 4), np.int8)}
    return run_emulated(folder.parent / "net.tflite", inputs=zeros, build_dir=folder, core="host")


@pytest.mark.parametrize("name", ["kept here", "a:b", "it's", "a(b)", "50 %", "a*", "$x", "a\\b"])
def test_folders_that_make_cannot_build_in_are_named(tmp_path, name):
    with pytest.raises(ToolError, match=r"make cannot build in .*: its path has") as caught:
        emulated_in(tmp_path / name)
    assert str(tmp_path / name) in caught.value.problem
    assert "--keep" in str(caught.value.hint)


def test_a_folder_is_named_where_only_those_around_it_have_odd_names(tmp_path, monkeypatch):
    (tmp_path / "kept here").mkdir()
    monkeypatch.chdir(tmp_path / "kept here")
    project = SimpleNamespace(core=find_core("cortex-m4"), directory=Path("model"), name="net")
    with pytest.raises(ToolError, match=r"kept here/build: its path has ' '"):
        build_library(project, Path("build"))


@pytest.mark.parametrize("name", ["a#b=1,2+~", "ü[x]{b}!@^"])
def test_other_odd_folders_are_built_in(tmp_path, name):
    assert emulated_in(tmp_path / name).bit_exact is None
