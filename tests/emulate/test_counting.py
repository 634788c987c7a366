"""From what an image reports to instructions, outputs and stack; images are scripts here."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.export.models import views
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import qemu, run_emulated
from tinyrt.emulate.boards import BOARDS
from tinyrt.emulate.image import Image
from tinyrt.emulate.profile import NOTHING, op_instructions
from tinyrt.emulate.sizes import Sizes
from tinyrt.tools import EMULATOR_S

CALIBRATION = {
    "calibration_instructions": [9990],
    "calibration_ticks": [250],
    "calibration_polls": [2],
}
"""9998 instructions in 250 ticks: 39.99 to a tick."""
PER_TICK = 39.99
INVOKE = {"invoke_ticks": [1000, 1003], "invoke_polls": [3, 8]}
EMPTY = {"empty_ticks": [10, 12], "empty_polls": [1, 0]}
OPS = {
    "op": [0, 1, 0, NOTHING, NOTHING, 3],
    "op_ticks": [400, 1000, 200, 4, 6, 8],
    "op_polls": [5, 0, 3, 1, 0, 0],
}


def test_instructions_are_the_mean_of_phases_without_the_empty_call():
    found = qemu.instructions(CALIBRATION | INVOKE | EMPTY)
    assert found == round((2003 - 22) / 2 * PER_TICK - (11 - 1) / 2 * 4)


def test_instructions_are_rounded_to_the_nearest():
    """945 ticks more than the empty call's: 37,790.55 instructions, less 20 for polls."""
    invoke = {"invoke_ticks": [955, 957], "invoke_polls": [3, 8]}
    assert qemu.instructions(CALIBRATION | invoke | EMPTY) == 37_771


def test_a_debugger_is_waited_for_before_the_first_instruction(monkeypatch):
    """And everything else is as without one; a user's options come last."""
    monkeypatch.setattr(qemu.toolchain, "require", lambda *programs: None)
    image = Image(Path("/x/image.elf"), BOARDS["mps2-an386"], Sizes(*[0] * 7), None)
    plain, debugged = (qemu._command(image, gdb, ["-d", "int"]) for gdb in (None, 1234))
    assert plain[:3] == ["qemu-system-arm", "-M", "mps2-an386"]
    assert plain[-4:] == ["-kernel", "/x/image.elf", "-d", "int"]
    (at,) = (i for i, word in enumerate(debugged) if word == "-S")
    assert debugged[at : at + 3] == ["-S", "-gdb", "tcp:127.0.0.1:1234"]
    assert debugged[:at] + debugged[at + 3 :] == plain


def test_each_slice_has_the_mean_of_its_phases_without_the_empty_call():
    slices = {"slice_ticks": [100, 50, 9, 103, 51, 9], "slice_polls": [3, 0, 1, 8, 0, 0]}
    empty = 11 * PER_TICK - 0.5 * 4
    assert qemu.slice_instructions(CALIBRATION | EMPTY | slices) == (
        round(101.5 * PER_TICK - 5.5 * 4 - empty),
        round(50.5 * PER_TICK - empty),
        round(9 * PER_TICK - 0.5 * 4 - empty),
    )


@pytest.mark.parametrize(("polls", "expected"), [([0, 0, 1], 12), ([0, 1, 1], 10)])
def test_a_mean_of_phases_is_rounded_to_the_nearest(polls, expected):
    """Means of 11 2/3 and 10 1/3, at four instructions to a poll."""
    counted = {"calibration_instructions": [1], "calibration_ticks": [1], "calibration_polls": [0]}
    empty = {"empty_ticks": [0], "empty_polls": [0]}
    invoke = {"invoke_ticks": [13, 13, 13], "invoke_polls": polls}
    assert qemu.instructions(counted | empty | invoke) == expected


