"""One budget for the cost of a file: the bytes that are held for it, and the work done for it.

The code that opens a file opens a budget (``limited``). Everything that follows from the file
spends from it: data, folded constants, ops that loops and functions expand to, planning, checking.
Sizes in a file cannot be trusted, so the budget is checked before memory is allocated.

Work is counted, not timed, so that a file is accepted or refused alike on every machine. A unit is
about what compiled code does to one element, a nanosecond; handling one op in Python is ``OP`` of
them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import BudgetError

Computed = TypeVar("Computed", bound=NDArray[Any] | Sequence[NDArray[Any]])

MAX_MEMORY = 640 << 20
"""Default limit on the bytes that a file may cost: with the memory of Python, NumPy and the kernel
compiler, the process stays below 1 GiB."""

MAX_WORK = 4 * 10**9
"""Units of work that a file may cost: a few seconds."""

MEMORY_PER_BYTE, WORK_PER_BYTE = 8, 100
"""Limits that each byte of a file adds: large files take more memory and time to handle."""

OP = 50_000
"""Work of one op that is imported, expanded or planned in Python."""


@dataclass(slots=True)
class Budget:
    """Limits on memory and work, and the parts of them that are used.

    Attributes:
        memory: bytes that may be held at once.
        work: units of work that may be done.
        memory_used: bytes that are held now.
        work_used: units of work that are done.
        memory_per_byte: bytes that each byte of an opened file adds; 0 for a limit of the user's.
        work_per_byte: likewise.

    """

    memory: int = MAX_MEMORY
    work: int = MAX_WORK
    memory_used: int = 0
    work_used: int = 0
    memory_per_byte: int = 0
    work_per_byte: int = 0
    _owners: set[int] = field(default_factory=set, repr=False)

    def extend(self, file_bytes: int) -> None:
        """Allow for another file that belongs to the one that is being read."""
        self.allow_for(file_bytes)
        self.work += self.work_per_byte * file_bytes

    def allow_for(self, file_bytes: int) -> None:
        """Raise the limit on memory for a file that is about to be read, unless it was given."""
        self.memory += self.memory_per_byte * file_bytes

    def reserve(self, nbytes: int, what: str) -> None:
        """Ask for memory for a short time; it is not added to ``memory_used``.

        Args:
            nbytes: bytes about to be allocated.
            what: what for, as a message names it: ``the folded constant 'x'``.

        Raises:
            BudgetError: with ``memory_used``, that is more than the budget.

        """
        used = self.memory_used
        if nbytes + used > self.memory:
            raise BudgetError(
                f"{what} takes {readable(nbytes)}"
                + (f", beside {readable(used)} that are held" if used else ""),
                expected=f"at most {readable(self.memory)} in all",
                hint="check the file; if it is meant to be so large, allow it with --max-memory",
            )

    def hold(self, nbytes: int, what: str) -> None:
        """Ask for memory that stays as long as the budget does.

        Raises:
            BudgetError: as ``reserve``.

        """
        self.reserve(nbytes, what)
        self.memory_used += nbytes

    def release(self, nbytes: int) -> None:
        """Give back memory from ``hold``."""
        self.memory_used -= nbytes

    def zeros(self, nbytes: int, what: str) -> NDArray[np.uint8]:
        """That many bytes, which count as held for as long as anything refers to them.

        Raises:
            BudgetError: as ``reserve``; nothing was allocated.

        """
        self.reserve(nbytes, what)
        memory = np.zeros(nbytes, np.uint8)
        self.keep(memory, what)
        return memory

    def keep(self, array: NDArray[Any], what: str) -> None:
        """Hold the memory of an array for as long as something refers to it.

        A view holds the array that it belongs to; arrays mapped from a file are not counted.

        Raises:
            BudgetError: as ``reserve``.

        """
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is not None or id(owner) in self._owners:
            return
        self.hold(owner.nbytes, what)
        self._owners.add(id(owner))
        weakref.finalize(owner, self._let_go, id(owner), owner.nbytes).atexit = False

    def _let_go(self, identity: int, nbytes: int) -> None:
        self._owners.remove(identity)
        self.release(nbytes)

    def computed(
        self, what: str, nbytes: int, compute: Callable[[], Computed], work: int | None = None
    ) -> Computed:
        """Compute one array or several, once there is room for it, and hold its memory.

        Args:
            what: what they are, as messages name it.
            nbytes: bytes of the result and of what is needed on the way to it.
            compute: computes it.
            work: units of work; as many as there are bytes, if not given.

        Raises:
            BudgetError: memory or work are more than what is left; nothing was computed.

        """
        self.reserve(nbytes, what)
        self.spend(nbytes if work is None else work, f"computing {what}")
        result = compute()
        for array in (result,) if isinstance(result, np.ndarray) else result:
            self.keep(array, what)
        return result

    @contextmanager
    def holding(self, nbytes: int, what: str) -> Iterator[None]:
        """Hold memory while the block runs.

        Raises:
            BudgetError: as ``reserve``.

        """
        self.hold(nbytes, what)
        try:
            yield
        finally:
            self.release(nbytes)

    def spend(self, units: int, what: str) -> None:
        """Ask for work, before it is done.

        Args:
            units: about as many element operations; ``OP`` for each op that Python handles.
            what: what is done, as a message names it: ``unrolling the loop``.

        Raises:
            BudgetError: that is more than is left.

        """
        self.work_used += units
        if self.work_used > self.work:
            raise BudgetError(
                f"{what} takes more work than a file of this size may cost",
                expected=f"at most {self.work / 1e9:.1f} billion element operations in all",
                hint="check the file for loops, nested functions, or constants computed at great "
                "length; export the model without them",
            )


def readable(nbytes: int) -> str:
    """``1,536 bytes``, ``24.0 MiB``, ``149.0 GiB``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if nbytes >= size:
            return f"{nbytes / size:,.1f} {unit}"
    return f"{nbytes:,} bytes"


