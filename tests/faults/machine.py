"""A machine that fails: one of the operations that change files goes wrong, and all after it.

Every function of the system that changes a file or a folder is counted, whoever calls it: the
functions of ``os``, files opened for writing, and the swap of two folders. A process that is killed
is one that changes nothing any more, which is how kills at every operation are tried quickly;
``kill_child`` really kills.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import pytest

from tinyrt import folders
from tinyrt.errors import TinyrtError

CHANGES = ("mkdir", "rename", "replace", "unlink", "rmdir", "link", "symlink", "chmod", "fchmod")
CHANGES += ("chown", "truncate", "ftruncate", "utime")
GROWING = ("mkdir", "link", "symlink", "open", "write")
"""What a full disk refuses."""


class Fault(Enum):
    """What goes wrong at an operation, and with all that come after it."""

    KILL = "the process is killed"
    FULL = "the disk is full"
    READ_ONLY = "nothing can be changed any more"


class KilledError(BaseException):
    """Ends what runs, as a kill would."""


@dataclass(frozen=True)
class Outcome:
    """How an action ended.

    Attributes:
        killed: whether it was.
        error: the TinyrtError that it raised, as text; None where it raised none.
        names: the operations that it has begun.

    """

    killed: bool
    error: str | None
    names: tuple[str, ...]


def run_with(action: Callable[[], object], at: int = 0, fault: Fault | None = None) -> Outcome:
    """Run the action, whose operation number ``at`` (from 1) meets the fault."""
    machine = _Machine(at, fault)
    killed, found = False, None
    with pytest.MonkeyPatch.context() as patch:
        machine.install(patch)
        try:
            action()
        except TinyrtError as error:
            found = str(error)
        except KilledError:
            killed = True
    return Outcome(killed, found, tuple(machine.names))


def operations_of(action: Callable[[], object]) -> tuple[str, ...]:
    """Its operations when nothing goes wrong."""
    outcome = run_with(action)
    assert outcome.error is None, outcome.error
    return outcome.names


def kill_child(action: Callable[[], object], at: int) -> None:
    """Run the action in a child that is killed at operation number ``at``."""
    child = os.fork()
    if child == 0:
        machine = _Machine(at, Fault.KILL)
        machine.die = lambda: os.kill(os.getpid(), signal.SIGKILL)
        try:
            machine.install(pytest.MonkeyPatch())
            action()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


class _Machine:
    def __init__(self, at: int, fault: Fault | None) -> None:
        self.at, self.fault = at, fault
        self.names: list[str] = []

    def die(self) -> None:
        raise KilledError

    def meet(self, name: str) -> None:
        """Count an operation; meet the fault if its time has come."""
        self.names.append(name)
        if self.fault is None or len(self.names) < self.at:
            return
        if self.fault is Fault.KILL:
            self.die()
        if self.fault is Fault.FULL and name in GROWING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.fault is Fault.READ_ONLY and name != "fsync":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in CHANGES:
            patch.setattr(os, name, self._counted(name, getattr(os, name)))
        patch.setattr(folders, "_swap", self._counted("swap", folders._swap))
        patch.setattr(folders, "_sync", lambda paths: self.meet("fsync"))
        patch.setattr(os, "fsync", lambda handle: self.meet("fsync"))
        opened, raw = os.open, io.open

        def os_open(path, flags, *rest, **named):
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.meet("open")
            return opened(path, flags, *rest, **named)

        def open_file(file, mode="r", *rest, **named):
            if not set(mode) & set("wxa+"):
                return raw(file, mode, *rest, **named)
            assert "b" in mode, "text is written as bytes"
            if not isinstance(file, int):
                self.meet("open")
            return io.BufferedWriter(_Raw(self, file, mode.replace("b", "")))

        patch.setattr(os, "open", os_open)
        patch.setattr(io, "open", open_file)
        patch.setattr(builtins, "open", open_file)

    def _counted(self, name: str, function: Callable) -> Callable:
        def counted(*given, **named):
            self.meet(name)
            return function(*given, **named)

        return counted


class _Raw(io.FileIO):
    """A file of which every write counts; one that fails has written a part."""

    def __init__(self, machine: _Machine, *given) -> None:
        super().__init__(*given)
        self._machine = machine

    def write(self, data) -> int:
        part = bytes(data)[: len(data) // 2]
        machine = self._machine
        if machine.fault is not None and len(machine.names) + 1 == machine.at:
            super().write(part)
        machine.meet("write")
        return super().write(data)
