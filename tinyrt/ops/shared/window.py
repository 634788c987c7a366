"""Padding and stride arithmetic of convolutions and poolings, and their padded views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape

Pair = tuple[int, int]

MAX_EXTENT = 1 << 16
"""Most elements that a window spans along one axis; a padded copy of more is mostly padding."""

MAX_AREA = 1 << 24
"""Most elements that a window spans in height times width, for the same reason."""

ROWS, BARE_ROWS = "ROWS", "BARE_ROWS"
"""Padding of an op that gets a few rows of its input: ROWS pads columns only, BARE_ROWS nothing."""


def pair(value: int | Pair) -> Pair:
    """One number for height and width, or one for each."""
    return (value, value) if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Window:
    """A window sliding over height and width.

    Attributes:
        kernel: taps (height, width).
        stride: step between outputs.
        dilation: step between taps.
        before: padding rows above and columns to the left.
        after: padding rows below and columns to the right.
        out: output height and width.
        on_rows: whether the op gets a few rows of its input, rows of padding included.

    """

    kernel: Pair
    stride: Pair
    dilation: Pair
    before: Pair
    after: Pair
    out: Pair
    on_rows: bool = False

    @classmethod
    def of(
        cls, in_hw: Pair, kernel: Pair, stride: Pair, padding: str, dilation: Pair = (1, 1)
    ) -> Window:
        """The window for an input of that height and width, padded as in TFLite.

        An op that gets a few rows of its input gets the rows of padding among them. Its ``padding``
        is ``ROWS`` (columns are padded as for SAME) or ``BARE_ROWS`` (nothing is padded).

        Raises:
            ShapeError: padding is neither SAME nor VALID, a step is not positive, the window is
                absurdly large, or no output is left.

        """
        if padding not in ("SAME", "VALID", ROWS, BARE_ROWS):
            raise ShapeError(f"padding is '{padding}'", expected="SAME or VALID")
        for name, pair in (("kernel", kernel), ("stride", stride), ("dilation", dilation)):
            if len(pair) != 2 or min(pair) < 1 or max(pair) > MAX_EXTENT:
                raise ShapeError(
                    f"{name} is {pair}", expected=f"two integers from 1 to {MAX_EXTENT:,}"
                )
        before, after, out, area = [], [], [], 1
        same = (padding == "SAME", padding in ("SAME", ROWS))
        for size, k, s, d, pads in zip(in_hw, kernel, stride, dilation, same, strict=True):
            extent = (k - 1) * d + 1
            if extent > MAX_EXTENT:
                raise ShapeError(
                    f"a window of {k} taps with dilation {d} reaches over {extent:,} elements",
                    expected=f"at most {MAX_EXTENT:,}",
                )
            n = -(-size // s) if pads else -(-(size - extent + 1) // s)
            if n < 1:
                raise ShapeError(
                    f"a window of {extent} does not fit into {size} elements",
                    expected="an input at least as large as the window, or padding SAME",
                )
            total = max((n - 1) * s + extent - size, 0) if pads else 0
            area *= extent
            before.append(total // 2)
            after.append(total - total // 2)
            out.append(n)
        if area > MAX_AREA:
            raise ShapeError(
                f"a window of {kernel[0]} by {kernel[1]} taps reaches over {area:,} elements",
                expected=f"at most {MAX_AREA:,}",
            )
        pairs = _pair(before), _pair(after), _pair(out)
        return cls(kernel, stride, dilation, *pairs, on_rows=padding in (ROWS, BARE_ROWS))

    @property
    def is_padded(self) -> bool:
        """Whether the window pads its input."""
        return any((*self.before, *self.after))

    def pad(self, x: NDArray[Any], fill: float = 0) -> NDArray[Any]:
        """``x`` (n, h, w, c) with the window's padding, filled with ``fill``."""
        if not self.is_padded:
            return x
        (top, left), (bottom, right) = self.before, self.after
        n, h, w, c = x.shape
        padded = np.full((n, top + h + bottom, left + w + right, c), fill, x.dtype)
        padded[:, top : top + h, left : left + w] = x
        return padded

    def padded_zeros(self, in_shape: Shape, dtype: Any) -> NDArray[Any]:
        """Zeros in the shape of the padded input; ``in_shape`` is (n, h, w, c)."""
        n, h, w, c = in_shape
        (top, left), (bottom, right) = self.before, self.after
        return np.zeros((n, top + h + bottom, left + w + right, c), dtype)

    def crop(self, padded: NDArray[Any], in_shape: Shape) -> NDArray[Any]:
        """The part of a padded array that is the input itself."""
        top, left = self.before
        return padded[:, top : top + in_shape[1], left : left + in_shape[2], :]

    def turned(self) -> Window:
        """The window with rows and columns exchanged."""
        pairs = (self.kernel, self.stride, self.dilation, self.before, self.after, self.out)
        kernel, stride, dilation, before, after, out = (pair[::-1] for pair in pairs)
        return Window(kernel, stride, dilation, before, after, out)

    def taps(self) -> Iterator[tuple[int, int, tuple[slice, slice, slice]]]:
        """For each tap, its row and column and the slices of the padded input it reads."""
        every = slice(None)
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                rows = _steps(i * self.dilation[0], self.stride[0], self.out[0])
                columns = _steps(j * self.dilation[1], self.stride[1], self.out[1])
                yield i, j, (every, rows, columns)

    def within(self, in_hw: Pair, tap: Pair) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Slices of the outputs whose tap lies within the input, and of the elements it reads.

        Args:
            in_hw: height and width of the input, without padding.
            tap: row and column of the tap in the kernel.

        """
        written, read = [slice(None)], [slice(None)]
        for axis, size in enumerate(in_hw):
            step, at = self.stride[axis], tap[axis] * self.dilation[axis] - self.before[axis]
            first = max(0, -(at // step))
            count = max(0, min(self.out[axis], (size - 1 - at) // step + 1) - first)
            written.append(slice(first, first + count))
            read.append(_steps(first * step + at, step, count) if count else slice(0, 0))
        return tuple(written), tuple(read)

    def patches(self, padded: NDArray[Any]) -> NDArray[Any]:
        """A view (n, out_h, out_w, kh, kw, c) of the padded input: each output's window."""
        n, _, _, c = padded.shape
        sn, sh, sw, sc = padded.strides
        return np.lib.stride_tricks.as_strided(
            padded,
            (n, *self.out, *self.kernel, c),
            (
                sn,
                sh * self.stride[0],
                sw * self.stride[1],
                sh * self.dilation[0],
                sw * self.dilation[1],
                sc,
            ),
            writeable=False,
        )


def _steps(start: int, step: int, count: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def _pair(values: list[int]) -> Pair:
    return values[0], values[1]
