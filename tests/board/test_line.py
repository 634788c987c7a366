"""Lines to a board that are silent, and systems whose ports are no terminals."""

import importlib.util
import sys

import pytest
import serial

from tinyrt.board.emulated import EmulatedLine
from tinyrt.errors import ToolError


def test_an_emulated_line_that_is_silent_gives_nothing_and_has_not_ended(tmp_path):
    with (
        (tmp_path / "words").open("w+b") as words,
        EmulatedLine(["sleep", "20"], "the machine", words) as line,
    ):
        assert [line.read(), line.read()] == [b"", b""]


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
