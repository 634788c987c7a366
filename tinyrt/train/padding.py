"""Borders of convolutions, as TFLite says them and as PyTorch does."""

from __future__ import annotations

from tinyrt.errors import ShapeError
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.window import Pair, pair
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply

Padding = str | int | Pair
"""SAME or VALID, as TFLite has them; PyTorch's 'same' or 'valid', or zeros on both sides of height
and width, one number or one for each."""

WAYS = "SAME or VALID as in TFLite; 'same', 'valid', or zeros on each side, as 1 or (1, 2)"


class ZeroPad2d(Module):
    """Zeros around an image: (n, h, w, c) to (n, top + h + bottom, left + w + right, c).

    Args:
        padding: on every side alike, or (left, right, top, bottom), PyTorch's order.

    Raises:
        ShapeError: a number is negative, or there are neither one nor four.

    """

    def __init__(self, padding: int | tuple[int, int, int, int]) -> None:
        sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        if len(sides) != 4 or min(sides) < 0:
            raise ShapeError(
                f"a border of {padding}",
                expected="a number from 0, or four: left, right, top, bottom",
            )
        left, right, top, bottom = sides
        self.attrs = PadAttrs(((0, 0), (top, bottom), (left, right), (0, 0)))

    def forward(self, x: Tensor) -> Tensor:
        """(n, h, w, c) -> (n, h', w', c)."""
        return apply("pad", self.attrs, x)


def border_of(
    padding: Padding, kernel: Pair, stride: Pair, dilation: Pair
) -> tuple[str, ZeroPad2d | None]:
    """A convolution's padding in TFLite's words, and what goes before it where these do not do.

    TFLite's SAME pads on both sides ``dilation * (kernel - 1) / 2`` where the stride is 1; with
    another stride what it pads depends on the input.

    Raises:
        ShapeError: the padding is none, or 'same' stands with a stride.

    """
    if isinstance(padding, str):
        if padding == "same" and stride != (1, 1):
            raise ShapeError(
                f"padding 'same' with stride {stride}, which PyTorch has not",
                expected="stride 1",
                hint="SAME keeps ceil(size / stride), as TFLite; padding=1 is PyTorch's for 3 taps",
            )
        if padding not in ("SAME", "VALID", "same", "valid"):
            raise ShapeError(f"padding is '{padding}'", expected=WAYS)
        return padding.upper(), None
    height, width = zeros_of(padding)
    whole = zip((height, width), kernel, dilation, strict=True)
    if (height, width) == (0, 0):
        return "VALID", None
    if stride == (1, 1) and all(2 * p == d * (k - 1) for p, k, d in whole):
        return "SAME", None
    return "VALID", ZeroPad2d((width, width, height, height))


def zeros_of(padding: int | Pair) -> Pair:
    """Zeros on each side of height and width.

    Raises:
        ShapeError: there are more than two numbers, or negative ones.

    """
    zeros = pair(padding)
    if len(zeros) != 2 or min(zeros) < 0:
        raise ShapeError(f"padding is {padding}", expected=WAYS)
    return zeros
