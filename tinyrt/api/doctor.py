"""What of this machine tinyrt works with: which parts are there, which are not, and the cure."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tinyrt.api.libraries import Requirement, requirements
from tinyrt.cache import KINDS, state_of
from tinyrt.emulate.boards import ARM_QEMU, BOARDS, RISCV_QEMU
from tinyrt.emulate.toolchain import PACKAGES, knows
from tinyrt.entry import entry
from tinyrt.errors import DataError, ToolError
from tinyrt.export import ARM, CORES, RISCV
from tinyrt.interpreter.native import COMPILERS
from tinyrt.text import closest
from tinyrt.tools import PROBE_S, first_program, run_tool

OLDEST = (3, 11)
"""Python that the package needs."""

LEAST_ROOM = 256 << 20
"""Bytes in the folder for temporary files below which builds may fail."""


class State(StrEnum):
    """How a part was found."""

    GOOD = "good"
    LIMITED = "limited"
    """It works for some cores or boards, and not for others."""
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        part: what it belongs to: a key of ``PARTS``.
        what: its name.
        state: how it was found.
        found: its version, path or size, or what is wrong with it.
        mend: the command or change that mends it; None where it is good.

    """

    part: str
    what: str
    state: State
    found: str
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """All that was looked at.

    Attributes:
        checks: in the order of ``PARTS``.
        needed: the parts that must work.

    """

    checks: tuple[Check, ...]
    needed: frozenset[str]

    @property
    def healthy(self) -> bool:
        """Whether all of the parts that are needed are good."""
        return not any(self.fails(check) for check in self.checks)

    def fails(self, check: Check) -> bool:
        """Whether something needed is missing or broken."""
        return check.part in self.needed and check.state in (State.MISSING, State.BROKEN)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        checks = [
            {**asdict(check), "needed": check.part in self.needed, "for": PARTS[check.part].use}
            for check in self.checks
        ]
        return {"healthy": self.healthy, "needed": sorted(self.needed), "checks": checks}


@dataclass(frozen=True, slots=True)
class Part:
    """Something that tinyrt may use.

    Attributes:
        use: what it is for.
        look: what looks at it.

    """

    use: str
    look: Callable[[str], Iterator[Check]]


@entry
def examine(need: Collection[str] = ()) -> Health:
    """Look at Python, libraries, compilers, emulators, GPU and caches; nothing is changed.

    Args:
        need: parts that must work besides Python, the libraries and the folder for temporary
            files: names in ``PARTS``.

    Raises:
        DataError: there is no such part.

    """
    for name in need:
        if name not in PARTS:
            raise DataError(
                f"there is no part '{name}'", expected=", ".join(PARTS), hint=closest(name, PARTS)
            )
    checks = tuple(check for name, part in PARTS.items() for check in part.look(name))
    return Health(checks, ALWAYS | frozenset(need))


def _python(part: str) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    old = sys.version_info[:2] < OLDEST
    mend = f"install Python {'.'.join(map(str, OLDEST))} or later, and tinyrt for it"
    yield Check(part, "python", State.BROKEN if old else State.GOOD, version, mend if old else None)


def _libraries(part: str) -> Iterator[Check]:
    found = requirements("")
    if not found:
        problem = "tinyrt is not installed as a package: its requirements are not known"
        yield Check(part, "tinyrt", State.BROKEN, problem, "pip install tinyrt")
    yield from (
        _library(part, requirement, "pip install --upgrade tinyrt") for requirement in found
    )


def _extra(part: str, extra: str = "") -> Iterator[Check]:
    """The packages of an extra, which is called as the part if not otherwise."""
    extra = extra or part
    cure = f"pip install 'tinyrt[{extra}]'"
    yield from (_library(part, each, cure) for each in requirements(extra))


def _library(part: str, requirement: Requirement, cure: str) -> Check:
    what, version = requirement.name, requirement.installed
    if version is None:
        return Check(part, what, State.MISSING, f"not installed, wants {requirement.wanted}", cure)
    if not requirement.is_met:
        return Check(part, what, State.BROKEN, f"{version}, wants {requirement.wanted}", cure)
    if (failure := requirement.failure()) is not None:
        return Check(part, what, State.BROKEN, f"{version}, does not load: {failure}", cure)
    return Check(part, what, State.GOOD, version)


def _temporary(part: str) -> Iterator[Check]:
    mend = "set TMPDIR to a folder of your own with some space"
    try:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield Check(part, "temporary files", State.BROKEN, f"no folder: {error.strerror}", mend)
        return
    state = State.GOOD if free >= LEAST_ROOM else State.BROKEN
    found = f"{folder}, {free >> 20:,} MiB free"
    yield Check(part, "temporary files", state, found, None if state is State.GOOD else mend)


def _caches(part: str) -> Iterator[Check]:
    for kind in KINDS:
        state = state_of(kind)
        size = f"{state.path}, {state.entries} files, {state.nbytes / 2**20:.1f} MiB"
        if state.problem is None:
            yield Check(part, kind, State.GOOD, size)
        else:
            mend = "set TINYRT_CACHE to a folder of your own with some space"
            yield Check(part, kind, State.BROKEN, f"{state.path}: {state.problem}", mend)