_OPEN: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget:
    """The budget that is open; where none is, a new one with the default limits."""
    return _OPEN.get() or Budget(memory_per_byte=MEMORY_PER_BYTE, work_per_byte=WORK_PER_BYTE)


def as_budget(max_memory: int | Budget | None) -> Budget:
    """A budget of that many bytes; the open one for None."""
    if isinstance(max_memory, Budget):
        return max_memory
    return current() if max_memory is None else Budget(max_memory)


@contextmanager
def limited(
    *, memory: int | None = None, work: int | None = None, file_bytes: int = 0
) -> Iterator[Budget]:
    """Open a budget for what runs inside; where one is open already, that one goes on.

    A limit that is given is the limit. One that is not grows with each file that is read, and what
    is opened inside has its memory in common with what is outside, but work of its own.

    Args:
        memory: bytes; the default limit, and more for a large file, if not given.
        work: units; likewise.
        file_bytes: size of the file that is about to be read.

    """
    outer = _OPEN.get()
    if outer is not None:
        outer.allow_for(file_bytes)
        with _work_of_its_own(outer, file_bytes):
            yield outer
        return
    budget = Budget(
        MAX_MEMORY + MEMORY_PER_BYTE * file_bytes if memory is None else memory,
        MAX_WORK + WORK_PER_BYTE * file_bytes if work is None else work,
        memory_per_byte=MEMORY_PER_BYTE if memory is None else 0,
        work_per_byte=WORK_PER_BYTE if work is None else 0,
    )
    token = _OPEN.set(budget)
    try:
        yield budget
    finally:
        _OPEN.reset(token)


@contextmanager
def _work_of_its_own(budget: Budget, file_bytes: int) -> Iterator[None]:
    """Count work from zero while the block runs, unless the user set the limit."""
    if not budget.work_per_byte:
        yield
        return
    before = budget.work, budget.work_used
    budget.work, budget.work_used = MAX_WORK + budget.work_per_byte * file_bytes, 0
    try:
        yield
    finally:
        budget.work, budget.work_used = before
