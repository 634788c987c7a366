"""Compiling leaves the program's output streams alone: threads compile while others redirect."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from threading import Event, Thread

import numpy as np
import pytest

from tinyrt.floatmath.compiled import compiled


class Pausing(io.StringIO):
    """A stream that whoever wraps it holds for a while: colorama asks it whether it is a screen."""

    def __init__(self, asked: Event, answered: Event) -> None:
        super().__init__()
        self.asked, self.answered = asked, answered

    def isatty(self) -> bool:
        self.asked.set()
        self.answered.wait()
        return False


def total(values):
    result = 0.0
    for i in range(len(values)):
        result += values[i]
    return result


@pytest.mark.parametrize("redirect", [redirect_stdout, redirect_stderr])
def test_what_is_redirected_while_a_thread_compiles_stays_so(redirect, monkeypatch, tmp_path):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))  # nothing is compiled there
    asked, answered = Event(), Event()
    sums = []

    def work() -> None:
        try:
            sums.append(compiled(total)(np.arange(4.0)))
        finally:
            asked.set()

    thread = Thread(target=work)
    with redirect(Pausing(asked, answered)):
        thread.start()
        asked.wait()
        with redirect(io.StringIO()) as inner:
            answered.set()
            thread.join()
            assert inner in (sys.stdout, sys.stderr)
    assert sums == [6.0]