def _compiler(part: str) -> Iterator[Check]:
    name = first_program(COMPILERS)
    if name is None:
        yield Check(part, "C compiler", State.MISSING, "not on PATH", "apt-get install gcc")
    else:
        check = _program(part, name, "gcc")
        yield check
        asked = check.state is State.GOOD and name == CORES["host"].compiler
        if asked and not knows(CORES["host"]):
            yield Check(
                *(part, "C library", State.BROKEN, f"{name} finds no <string.h>"),
                "apt-get install libc6-dev",
            )
    yield _program(part, "make", PACKAGES["make"])


def _arm(part: str) -> Iterator[Check]:
    yield from _cross(part, ARM, ARM_QEMU)


def _riscv(part: str) -> Iterator[Check]:
    yield from _cross(part, RISCV, RISCV_QEMU)


def _cross(part: str, prefix: str, qemu: str) -> Iterator[Check]:
    """A compiler with its tools, the cores that it builds for, and the emulator's boards."""
    compiler = f"{prefix}gcc"
    programs = (compiler, f"{prefix}ar", f"{prefix}size", qemu)
    checks = {name: _program(part, name, PACKAGES[name]) for name in programs}
    yield from checks.values()
    if checks[compiler].state is State.GOOD:
        cores = [core for core in CORES.values() if core.prefix == prefix]
        unknown = [core.name for core in cores if not knows(core)]
        known = [core.name for core in cores if core.name not in unknown]
        mend = f"apt-get install {PACKAGES[compiler]}, or take a later release of the compiler"
        yield _complete(part, "cores with a C library", known, unknown, mend)
    if checks[qemu].state is State.GOOD:
        boards = [board.name for board in BOARDS.values() if board.qemu == qemu]
        listed = {line.split(" ")[0] for line in _machines(qemu).splitlines()}
        absent = [name for name in boards if name not in listed]
        there = [name for name in boards if name in listed]
        yield _complete(part, "boards", there, absent, "take QEMU 7.0 or later")


def _machines(qemu: str) -> str:
    """An emulator's list of boards; empty where it gives none."""
    try:
        return _answer(qemu, "-machine", "help")
    except ToolError:
        return ""


def _complete(part: str, what: str, known: list[str], unknown: list[str], mend: str) -> Check:
    """What some of a list can be used for, and which cannot be."""
    if not unknown:
        return Check(part, what, State.GOOD, ", ".join(known))
    state = State.LIMITED if known else State.BROKEN
    return Check(part, what, state, f"{', '.join(known) or 'none'}; not {', '.join(unknown)}", mend)


def _program(part: str, name: str, packages: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(part, name, State.MISSING, "not on PATH", f"apt-get install {packages}")
    try:
        version = _answer(name, "--version").splitlines()[0].strip()
    except (ToolError, IndexError) as error:
        problem = getattr(error, "problem", f"{path} says no version")
        cure = f"apt-get install --reinstall {packages}"
        return Check(part, name, State.BROKEN, problem, cure)
    return Check(part, name, State.GOOD, version)


def _answer(*command: str) -> str:
    """What a program writes to standard output.

    Raises:
        ToolError: it cannot be run, or ends with an error.

    """
    process = run_tool(command, limit_s=PROBE_S)
    if process.status:
        problem = f"{command[0]} ends with status {process.status}: {process.last_words}"
        raise ToolError(problem, hint="install it anew")
    return process.out


def _gpu(part: str) -> Iterator[Check]:
    from tinyrt.backends.cuda.driver import open_driver
    from tinyrt.backends.cuda.nvrtc import load_nvrtc

    yield from _extra(part, "cuda")
    looks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("run-time compiler", lambda: ".".join(map(str, load_nvrtc().nvrtcVersion()[1:]))),
        ("GPU", lambda: open_driver().arch),
    )
    for what, look in looks:
        try:
            yield Check(part, what, State.GOOD, look())
        except ToolError as error:
            yield Check(part, what, State.MISSING, error.problem, error.hint)


PARTS: dict[str, Part] = {
    "python": Part("everything", _python),
    "libraries": Part("everything", _libraries),
    "temporary": Part("everything that builds", _temporary),
    "caches": Part("keeping what was compiled", _caches),
    "compiler": Part("backend native, exported folders on this machine", _compiler),
    "arm": Part("tinyrt emulate on Cortex-M, tinyrt demo", _arm),
    "riscv": Part("tinyrt emulate on RISC-V", _riscv),
    "gpu": Part("backend cuda", _gpu),
    "demo": Part("tinyrt demo", _extra),
    "search": Part("tinyrt search", _extra),
}
"""Name -> what it is for, and what looks at it."""

ALWAYS = frozenset({"python", "libraries", "temporary"})
"""Parts without which nothing works."""
