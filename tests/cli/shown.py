"""Which test shows what an option does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

SHOWN: dict[tuple[str, str], str] = {}
"""Command and parameter -> the test that would fail if the parameter reached nothing."""


def shows(commands: str | Iterable[str], *parameters: str) -> Callable[[Test], Test]:
    """Mark a test as the one that shows what these parameters of one or more commands do.

    Args:
        commands: their names, or the only one's; empty for what comes before a command.
        parameters: their names, as commands' functions have them.

    """

    def register(test: Test) -> Test:
        where = f"{test.__module__}.{test.__name__}"
        for key in product([commands] if isinstance(commands, str) else commands, parameters):
            other = SHOWN.setdefault(key, where)
            assert other == where, f"{key} is shown in {other}, too"
        return test

    return register
