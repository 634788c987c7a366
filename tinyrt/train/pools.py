"""Pools: windows that slide over height and width, each channel for itself."""

from __future__ import annotations

from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import Pair
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply


def pair(value: int | Pair) -> Pair:
    """One number for height and width, or one for each."""
    return (value, value) if isinstance(value, int) else value


class _Pool2d(Module):
    """A window that slides over height and width, each channel for itself."""

    op: str

    def __init__(
        self, kernel: int | Pair, *, stride: int | Pair | None = None, padding: str = "VALID"
    ) -> None:
        step = kernel if stride is None else stride
        self.attrs = Pool2dAttrs(pair(kernel), pair(step), padding)

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c) -> (n, h', w', c)."""
        return apply(self.op, self.attrs, x)


class MaxPool2d(_Pool2d):
    """The greatest element of each window; the stride is the kernel's size unless given."""

    op = "max_pool2d"


class AvgPool2d(_Pool2d):
    """The mean of each window; the stride is the kernel's size unless given."""

    op = "average_pool2d"
