"""Output, errors, progress and exit codes of all commands."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text

from tinyrt.amounts import parse_bytes
from tinyrt.budget import limited
from tinyrt.errors import MAX_LINES, MAX_PROBLEM, TinyrtError, catch_all
from tinyrt.text import encodable, json_of, message, printable

WIDE = 2_000
"""Columns of a table that is as wide as it comes."""

MAX_NOTES = 10
"""Warnings that a command prints."""


ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a program to end."""

Report = Callable[[dict[str, Any], RenderableType], None]


class Advance(Protocol):
    """Moves a bar on."""

    def __call__(self, count: int, total: int, said: str = "") -> None:
        """So many of all are done; what is said stands in a line below."""
        ...


@dataclass(frozen=True, slots=True)
class _Printable:
    """Something to print; invisible characters are replaced."""

    what: Any

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        encoding = getattr(console.file, "encoding", None) or "utf-8"
        for segment in console.render(self.what, options):
            yield Segment(encodable(printable(segment.text), encoding), segment.style)


class _Screen(RenderHook):
    """The filter that all output goes through; a bar moves the cursor behind it."""

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        return [_Printable(what) for what in renderables]


def _console(**options: Any) -> Console:
    """A console that takes text as it is: names from files are no markup, and no emoji."""
    console = Console(highlight=False, markup=False, emoji=False, **options)
    console.push_render_hook(_Screen())
    return console


OUT = _console()
ERR = _console(stderr=True)


@contextmanager
def reporting(
    as_json: bool, max_memory: str | None = None, *, wide: bool = False
) -> Iterator[Report]:
    """Give the command a function that prints its result, and turn every failure into exit 1.

    With ``--json``, stdout gets one object and nothing else: the result, or ``{"error": ...}``.
    With ``TINYRT_TRACEBACK`` in the environment, a failure that no check foresaw shows its origin.

    Args:
        as_json: whether ``--json`` was given.
        max_memory: what ``--max-memory`` says that the files of this command may cost.
        wide: whether ``--wide`` was given: tables then wrap at no terminal's width.

    """

    def report(data: dict[str, Any], renderable: RenderableType) -> None:
        if as_json:
            _write_json(data)
        else:
            OUT.print(renderable, width=WIDE if wide else None)

    try:
        with catch_all(typer.Exit, typer.Abort, BrokenPipeError), _quiet(), _tidying():
            memory = None if max_memory is None else parse_bytes(max_memory)
            with limited(memory=memory):
                yield report
    except TinyrtError as error:
        if error.__cause__ is not None and os.environ.get("TINYRT_TRACEBACK"):
            ERR.print("".join(traceback.format_exception(error.__cause__)))
        if as_json:
            _write_json({"error": error.as_dict()})
        ERR.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
        raise typer.Exit(1) from error


def _write_json(data: dict[str, Any]) -> None:
    """One object in ASCII, with names in full: they are escaped, and scripts look them up."""
    sys.stdout.write(json_of(data, indent=1) + "\n")
    sys.stdout.flush()  # fails here if the reader of the pipe has closed it


@contextmanager
def _tidying() -> Iterator[None]:
    """Have SIGTERM end the command as Ctrl-C does: unfinished files are removed."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    is_main_thread = threading.current_thread() is threading.main_thread()
    signals = [s for s in ENDING if is_main_thread and signal.getsignal(s) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of NumPy's arithmetic: checks report bad numbers with the tensor's name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect the warnings raised in the ``with`` block; at the end, print each once on stderr."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)
        yield notes
    notes += dict.fromkeys(str(w.message) for w in caught)
    for note in notes[:MAX_NOTES]:
        text = message(note, MAX_PROBLEM, lines=MAX_LINES)
        ERR.print(Text.assemble(("warning: ", "bold yellow"), text), soft_wrap=True)
    if len(notes) > MAX_NOTES:
        ERR.print(f"and {len(notes) - MAX_NOTES} more warnings; --json has them all")


@contextmanager
def progress_bar(label: str) -> Iterator[Advance]:
    """A bar on stderr where that is a terminal."""
    if not ERR.is_terminal:
        yield lambda count, total, said="": None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    class Told(Progress):
        """With a line below, as far as it is wide."""

        said = Text(no_wrap=True, overflow="ellipsis")

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            if self.said:
                yield self.said

    bar = Told(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=ERR,
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=None)

        def advance(count: int, total: int, said: str = "") -> None:
            bar.said = Text(said, no_wrap=True, overflow="ellipsis")
            bar.update(task, completed=count, total=total)

        yield advance
