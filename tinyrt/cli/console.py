"""What every command shares: output, errors, progress, exit codes."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tinyrt.budget import limited
from tinyrt.cli.options import parse_bytes
from tinyrt.errors import TinyrtError, catch_all

OUT = Console(highlight=False)
ERR = Console(stderr=True, highlight=False)

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a program to end."""

Report = Callable[[dict[str, Any], RenderableType], None]
Advance = Callable[[int, int], None]


@contextmanager
def reporting(as_json: bool, max_memory: str | None = None) -> Iterator[Report]:
    """Give the command a function that prints its result, and turn whatever fails into exit 1.

    With ``--json``, stdout gets one object and nothing else: the result, or ``{"error": ...}``.
    With ``TINYRT_TRACEBACK`` in the environment, a failure that no check foresaw shows its origin.

    Args:
        as_json: whether ``--json`` was given.
        max_memory: what ``--max-memory`` says that the files of this command may cost.

    """

    def report(data: dict[str, Any], shown: RenderableType) -> None:
        if as_json:
            sys.stdout.write(json.dumps(data, indent=1) + "\n")
        else:
            OUT.print(shown)

    try:
        with catch_all(typer.Exit, typer.Abort, BrokenPipeError), _quiet(), _tidying():
            memory = None if max_memory is None else parse_bytes(max_memory)
            with limited(memory=memory):
                yield report
    except TinyrtError as error:
        if error.__cause__ is not None and os.environ.get("TINYRT_TRACEBACK"):
            ERR.print("".join(traceback.format_exception(error.__cause__)), markup=False)
        if as_json:
            sys.stdout.write(json.dumps({"error": error.as_dict()}, indent=1) + "\n")
        ERR.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
        raise typer.Exit(1) from error


@contextmanager
def _tidying() -> Iterator[None]:
    """Have SIGTERM end the command as Ctrl-C does: what it has begun to write is removed."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    ours = threading.current_thread() is threading.main_thread()
    asked = [s for s in ENDING if ours and signal.getsignal(s) is signal.SIG_DFL]
    for number in asked:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in asked:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of arithmetic: what comes of odd numbers is said by name, or is meant to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect the warnings of what runs inside, and print each once on stderr at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)
        yield notes
    notes += dict.fromkeys(str(w.message) for w in caught)
    for note in notes:
        ERR.print(Text.assemble(("warning: ", "bold yellow"), note), soft_wrap=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Advance]:
    """A bar on stderr where that is a terminal; the function takes (done, total)."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
    )
    with bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
