"""Pools: windows that slide over height and width, each channel for itself."""

from __future__ import annotations

from tinyrt.errors import ShapeError
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import Pair
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply


def pair(value: int | Pair) -> Pair:
    """One number for height and width, or one for each."""
    return (value, value) if isinstance(value, int) else value


class _Pool2d(Module):
    """A window that slides over height and width, each channel for itself.

    Args:
        kernel: height and width of the window, or one number for both.
        stride: step between outputs; the kernel's size unless given.
        padding: SAME or VALID, as TFLite has it; elements that are not there do not count.

    Raises:
        ShapeError: the padding is none, or one of zeros, as PyTorch says it.

    """

    op: str

    def __init__(
        self, kernel: int | Pair, *, stride: int | Pair | None = None, padding: str = "VALID"
    ) -> None:
        if padding not in ("SAME", "VALID"):
            raise ShapeError(
                f"{type(self).__name__} has padding {padding!r}",
                expected="SAME or VALID, as TFLite has it",
                hint="ZeroPad2d(1) in front pads as PyTorch's averages do with padding=1; its "
                "maxima, too, where nothing is negative, as behind a ReLU",
            )
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
