"""Signals that wait while something is done that must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any


@contextmanager
def held() -> Iterator[None]:
    """Have Python's handlers of signals wait until the block ends; then they run, in order.

    A handler that raises, as that of Ctrl-C does, cuts in between any two lines: a program that
    was started is then running, and nobody knows it. Who starts one does so in such a block, and
    leaves the block where the program would be ended.

    Signals themselves are not blocked, since a program that is started inherits that. Other
    threads run no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, Any] = {
        number: handler
        for number in signal.valid_signals()
        if callable(handler := signal.getsignal(number))
    }
    waiting = False
    seen: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        if waiting:
            seen.append((number, frame))
        else:  # in the middle of a loop below: what is not put back yet goes on as it did
            handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, note)
    waiting = True
    try:
        yield
    finally:
        waiting = False
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with ExitStack() as rest:  # each of them runs, though another raises
            for number, frame in reversed(seen):
                rest.callback(handlers[number], number, frame)
