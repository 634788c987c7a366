"""Lines to a board that are silent, gone or busy, and systems whose ports are no terminals."""

import importlib.util
import sys
import termios
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial

from tests.board.test_validate import Made
from tests.export.models import dense
from tinyrt.board import SerialLine
from tinyrt.board.emulated import EmulatedLine, emulated_port
from tinyrt.board.line import MAX_READ
from tinyrt.errors import ToolError

BOOTED = [
    (40, None, "qemu-system-arm -M mps2-an386 -icount"),
    (40, "mps2-an500", "qemu-system-arm -M mps2-an500 -icount"),
    (40, "musca-a", "qemu-system-arm -M musca-a -icount"),
    (243, None, "qemu-system-riscv32 -M virt -bios none -icount"),
]
"""Processor of a firmware, machine that is asked for -> the emulator and what it is told first."""


@pytest.mark.parametrize(("processor", "machine", "command"), BOOTED)
def test_a_firmware_boots_as_its_machine_takes_it(
    processor, machine, command, tmp_path, monkeypatch
):
    emulator, told = tmp_path / command.split()[0], ""
    emulator.write_text('#!/bin/sh\necho "${0##*/} $*"\nsleep 20\n')
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    elf = tmp_path / "a.elf"
    elf.write_bytes(b"\x7fELF\x01\x01" + bytes(12) + processor.to_bytes(2, "little"))
    with emulated_port(elf, machine) as line:
        while not told.endswith("\n"):
            told += line.read().decode()
    assert told.startswith(f"{command} shift=0 ")
    assert told.endswith(f"-kernel {elf}\n")


def test_an_emulated_line_that_is_silent_gives_nothing_and_has_not_ended(tmp_path):
    with (
        (tmp_path / "words").open("w+b") as words,
        EmulatedLine(["sleep", "20"], "the machine", words) as line,
    ):
        assert [line.read(), line.read()] == [b"", b""]


def test_an_emulated_line_gives_back_all_that_it_opened(tmp_path):
    opened = Path("/dev/fd")
    with (tmp_path / "words").open("w+b") as words:
        before = len(list(opened.iterdir()))
        with EmulatedLine(["sleep", "20"], "the machine", words) as line:
            assert len(list(opened.iterdir())) == before + 3, "two pipes and what waits for them"
        assert len(list(opened.iterdir())) == before
    assert line.name == "the machine"


def test_an_emulator_that_ends_in_silence_has_no_last_words(tmp_path):
    command = ["sh", "-c", "exit 4"]
    with (
        (tmp_path / "words").open("w+b") as words,
        EmulatedLine(command, "it", words) as line,
        pytest.raises(ToolError) as caught,
    ):
        line.read()
    said = "it ended in the middle of the conversation (status 4)"
    assert caught.value.problem == said


@pytest.mark.parametrize("waiting", [0, 1, MAX_READ, MAX_READ + 1])
def test_no_read_takes_more_than_it_may(waiting, monkeypatch):
    asked = []
    port = SimpleNamespace(
        in_waiting=waiting, read=lambda n: asked.append(n) or bytes(n), close=lambda: None
    )
    monkeypatch.setattr(serial, "serial_for_url", lambda *a, **k: port)
    with SerialLine("p", 9600) as line:
        assert len(line.read()) == sum(asked)
    assert asked == [1, *[min(waiting, MAX_READ)] * (waiting > 0)]


def test_without_terminals_a_port_that_does_not_open_is_told_likewise(tmp_path, monkeypatch):
    """The module as it is on Windows, where Python has no ``termios``."""
    monkeypatch.setitem(sys.modules, "termios", None)
    spec = importlib.util.find_spec("tinyrt.board.line")
    line = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(line)
    port = str(tmp_path / "none")
    with pytest.raises(ToolError, match=f"cannot open {port} at 9600 baud") as caught:
        line.SerialLine(port, 9600)
    assert isinstance(caught.value.__cause__, serial.SerialException)


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return Made(dense(size=40), tmp_path_factory.mktemp("net") / "net.tflite")


def test_a_line_that_is_gone_cannot_be_written_to(net):
    with net.board() as board, SerialLine(board.port, 9600) as line:
        board.closed.set()
        board.thread.join(10)
        board.hang_up()
        with pytest.raises(ToolError, match="is gone in the middle"):
            line.write(b"x")


def test_a_line_that_is_left_is_free_for_others(net):
    with net.board() as board, SerialLine(board.port, 9600) as line:
        assert line._port.is_open
    assert not line._port.is_open


@pytest.mark.parametrize("kind", [termios.error, OSError, serial.SerialException])
def test_whatever_a_port_fails_with_it_is_gone(kind, net):
    def fail(*arguments):
        raise kind(5, "Input/output error")

    with net.board() as board, SerialLine(board.port, 9600) as line:
        line._port.write = line._port.read = fail
        for use in (lambda: line.write(b"x"), line.read):
            with pytest.raises(ToolError, match="is gone in the middle"):
                use()
