"""Resizing that TFLite has no op for: each dimension is a product with a constant matrix.

Linear and cubic interpolation, with or without antialiasing, weigh a few inputs for every output,
by where the output lies between them. Formulas: ONNX's operator specification of Resize.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.shapes import sized
from tinyrt.ir import Shape, Value

Floats = NDArray[np.float64]
Places = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How inputs are weighed by their distance from an output.

    Attributes:
        kind: ``linear`` or ``cubic``.
        a: the cubic's coefficient.
        antialias: widen the kernel where the dimension shrinks.
        exclude_outside: leave inputs out that lie outside, in place of repeating the border.

    """

    kind: str
    a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False

    @property
    def radius(self) -> int:
        """Beyond that distance, weights are 0."""
        return 1 if self.kind == "linear" else 2

    def weigh(self, distance: Floats) -> Floats:
        """The weight at a distance."""
        d, a = np.abs(distance), self.a
        if self.kind == "linear":
            return np.asarray(np.maximum(1 - d, 0))
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.asarray(np.where(d <= 1, near, np.where(d < 2, far, 0)))

    def matrix(self, n: int, positions: Floats, scale: float) -> Floats:
        """(outputs, n): what each of n inputs counts for the outputs at these positions."""
        widen = min(scale, 1.0) if self.antialias else 1.0
        reach = int(np.ceil(self.radius / widen)) + 1
        # A tap each of a place, its distance, weight and more; and the matrix in both precisions.
        columns = 8 * (2 * reach + 1) + 2 * n
        sized((len(positions), columns), "the weights of a resize", copies=1)
        offsets = np.arange(-reach, reach + 1)
        taps = np.floor(positions)[:, None].astype(np.int64) + offsets
        weights = self.weigh((taps - positions[:, None]) * widen)
        inside = (taps >= 0) & (taps < n)
        if self.exclude_outside:
            weights = np.where(inside, weights, 0)
        weights /= weights.sum(axis=1, keepdims=True)
        result = np.zeros((len(positions), n))
        rows = np.arange(len(positions))[:, None]
        np.add.at(result, (np.broadcast_to(rows, taps.shape), np.clip(taps, 0, n - 1)), weights)
        return result


def resample(
    call: Call,
    x: Value,
    kernel: Kernel,
    positions: Sequence[Floats],
    scales: Sequence[float],
    outside: float | None,
) -> Value:
    """``x`` at these positions along each dimension.

    Args:
        call: the node.
        x: the input.
        kernel: the weights.
        positions: per dimension, where in the input each output lies.
        scales: per dimension, outputs per input.
        outside: what outputs are that lie outside of the input; None where the border repeats.

    """
    read = x.shape
    axes = [
        axis
        for axis, p in enumerate(positions)
        if len(p) != read[axis] or not np.array_equal(p, np.arange(read[axis]))
    ]
    for axis in axes:
        matrix = kernel.matrix(read[axis], positions[axis], scales[axis])
        x = _along(call, x, axis, matrix, f"{call.result}.axis{axis}")
    return x if outside is None else fill_outside(call, x, read, positions, outside)


def fill_outside(
    call: Call, x: Value, read: Shape, positions: Sequence[Places], outside: float
) -> Value:
    """``x`` where outputs lie inside of the input, else a number.

    Args:
        call: the node.
        x: the resized input.
        read: the shape of the input.
        positions: per dimension, where in the input each output lies.
        outside: the number.

    """
    rank = len(read)
    masked = np.ones((1,) * rank, bool)
    for axis, (n, p) in enumerate(zip(read, positions, strict=True)):
        is_outside = (p < 0) | (p > n - 1)
        if not is_outside.any():
            continue
        sized((*masked.shape[:axis], len(p), *masked.shape[axis + 1 :]), "the border of a resize")
        masked = masked & ~is_outside.reshape([-1 if i == axis else 1 for i in range(rank)])
    if masked.all():
        return x
    mask = call.constant(f"{call.result}.inside", masked.astype(np.float32))
    x = call.emit("mul", x, mask, name=f"{call.result}.kept")
    rest = call.constant(f"{call.result}.outside", np.where(masked, 0, outside).astype(np.float32))
    return call.emit("add", x, rest)


def _along(call: Call, x: Value, axis: int, matrix: Floats, name: str) -> Value:
    """The product with a matrix along one dimension."""
    rank = len(x.shape)
    order = (*(i for i in range(rank) if i != axis), axis)
    last = call.transpose(x, order, f"{name}.last")
    rows = last if rank > 1 else call.reshape(last, (1, *last.shape), f"{name}.row")
    weights = call.constant(f"{name}.matrix", matrix.astype(np.float32))
    y = call.emit("fully_connected", rows, weights, name=f"{name}.product", keep_num_dims=rank > 2)
    y = call.reshape(y, (*last.shape[:-1], len(matrix)), f"{name}.flat")
    return call.transpose(y, tuple(int(i) for i in np.argsort(order)), f"{name}.back")
