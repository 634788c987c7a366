"""int8 layers with weights, one for each kernel: exponents at both ends of every range, sums of
extremes only, ties, the zero point at both ends, channels that are all zero, a batch of two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice, product
from typing import Any

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import ZERO_POINTS, Given, corner, extremes, q_of, spread
from tinyrt.ir import DType, Shape
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.transpose_conv import TransposeConvAttrs


@dataclass(frozen=True)
class Layer:
    """A layer's op, attributes and shapes; ``axis`` is that of its weights' channels."""

    op: str
    attrs: Any
    x: Shape
    w: Shape
    axis: int = 0


def _conv(x: Shape, w: Shape, **attrs: Any) -> Layer:
    return Layer("conv2d", Conv2dAttrs(**{"padding": "SAME", **attrs}), x, w)


def _depthwise(x: Shape, w: Shape, **attrs: Any) -> Layer:
    attrs = {"padding": "SAME", **attrs}
    return Layer("depthwise_conv2d", DepthwiseConv2dAttrs(**attrs), x, w, 3)


def _dense(rows: int, k: int, units: int) -> Layer:
    return Layer("fully_connected", FullyConnectedAttrs(), (rows, k), (units, k))


SHAPES = {
    "pointwise": _conv((2, 3, 3, 7), (6, 1, 1, 7)),
    "pointwise, one pixel": _conv((1, 1, 1, 8), (8, 1, 1, 8)),
    "pointwise, stride 2": _conv((2, 5, 3, 4), (5, 1, 1, 4), stride=(2, 2)),
    "window": _conv((2, 5, 4, 3), (6, 3, 3, 3)),
    "window over a whole image": _conv((2, 4, 4, 2), (5, 4, 4, 2), padding="VALID"),
    "window that is wider than the image": _conv((2, 3, 2, 2), (5, 5, 5, 2)),
    "window, bare": _conv((2, 5, 6, 3), (5, 2, 3, 3), padding="VALID", stride=(2, 1)),
    "dilated beyond the image": _conv((2, 3, 3, 2), (5, 2, 2, 2), dilation=(5, 5)),
    "groups": _conv((2, 4, 4, 6), (4, 3, 3, 3)),
    "dilated": _conv((2, 7, 7, 3), (5, 3, 2, 3), dilation=(2, 3)),
    "depthwise 3x3": _depthwise((2, 5, 4, 5), (1, 3, 3, 5)),
    "depthwise 3x3, wide": _depthwise((2, 4, 19, 3), (1, 3, 3, 3)),
    "depthwise 3x3, stride 2": _depthwise((2, 7, 6, 5), (1, 3, 3, 5), stride=(2, 2)),
    "depthwise 3x3, stride 2, odd": _depthwise((2, 9, 9, 3), (1, 3, 3, 3), stride=(2, 2)),
    "depthwise 3x3, bare": _depthwise((2, 5, 4, 5), (1, 3, 3, 5), padding="VALID"),
    "depthwise 3x3, bare, stride 2": _depthwise(
        (2, 7, 6, 5), (1, 3, 3, 5), padding="VALID", stride=(2, 2)
    ),
    "depthwise in place": _depthwise((2, 6, 6, 8), (1, 4, 2, 8), padding="VALID"),
    "depthwise down a column": _depthwise(
        (2, 9, 3, 4), (1, 2, 3, 4), padding="VALID", stride=(2, 1)
    ),
    "depthwise by fours": _depthwise((2, 5, 5, 8), (1, 4, 2, 8)),
    "depthwise by fours, dilated": _depthwise((2, 7, 7, 4), (1, 3, 3, 4), dilation=(2, 2)),
    "depthwise, several filters": _depthwise((2, 5, 5, 2), (1, 3, 3, 8)),
    "depthwise, any channels": _depthwise((2, 5, 5, 5), (1, 4, 2, 5)),
    "one row": _dense(1, 13, 8),
    "one row, few channels": _dense(1, 16, 2),
    "one row, many channels": _dense(1, 7, 150),
    "rows": _dense(3, 13, 9),
    "many rows": _dense(33, 6, 37),
    "one long row": _dense(1, 1000, 6),
    "one channel": _dense(2, 5, 1),
    "upwards": Layer(
        "transpose_conv", TransposeConvAttrs((8, 6), (2, 2)), (2, 4, 3, 3), (5, 3, 3, 3)
    ),
    "upwards, bare": Layer(
        "transpose_conv", TransposeConvAttrs((9, 8), (2, 3), "VALID"), (2, 4, 2, 3), (5, 3, 5, 3)
    ),
}
"""Layers of every kernel, most of two images."""

UNIT = {
    "halves": (0.5, 0.25, 2.0**-7, 2.0**-15),
    "about halves": (0.49999997, 0.25000003, 0.99999994 * 2.0**-7),
    "exponents -8 to -16": (0.75 * 2.0**-8, 0.7 * 2.0**-15, 2.0**-15, 0.75 * 2.0**-16),
    "exponents about the packed kernels' last": (0.75 * 2.0**-22, 2.0**-22, 0.6 * 2.0**-21),
    "exponents to -31": (0.75 * 2.0**-23, 0.75 * 2.0**-31, 2.0**-31, 2.0**-40),
    "one and above": (1.0, 1.5, 2.0, 0.99999994),
    "raised": (2.0**5, 0.75 * 2.0**8, 3.0, 0.5),
    "raised far": (2.0**13, 1.5 * 2.0**13, 0.5, 0.75),
}
"""Factors from a sum to an output, by channel in turn."""


def _weights(shape: Shape, axis: int, dtype: DType) -> np.ndarray:
    """Channels of greatest weights, of least ones, of zeros, and of all sorts."""
    most = 7 if dtype is DType.INT4 else 127
    w = np.moveaxis(spread(shape, dtype, step=5 if most == 7 else 101), axis, 0).copy()
    w = np.maximum(w, -most)
    rows = w.reshape(w.shape[0], -1)
    for channel, value in zip(range(len(rows) - 1), (most, -most, 0), strict=False):
        rows[channel] = value
    return np.ascontiguousarray(np.moveaxis(rows.reshape(w.shape), 0, axis))


def made_layer(
    layer: Layer,
    ratios: tuple[float, ...],
    x_zp: int,
    dtype: DType = DType.INT8,
    bias: bool = True,
) -> Built:
    """The layer with factors to its outputs by channel in turn, on extremes and all sorts."""
    channels = layer.w[layer.axis]
    scales = list(islice(cycle(ratios), channels))
    x = np.concatenate([extremes((1, *layer.x[1:])), spread((layer.x[0], *layer.x[1:]))])[
        : layer.x[0]
    ]
    single = dtype is DType.INT4 and layer.op == "fully_connected"
    axis = None if single else layer.axis
    scales = scales[:1] if single else scales
    w = Given(_weights(layer.w, layer.axis, dtype), scales, 0, True, axis, dtype)
    given = [Given(x, 1.0, x_zp), w]
    if bias:
        sums = np.array([0, 1, -1, 20_000, -20_000, 3], np.int32)
        biases = np.resize(sums, channels)
        given.append(Given(biases, scales, 0, True, None if single else 0))
    return corner(layer.op, layer.attrs, given, q_of(1.0, -x_zp // 2))


def _in_turn(dtype: DType) -> dict[str, Built]:
    """Every layer with every set of factors, each with the next zero point."""
    zero_points = cycle(ZERO_POINTS)
    return {
        f"{layer.op}: {name}, {kind}, {dtype.short}": made_layer(
            layer, ratios, next(zero_points), dtype
        )
        for (name, layer), (kind, ratios) in product(SHAPES.items(), UNIT.items())
        if layer.op != "transpose_conv" or dtype is DType.INT8
    }


def layers() -> dict[str, Built]:
    """Layers with and without a bias, and pools."""
    made = _in_turn(DType.INT8)
    for name, layer in SHAPES.items():
        for kind in ("halves", "raised far"):
            made[f"{layer.op}: {name}, {kind}, no bias"] = made_layer(
                layer, UNIT[kind], -128, bias=False
            )
    return made | pools(DType.INT8)


def int4_layers() -> dict[str, Built]:
    """The same layers with weights of four bits."""
    return _in_turn(DType.INT4)


POOLS = {
    "ceil: a last window of half its width": ((2, 5, 5, 3), (2, 2), (2, 2), "SAME"),
    "over all borders": ((2, 3, 3, 5), (3, 3), (1, 1), "SAME"),
    "wider than the image": ((2, 2, 2, 4), (5, 5), (1, 1), "SAME"),
    "gaps between windows": ((2, 7, 7, 1), (2, 2), (3, 3), "VALID"),
    "one element": ((1, 1, 1, 1), (1, 1), (1, 1), "VALID"),
    "one tap": ((2, 64, 64, 4), (1, 1), (1, 1), "VALID"),
    "255 taps": ((1, 18, 16, 20), (17, 15), (1, 1), "VALID"),
    "256 taps": ((1, 17, 17, 17), (16, 16), (1, 1), "VALID"),
    "289 taps": ((1, 18, 17, 33), (17, 17), (1, 1), "VALID"),
    "a row of 257 taps": ((1, 2, 260, 9), (1, 257), (1, 1), "VALID"),
    "a row of 511 taps": ((1, 1, 513, 9), (1, 511), (1, 1), "VALID"),
    "5780 taps": ((1, 1, 5781, 5), (1, 5780), (1, 1), "VALID"),
    "5781 taps": ((1, 1, 5782, 5), (1, 5781), (1, 1), "VALID"),
    "17 channels": ((1, 32, 32, 17), (3, 3), (1, 1), "SAME"),
}
"""Shape, window, step and padding."""


def pools(dtype: DType) -> dict[str, Built]:
    """Each shape, on the ends of the type and on all sorts; int8 on its least value alone, too."""
    made = {}
    least = limits_of(dtype)[0]
    wide = dtype is not DType.INT8
    step, scale = (4099, 6 / 24_576) if wide else (37, 0.05)
    for op, (name, (shape, kernel, stride, padding)) in product(
        ("average_pool2d", "max_pool2d"), POOLS.items()
    ):
        kinds = {"extremes": extremes(shape, dtype), "all sorts": spread(shape, dtype, step)}
        if not wide:
            kinds["all least"] = np.full(shape, least, dtype.numpy)
        for kind, data in kinds.items():
            for activation, zp in (("NONE", 0), ("RELU6", 0 if wide else least)):
                attrs = Pool2dAttrs(kernel, stride, padding, activation)
                title = f"{op}: {name}, {kind}, {activation}" + ", int16" * wide
                made[title] = corner(op, attrs, [Given(data, scale, zp)], q_of(scale, zp))
    return made
