"""Pools: windows that slide over height and width, each channel for itself."""

from __future__ import annotations

from typing import Any

from tinyrt.errors import ShapeError
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import Pair, pair
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.padding import Padding, ZeroPad2d, zeros_of

Steps = tuple[tuple[str, Any], ...]
"""Ops one after the other, each with its attributes."""


class _Pool2d(Module):
    """A window that slides over height and width, each channel for itself.

    Args:
        kernel: height and width of the window, or one number for both.
        stride: step between outputs; the kernel's size unless given.
        padding: SAME or VALID, as TFLite has it, where elements that are not there do not count; or
            PyTorch's: as much on each side of height and width, one number or one for each.

    Raises:
        ShapeError: the padding is none, or one that the pool cannot have.

    """

    op: str

    def __init__(
        self, kernel: int | Pair, *, stride: int | Pair | None = None, padding: Padding = "VALID"
    ) -> None:
        taps, step = pair(kernel), pair(kernel if stride is None else stride)
        if isinstance(padding, str) and padding not in ("SAME", "VALID"):
            raise ShapeError(
                f"{type(self).__name__} has padding {padding!r}",
                expected="SAME or VALID as in TFLite, or what each side gets, as 1 or (1, 2)",
            )
        if isinstance(padding, str):
            self.steps: Steps = ((self.op, Pool2dAttrs(taps, step, padding)),)
        elif zeros_of(padding) == (0, 0):
            self.steps = ((self.op, Pool2dAttrs(taps, step)),)
        else:
            self.steps = self.padded(taps, step, zeros_of(padding))

    def padded(self, kernel: Pair, stride: Pair, sides: Pair) -> Steps:
        """What pads each side of height and width by so much."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c) -> (n, h', w', c)."""
        for op, attrs in self.steps:
            x = apply(op, attrs, x)
        return x


class MaxPool2d(_Pool2d):
    """The greatest element of each window; the stride is the kernel's size unless given.

    What pads never is the greatest. With a stride, PyTorch's padding takes the greatest around
    every element first, and then each stride-th: where nothing is negative, as behind a ReLU,
    ``ZeroPad2d`` in front does the same with less work.
    """

    op = "max_pool2d"

    def padded(self, kernel: Pair, stride: Pair, sides: Pair) -> Steps:
        """The greatest around each element, and of these each stride-th."""
        if any(2 * p != k - 1 for p, k in zip(sides, kernel, strict=True)):
            raise ShapeError(
                f"MaxPool2d has padding {sides} and a window of {kernel}",
                expected="none, or (window - 1) / 2 on each side, as 1 for 3",
                hint="where nothing is negative, as behind a ReLU, ZeroPad2d in front does",
            )
        around = (self.op, Pool2dAttrs(kernel, padding="SAME"))
        return (around,) if stride == (1, 1) else (around, (self.op, Pool2dAttrs((1, 1), stride)))


class AvgPool2d(_Pool2d):
    """The mean of each window; the stride is the kernel's size unless given.

    PyTorch's padding counts: a mean at the border is one of zeros, too.
    """

    op = "average_pool2d"

    def padded(self, kernel: Pair, stride: Pair, sides: Pair) -> Steps:
        """A border of zeros, and windows within it."""
        if any(2 * p > k for p, k in zip(sides, kernel, strict=True)):
            raise ShapeError(
                f"AvgPool2d has padding {sides} and a window of {kernel}",
                expected="at most half of the window on each side",
            )
        (top, left), windows = sides, (self.op, Pool2dAttrs(kernel, stride))
        return ("pad", ZeroPad2d((left, left, top, top)).attrs), windows
