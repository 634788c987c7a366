"""Pooling in forms that TFLite's ops do not have: one dimension and one tap at a time.

Windows are boxes, so that any number of spatial dimensions, dilations and paddings come down to
element-wise ops on shifted parts of the input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.move import take_elements
from tinyrt.convert.onnx.shapes import sized
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value


@dataclass(frozen=True, slots=True)
class Line:
    """A window along one dimension.

    Attributes:
        size: elements of the input.
        kernel: taps.
        stride: step between outputs.
        dilation: step between taps.
        before: padding at the front.
        after: padding at the end, as the node gives it.
        out: elements of the output.

    """

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    out: int

    @property
    def positions(self) -> NDArray[np.int64]:
        """(taps, outputs): which element each tap reads, outside the input where it is padding."""
        taps = np.arange(self.kernel, dtype=np.int64) * self.dilation
        return taps[:, None] + np.arange(self.out, dtype=np.int64) * self.stride - self.before

    def counts(self, *, with_pads: bool) -> NDArray[np.int64]:
        """The number of taps that count for each output; ``ceil_mode``'s padding never counts."""
        low, high = (-self.before, self.size + self.after) if with_pads else (0, self.size)
        p = self.positions
        return np.asarray(np.sum((p >= low) & (p < high), axis=0), np.int64)


def lines(call: Call, x: Value, kernel: tuple[int, ...]) -> list[Line]:
    """The window along every spatial dimension of ``x`` (n, c, ...).

    Raises:
        ModelFormatError: it does not fit.
        UnsupportedError: an output sees padding only.

    """
    node, rank = call.node, len(x.shape) - 2
    ones, zeros = (1,) * rank, (0,) * rank
    strides = node.get_ints("strides", rank) or ones
    dilations = node.get_ints("dilations", rank) or ones
    mode = node.get_string("auto_pad", "NOTSET")
    pads = node.get_ints("pads", 2 * rank) or (*zeros, *zeros)
    if min(*strides, *dilations, *kernel) < 1 or min(pads) < 0:
        raise ModelFormatError(
            f"kernel {kernel}, strides {strides}, dilations {dilations}, pads {pads}",
            expected="positive numbers, and pads of 0 and more",
        )
    windows = []
    for i, size in enumerate(x.shape[2:]):
        extent = (kernel[i] - 1) * dilations[i] + 1
        before, after = (pads[i], pads[i + rank]) if mode == "NOTSET" else (0, 0)
        if mode.startswith("SAME"):
            missing = max((-(-size // strides[i]) - 1) * strides[i] + extent - size, 0)
            small, large = missing // 2, missing - missing // 2
            before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
        room = size + before + after - extent
        out = room // strides[i] + 1
        if node.get_int("ceil_mode", 0):
            out = -(-room // strides[i]) + 1
            out -= (out - 1) * strides[i] >= size + before
        sized((kernel[i], max(out, 1)), "the places that a window sees", copies=6)
        line = Line(size, kernel[i], strides[i], dilations[i], before, after, out)
        if out < 1 or line.counts(with_pads=False).min() < 1:
            raise UnsupportedError(
                f"{node.op} with a window of {list(kernel)}, some of which see padding only",
                tensor=x.describe(),
                expected="a window that always touches the input",
                hint="check the input's shape (--shape NAME=...), or retrain with less padding",
            )
        windows.append(line)
    return windows


def max_by_taps(call: Call, x: Value, windows: list[Line]) -> Value:
    """The greatest element under the window; padding reads some element of the same window."""
    for axis, line in enumerate(windows, start=2):
        positions = line.positions
        inside = (positions >= 0) & (positions < line.size)
        spare = np.take_along_axis(positions, inside.argmax(axis=0)[None], axis=0)
        index = np.where(inside, positions, spare)
        result: Value | None = None
        for tap, places in enumerate(index):
            name = f"{call.result}.axis{axis}.tap{tap}"
            part = take_elements(call, x, axis, places, name)
            result = (
                part if result is None else call.emit("maximum", result, part, name=f"{name}.max")
            )
        assert result is not None, "a window has taps"
        x = result
    return x


def mean_by_taps(call: Call, x: Value, windows: list[Line], *, with_pads: bool) -> Value:
    """The mean under the window, of what counts there."""
    for axis, line in enumerate(windows, start=2):
        name = f"{call.result}.axis{axis}"
        x = _sum(call, x, axis, line, name)
        shares = 1 / line.counts(with_pads=with_pads)
        column = shares.astype(np.float32).reshape(-1, *[1] * (len(x.shape) - axis - 1))
        x = call.emit("mul", x, call.constant(f"{name}.shares", column), name=f"{name}.mean")
    return x


def _sum(call: Call, x: Value, axis: int, line: Line, name: str) -> Value:
    last = int(line.positions.max())
    after = max(last + 1 - line.size, 0)
    if line.before or after:
        border = tuple((line.before, after) if a == axis else (0, 0) for a in range(len(x.shape)))
        x = call.emit("pad", x, name=f"{name}.padded", paddings=border)
    result: Value | None = None
    for tap, places in enumerate(line.positions + line.before):
        part = take_elements(call, x, axis, places, f"{name}.tap{tap}")
        result = part if result is None else call.emit("add", result, part, name=f"{name}.sum{tap}")
    assert result is not None, "a window has taps"
    return result
