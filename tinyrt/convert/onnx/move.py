"""ONNX ops that only move elements, and resizing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.lookup import gather_at_run_time, gather_nd, one_hot
from tinyrt.convert.onnx.resample import Kernel, resample
from tinyrt.convert.onnx.shapes import WIDEST, normal_axes, sized, split_sizes
from tinyrt.convert.onnx.weights import TYPED, checked_shape, listed
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value
from tinyrt.ops.resize import ResizeAttrs, nearest_indices


def _sliced(
    call: Call, x: Value, begin: Sequence[int], size: Sequence[int], step: Sequence[int], name: str
) -> Value:
    if tuple(size) == x.shape and set(step) <= {1}:
        return x
    return call.emit(
        "slice", x, name=name, begin=tuple(begin), size=tuple(size), strides=tuple(step)
    )


def slice_(call: Call) -> Value:
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
        raise UnsupportedError(
            f"a slice of {x.type} without elements",
            expected="at least one element in each dimension",
            hint="remove the part of the model that works on nothing",
        )
    begin, size, strides = zip(*((p.start, len(p), p.step) for p in parts), strict=True)
    return _sliced(call, x, begin, size, strides, "")


def split(call: Call) -> list[Value]:
    """Parts of one dimension, each a slice."""
    x, count = call.value(0), len(call.node.outputs)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(x.shape))
    sizes = split_sizes(call, x.shape[axis], count)
    parts, begin = [], 0
    for output, size in zip(call.node.outputs, sizes, strict=True):
        first, shape = [0] * len(x.shape), list(x.shape)
        first[axis], shape[axis] = begin, size
        parts.append(_sliced(call, x, first, shape, [1] * len(shape), output or call.result))
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


def _resized_axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = call.node.get_ints("axes")
    return tuple(range(rank)) if axes is None else normal_axes(axes, rank)


def _targets(call: Call, x: Value) -> tuple[list[int], list[float]]:
    """The output's size and scale along every dimension."""
    rank = len(x.shape)
    axes = _resized_axes(call, rank)
    sizes, scales = list(x.shape), [1.0] * rank
    at = 1 if call.opset < 11 else 2
    if call.node.op == "Upsample" and call.opset < 9:
        factors: Sequence[float] = call.node.get_floats("scales") or ()
    elif call.has(3):
        factors = []
        targets = call.ints(3, "the sizes")
        if len(targets) != len(axes):
            raise ModelFormatError(
                f"{len(targets)} sizes for {len(axes)} dimensions", expected="one for each"
            )
        policies = ("stretch", "not_larger", "not_smaller")
        policy = call.node.get_choice("keep_aspect_ratio_policy", *policies)
        ratios = [size / x.shape[axis] for axis, size in zip(axes, targets, strict=True)]
        if policy != "stretch" and ratios:
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            targets = tuple(math.floor(x.shape[a] * ratio + 0.5) for a in axes)
            ratios = [ratio] * len(ratios)
        for axis, size, ratio in zip(axes, targets, ratios, strict=True):
            sizes[axis], scales[axis] = size, ratio
    else:
        array = call.array(at, "the scales")
        if array.size != len(axes):
            raise ModelFormatError(
                f"{array.size} scales for {len(axes)} dimensions", expected="one for each"
            )
        factors = [float(s) for s in array.reshape(-1)]
    if not np.isfinite(factors).all():
        raise ModelFormatError(f"scales {list(factors)}", expected="finite numbers")
    if factors and len(factors) != len(axes):
        raise ModelFormatError(
            f"{len(factors)} scales for {len(axes)} dimensions", expected="one for each"
        )
    for axis, scale in zip(axes, factors, strict=False):
        sizes[axis], scales[axis] = math.floor(x.shape[axis] * scale), scale
    if min(sizes) < 1 or min(scales) <= 0:
        raise ModelFormatError(f"{x.type} resized to {sizes}", expected="positive sizes")
    return list(checked_shape(sizes, f"'{call.result}'")), scales


