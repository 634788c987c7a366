"""How long a process that checks mutants takes and how much it holds: it is watched, and ended."""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from pathlib import Path

MAX_SECONDS, MAX_WALL = 10.0, 120.0
"""Processor time that a mutant may take, and time in all, on a machine that does other things."""
MAX_RESIDENT, KILL_RESIDENT = 1 << 30, 3 << 29
"""Bytes that a process may hold at its peak, and at which it is ended at once."""


USUAL_RESIDENT = 300 << 20
"""Bytes that a process holds once everything is imported. What the tests before have left behind
comes on top where a child begins as a copy of the process that ran them: it does not count."""


def left_behind(resident: int) -> int:
    """Bytes that a child has from its parent's tests."""
    return max(0, resident - USUAL_RESIDENT)


class Board:
    """What a child tells its parent without a word: which mutant it is at, and since when."""

    LAYOUT = struct.Struct("<qdqqq")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def write(self, index: int, cpu: float, counts: list[int]) -> None:
        """The mutant that is begun, processor time so far, and how the ones before ended."""
        self.LAYOUT.pack_into(self._memory, 0, index, cpu, *counts)

    def read(self) -> tuple[int, float, list[int]]:
        """The same."""
        index, cpu, *counts = self.LAYOUT.unpack_from(self._memory, 0)
        return index, cpu, counts


def reset_peak() -> None:
    """Begin anew to measure this process's peak."""
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 (a few thousand times a second)
        file.write("5")


def peak_bytes() -> int:
    """Bytes that were resident at most since the last reset."""
    with open("/proc/self/status", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def watch(child: int, board: Board) -> tuple[str, int]:
    """Wait for the child; what is wrong with how it ended, if anything, and with which mutant.

    It is ended where one mutant takes too long or holds too much.
    """
    last, since = -1, time.monotonic()
    most = KILL_RESIDENT + left_behind(_resident(child))
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        index, cpu, _ = board.read()
        if index != last:
            last, since = index, time.monotonic()
        if _resident(child) > most:
            return _end(child, "memory"), index
        took = _processor_time(child) - cpu
        if (cpu and took > MAX_SECONDS) or time.monotonic() - since > MAX_WALL:
            return _end(child, "time"), index
        time.sleep(0.02)
    index, _, _ = board.read()
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}", index
    return (f"exit {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else ""), index


def _end(child: int, problem: str) -> str:
    """Have the child write down where it is, and end it."""
    os.kill(child, signal.SIGUSR1)
    time.sleep(0.3)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return problem


def _resident(child: int) -> int:
    try:
        return int(Path(f"/proc/{child}/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return 0


def _processor_time(child: int) -> float:
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
