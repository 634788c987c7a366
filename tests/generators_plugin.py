"""Random numbers of a test are the same, whichever tests ran before it."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest


@cache
def _beginnings(module: ModuleType) -> list[tuple[Any, dict[str, Any]]]:
    """The generators that a module's tests share, and how they were when it was read."""
    shared = (each for each in vars(module).values() if isinstance(each, np.random.Generator))
    return [(each.bit_generator, each.bit_generator.state) for each in shared]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the generators of the test's module begin anew."""
    if isinstance(item, pytest.Function):
        for generator, state in _beginnings(item.module):
            generator.state = state