def test_each_sample_is_without_the_empty_call_of_its_phase():
    """At 0.3 instructions to a tick, and four to a poll."""
    counted = {"calibration_instructions": [3], "calibration_ticks": [10]}
    empty = {"empty_ticks": [10, 20], "empty_polls": [0, 1]}
    samples = {"sample_ticks": [1000, 1009, 2000], "sample_polls": [2, 0, 5]}
    found = qemu.sample_instructions(counted | {"calibration_polls": [0]} | empty | samples)
    assert found == [300 - 8 - 3, round(302.7 - 2), 600 - 20 - 3]


def test_instructions_to_a_tick_are_rounded_to_a_hundredth():
    third = CALIBRATION | {"calibration_ticks": [3], "calibration_polls": [0]}
    assert qemu.Instructions(third)(100, 0) == pytest.approx(333_000)
    assert qemu.Instructions(third | {"calibration_ticks": [7]})(100, 0) == pytest.approx(142_714)


def test_an_op_s_instructions_are_those_of_all_its_calls_without_their_hooks():
    hook = (10 * PER_TICK - 4) / 2
    assert op_instructions(CALIBRATION | OPS) == {
        0: round((600 * PER_TICK - 32 - 2 * hook) / 4),
        1: round((1000 * PER_TICK - hook) / 4),
        3: round((8 * PER_TICK - hook) / 4),
    }


def test_a_report_has_hexadecimal_values_in_order():
    text = "arena_bytes 1f40\nop 0\nop ffffffff\nop 10\n"
    assert qemu.parse_report(text) == {"arena_bytes": [8000], "op": [0, NOTHING, 16]}


# Images that are scripts

WRITTEN = "printf 'abc' > outputs.bin; printf 'arena_bytes 20\\nstack_bytes 11\\n{more}' > {to}"


def image(folder, body):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Image(path, None, Sizes(*[0] * 7), None)


def test_a_run_is_what_the_image_wrote(tmp_path):
    program = image(tmp_path, "cat inputs.bin > seen; " + WRITTEN.format(more="", to="report.txt"))
    assert qemu.run_image(program, b"given", tmp_path) == qemu.Run(b"abc", None, 17, 32)
    assert (tmp_path / "seen").read_bytes() == b"given"


def test_a_run_counts_where_there_is_a_clock(tmp_path):
    counters = CALIBRATION | INVOKE | EMPTY
    more = "".join(f"{name} {value:x}\\n" for name, values in counters.items() for value in values)
    program = image(tmp_path, WRITTEN.format(more=more, to="report.txt"))
    assert qemu.run_image(program, b"", tmp_path).instructions == qemu.instructions(counters)


def test_stack_that_is_not_measured_is_none(tmp_path):
    program = image(tmp_path, "printf x > outputs.bin; echo arena_bytes 8 > report.txt")
    assert qemu.run_image(program, b"", tmp_path) == qemu.Run(b"x", None, None, 8)


def test_progress_is_the_bytes_of_output_so_far(tmp_path):
    seen = []
    body = "printf 'abc' > outputs.bin; sleep 0.5; " + WRITTEN.format(more="", to="report.txt")
    qemu.run_image(image(tmp_path, body), b"", tmp_path, progress=seen.append)
    assert set(seen) <= {0, 3}
    assert 3 in seen


@pytest.mark.parametrize("call", [qemu.run_image, qemu.boot])
def test_what_is_asked_for_reaches_the_emulator(call, tmp_path, monkeypatch):
    program = image(tmp_path, WRITTEN.format(more="", to="report.txt"))
    command, tool, asked = qemu._command, qemu.run_tool, []

    def seen_command(image, *given):
        asked.extend(given)
        return command(image)

    def seen_tool(*arguments, limit_s, **options):
        asked.append(limit_s)
        return tool(*arguments, limit_s=limit_s, **options)

    monkeypatch.setattr(qemu, "_command", seen_command)
    monkeypatch.setattr(qemu, "run_tool", seen_tool)
    gdb = {"gdb": 1234} if call is qemu.run_image else {}
    seen = []
    given = {"timeout_s": 9.0, "options": ["-d"], "progress": seen.append} | gdb
    call(program, b"", tmp_path, **given)
    assert asked == [gdb.get("gdb"), ["-d"], 9.0]
    call(program, b"", tmp_path)
    assert asked[3:] == [None, (), EMULATOR_S]


