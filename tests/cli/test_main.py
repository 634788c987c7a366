"""How the program starts and ends: what Ctrl-C does meanwhile, and characters that do not fit."""

import io
import os
import signal
import sys
from contextlib import suppress

import pytest

from tinyrt.cli import app as commands
from tinyrt.cli import main


def interrupt():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def start(monkeypatch):
    """Runs the program with a command of the test's own, under some handler of interrupts.

    Returns a list of the exit codes with which it would have ended at once.
    """
    codes = []
    monkeypatch.setattr(os, "_exit", codes.append)

    def run(command, handler=signal.default_int_handler):
        monkeypatch.setattr(commands, "app", command)
        signal.signal(signal.SIGINT, handler)
        main()
        return codes

    before = signal.getsignal(signal.SIGINT)
    yield run
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_command_as_shells_expect(start):
    cleared = []

    def command():
        try:
            interrupt()
        finally:
            cleared.append(True)

    with pytest.raises(SystemExit) as ended:
        start(command)
    assert (ended.value.code, cleared) == (130, [True])


def test_an_interrupt_at_the_end_ends_at_once(start):
    codes = start(lambda: None)
    with suppress(KeyboardInterrupt):
        interrupt()
    assert codes == [130]


def test_a_program_that_is_to_ignore_interrupts_does(start):
    assert start(interrupt, signal.SIG_IGN) == []
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_characters_that_a_terminal_lacks_are_written_as_escapes(start, monkeypatch):
    """A stream that is none of a terminal's takes them all."""
    plain, few = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setattr(sys, "stderr", few)

    def command():
        for stream in (plain, few):
            print("a µ", end="", file=stream, flush=True)

    start(command)
    assert (plain.getvalue(), few.buffer.getvalue()) == ("a µ", rb"a \xb5")
