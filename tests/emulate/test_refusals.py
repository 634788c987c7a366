"""What cannot be emulated says which board, program, input or file would do."""

import json

import numpy as np
import pytest

from tests.emulate.test_failing_images import booted
from tests.export.models import dense
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated, toolchain
from tinyrt.emulate.baseline import load_baseline
from tinyrt.emulate.boards import BOARDS, find_board
from tinyrt.emulate.image import link_for
from tinyrt.emulate.run import pack_inputs
from tinyrt.errors import DataError, ToolError, UnsupportedError
from tinyrt.export.ports import Port
from tinyrt.export.target import find_core
from tinyrt.ir import DType

PORTS = [
    Port(name, DType.INT8, (1, 4), offset=0, nbytes=4, scale=1.0, zero_point=0)
    for name in ("x", "y")
]


def refused(action, kind):
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize(
    ("core", "board", "says"),
    [
        ("cortex-m4", "mps2-an387", ["there is no board 'mps2-an387'", "did you mean 'mps2-an38"]),
        ("cortex-m4", "toaster", ["there is no board 'toaster'", *BOARDS]),
        (
            "cortex-m0",
            "mps3-an547",
            ["mps3-an547 does not run code for cortex-m0", "--board"],
        ),
        ("host", None, ["there is no board that runs code for host", "no board: it is this"]),
    ],
)
def test_boards_run_the_code_of_their_cores(core, board, says):
    text = refused(lambda: find_board(find_core(core), board), UnsupportedError)
    for part in says:
        assert part in text


def test_this_machine_does_not_count_instructions(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    inputs = {"x": np.zeros((1, 4), np.int8)}

    def profile():
        run_emulated(
            tmp_path / "net.tflite", inputs=inputs, build_dir=tmp_path, core="host", profile=True
        )

    text = refused(profile, UnsupportedError)
    assert "instructions are counted by the emulator, not on this machine" in text
    assert "leave --profile out" in text


GOOD = np.zeros((2, 4), np.int8)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"x": GOOD}, ["there is no data for input 'y'", "'y' in the data"]),
        ({"x": GOOD, "y": GOOD[:, :3]}, ["input 'y' is int8[2, 3]", "int8[samples, 4]"]),
        ({"x": GOOD.astype(np.float32), "y": GOOD}, ["input 'x' is float32[2, 4]", "int8[samples"]),
        ({"x": GOOD, "y": GOOD[:1]}, ["inputs have [1, 2] samples", "the same number each"]),
        ({"x": GOOD[:0], "y": GOOD[:0]}, ["input 'x' is int8[0, 4]", "int8[samples, 4]"]),
    ],
)
def test_inputs_fit_the_model(inputs, says):
    text = refused(lambda: pack_inputs(PORTS, inputs), DataError)
    for part in says:
        assert part in text


@pytest.mark.parametrize(
    ("content", "says"),
    [(json.dumps({"engine": ""}), "fields are missing"), ("{", "Expecting"), ("[]", "attribute")],
)
def test_a_file_of_counts_has_its_fields(content, says, tmp_path):
    path = tmp_path / "peer.json"
    path.write_text(content)
    text = refused(lambda: load_baseline(path), DataError)
    for part in ["not a file of instruction counts", says, str(path), "op_instructions"]:
        assert part in text


def test_an_image_that_fails_has_its_last_words(tmp_path):
    text = refused(lambda: booted(tmp_path, "echo canary >&2; exit 3"), ToolError)
    for part in ["the image failed on this machine (status 3)", "canary", "program"]:
        assert part in text


def test_programs_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    text = refused(lambda: toolchain.require("arm-none-eabi-gcc", "make"), ToolError)
    assert "not installed: arm-none-eabi-gcc, make" in text
    assert "apt-get install gcc-arm-none-eabi" in text


def test_a_compiler_that_does_not_know_the_core_is_named(monkeypatch):
    core = find_core("cortex-m55")
    monkeypatch.setattr(toolchain, "knows", lambda core: False)
    monkeypatch.setattr(toolchain, "_probe", lambda core: "unrecognized option\nmore")
    text = refused(lambda: toolchain.require_core(core), ToolError)
    assert f"{core.compiler} does not build for cortex-m55: unrecognized option" in text
    assert f"a compiler that takes {' '.join(core.flags)}" in text
    assert "choose a core that this one knows" in text


def test_a_tool_that_fails_has_its_last_words():
    command = ["sh", "-c", "echo oops >&2; exit 1"]
    text = refused(lambda: toolchain.run(command, doing="compiling net.c"), ToolError)
    assert "compiling net.c failed" in text
    assert "oops" in text


@pytest.mark.parametrize(("memory", "most"), [("RAM", "16,384"), ("FLASH", "262,144")])
def test_a_model_that_does_not_fit_its_board_lacks_bytes(memory, most):
    board = BOARDS["microbit"]
    message = f"ld: region `{memory}' overflowed by 512 bytes"
    command = ["sh", "-c", f'echo "{message.replace("`", chr(92) + "`")}" >&2; exit 1']
    text = refused(lambda: link_for(command, board), ToolError)
    for part in ["board microbit", f"lacks 512 bytes of {memory}", f"at most {most} bytes"]:
        assert part in text
