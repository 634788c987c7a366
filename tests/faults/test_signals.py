"""Signals that come while a program is being started: it is ended, and nothing else is lost."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.test_tools import script
from tinyrt.board import emulated
from tinyrt.signals import held
from tinyrt.tools import run_tool


def end(number, frame):
    """A handler as the command line has one."""
    raise SystemExit(128 + number)


@pytest.fixture
def handlers():
    """Sets handlers of signals; afterwards they are as they were."""
    before = {}

    def put(number, handler):
        before.setdefault(number, signal.getsignal(number))
        signal.signal(number, handler)

    yield put
    for number, handler in before.items():
        signal.signal(number, handler)


class Struck(subprocess.Popen):
    """A program whose caller gets signals when it has been started, and not yet been told so."""

    numbers, began = (), []

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.began.append(self.pid)
        for number in self.numbers:
            signal.raise_signal(number)


@pytest.fixture
def struck(monkeypatch, handlers):
    """Has all programs be started so; their numbers."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        handlers(number, end)

    def by(*numbers):
        monkeypatch.setattr(Struck, "numbers", numbers)
        monkeypatch.setattr(Struck, "began", [])
        monkeypatch.setattr(subprocess, "Popen", Struck)
        return Struck.began

    return by


def is_running(number):
    """Whether there is such a process; one that was ended and waited for is not."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


ENDED = {
    (signal.SIGINT,): KeyboardInterrupt,
    (signal.SIGTERM,): SystemExit,
    (signal.SIGHUP, signal.SIGINT): KeyboardInterrupt,
}


@pytest.mark.parametrize("numbers", ENDED, ids=str)
def test_a_program_that_is_being_started_is_ended(struck, numbers):
    began = struck(*numbers)
    with pytest.raises(ENDED[numbers]):
        run_tool(["sleep", "60"])
    (number,) = began
    assert not is_running(number)
    assert signal.getsignal(signal.SIGTERM) is end


def test_an_emulator_that_is_being_started_is_ended(tmp_path, monkeypatch, struck):
    elf = tmp_path / "a.elf"
    elf.write_bytes(b"\x7fELF\x01\x01" + bytes(12) + (40).to_bytes(2, "little"))
    script(tmp_path, emulated.ARM_QEMU, "exec sleep 60")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    began = struck(signal.SIGTERM)
    with pytest.raises(SystemExit), emulated.emulated_port(elf, None):
        pytest.fail("it went on")
    (number,) = began
    assert not is_running(number)


def test_a_program_inherits_no_signal_that_waits():
    """Who starts it may end it as ever: none is blocked, nor ignored, but what was before."""
    with held():
        own = run_tool(["grep", "^Sig[BI]", "/proc/self/status"]).out
    assert own == run_tool(["grep", "^Sig[BI]", "/proc/self/status"]).out


def test_threads_start_programs_as_ever(struck):
    struck()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run_tool, ["true"]).result().status == 0


def test_all_that_waited_run_in_order_though_one_raises(handlers):
    found = []

    def first(number, frame):
        found.append(number)
        raise SystemExit(1)

    handlers(signal.SIGUSR1, first)
    handlers(signal.SIGUSR2, lambda number, frame: found.append(number))
    handlers(signal.SIGHUP, signal.SIG_IGN)

    def striking():
        with held():
            for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2):
                signal.raise_signal(number)
            with held():
                signal.raise_signal(signal.SIGUSR2)
            assert found == []
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    with pytest.raises(SystemExit):
        striking()
    assert found == [signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR2]
    assert signal.getsignal(signal.SIGUSR1) is first


def test_one_that_comes_while_handlers_are_put_back_is_heeded_and_so_are_later_ones(
    monkeypatch, handlers
):
    handlers(signal.SIGHUP, end)
    handlers(signal.SIGTERM, end)
    put = signal.signal

    def cut(number, handler):
        if handler is end:
            signal.raise_signal(signal.SIGINT)
        return put(number, handler)

    with pytest.raises(KeyboardInterrupt), held():
        monkeypatch.setattr(signal, "signal", cut)
    monkeypatch.undo()
    for number in (signal.SIGHUP, signal.SIGTERM):
        with pytest.raises(SystemExit):
            signal.raise_signal(number)
