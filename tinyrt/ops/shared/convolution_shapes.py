"""Shapes of the operands of a convolution and of its derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tinyrt.ir import Shape
from tinyrt.ops.shared.window import Window


@dataclass(frozen=True, slots=True)
class Shapes:
    """The window, and the shapes of input and weights.

    Attributes:
        window: how the kernel slides.
        x: (n, h, w, c_in).
        w: (c_out, kh, kw, c_in / groups).

    """

    window: Window
    x: Shape
    w: Shape

    @property
    def group_count(self) -> int:
        """Number of channel groups; an output channel reads the inputs of its own group only."""
        return self.x[3] // self.w[3]

    @property
    def per_channel(self) -> bool:
        """Whether output channel ``c`` reads input channel ``c`` alone."""
        return self.w[3] == 1 and self.w[0] == self.x[3]

    def groups(self) -> Iterator[tuple[slice, slice]]:
        """Input and output channels of each group."""
        c_out, _, _, c_in = self.w
        per_group = c_out // self.group_count
        for g in range(self.group_count):
            yield slice(g * c_in, (g + 1) * c_in), slice(g * per_group, (g + 1) * per_group)
