"""The command ``tinyrt`` for examples: each runs in a copy of a process that has imported it all.

A program of a few lines hands its arguments, folder, variables and streams to that process, which
forks, and waits for the status. So an example takes half a second less; what it says and writes is
the same. What it compiles is shared with other tests. Python examples likewise are copies of a
process that has imported packages that tinyrt needs, and nothing of tinyrt: what an example does
not import, it does not have. ``python -m tests.docs.commands NAME FOLDER OBJECTS`` is such a
process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tests.kept_objects import shared

COMMAND, PYTHON = "tinyrt", "python-c"
IMPORTED = {
    COMMAND: (
        *("tinyrt.cli.app", "tinyrt.cli.inspect", "tinyrt.backends.numba.compiled"),
        *("tinyrt.quantize", "tinyrt.emulate", "tinyrt.export", "tinyrt.report"),
        *("tinyrt.train.fit", "tinyrt.train.qat", "tinyrt.bench", "tinyrt.interpreter.native"),
        *("tinyrt.search", "tinyrt.search.optuna_parts", "optuna.importance"),
        *("typer._adapters",),
    ),
    PYTHON: (
        *("numpy", "numba", "scipy.stats", "sklearn.ensemble", "sklearn.datasets", "tflite"),
        *("optuna.importance", "narwhals", "jinja2", "rich.progress", "rich.table"),
    ),
}
"""Program -> what its process has imported."""
MAX_REQUEST = 1 << 20

CLIENT = """#!{python} -SE
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as line:
    line.connect({socket!r})
    request = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(request).to_bytes(4, "little")], [0, 1, 2])
    line.sendall(request)
    status = line.recv(1)
sys.exit(status[0] if status else "the command ended without a status")
"""


@contextmanager
def served(folder: Path, objects: Path) -> Iterator[Path]:
    """A folder for PATH, in which ``tinyrt`` is such a program; it is for this context.

    So is ``python-c``, whose argument is the code that it runs.

    Args:
        folder: where; a short path, as sockets have them.
        objects: what tests have compiled; see ``tests.kept_objects``.

    """
    with ExitStack() as stack:
        for name in IMPORTED:
            stack.enter_context(_served(folder / name, objects))
        yield folder


@contextmanager
def _served(program: Path, objects: Path) -> Iterator[None]:
    place = f"{program}.socket"
    program.write_text(CLIENT.format(python=sys.executable, socket=place))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.docs.commands", program.name, place, str(objects)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.terminate()


def main(name: str, place: str, objects: Path) -> None:
    """Answer each request in a process of its own."""
    for imported in IMPORTED[name]:
        import_module(imported)
    if name == COMMAND:
        import_module("tinyrt.cluster.memory").keep_memory()
    with socket.socket(socket.AF_UNIX) as listening, shared(objects):
        listening.bind(place)
        listening.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                os._exit(_answer(line, _command if name == COMMAND else _code))
            line.close()


def _answer(line: socket.socket, carry_out: Callable[[], None]) -> int:
    """Do what is asked, and send the status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(line, 4, 3)
    request = b""
    while len(request) < int.from_bytes(length, "little"):
        request += line.recv(MAX_REQUEST)
    sys.argv, directory, variables = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.chdir(directory)
    # Usage names the program by this.
    sys.modules["__main__"].__package__ = None
    os.environ.clear()
    os.environ.update(variables)
    status = _status_of(carry_out)
    sys.stdout.flush()
    sys.stderr.flush()
    line.sendall(bytes([status]))
    return status


def _status_of(carry_out: Callable[[], None]) -> int:
    try:
        carry_out()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _command() -> None:
    from tinyrt.cli import main as command

    command()


def _code() -> None:
    """What ``python -c`` does: modules are looked for in the folder, too."""
    sys.path[:1] = ["", os.environ["PYTHONPATH"]]
    sys.argv, code = ["-c"], sys.argv[1]
    module = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(code, "<string>", "exec"), module.__dict__)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
