"""ONNX ops that only move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.lookup import (
    gather_at_run_time,
    gather_elements,
    gather_nd,
    hardmax,
    one_hot,
)
from tinyrt.convert.onnx.shapes import WIDEST, normal_axes, sized, split_sizes
from tinyrt.convert.onnx.weights import TYPED, Array, listed
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Value


def _sliced(
    call: Call, x: Value, begin: Sequence[int], size: Sequence[int], step: Sequence[int], name: str
) -> Value:
    if tuple(size) == x.shape and set(step) <= {1}:
        return x
    return call.emit(
        "slice", x, name=name, begin=tuple(begin), size=tuple(size), strides=tuple(step)
    )


def slice_(call: Call) -> Value | Array:
    """A part of some dimensions; bounds are attributes before opset 10, then inputs."""
    x = call.value(0)
    rank = len(x.shape)
    if call.opset < 10:
        starts, ends = call.node.get_ints("starts") or (), call.node.get_ints("ends") or ()
        axes = call.node.get_ints("axes") or tuple(range(len(starts)))
        steps: tuple[int, ...] = (1,) * len(starts)
    else:
        starts, ends = call.ints(1, "starts"), call.ints(2, "ends")
        axes = call.ints(3, "axes") if call.has(3) else tuple(range(len(starts)))
        steps = call.ints(4, "steps") if call.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ModelFormatError(
            f"starts {list(starts)}, ends {list(ends)}, axes {list(axes)}, steps {list(steps)}",
            expected="lists of one length, steps other than 0",
        )
    parts = [range(d) for d in x.shape]
    for axis, start, end, step in zip(normal_axes(axes, rank), starts, ends, steps, strict=True):
        parts[axis] = range(*slice(start, end, step).indices(x.shape[axis]))
    if any(len(part) == 0 for part in parts):
        return np.zeros([len(part) for part in parts], np.float32)
    begin, size, strides = zip(*((p.start, len(p), p.step) for p in parts), strict=True)
    return _sliced(call, x, begin, size, strides, "")


def split(call: Call) -> list[Value | Array]:
    """Parts of one dimension, each a slice, or known where it has no elements."""
    x, count = call.value(0), len(call.node.outputs)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(x.shape))
    sizes = split_sizes(call, x.shape[axis], count)
    parts: list[Value | Array] = []
    begin = 0
    for output, size in zip(call.node.outputs, sizes, strict=True):
        first, shape = [0] * len(x.shape), list(x.shape)
        first[axis], shape[axis] = begin, size
        parts.append(
            _sliced(call, x, first, shape, [1] * len(shape), output or call.result)
            if size
            else np.zeros(shape, np.float32)
        )
        begin += size
    return parts


def take_elements(call: Call, x: Value, axis: int, indices: NDArray[np.int64], name: str) -> Value:
    """Elements along one dimension: as a slice where they are equally far apart."""
    sized(indices.shape, f"the places of '{call.result}'", TYPED // WIDEST)
    step, flat = _step(indices.reshape(-1)), indices.reshape(-1).tolist()
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if step == 0:
        return call.emit(
            "gather", x, name=name, axis=axis, indices=tuple(flat), shape=tuple(indices.shape)
        )
    begin, size, strides = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    begin[axis], size[axis], strides[axis] = flat[0], len(flat), step
    part = _sliced(call, x, begin, size, strides, name if size == list(shape) else f"{name}.part")
    return call.reshape(part, shape, name)


def _step(places: NDArray[np.int64]) -> int:
    """How far each place is from the one before; 0 where that differs."""
    steps = np.diff(places)
    first = int(steps[0]) if steps.size else 1
    return 0 if (steps != first).any() else first


def gather(call: Call) -> Value | Quantized:
    """Elements of one dimension, picked by constant indices, or rows by those of the input."""
    operand = call.operand(1)
    if isinstance(operand, Value):
        return gather_at_run_time(call, operand)
    x = call.value(0)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(x.shape))
    picked = call.array(1, "which elements are gathered")
    sized(picked.shape, f"the places of '{call.result}'", copies=4)
    indices, d = picked.astype(np.int64), x.shape[axis]
    if indices.size == 0 or indices.min() < -d or indices.max() >= d:
        raise ModelFormatError(
            f"indices into dimension {axis} of {x.type}", expected=f"{-d} to {d - 1}, at least one"
        )
    return take_elements(call, x, axis, np.where(indices < 0, indices + d, indices), call.result)


def expand(call: Call) -> Value:
    """Broadcast to a shape; dimensions of 1 in that shape keep the input's size."""
    x, target = call.value(0), call.ints(1, "the shape")
    try:
        shape = np.broadcast_shapes(x.shape, target)
    except ValueError as error:
        raise ModelFormatError(
            f"{x.type} does not broadcast to {listed(target)}",
            expected="dimensions that are equal, or 1",
        ) from error
    return x if shape == x.shape else call.emit("broadcast_to", x, shape=shape)


def tile(call: Call) -> Value:
    """Copies of the input, side by side along each dimension."""
    return call.emit("tile", call.value(0), multiples=call.ints(1, "the repeats"))


def _image(call: Call) -> tuple[Value, int]:
    x, block = call.value(0), call.node.get_int("blocksize", 0)
    if len(x.shape) != 4 or block < 1:
        raise ModelFormatError(f"blocks of {block} of {x.type}", expected="(n, c, h, w)")
    return x, block


def depth_to_space(call: Call) -> Value:
    """Channels to blocks of pixels; in mode CRD a channel's block lies together."""
    x, b = _image(call)
    if call.node.get_choice("mode", "DCR", "CRD") == "DCR":
        last = call.transpose(x, (0, 2, 3, 1), f"{x.name}.nhwc")
        y = call.emit("depth_to_space", last, name=f"{call.result}.nhwc", block=b)
        return call.transpose(y, (0, 3, 1, 2))
    n, c, h, w = x.shape
    blocks = call.reshape(x, (n, c // (b * b), b, b, h, w), f"{call.result}.blocks")
    transposed = call.transpose(blocks, (0, 1, 4, 2, 5, 3), f"{call.result}.turned")
    return call.reshape(transposed, (n, c // (b * b), h * b, w * b))


def space_to_depth(call: Call) -> Value:
    """Blocks of pixels to channels; in mode CRD a channel's block lies together."""
    x, b = _image(call)
    if call.node.get_choice("mode", "DCR", "CRD") == "CRD":
        n, c, h, w = x.shape
        pixels = call.reshape(x, (n, c, h // b, b, w // b, b), f"{call.result}.pixels")
        transposed = call.transpose(pixels, (0, 1, 3, 5, 2, 4), f"{call.result}.turned")
        return call.reshape(transposed, (n, c * b * b, h // b, w // b))
    last = call.transpose(x, (0, 2, 3, 1), f"{x.name}.nhwc")
    y = call.emit("space_to_depth", last, name=f"{call.result}.nhwc", block=b)
    return call.transpose(y, (0, 3, 1, 2))


MOVE: dict[str, Importer] = {
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "OneHot": one_hot,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Tile": tile,
}
"""ONNX op type -> its importer."""
