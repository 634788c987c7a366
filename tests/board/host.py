"""Ports of exported models as programs of this machine, under sanitizers."""

from __future__ import annotations

import os
import selectors
import subprocess
from pathlib import Path

from tests.c.host import SANITIZE, host_compiler
from tests.kept_objects import compile_sources
from tinyrt.board.line import lost
from tinyrt.export import ExportedProject
from tinyrt.export.rendering import Source, render

FLAGS = ("-std=c11", "-O0", "-Wall", "-Wextra", *SANITIZE.split())


def build(project: ExportedProject, folder: Path, *flags: str) -> Path:
    """The project's port as a program: ``program [TICKS_PER_SECOND [FLIP [MISALIGNED]]]``."""
    context = {
        "name": Source(project.name),
        "NAME": Source(project.name.upper()),
        "state": project.state_bytes > 0,
        "regions": [r.name.lower() for r in project.regions] if len(project.regions) > 1 else [],
    }
    main = folder / "program.c"
    main.write_text(render(Path(__file__).parent, "program.c.j2", context))
    model = project.directory
    sources = [main, *model.glob("*.c"), *model.glob("tinyrt/*.c")]
    program = folder / "program"
    command = [host_compiler(), *(flags or FLAGS), f"-I{model}", *sources, "-lm", "-o", program]
    compile_sources(command)
    return program


def environment() -> dict[str, str]:
    """Ports live as long as their programs: their memory is nobody's leak."""
    return os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}


def answered(program: Path, data: bytes, *arguments: object) -> bytes:
    """What the port writes on these bytes."""
    command = [program, *map(str, arguments)]
    done = subprocess.run(
        command, input=data, capture_output=True, check=False, timeout=120, env=environment()
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout


class ProgramLine:
    """A line to such a program; it counts the bytes of each direction."""

    name = "the program"

    def __init__(self, program: Path, *arguments: object) -> None:
        command = [program, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment()
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.process.stdout, selectors.EVENT_READ)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def write(self, data: bytes) -> None:
        try:
            self.process.stdin.write(data)
        except OSError as error:
            raise lost(self.name, error) from error

    def read(self) -> bytes:
        if not self._selector.select(0.05):
            return b""
        data = os.read(self.process.stdout.fileno(), 4096)
        if not data:
            raise lost(self.name, "it ended")
        return data
