"""ONNX's Pad: a border of one number or of the input's own elements, or less than the input."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.move import take_elements
from tinyrt.convert.onnx.shapes import WIDEST, normal_axes, sized
from tinyrt.convert.onnx.weights import TYPED, checked_shape, listed
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value


def pad(call: Call) -> Value:
    """A border; widths are an attribute before opset 11, then an input."""
    mode = call.node.get_string("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise UnsupportedError(
            f"Pad in mode '{mode}'", expected="constant, reflect, edge or wrap", hint="use one"
        )
    x = call.value(0)
    rank = len(x.shape)
    if call.opset < 11:
        widths = call.node.get_ints("pads") or ()
        value = call.node.get_float("value", 0.0)
    else:
        widths = call.ints(1, "the pads")
        fill = call.optional_array(2, "the pad value")
        if fill is not None and fill.dtype.kind != "f":
            raise UnsupportedError(
                "a border of integers",
                expected="a border of numbers, in front of QuantizeLinear",
                hint="quantise the model in QDQ form",
            )
        is_used = fill is not None and mode == "constant"
        value = call.scalar(2, "the pad value") if is_used else 0.0
    axes = call.ints(3, "the axes") if call.has(3) else tuple(range(rank))
    if len(widths) != 2 * len(axes):
        raise ModelFormatError(f"{len(widths)} pads for {len(axes)} axes", expected="two each")
    paddings = [(0, 0)] * rank
    for i, axis in enumerate(normal_axes(axes, rank)):
        paddings[axis] = (widths[i], widths[i + len(axes)])
    padded = [d + sum(pair) for d, pair in zip(x.shape, paddings, strict=True)]
    checked_shape(padded, f"'{call.result}'")
    if any(w < 0 for w in widths):
        x, paddings = _cropped(call, x, paddings, mode)
        if not any(map(any, paddings)):
            return x
    if mode == "constant":
        return call.emit("pad", x, paddings=tuple(paddings), value=value)
    return _repeating_pad(call, x, paddings, mode)


def _cropped(
    call: Call, x: Value, paddings: list[tuple[int, int]], mode: str
) -> tuple[Value, list[tuple[int, int]]]:
    """What negative widths leave of ``x``, and the widths that are left.

    Raises:
        UnsupportedError: nothing is left, or the border would repeat what goes.

    """
    if mode != "constant" and any(low * high < 0 for low, high in paddings):
        raise UnsupportedError(
            f"Pad in mode '{mode}' by {listed(paddings)} repeats elements that it cuts off",
            expected="widths of one sign along each dimension",
            hint="cut the elements off with Slice in front of Pad",
        )
    begin = [max(-low, 0) for low, _ in paddings]
    size = [
        d - first - max(-high, 0)
        for d, first, (_, high) in zip(x.shape, begin, paddings, strict=True)
    ]
    if min(size) < 1:
        raise UnsupportedError(
            f"Pad by {listed(paddings)} leaves nothing of {x.type}",
            expected="at least one element in each dimension",
            hint="remove the part of the model that works on nothing",
        )
    rest = [(max(low, 0), max(high, 0)) for low, high in paddings]
    name = f"{call.result}.cut" if any(map(any, rest)) else ""
    steps = (1,) * len(size)
    return call.emit(
        "slice", x, name=name, begin=tuple(begin), size=tuple(size), strides=steps
    ), rest


def _repeating_pad(call: Call, x: Value, paddings: list[tuple[int, int]], mode: str) -> Value:
    """A border of the input's own elements: TFLite's op where it has one, else gathered."""
    mirrors = all(max(pair) < d for pair, d in zip(paddings, x.shape, strict=True))
    if mode == "reflect" and mirrors:
        return call.emit("mirror_pad", x, paddings=tuple(paddings))
    axes = [axis for axis, pair in enumerate(paddings) if pair != (0, 0)]
    for axis in axes:
        size = x.shape[axis] + sum(paddings[axis])
        sized((size,), f"the places of '{call.result}'", TYPED // WIDEST)
        places = np.pad(np.arange(x.shape[axis]), paddings[axis], mode=mode)  # type: ignore[call-overload]
        name = "" if axis == axes[-1] else f"{call.result}.axis{axis}"
        x = take_elements(call, x, axis, places, name or call.result)
    return x
