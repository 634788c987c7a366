"""What is asked of budgets while something runs, and which places of the package ask."""

from __future__ import annotations

import ast
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import tinyrt
from tinyrt.budget import Budget

PACKAGE = Path(tinyrt.__file__).parent
OWN = str(PACKAGE / "budget.py")

METHODS = (
    "allow_for",
    "computed",
    "extend",
    "hold",
    "holding",
    "keep",
    "reserve",
    "spend",
    "zeros",
)
"""How a budget is asked."""

MEMORY = {"computed", "hold", "keep", "reserve", "zeros"}

ASKING = {"spend_on_arrays", "sized", "_require"}
"""Functions that ask for those that call them."""

LIMITS = ("the tensor ", "what the model computes")
"""Beginnings of what is only compared with the limit: nothing is allocated for it yet."""

BUDGET = re.compile(r"(current\(\)\)?|budget|limits|spent|outer)$")
"""The end of what stands for a budget."""

Place = tuple[str, int]
"""A file of the package, and a line of it."""

Entry = tuple[Any, ...]
"""How a budget is asked, for how much, and what for: ``("spend", 300, "reading ops")``.

For ``computed``, memory and then work; for ``allow_for`` and ``extend``, the bytes alone.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that a budget was asked for.

    Attributes:
        entry: how, how much and what for.
        places: where: the call in a function of ``ASKING``, if any, and the call of that.
        need: bytes that are held and asked for; 0 where no memory is.

    """

    entry: Entry
    places: tuple[Place, ...]
    need: int = 0

    @property
    def module(self) -> str:
        """The file that asks."""
        return self.places[-1][0]


@dataclass(slots=True)
class Ledger:
    """All that was asked for, in its order.

    Attributes:
        asked: entries.
        unasked: bytes that were allocated after each entry, beyond what it asked for.

    """

    asked: list[Asked] = field(default_factory=list)
    unasked: list[tuple[int, Entry]] = field(default_factory=list)
    _granted: int = 0
    _before: int = 0

    def note(self, asked: Asked, nbytes: int | None) -> None:
        """Add an entry, once the memory that was allocated since the last one is known."""
        if nbytes is not None:
            self.settle()
            self._granted = nbytes
        self.asked.append(asked)

    def settle(self) -> None:
        """Compare what was allocated with what was granted last."""
        now, peak = tracemalloc.get_traced_memory()
        last = self.asked[-1].entry if self.asked else ()
        self.unasked.append((peak - self._before - self._granted, last))
        tracemalloc.reset_peak()
        self._before, self._granted = now, 0

    def of(self, *modules: str) -> list[Entry]:
        """The entries of these files."""
        return [a.entry for a in self.asked if a.module in modules]

    def places(self) -> set[Place]:
        """Where something was asked for."""
        return {place for asked in self.asked for place in asked.places}


@contextmanager
def watched() -> Iterator[Ledger]:
    """Note what any budget is asked for while the block runs."""
    ledger = Ledger()
    with ExitStack() as stack:
        for how in METHODS:
            stack.enter_context(patch.object(Budget, how, _noting(ledger, how)))
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        ledger.settle()
        ledger.unasked.clear()
        yield ledger
        ledger.settle()


def _noting(ledger: Ledger, how: str) -> Callable[..., Any]:
    """The method, which notes its calls from outside of the budget."""
    method = getattr(Budget, how)

    def ask(self: Budget, *given: Any, **named: Any) -> Any:
        caller = sys._getframe(1)
        opens = caller.f_code.co_name == "limited"
        if caller.f_code.co_filename == OWN and not opens:
            return method(self, *given, **named)
        entry, nbytes = _entry(how, *given, **named)
        need = 0 if nbytes is None else self.memory_used + nbytes
        granted = 0 if nbytes and entry[2].startswith(LIMITS) else nbytes
        ledger.note(Asked(entry, _places(caller), need), granted)
        before = self.memory_used
        result = method(self, *given, **named)
        if how in ("computed", "zeros"):
            ledger.settle()  # what it asked for is there: nothing more is granted
        if how == "keep" and self.memory_used == before:
            # It was held already.
            ledger.asked[-1] = replace(ledger.asked[-1], need=0)
        return result

    return ask


def _entry(how: str, *given: Any, **named: Any) -> tuple[Entry, int | None]:
    """What is asked for, and the bytes among it; None where it is no memory."""
    if how == "computed":
        what, nbytes, _, *work = (*given, *named.values())
        return (how, (nbytes, *work), what), nbytes
    amount, *what = given
    if how == "keep":
        amount = amount.nbytes
    return (how, amount, *what), amount if how in MEMORY else None


def _places(frame: FrameType | None) -> tuple[Place, ...]:
    """Where the package asks: what asks for others, and the one for which it does."""
    found: list[Place] = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE) and str(path) != OWN:
            found.append((path.relative_to(PACKAGE).as_posix(), frame.f_lineno))
            if frame.f_code.co_name not in ASKING:
                break
        frame = frame.f_back
    return tuple(found) or (("", 0),)


@cache
def sites() -> dict[tuple[str, int, int], str]:
    """Every call in the package that asks: file, first and last line -> its text."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if str(path) == OWN or not any(word in text for word in ("budget", *ASKING)):
            continue
        tree = ast.parse(text)
        opens = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "tinyrt.budget"
            and any(alias.name == "limited" for alias in node.names)
            for node in ast.walk(tree)
        )
        names = ASKING | ({"limited"} if opens else set())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _asks(node.func, names):
                where = path.relative_to(PACKAGE).as_posix()
                found[where, node.lineno, node.end_lineno or 0] = ast.unparse(node)
    return found


def _asks(called: ast.expr, names: set[str]) -> bool:
    if isinstance(called, ast.Name):
        return called.id in names
    return (
        isinstance(called, ast.Attribute)
        and called.attr in METHODS
        and BUDGET.search(ast.unparse(called.value)) is not None
    )
