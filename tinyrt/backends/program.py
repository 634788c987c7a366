"""Programs that backends prepare from a graph and its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tinyrt.ir import Graph

Tensors = Mapping[str, NDArray[Any]]
Step = Callable[[], None]


class Program(Protocol):
    """A model that is ready to run; its steps read and write the tensors it was made for.

    Attributes:
        packed_bytes: bytes of constants that were copied into an order of the backend's own.

    """

    packed_bytes: int

    @property
    def run(self) -> Step:
        """Runs all ops."""
        ...

    def run_op(self, index: int) -> None:
        """Run one op."""
        ...


Prepare = Callable[[Graph, Tensors], Program]
"""How a backend makes a program; raises ``UnsupportedError`` naming an op that it lacks."""


class StepList:
    """A program of one call per op."""

    packed_bytes = 0

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    def run(self) -> None:
        """Run all ops."""
        for step in self._steps:
            step()

    def run_op(self, index: int) -> None:
        """Run one op."""
        self._steps[index]()
