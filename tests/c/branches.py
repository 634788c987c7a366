"""Which branches of the kernels programs take, counted by gcov.

The same source is part of many programs, and a header of many sources: a branch is taken when any
of them takes it. A line whose macros differ has as many branches as each of its uses, so they are
told apart by their number, too.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from tests.c.host import RUNNING_HEADER, core_flags, run_program, write_driver
from tests.kept_texts import Texts
from tinyrt import kernels_c
from tinyrt.export import ExportedProject

FLAGS = ("-std=gnu99", "-O0", "-w", "-include", str(RUNNING_HEADER))

COUNTED = ("--coverage", "-fprofile-filter-files=tinyrt_[^/]*$")
"""Counts in functions of kernels and headers alone: most lines are a model's own."""

NOT_INLINED = "-Dalways_inline=unused"
"""So that a function has its branches once, not once for each of its callers."""

Place = tuple[str, int]
Branch = tuple[str, int, int, int]


@dataclass
class Taken:
    """Counts of lines and branches: (file, line), and (file, line, branches there, which); and of
    calls, ``<folder>/<function>`` for functions that a source of their name brings along."""

    lines: Counter[Place] = field(default_factory=Counter)
    branches: Counter[Branch] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)

    def count(self, report: dict[str, object], isa: str, above: int) -> None:
        """Add gcov's report on one object file; its sources have lines above those of kernels."""
        own = place_of(f"{Path(report['data_file']).stem}.c", isa)
        for source in report["files"]:
            for function in source["functions"]:
                if function["name"].endswith(f"_{Path(own).stem}"):
                    self.functions[own] += function["execution_count"]
            name = Path(source["file"]).name
            if not name.startswith("tinyrt_"):
                continue
            place = place_of(name, isa)
            for line in source["lines"]:
                number, ways = line["line_number"] - above, line["branches"]
                self.lines[place, number] += line["count"]
                for i, way in enumerate(ways):
                    self.branches[place, number, len(ways), i] += way["count"]

    def missed(self) -> dict[str, list[int]]:
        """File -> lines with a branch that nobody took, or that nobody came to."""
        missed = {(file, line) for (file, line, _, _), n in self.branches.items() if n == 0}
        missed |= {place for place, n in self.lines.items() if n == 0}
        return {file: sorted(n for f, n in missed if f == file) for file, _ in sorted(missed)}


def place_of(name: str, isa: str) -> str:
    """The file of a project, among the kernels, as its path from their folder."""
    path = (
        kernels_c.source(name.removesuffix(".c"), isa)
        if name.endswith(".c")
        else kernels_c.header(name, isa)
    )
    return path.relative_to(kernels_c.ROOT).as_posix()


@cache
def is_written_for(kernel: str, isa: str) -> bool:
    """Whether a kernel, or what it includes, has a file for these instructions."""
    return bool(files_for(kernel, isa))


def files_for(kernel: str, isa: str) -> set[Path]:
    """Files for these instructions, of a kernel and of what it includes."""
    folders = kernels_c.ROOT / "isa" / isa, kernels_c.OWN_SOURCES.get(isa)
    return {path for path in kernels_c.closure([kernel], isa) if path.parent in folders}


@dataclass
class Counted:
    """Programs with counters in their kernels. What several of them have is compiled once, and what
    it counts in one program is added to what it counted before."""

    _objects: dict[str, tuple[Path, str]] = field(default_factory=dict)
    _folders: list[tuple[Path, str, int]] = field(default_factory=list)

    def run(
        self, project: ExportedProject, folder: Path, feeds: dict[str, np.ndarray], mode: str
    ) -> dict[str, np.ndarray]:
        """Build the project, and run it once: its answers."""
        here = folder / "counted"
        here.mkdir()
        core = project.core
        includes = [f"-I{project.directory}", f"-I{project.directory}/tinyrt"]
        flags = [*FLAGS, *(core.flags if _is_host(project) else core_flags(core))]
        library = project.directory / "tinyrt"
        texts, sources = Texts(project.identity), sorted(library.glob("*.c"))
        # What an object depends on, but for the identity in the names of its functions.
        common = [project.name, *flags]
        kernels = {path: "\0".join([path.name, *common, texts.of(path)]) for path in sources}
        new = [kernel for kernel, key in kernels.items() if key not in self._objects]
        # The model's own code has functions of headers, too: it passes them to kernels.
        sources = [*new, project.directory / f"{project.name}.c"]
        _run(["gcc", *flags, *includes, *COUNTED, NOT_INLINED, "-c", *sources], here)
        for kernel in new:
            made = here / f"{kernel.stem}.o"
            self._objects[kernels[kernel]] = made, project.identity
        for kernel in kernels.keys() - {*new}:
            made, identity = self._objects[kernels[kernel]]
            named = made.read_bytes().replace(identity.encode(), project.identity.encode())
            (here / f"{kernel.stem}.o").write_bytes(named)
        others = [write_driver(project, here), project.directory / f"{project.name}_weights.c"]
        objects = sorted(here.glob("*.o"))
        _run(["gcc", *flags, *includes, *others, *objects, "-lgcov", "-lm", "-o", "program"], here)
        exported = (library / "tinyrt_types.h").read_text().splitlines()
        above = len(exported) - len(kernels_c.header("tinyrt_types.h").read_text().splitlines())
        self._folders.append((here, project.core.isa.value, above))
        return run_program(here / "program", project, feeds, mode)

    def taken(self) -> Taken:
        """What all that ran took between them."""
        taken = Taken()
        for folder, isa, above in self._folders:
            data = sorted(path.name for path in folder.glob("*.gcda"))
            if not data:  # all of its kernels were compiled for a program before
                continue
            for line in _run(["gcov", "-b", "--json-format", "-t", *data], folder).splitlines():
                taken.count(json.loads(line), isa, above)
        return taken


def _is_host(project: ExportedProject) -> bool:
    return project.core.name.startswith("host-")


def _run(command: list[object], folder: Path) -> str:
    done = subprocess.run(
        [str(c) for c in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
