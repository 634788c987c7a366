"""The command ``tinyrt`` for examples: each runs in a copy of a process that has imported it all.

A program of a few lines hands its arguments, folder, variables and streams to that process, which
forks, and waits for the status. So an example takes half a second less; what it says and writes is
the same. ``python -m tests.docs.commands FOLDER`` is that process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

IMPORTED = (
    *("tinyrt.cli.app", "tinyrt.cli.inspect", "tinyrt.backends.numba.compiled", "tinyrt.quantize"),
    *("tinyrt.emulate", "tinyrt.export", "tinyrt.report", "tinyrt.train.fit", "tinyrt.train.qat"),
)
SOCKET = "socket"
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
def served(folder: Path) -> Iterator[Path]:
    """A folder for PATH, in which ``tinyrt`` is such a program; it is for this context."""
    program = folder / "tinyrt"
    place = folder / SOCKET
    program.write_text(CLIENT.format(python=sys.executable, socket=str(place)))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.docs.commands", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield folder
        finally:
            process.terminate()


def main(folder: Path) -> None:
    """Answer each request in a process of its own."""
    for name in IMPORTED:
        import_module(name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SOCKET))
        listening.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                os._exit(_answer(line))
            line.close()


def _answer(line: socket.socket) -> int:
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
    status = _run()
    sys.stdout.flush()
    sys.stderr.flush()
    line.sendall(bytes([status]))
    return status


def _run() -> int:
    from tinyrt.cli import main as command

    try:
        command()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
