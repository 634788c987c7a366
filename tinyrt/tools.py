"""Programs of others (compilers, emulators): run with limits, and turned into errors."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO

from tinyrt.errors import ToolError
from tinyrt.files import writing
from tinyrt.signals import held

LIMIT_S = 600.0
"""Seconds that a program may take, unless ``$TINYRT_TOOL_SECONDS`` says otherwise."""

EMULATOR_S = 300.0
"""Seconds that an emulator may take for one run, unless told otherwise."""

PROBE_S = 6.0
"""Seconds that a program may take for a question such as its version."""

MAX_OUTPUT = 64 << 20
"""Bytes that it may print."""

MAX_LINES, MAX_COLUMNS = 8, 200
"""Lines and characters of a program's last output that an error shows."""

OWN_WORDS = "these words are its own; another release of it may do what is asked"
"""The hint for a program that failed."""

ENVIRONMENT = {"CCACHE_DISABLE": "1"}
"""What programs are told besides the user's environment. Some releases of ccache, which Debian's
users have in front of their compilers, give back an object without the call graph that the stack's
bound is read from."""

_POLL_S = 0.2

_stop: ContextVar[Event | None] = ContextVar("stop", default=None)


def first_program(names: Sequence[str]) -> str | None:
    """The first of these programs that is installed; None without any."""
    return next((name for name in names if shutil.which(name)), None)


class OutOfTimeError(ToolError):
    """A program took longer than it may, and was killed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has come to its end.

    Attributes:
        status: 0 for success; negative: minus the signal that ended it.
        out: what it wrote to standard output.
        err: what it wrote to standard error.

    """

    status: int
    out: str
    err: str

    @property
    def last_words(self) -> str:
        """The end of what it wrote."""
        return last_lines(self.out + self.err)


@contextmanager
def stoppable() -> Iterator[Event]:
    """Once the event is set, programs that were started within the block are ended.

    This is how a thread that nobody waits for any more stops waiting for its own. It has to run in
    a copy of the context of the block.
    """
    event = Event()
    before = _stop.set(event)
    try:
        yield event
    finally:
        _stop.reset(before)


def run_tool(
    command: Sequence[object],
    *,
    input_text: str = "",
    cwd: Path | None = None,
    limit_s: float | None = None,
    watch: Callable[[], None] | None = None,
) -> Finished:
    """Run a program to its end; it and all that it started are killed when its time runs out.

    Args:
        command: the program and its arguments.
        input_text: its standard input.
        cwd: the folder that it runs in.
        limit_s: seconds that it may take; ``limit()`` by default.
        watch: called now and then while it runs.

    Raises:
        OutOfTimeError: it took too long.
        ToolError: it cannot be started, prints without end, or is stopped (``stoppable``).
        OutputError: there is no room for what it prints.

    """
    words = [str(part) for part in command]
    room = writing(None, what="cannot keep what a program prints", hint="make room in $TMPDIR")
    with room, tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out:
        stdin.write(input_text.encode())
        stdin.seek(0)
        with tempfile.TemporaryFile() as err:
            status = _run(words, (stdin, out, err), cwd, limit_s or limit(), watch)
            return Finished(status, _text(out), _text(err))


def limit() -> float:
    """Seconds that a program may take.

    Raises:
        ToolError: ``$TINYRT_TOOL_SECONDS`` is no number of seconds.

    """
    setting = os.environ.get("TINYRT_TOOL_SECONDS")
    if setting is None:
        return LIMIT_S
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ToolError(
            f"TINYRT_TOOL_SECONDS is {setting[:40]!r}", expected="a number of seconds above 0"
        )
    return seconds


def last_lines(text: str) -> str:
    """The end of a program's output, short enough for an error and safe for a terminal."""
    lines = text.strip().splitlines()[-MAX_LINES:]
    return "\n".join(
        "".join(c if c.isprintable() else "?" for c in line[:MAX_COLUMNS].expandtabs(4))
        for line in lines
    )


def _run(
    command: list[str],
    files: tuple[IO[bytes], IO[bytes], IO[bytes]],
    cwd: Path | None,
    limit_s: float,
    watch: Callable[[], None] | None,
) -> int:
    process = None
    try:
        with held():
            process = _started(command, files, cwd)
        return _wait(process, *files[1:], limit_s, watch)
    finally:
        # Ctrl-C ends here, too: it does not reach other sessions.
        if process is not None:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a program that has a session of its own, with all that it started, if it still runs."""
    with held():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _started(
    command: list[str], files: tuple[IO[bytes], IO[bytes], IO[bytes]], cwd: Path | None
) -> subprocess.Popen[bytes]:
    stdin, out, err = files
    try:
        # A session of its own, so that its child processes can be killed along with it.
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | ENVIRONMENT,
            stdin=stdin,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"cannot run {command[0]}: {error.strerror}",
            expected="a program that this machine runs",
            hint="install it anew, or look at PATH",
        ) from error


def _wait(
    process: subprocess.Popen[bytes],
    out: IO[bytes],
    err: IO[bytes],
    limit_s: float,
    watch: Callable[[], None] | None,
) -> int:
    program = Path(str(process.args[0])).name  # type: ignore[index]
    end = time.monotonic() + limit_s
    while (remaining := end - time.monotonic()) > 0:
        if _ends_within(process, min(_POLL_S, remaining)):
            return process.wait()
        if watch is not None:
            watch()
        if (stop := _stop.get()) is not None and stop.is_set():
            problem = f"{program} was ended: nobody waits for it any more"
            raise ToolError(problem, hint="mend what ended the others, and run it again")
        if any(os.fstat(file.fileno()).st_size > MAX_OUTPUT for file in (out, err)):
            raise ToolError(
                f"{program} prints without end; at last:\n{last_lines(_text(err) or _text(out))}",
                expected=f"at most {MAX_OUTPUT:,} bytes",
            )
    words = last_lines(_text(out) + _text(err))
    raise OutOfTimeError(
        f"{program} did not finish within {limit_s:g} seconds; "
        + (f"its last words:\n{words}" if words else "it said nothing"),
        hint="look at what keeps it, or set TINYRT_TOOL_SECONDS to allow more time",
    )


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until the process ends, for so long at most; whether it did."""
    try:
        # Linux tells at once. Popen looks every 50 ms, which is what most programs take.
        ended = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None
    try:
        poller = select.poll()
        poller.register(ended, select.POLLIN)
        return bool(poller.poll(1000 * seconds))
    finally:
        os.close(ended)


def _text(file: IO[bytes]) -> str:
    """The file's content, or its end where it is too long."""
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - MAX_OUTPUT)
    return os.pread(file.fileno(), size - start, start).decode(errors="replace")
