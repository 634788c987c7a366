"""What kernels for four pixels at a time cost (``tinyrt.backends.c.blocks.fours``), as in ``cost``.

Constants are those of Cortex-M3, of Cortex-M0 and of RISC-V, whose loops have other instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tinyrt.backends.c.blocks.cost import FOUR
from tinyrt.backends.c.blocks.layer import padded
from tinyrt.ops.shared.window import Pair


@dataclass(frozen=True, slots=True)
class Fours:
    """Costs of four pixels.

    Attributes:
        tap: per tap of two output channels.
        turn: per turn of that loop, and taps of a turn.
        pair: per two output channels, without taps.
        relu_pair: the same where outputs take no sign.
        set: per tap whose words are made.
        rows: for what is left of four rows of a dense layer.
        pixels: the same of a window.
        copy: of a row of inputs that is copied, as it is at a border: of any, and per element.

    """

    tap: float
    turn: tuple[float, int]
    pair: float
    relu_pair: float
    set: float
    rows: float
    pixels: float
    copy: tuple[float, float]


FOURS = Fours(9, (3, 16), 170.3, 107, 13.1, 90, 243, (89, 1))
"""Those of ``tinyrt_dense_four_s8`` and its like on Cortex-M3."""

SMALL_FOURS = Fours(17, (3, 4), 436, 436, 25.5, 135, 341, (84, 6.2))
"""Those of ``tinyrt_dense_four_raised_s8`` and its like on Cortex-M0."""

RISCV_FOURS = Fours(16, (0, 4), 258, 205, 18.9, 114, 266, (56, 4.5))
RISCV_BITS_FOURS = Fours(16, (0, 4), 246, 181, 18.9, 110, 256, (54, 4.5))
"""Those of ``tinyrt_dense_four_s8`` and its like on RISC-V, without and with Zbb."""


@dataclass(frozen=True, slots=True)
class WindowGroups:
    """How often four outputs of a convolution are computed.

    Attributes:
        count: in all.
        copies: rows of inputs that are copied for a row of the windows: of outputs that lie in two
            rows, or read beyond the input, one for those side by side.
        columns: pixels of these copies.

    """

    count: int
    copies: int
    columns: int

    @classmethod
    def of(
        cls, images: int, x: Pair, slides: tuple[Pair, Pair], places: tuple[Pair, Pair]
    ) -> WindowGroups:
        """Those of a convolution.

        Args:
            images: how many.
            x: rows and columns of the input.
            slides: the window's size and its steps.
            places: padding before, and the size of the output.

        """
        (kernel, stride), ((top, left), (rows, columns)) = slides, places
        outputs = images * rows * columns
        copies = copied = 0
        for first in range(0, outputs, FOUR):
            row, column = divmod(first % (rows * columns), columns)
            y, begin = row * stride[0] - top, column * stride[1] - left
            end = begin + (FOUR - 1) * stride[1] + kernel[1]
            whole = column + FOUR <= columns and first + FOUR <= outputs
            if not (whole and 0 <= y <= x[0] - kernel[0] and begin >= 0 and end <= x[1]):
                count = min(FOUR, outputs - first)
                runs = count if stride[1] > kernel[1] else _runs(column, count, columns)
                copies += runs
                copied += runs * kernel[1] + (count - runs) * stride[1]
        return cls(ceil(outputs / FOUR), copies, copied)

    @classmethod
    def anywhere(cls, count: int, columns: int, kernel: int, stride: int) -> WindowGroups:
        """So many groups as if all began at the end of a row, and read beyond the input.

        Args:
            count: how many.
            columns: outputs of a row.
            kernel: columns of the window.
            stride: its step along them.

        """
        runs = FOUR if stride > kernel else _runs(columns - 1, FOUR, columns)
        return cls(count, count * runs, count * (runs * kernel + (FOUR - runs) * stride))


def _runs(column: int, count: int, columns: int) -> int:
    """In how many rows so many outputs from a column on lie."""
    return ceil((column + count) / columns)


def dense_four_cost(
    rows: int, taps: int, c_out: int, relu: bool = False, k: Fours = FOURS
) -> float:
    """``tinyrt_dense_four_s8``, or ``tinyrt_dense_four_relu_s8``."""
    return ceil(rows / FOUR) * (_of_four(taps, c_out, relu, k) + k.rows)


def window_four_cost(
    groups: WindowGroups,
    kernel: Pair,
    c_in: int,
    c_out: int,
    relu: bool = False,
    k: Fours = FOURS,
) -> float:
    """``tinyrt_window_four_s8``, or ``tinyrt_window_four_relu_s8``."""
    each = _of_four(kernel[0] * kernel[1] * c_in, c_out, relu, k) + k.pixels
    copies = kernel[0] * (groups.copies * k.copy[0] + groups.columns * c_in * k.copy[1])
    return groups.count * each + copies


def _of_four(taps: int, c_out: int, relu: bool, k: Fours) -> float:
    """Words of four pixels, and their products with all channels."""
    loop = k.tap * padded(taps) + k.turn[0] * ceil(padded(taps) / k.turn[1])
    pair = k.relu_pair if relu else k.pair
    return k.set * taps + ceil(c_out / 2) * (loop + pair)