def _positions(
    mode: str, n: int, out: int, scale: float, roi: tuple[float, float] = (0.0, 1.0)
) -> NDArray[np.float64]:
    """Where in the input each output lies.

    Raises:
        UnsupportedError: there is no such coordinate mode.

    """
    sized((out,), "the places of a resize", copies=6)
    i = np.arange(out, dtype=np.float64)
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        # The size that the scale stands for, which need not be a whole one.
        length = scale * n
        return i * ((n - 1) / (length - 1)) if length > 1 else i * 0
    if mode == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if scale * n > 1 else i * 0
    if mode == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        offset = n / 2 * (1 - out / (scale * n))
        return offset + (i + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        start, end = roi
        step = (end - start) * (n - 1) / (out - 1) if out > 1 else 0.0
        first = start * (n - 1) if out > 1 else 0.5 * (start + end) * (n - 1)
        return first + i * step
    raise UnsupportedError(
        f"Resize with coordinates '{mode}'",
        expected="asymmetric, align_corners, half_pixel, pytorch_half_pixel, "
        "half_pixel_symmetric or tf_crop_and_resize",
        hint="export the model with another coordinate_transformation_mode",
    )


ROUND: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""``nearest_mode`` of Resize -> which element a place between two is; the default first."""


def _nearest(call: Call, x: Value, sizes: list[int], scales: list[float], mode: str) -> Value:
    """TFLite's op where it picks the same elements, else a gather along each dimension."""
    rounding = ROUND[call.node.get_choice("nearest_mode", *ROUND)]
    if call.opset < 11 or call.node.op == "Upsample":
        rounding = np.floor
    rois = _rois(call, len(x.shape))
    indices = [
        np.clip(rounding(_positions(mode, n, out, s, roi)), 0, n - 1).astype(np.int64)
        for n, out, s, roi in zip(x.shape, sizes, scales, rois, strict=True)
    ]
    axes = [i for i, p in enumerate(indices) if not np.array_equal(p, np.arange(x.shape[i]))]
    attrs = _tflite_nearest(x, sizes, indices) if set(axes) <= {2, 3} and axes else None
    if attrs is not None:
        last = call.transpose(x, (0, 2, 3, 1), f"{x.name}.nhwc")
        name = f"{call.result}.nhwc"
        y = call.emit(
            "resize_nearest_neighbor",
            last,
            name=name,
            size=attrs.size,
            align_corners=attrs.align_corners,
            half_pixel_centers=attrs.half_pixel_centers,
        )
        return call.transpose(y, (0, 3, 1, 2))
    for axis in axes:
        name = call.result if axis == axes[-1] else f"{call.result}.axis{axis}"
        x = take_elements(call, x, axis, indices[axis], name)
    return x


def _tflite_nearest(
    x: Value, sizes: list[int], indices: list[NDArray[np.int64]]
) -> ResizeAttrs | None:
    if len(x.shape) != 4:
        return None
    for corners, halves in ((False, False), (False, True), (True, False)):
        attrs = ResizeAttrs((sizes[2], sizes[3]), corners, halves)
        if all(
            np.array_equal(nearest_indices(attrs, x.shape[i], sizes[i]), indices[i]) for i in (2, 3)
        ):
            return attrs
    return None


def _interpolated(
    call: Call, x: Value, sizes: list[int], scales: list[float], mode: str, kernel: Kernel
) -> Value:
    """TFLite's op where it weighs the same pixels, else a product along each dimension."""
    exact = all(s * n == out for s, n, out in zip(scales, x.shape, sizes, strict=True))
    halves = mode == "half_pixel" or (mode == "pytorch_half_pixel" and min(sizes[2:]) > 1)
    fits = halves or mode == "align_corners" or mode == "asymmetric"
    is_image = len(x.shape) == 4 and tuple(sizes[:2]) == x.shape[:2]
    is_plain = kernel.kind == "linear" and not (kernel.antialias and min(scales) < 1)
    if is_image and fits and exact and is_plain:
        last = call.transpose(x, (0, 2, 3, 1), f"{x.name}.nhwc")
        y = call.emit(
            "resize_bilinear",
            last,
            name=f"{call.result}.nhwc",
            size=(sizes[2], sizes[3]),
            align_corners=mode == "align_corners",
            half_pixel_centers=halves,
        )
        return call.transpose(y, (0, 3, 1, 2))
    rois = _rois(call, len(x.shape))
    positions = [
        _positions(mode, n, out, scale, roi)
        for n, out, scale, roi in zip(x.shape, sizes, scales, rois, strict=True)
    ]
    crops = mode == "tf_crop_and_resize"
    outside = call.node.get_float("extrapolation_value", 0.0) if crops else None
    return resample(call, x, kernel, positions, scales, outside)


def _rois(call: Call, rank: int) -> list[tuple[float, float]]:
    """The part of each dimension that tf_crop_and_resize looks at."""
    whole = [(0.0, 1.0)] * rank
    has_roi = call.node.op == "Resize" and call.opset >= 11
    region = call.optional_array(1, "the region") if has_roi else None
    if region is None or region.size == 0:
        return whole
    axes = _resized_axes(call, rank)
    if region.size != 2 * len(axes):
        raise ModelFormatError(f"a region of {region.size} numbers", expected=f"{2 * len(axes)}")
    ends = region.reshape(2, len(axes)).T.tolist()
    for axis, (start, end) in zip(axes, ends, strict=True):
        whole[axis] = (float(start), float(end))
    return whole


def resize(call: Call) -> Value:
    """Images of another size: the nearest pixel, or a mean of those around."""
    x, node = call.value(0), call.node
    old = node.op == "Upsample" or call.opset < 11
    mode = "asymmetric" if old else node.get_string("coordinate_transformation_mode", "half_pixel")
    kind = node.get_string("mode", "nearest")
    sizes, scales = _targets(call, x)
    if kind == "nearest":
        return _nearest(call, x, sizes, scales, mode)
    if kind not in ("linear", "bilinear", "cubic"):
        raise UnsupportedError(
            f"Resize in mode '{kind}'", expected="nearest, linear or cubic", hint="use another mode"
        )
    kernel = Kernel(
        kind="cubic" if kind == "cubic" else "linear",
        a=node.get_float("cubic_coeff_a", -0.75),
        antialias=node.get_int("antialias", 0) != 0,
        exclude_outside=node.get_int("exclude_outside", 0) != 0,
    )
    return _interpolated(call, x, sizes, scales, mode, kernel)


MOVE: dict[str, Importer] = {
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Gather": gather,
    "OneHot": one_hot,
    "GatherND": gather_nd,
    "Resize": resize,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Tile": tile,
    "Upsample": resize,
}
"""ONNX op type -> its importer."""
