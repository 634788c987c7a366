"""Sizes that seldom come together: batches that repeat in either operand, steps longer than
windows, sums of one sign beyond what a block of them holds."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import Given, corner, extremes, q_of, spread
from tests.ops.corners.layers import UNIT, Layer, made_layer
from tinyrt.ir import DType
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

BATCHES = [((2, 1), (1, 3)), ((1, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 1), (2, 3)), ((3,), (2, 3))]
"""Batches of both operands of a product."""

LONG_STEPS = {
    "of 1": ((1, 1), (2, 3)),
    "of 2": ((2, 2), (3, 3)),
    "of a row": ((1, 3), (4, 1)),
    "of a column": ((3, 1), (1, 4)),
}
"""Kernels whose steps are longer."""


def _products() -> dict[str, Built]:
    made = {}
    for a, b in BATCHES:
        for x, y, ratio in (
            ("int8", "int8", 0.01),
            ("int16", "int16", 1e-6),
            ("int16", "int8", 1e-4),
        ):
            inputs = [
                Given(spread((*a, 3, 5), DType(x)), 1.0, 7 if x == "int8" else 0),
                Given(spread((*b, 5, 4), DType(y), 41), ratio, -5 if x == "int8" else 0),
            ]
            made[f"batch_matmul: {a} with {b}, {x} with {y}"] = corner(
                "batch_matmul", BatchMatmulAttrs(), inputs, q_of(1.0)
            )
    return made


def _steps() -> dict[str, Built]:
    made = {}
    x = (2, 7, 9, 9)
    for name, (kernel, stride) in LONG_STEPS.items():
        for padding in ("SAME", "VALID"):
            depthwise = DepthwiseConv2dAttrs(stride, padding)
            conv = Conv2dAttrs(stride, padding)
            for layer in (
                Layer("depthwise_conv2d", depthwise, x, (1, *kernel, 9), 3),
                Layer("conv2d", conv, x, (5, *kernel, 9)),
            ):
                case = f"{layer.op}: steps beyond windows {name}, {padding}"
                made[case] = made_layer(layer, UNIT["halves"], 127)
            for op in ("average_pool2d", "max_pool2d"):
                given = [Given(spread(x), 1.0, 3)]
                made[f"{op}: steps beyond windows {name}, {padding}"] = corner(
                    op, Pool2dAttrs(kernel, stride, padding), given, q_of(1.0, 3)
                )
    for padding in ("SAME", "VALID"):
        attrs = Pool2dAttrs((18, 17), (9, 7), padding)
        made[f"average_pool2d: large windows at borders, {padding}"] = corner(
            "average_pool2d", attrs, [Given(spread((2, 40, 30, 7)), 1.0, 3)], q_of(1.0, 3)
        )
    bands = DepthwiseConv2dAttrs((3, 3), "VALID")
    layer = Layer("depthwise_conv2d", bands, (1, 41, 41, 8), (1, 2, 2, 8), 3)
    made["depthwise_conv2d: bands of steps beyond windows"] = made_layer(layer, UNIT["halves"], -3)
    size = (7, 9)
    attrs = TransposeConvAttrs(size, (3, 3))
    layer = Layer("transpose_conv", attrs, (2, 3, 3, 5), (4, 2, 2, 5))
    made["transpose_conv: steps beyond windows"] = made_layer(layer, UNIT["halves"], -128)
    return made


def _sums() -> dict[str, Built]:
    made = {}
    for value in (-128, 127):
        x = Given(np.full((1, 20, 20, 9), value, np.int8), 1.0, -3)
        for axes in ((1, 2), (1,), (0, 1, 2)):
            mean, total = MeanAttrs(axes), ReduceAttrs(axes)
            made[f"mean: of {value} along {axes}"] = corner("mean", mean, [x], q_of(1.0, -3))
            made[f"sum: of {value} along {axes}"] = corner("sum", total, [x], q_of(500.0, -3))
        attrs = Pool2dAttrs((20, 20), (1, 1), "VALID")
        made[f"average_pool2d: of {value}"] = corner("average_pool2d", attrs, [x], q_of(1.0, -3))
    for value in (-(2**15), 2**15 - 1):
        for sizes, k in (((1, 1), 1200), ((3, 3), 130)):
            x = Given(np.full((1, *sizes, k), value, np.int16), 1.0)
            w = Given(np.full((5, *sizes, k), -127, np.int8), 4e-6, 0, True)
            made[f"conv2d: {k} of {value}, {sizes}"] = corner(
                "conv2d", Conv2dAttrs(padding="VALID"), [x, w], q_of(1.0)
            )
        x = Given(np.full((1, 1200), value, np.int16), 1.0)
        w = Given(np.full((5, 1200), -127, np.int8), 4e-6, 0, True)
        made[f"fully_connected: 1200 of {value}"] = corner(
            "fully_connected", FullyConnectedAttrs(), [x, w], q_of(1.0)
        )
    return made


def _shifts() -> dict[str, Built]:
    """Shifts of 22 to the right, up to which a rounding term fits 32 bits, and of one more."""
    made = {}
    for shift, y_zp in product((22, 23), (-128, 127)):
        inputs = [Given(extremes((2, 8256)), 1.0, 127), Given(extremes((2, 8256)), 1.0, 127)]
        made[f"batch_matmul: shift of {shift}, zero point {y_zp}"] = corner(
            "batch_matmul", BatchMatmulAttrs(adj_y=True), inputs, q_of(2.0**shift / 0.75, y_zp)
        )
    return made


def near() -> dict[str, Built]:
    """All of these."""
    return {**_products(), **_steps(), **_sums(), **_shifts()}
