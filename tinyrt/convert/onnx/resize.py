"""ONNX's Resize and Upsample: images of another size.

Places are computed in float32 and from whole sizes, as onnxruntime and PyTorch do: in float64 the
nearest element would now and then be another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.move import take_elements
from tinyrt.convert.onnx.resample import Kernel, fill_outside, resample
from tinyrt.convert.onnx.shapes import normal_axes, sized
from tinyrt.convert.onnx.weights import checked_shape
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value
from tinyrt.ops.resize import ResizeAttrs, nearest_indices


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
    if min(sizes) < 1:
        raise ModelFormatError(f"{x.type} resized to {sizes}", expected="positive sizes")
    return list(checked_shape(sizes, f"'{call.result}'")), scales


def _positions(
    mode: str, n: int, out: int, scale: float, roi: tuple[float, float] = (0.0, 1.0)
) -> NDArray[np.float32]:
    """Where in the input each output lies.

    Raises:
        UnsupportedError: there is no such coordinate mode.

    """
    sized((out,), "the places of a resize", copies=6)
    i, s, half = np.arange(out, dtype=np.float32), np.float32(scale), np.float32(0.5)
    if mode != "tf_crop_and_resize" and s == 1:
        return i
    if mode == "asymmetric":
        return i / s
    if mode == "align_corners":
        return i * np.float32(n - 1) / np.float32(out - 1) if out > 1 else i
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return np.asarray((i + half) / s - half, np.float32)
    if mode == "pytorch_half_pixel":
        return i
    if mode == "tf_half_pixel_for_nn":
        return np.asarray((i + half) / s, np.float32)
    if mode == "half_pixel_symmetric":
        offset = np.float32(n) / 2 * (1 - np.float32(out) / (s * np.float32(n)))
        return np.asarray(offset + (i + half) / s - half, np.float32)
    if mode == "tf_crop_and_resize":
        start, end = np.asarray(roi, np.float32)
        last = np.float32(n - 1)
        if out == 1:
            return np.asarray(half * (start + end) * last + i, np.float32)
        step = i * (end - start) * last / np.float32(out - 1)
        return np.asarray(start * last + step, np.float32)
    raise UnsupportedError(
        f"Resize with coordinates '{mode}'",
        expected="asymmetric, align_corners, half_pixel, pytorch_half_pixel, "
        "half_pixel_symmetric, tf_half_pixel_for_nn or tf_crop_and_resize",
        hint="export the model with another coordinate_transformation_mode",
    )


ROUND: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""``nearest_mode`` of Resize -> which element a place between two is; the default first."""


def _nearest(call: Call, x: Value, sizes: list[int], scales: list[float], mode: str) -> Value:
    """TFLite's op where it picks the same elements, else a gather along each dimension."""
    rounding = ROUND[call.node.get_choice("nearest_mode", *ROUND)]
    is_old = call.opset < 11 or call.node.op == "Upsample"
    positions = _all_positions(call, x, sizes, scales, mode)
    indices = []
    for n, places, scale in zip(x.shape, positions, scales, strict=True):
        rounded = (np.ceil if scale < 1 else np.floor) if is_old else rounding
        indices.append(np.clip(rounded(places), 0, n - 1).astype(np.int64))
    axes = [i for i, p in enumerate(indices) if not np.array_equal(p, np.arange(x.shape[i]))]
    border, read = _border(call, mode), x.shape
    is_image = border is None and bool(axes) and set(axes) <= {2, 3}
    attrs = _tflite_nearest(x, sizes, indices) if is_image else None
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
        name = call.result if axis == axes[-1] and border is None else f"{call.result}.axis{axis}"
        x = take_elements(call, x, axis, indices[axis], name)
    return x if border is None else fill_outside(call, x, read, positions, border)


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
    whole = (
        math.isclose(s * n, out, rel_tol=1e-6)
        for s, n, out in zip(scales, x.shape, sizes, strict=True)
    )
    exact = mode == "align_corners" or all(whole)
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
    positions = [p.astype(np.float64) for p in _all_positions(call, x, sizes, scales, mode)]
    return resample(call, x, kernel, positions, scales, _border(call, mode))


def _all_positions(
    call: Call, x: Value, sizes: Sequence[int], scales: Sequence[float], mode: str
) -> list[NDArray[np.float32]]:
    """Along each dimension, where in the input each output lies."""
    rois = _rois(call, len(x.shape))
    return [
        _positions(mode, n, out, scale, roi)
        for n, out, scale, roi in zip(x.shape, sizes, scales, rois, strict=True)
    ]


def _border(call: Call, mode: str) -> float | None:
    """What outputs are that lie outside of the input; None where its border repeats."""
    crops = mode == "tf_crop_and_resize"
    return call.node.get_float("extrapolation_value", 0.0) if crops else None


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


RESIZE: dict[str, Importer] = {"Resize": resize, "Upsample": resize}
"""ONNX op type -> its importer."""
