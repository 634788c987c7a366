"""A piece of work that any machine may do, and how it may come to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tinyrt.errors import OutputError, TinyrtError, ToolError
from tinyrt.files import FULL
from tinyrt.floatmath.parallel import one_thread, threads


class Lack(Enum):
    """What a machine lacks for a piece of work that another may do."""

    TOOLS = "a compiler or an emulator"
    ROOM = "room on its disk"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a piece of work came to nothing.

    Attributes:
        reason: in words.
        lacks: what the machine lacks; None where it would fail on any.
        worker: where it was tried.
        error: what was raised, if it speaks to the user.

    """

    reason: str
    lacks: Lack | None = None
    worker: str = ""
    error: TinyrtError | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A piece of work.

    Attributes:
        work: takes the arguments, then what all tasks share.
        arguments: plain data.
        builds: whether it takes a compiler.

    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    builds: bool = False


def attempted(work: Callable[..., Any], *arguments: Any) -> Any:
    """What the work gives, or a ``Failure``: whatever goes wrong in it is its own."""
    try:
        with _alone():
            return work(*arguments)
    except Exception as error:
        told = error if isinstance(error, TinyrtError) else None
        return Failure(f"{type(error).__name__}: {error}", _lack(error), _worker(), told)


@contextmanager
def _alone() -> Iterator[None]:
    """One thread: workers are as many as processors."""
    with one_thread(), threads(1):
        yield


class LacksToolsError(ToolError):
    """No compiler or emulator for the core is installed where the work is done."""


def _lack(error: BaseException) -> Lack | None:
    if isinstance(error, LacksToolsError):
        return Lack.TOOLS
    cause = error.__cause__ if isinstance(error, OutputError) else error
    full = isinstance(cause, OSError) and cause.errno in FULL
    return Lack.ROOM if full else None


def _worker() -> str:
    """The Dask worker that this runs in; empty in the process of the search."""
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        return ""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return ""
