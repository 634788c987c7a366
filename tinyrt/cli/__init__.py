"""The command line: commands, tables, progress."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C has stopped, as shells have it."""


def main() -> None:
    """Run the command line.

    Ctrl-C ends it at any time without a traceback: at once while it starts and ends; in between as
    an exception, so that what was begun is cleared away.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # The commands are only imported here: that takes most of the time that starting takes.
    from tinyrt.cli.app import app

    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        app()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    finally:
        if heeded:
            signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: object) -> NoReturn:
    del number, frame
    os._exit(INTERRUPTED)
