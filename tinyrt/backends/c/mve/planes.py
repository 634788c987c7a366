"""Depthwise convolutions with vectors, one channel after the other: layout and cost.

A vector of 16 bytes has what two outputs, one above the other, read of a channel. So the copy has a
group for every two output lines: column by column, each with the bytes of the lines that they read.
Where windows have one column, groups would only repeat each other: the copy is the lines
themselves, and the next two outputs begin a few bytes further on.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.backends.c.mve.layout import MAX_DEPTHWISE_SCRATCH, depthwise_bytes
from tinyrt.backends.c.mve.packing import LANES, VECTOR, Axes, padded, turned
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.shared.window import Window

COLUMNS = {1: (4, 3), 2: (5, 3)}
"""Stride of lines -> bytes of a column, and the most lines of a window for them."""

STEPS = (2, 4, 10)
"""Bytes from one window of the copy to the next for which there are loops."""

FOUR = 4
"""Windows whose outputs are finished at once."""

MAX_PLACE = 2**15 - 1
"""The last byte, from the first one on, that outputs of one loop may go to."""

CHANNEL_BYTES = 48
"""Weights and scales of a channel, as the loops read them."""


FINISHED = (30, 33, 49)
"""Instructions for four windows, by ``packing.rounding``."""

LINE, ONE_PLACE, TWO_PLACES = 55, 5, 6
"""Of a line that is copied, and of its points, to one place and to two."""

EIGHT, TAP, BAND, CHANNEL = 25, 14, 90, 31
"""Of eight channels, of their weights, of a band, and of a channel's loop over windows."""

PLANES, PLACE = 130, 14
"""Of a call, and of a window's places."""


@dataclass(frozen=True, slots=True)
class Planes:
    """How a depthwise convolution is computed channel by channel.

    Attributes:
        axes: of lines and points.
        window: with lines and points as rows and columns.
        column: bytes of a column of the copy; 0 where the lines lie side by side.
        positions: windows from one group to the next, those between groups included.
        step: bytes from one window to the next.
        inside: lines and points of the input that windows read.
        band: output lines that are computed from one copy; even, or all.

    """

    axes: Axes
    window: Window
    column: int
    positions: int
    step: int
    inside: tuple[int, int]
    band: int

    @property
    def whole(self) -> bool:
        """Whether all lines are computed from one copy."""
        return self.band >= self.window.out[0]

    def times(self, lines: int) -> int:
        """Fours of windows that a loop over so many output lines takes."""
        groups = -(-lines // 2)
        return -(-((groups - 1) * self.positions + self.window.out[1]) // FOUR)

    def scratch_bytes(self) -> int:
        """Bytes of places and of the copy, for as many lines as there may be."""
        lines = self.window.out[0]
        few = self.band if self.window.on_rows else lines
        return max(self._bytes(lines), self._bytes(min(few, lines)))

    def _bytes(self, lines: int) -> int:
        times = self.times(lines if lines <= self.band else 2)
        ahead = (FOUR - 1) * self.step + VECTOR
        fixed = LANES * CHANNEL_BYTES + (times + 1) * VECTOR
        return fixed + LANES * self.plane_bytes(lines) + ahead

    def plane_bytes(self, lines: int) -> int:
        """Bytes of the copy of one channel."""
        if self.column == 0:
            return _lines_read(self.window, padded(lines, 2))
        groups = -(-lines // 2) if lines <= self.band else self.band // 2 + 1
        return (groups - 1) * self.positions * self.step + _points_read(self.window) * self.column

    def cost(self, rounding: int) -> int:
        """Instructions of eight channels: lines are copied, then each channel computed."""
        lines = self.window.out[0]
        read, points = self.inside
        if self.column == 0:
            copied = LINE + ONE_PLACE * read
        else:
            copied = read * (LINE + (TWO_PLACES + 1 - self.window.stride[0]) * points)
        runs, bands = (1, 1) if self.whole else (-(-lines // 2), -(-lines // self.band))
        loop = CHANNEL + FINISHED[rounding] * self.times(lines if self.whole else 2)
        weights = EIGHT + TAP * self.window.kernel[0] * self.window.kernel[1]
        return weights + BAND * bands + copied + LANES * runs * loop

    def set_up(self) -> int:
        """Instructions before the first channels: places, and padding everywhere."""
        groups = -(-self.window.out[0] // 2) if self.whole else 1
        filled = self.plane_bytes(self.window.out[0]) + CHANNEL_BYTES
        return PLANES + PLACE * self.positions * groups + filled


def planes_of(node: BoundNode, window: Window) -> Planes | None:
    """The cheapest layout; None where there is none for the window."""
    if node.input(0).shape[3] != node.output.shape[3] or node.input(1).dtype is not DType.INT8:
        return None
    ways: tuple[Axes, ...] = ((0, 1),) if window.on_rows else ((0, 1), (1, 0))
    most = max(MAX_DEPTHWISE_SCRATCH, depthwise_bytes(node, window))
    found = [_along(node, turned(window, axes), axes, most) for axes in ways]
    return min((p for p in found if p is not None), key=_cheapest, default=None)


def _along(node: BoundNode, window: Window, axes: Axes, most: int) -> Planes | None:
    """The layout for lines of these axes, with at most so many bytes of scratch memory."""
    stride, (rows, columns) = window.stride[0], window.kernel
    if window.dilation != (1, 1) or stride not in COLUMNS:
        return None
    sizes = [node.input(0).shape[1 + axis] for axis in axes]
    reads = _lines_read(window, window.out[0]), _points_read(window)
    lines, points = (min(n, r - b) for n, r, b in zip(sizes, reads, window.before, strict=True))
    inside = lines, points
    if columns == 1 and window.out[1] == 1:
        planes = Planes(axes, window, 0, 1, 2 * stride, inside, window.out[0])
        fits = rows + stride <= VECTOR and planes.scratch_bytes() <= most
        return planes if fits and _fits_places(node, planes) else None
    column, most_rows = COLUMNS[stride]
    step = column * window.stride[1]
    if rows > most_rows or column * columns > VECTOR or step not in STEPS:
        return None
    positions = _positions(points, window)
    bands = (
        Planes(axes, window, column, positions, step, inside, band)
        for band in (window.out[0], *reversed(range(2, window.out[0], 2)))
    )
    fitting = (p for p in bands if p.scratch_bytes() <= most and _fits_places(node, p))
    return next(fitting, None)


def _cheapest(planes: Planes) -> tuple[int, int]:
    return planes.cost(0), planes.set_up()


def _fits_places(node: BoundNode, planes: Planes) -> bool:
    """Whether all outputs of a loop are few enough bytes apart."""
    lines, points = planes.window.out
    few = planes.whole or planes.window.on_rows
    last = (min(lines, planes.band) if few else 2) - 1
    strides = strides_of(node.output.shape)
    line, point = (strides[1 + axis] for axis in planes.axes)
    return last * line + (points - 1) * point <= MAX_PLACE


def _positions(inside: int, window: Window) -> int:
    """Windows of a group until the next group's begin: its padding follows, too."""
    points, stride = window.out[1], window.stride[1]
    behind = _points_read(window) - window.before[1]
    return max(points, -(-inside // stride), -(-behind // stride))


def _points_read(window: Window) -> int:
    return (window.out[1] - 1) * window.stride[1] + window.kernel[1]


def _lines_read(window: Window, lines: int) -> int:
    return (lines - 1) * window.stride[0] + window.kernel[0]