def test_each_model_of_an_image_has_files_of_its_own(tmp_path):
    """And progress counts what is there of any of them."""
    slices = CALIBRATION | INVOKE | EMPTY | {"slice_ticks": [90, 80], "slice_polls": [0, 0]}
    more = "".join(f"{name} {value:x}\\n" for name, values in slices.items() for value in values)
    told = "until test -e told_{}; do sleep 0.01; done; "
    body = (
        f"cat inputs_a.bin > outputs_a.bin; {told.format(5)}"
        f"cat inputs_b.bin > outputs_b.bin; {told.format(15)}"
        f"echo arena_bytes 8 > report_a.txt; printf 'arena_bytes 10\\n{more}' > report_b.txt"
    )
    parts, seen = {"_a": b"first", "_b": b"second one"}, []

    def progress(done):
        seen.append(done)
        (tmp_path / f"told_{done}").touch()

    found = qemu.run_parts(image(tmp_path, body), parts, tmp_path, timeout_s=30, progress=progress)
    counted = qemu.instructions(slices)
    assert found == {
        "_a": qemu.Run(b"first", None, None, 8),
        "_b": qemu.Run(b"second one", counted, None, 16, qemu.slice_instructions(slices)),
    }
    assert len(found["_b"].slices) == 1
    assert {5, 15} <= {*seen} <= {0, 5, 15}


@pytest.mark.parametrize("stale", ["report.txt", "outputs.bin"])
def test_files_of_an_earlier_run_do_not_count(tmp_path, stale):
    (tmp_path / stale).write_text("arena_bytes 20\n")
    body = f"test -e {stale} && exit 3; echo arena_bytes 1 > report.txt"
    assert qemu.boot(image(tmp_path, body), b"", tmp_path) == {"arena_bytes": [1]}


@pytest.mark.parametrize("name", BOARDS)
def test_the_emulator_counts_and_shows_nothing(tmp_path, monkeypatch, name):
    asked = []
    monkeypatch.setattr(qemu.toolchain, "require", lambda *programs: asked.extend(programs))
    board = BOARDS[name]
    path = tmp_path / "image.elf"
    command = qemu._command(Image(path, board, Sizes(*[0] * 7), None))
    assert asked == [board.qemu] == command[:1]
    pairs = dict(pairwise(command))
    assert pairs["-M"] == name
    assert pairs["-icount"] == "shift=0"
    assert pairs["-kernel"] == str(path)
    assert pairs["-semihosting-config"] == "enable=on,target=native"
    assert [pairs[what] for what in ("-display", "-monitor", "-serial")] == ["none"] * 3
    assert pairs.get("-bios") == ("none" if name == "virt" else None)


def test_samples_are_done_when_all_their_outputs_are_written(tmp_path, monkeypatch):
    """Two outputs of 12 bytes each."""
    save_tflite(views(), tmp_path / "net.tflite")
    image = Image(Path("image.elf"), None, Sizes(*[0] * 7), None)
    answers = bytes(range(72))

    def boot(*_, progress, **__):
        for nbytes in (0, 23, 24, 47, 72):
            progress(nbytes)
        return qemu.Run(answers, None, None, 0)

    monkeypatch.setattr("tinyrt.emulate.run.build_image", lambda *_, **__: image)
    monkeypatch.setattr("tinyrt.emulate.run.run_image", boot)
    seen = []
    found = run_emulated(
        tmp_path / "net.tflite",
        inputs={"x": np.zeros((3, 2, 6), np.int8)},
        build_dir=tmp_path / "b",
        core="host",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 3), (0, 3), (1, 3), (1, 3), (3, 3)]
    samples = [answers[i : i + 24] for i in (0, 24, 48)]
    assert found.outputs["y"].tobytes() == b"".join(one[:12] for one in samples)
    assert found.outputs["copy"].tobytes() == b"".join(one[12:] for one in samples)
    assert found.outputs["copy"].shape == (3, 3, 4)
