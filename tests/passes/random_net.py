"""A net that random graphs grow in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.passes.nets import Net
from tinyrt.ir import Shape
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs

Rng = np.random.Generator


class RandomNet(Net):
    """A net that grows step by step from its latest tensors."""

    def __init__(self, *inputs: Shape) -> None:
        super().__init__(*inputs)
        self.tensors = list(self.inputs)

    def shape(self, x: str) -> Shape:
        return self.values[x].shape

    def number(self, value: float) -> str:
        return self.constant(np.full(1, value, np.float32))

    def mul(self, x: str, y: str | float) -> str:
        return self.op("mul", (x, y if isinstance(y, str) else self.number(y)), MulAttrs())

    def add(self, x: str, y: str | float) -> str:
        return self.op("add", (x, y if isinstance(y, str) else self.number(y)), AddAttrs())

    def div(self, x: str | float, y: str) -> str:
        return self.op("div", (x if isinstance(x, str) else self.number(x), y), DivAttrs())

    def like(self, x: str, rng: Rng) -> str:
        """Some tensor of the same shape."""
        found = [t for t in self.tensors if self.shape(t) == self.shape(x)]
        return found[int(rng.integers(len(found)))]


Step = Callable[[RandomNet, str, Rng], str | None]
