"""Float layers at the corners of what kernels take at once: four channels of four pixels, sixteen
channels of a pixel, four rows times four columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from tests.c.conformance import graph_of
from tests.ops.build import Case, build_f32
from tinyrt.ir import Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

LIMITS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
WEIGHTS = frozenset({1, 2})
STEPS: tuple[dict[str, Any], ...] = ({}, {"stride": (2, 3)}, {"dilation": (2, 2)})

CONVOLUTIONS = (
    # image, kernel, groups, channels of a group that go in, and that come out
    ((4, 4), (1, 1), 1, 1, 4),
    ((1, 3), (1, 1), 1, 2, 3),
    ((3, 9), (1, 1), 1, 7, 9),
    ((5, 10), (3, 3), 1, 1, 5),
    ((6, 7), (3, 3), 1, 4, 8),
    ((5, 11), (2, 5), 1, 3, 6),
    ((3, 3), (7, 7), 1, 2, 4),
    ((4, 8), (3, 3), 2, 3, 4),
    ((4, 9), (3, 2), 3, 1, 5),
)

DEPTHWISE = (
    # image, kernel, channels, filters of each
    *(((5, 6), (3, 3), channels, 1) for channels in (2, 4, 5, 7, 16, 17, 20, 35)),
    ((2, 2), (5, 5), 18, 1),
    *(((4, 7), (3, 3), channels, filters) for channels, filters in ((1, 8), (3, 5), (3, 2))),
    *(
        ((4, 7), (3, 2), channels, filters)
        for channels, filters in ((2, 4), (2, 16), (3, 21), (8, 4), (6, 8))
    ),
    *(((4, 7), (3, 3), channels, filters) for channels, filters in ((4, 2), (5, 3), (20, 2))),
    *(((4, 11), (3, 3), channels, 1) for channels in (1, 2, 3, 4)),
    *(((3, 8), (2, 2), channels, 3) for channels in (1, 2, 3, 4)),
    *(((13, 1), (5, 1), channels, 1) for channels in (1, 2, 3)),
    ((9, 1), (3, 3), 3, 2),
    ((3, 6), (3, 7), 3, 1),
)

TRANSPOSED = (
    # image, kernel, stride, channels that go in, and that come out
    ((3, 6), (3, 3), (2, 2), 5, 4),
    ((3, 7), (3, 3), (1, 1), 4, 6),
    ((2, 9), (2, 2), (2, 2), 2, 9),
    ((4, 5), (1, 2), (3, 3), 3, 5),
    ((2, 6), (5, 4), (2, 1), 1, 3),
    ((5, 1), (4, 4), (3, 2), 8, 8),
    ((2, 1), (1, 1), (2, 3), 2, 4),
)

MATRICES = (*product((1, 3, 4, 6), (1, 5), (1, 3, 4, 7)), (9, 64, 9))
"""Rows, inner elements, columns."""


def every_corner(step: int = 1) -> tuple[Graph, dict[str, np.ndarray]]:
    """All layers side by side, or one of so many; limits and biases take turns."""
    layers = [
        *_convolutions(),
        *_depthwise(),
        *_transposed(),
        *_beside_the_image(),
        *_dense(),
        *_with_computed_weights(),
        *(_product(i, *sizes) for i, sizes in enumerate(MATRICES)),
        Case("batch_matmul", BatchMatmulAttrs(), ((2, 1, 5, 6), (3, 6, 7))),
    ]
    # By sevens, so that each shape, step, limit and bias is among them.
    named = {f"{layer.op} {i}": layer for i, layer in enumerate(layers) if i % 7 % step == 0}
    return graph_of({name: lambda rng, case=c: case for name, c in named.items()}, [0], build_f32)


def _turn(i: int) -> dict[str, Any]:
    return {"activation": LIMITS[i % len(LIMITS)], "padding": ("SAME", "VALID")[i % 5 == 0]}


def _with_bias(i: int, *shapes: tuple[int, ...], c_out: int) -> tuple[tuple[int, ...], ...]:
    return (*shapes, (c_out,)) if i % 3 else shapes


def _convolutions() -> list[Case]:
    found = []
    for i, (shape, steps) in enumerate(product(CONVOLUTIONS, STEPS)):
        image, kernel, groups, c_in, c_out = shape
        attrs = Conv2dAttrs(**steps, **_fitting(i, image, kernel))
        x, w = (2, *image, groups * c_in), (groups * c_out, *kernel, c_in)
        found.append(Case("conv2d", attrs, _with_bias(i, x, w, c_out=w[0]), WEIGHTS))
    return found


def _depthwise() -> list[Case]:
    found = []
    for i, (shape, steps) in enumerate(product(DEPTHWISE, STEPS)):
        image, kernel, channels, filters = shape
        attrs = DepthwiseConv2dAttrs(**steps, **_fitting(i, image, kernel))
        x, w = (2, *image, channels), (1, *kernel, channels * filters)
        found.append(Case("depthwise_conv2d", attrs, _with_bias(i, x, w, c_out=w[3]), WEIGHTS))
    return found


def few_channels() -> tuple[Graph, dict[str, np.ndarray]]:
    """Depthwise layers of four channels or fewer, of images and of columns."""
    named = {
        f"{case.op} {i}": case for i, case in enumerate(_depthwise()) if case.shapes[0][3] <= 4
    }
    return graph_of({name: lambda rng, case=c: case for name, c in named.items()}, [0], build_f32)


def _transposed() -> list[Case]:
    found = []
    for i, (shape, padding) in enumerate(product(TRANSPOSED, ("SAME", "VALID"))):
        image, kernel, stride, c_in, c_out = shape
        sizes = zip(image, kernel, stride, strict=True)
        size = tuple((n - 1) * s + (k if padding == "VALID" else s) for n, k, s in sizes)
        attrs = TransposeConvAttrs(size, stride, padding, LIMITS[i % len(LIMITS)])
        x, w = (2, *image, c_in), (c_out, *kernel, c_in)
        found.append(Case("transpose_conv", attrs, _with_bias(i, x, w, c_out=c_out), WEIGHTS))
    return found


def _with_computed_weights() -> list[Case]:
    """Layers whose weights are inputs, as their biases are in turns."""
    some = [*_convolutions()[::2], *_depthwise()[::4], *_transposed()[::4], *_dense()[::3]]
    return [
        replace(layer, constant=frozenset({2} if i % 2 else ())) for i, layer in enumerate(some)
    ]


def _beside_the_image() -> list[Case]:
    """Windows of which no column lies inside, but their row does, or the other way round: only the
    bias is left."""
    far = {"dilation": (5, 5), "padding": "SAME"}
    x, bias = (1, 2, 2, 20), (20,)
    return [
        Case("conv2d", Conv2dAttrs(**far), (x, (20, 1, 2, 20), bias), WEIGHTS),
        Case("depthwise_conv2d", DepthwiseConv2dAttrs(**far), (x, (1, 1, 2, 20), bias), WEIGHTS),
        *(
            Case(
                "depthwise_conv2d",
                DepthwiseConv2dAttrs(**far),
                ((1, 2, 2, channels), (1, 1, 2, outputs), (outputs,)),
                WEIGHTS,
            )
            for channels, outputs in ((4, 32), (1, 1), (2, 2), (3, 3), (4, 4))
        ),
        Case(
            "depthwise_conv2d",
            DepthwiseConv2dAttrs(dilation=(5, 1), padding="SAME"),
            ((1, 2, 6, 3), (1, 2, 1, 3), (3,)),
            WEIGHTS,
        ),
    ]


def _fitting(i: int, image: tuple[int, int], kernel: tuple[int, int]) -> dict[str, Any]:
    """Limits and padding; windows larger than the image, dilated or not, are padded."""
    fits = all(2 * k - 1 <= size for k, size in zip(kernel, image, strict=True))
    return _turn(i) if fits else _turn(i) | {"padding": "SAME"}


def _dense() -> list[Case]:
    found = []
    for i, (rows, c_in, c_out) in enumerate(product((1, 4, 6), (1, 2, 3, 4, 9, 40), (1, 4, 7))):
        attrs = FullyConnectedAttrs(activation=LIMITS[i % len(LIMITS)])
        shapes = _with_bias(i, (rows, c_in), (c_out, c_in), c_out=c_out)
        found.append(Case("fully_connected", attrs, shapes, WEIGHTS))
    return found


def _product(i: int, rows: int, inner: int, columns: int) -> Case:
    attrs = BatchMatmulAttrs(i % 2 == 1, i // 2 % 2 == 1)
    a = (inner, rows) if attrs.adj_x else (rows, inner)
    b = (columns, inner) if attrs.adj_y else (inner, columns)
    return Case("batch_matmul", attrs, ((2, *a), (2, *b)))


SPECIAL = np.float32([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 6.0, 6.5, -1.0, 1.0, -7.0, 3.0])


def special_values() -> tuple[Graph, dict[str, np.ndarray]]:
    """Layers that hand on what they read, within their limits; no sum of two terms."""
    values, nodes = [], []
    x = Value("x", dtype_of(SPECIAL), (1, 1, SPECIAL.size, 20))
    ones = Value.constant("ones", np.ones((1, 1, 1, 20), np.float32))
    one = Value.constant("one", np.ones((4, 1, 1, 1), np.float32))
    single = Value("single", x.dtype, (1, 1, SPECIAL.size, 1))
    for limits in LIMITS:
        nodes.append(_node("depthwise_conv2d", limits, DepthwiseConv2dAttrs, x, ones))
        nodes.append(_node("conv2d", limits, Conv2dAttrs, single, one))
        values.append(Value(nodes[-2].outputs[0], x.dtype, x.shape))
        values.append(Value(nodes[-1].outputs[0], x.dtype, (*single.shape[:3], 4)))
    outputs = tuple(v.name for v in values)
    named = {v.name: v for v in (x, single, ones, one, *values)}
    graph = verify(Graph("special", ("x", "single"), outputs, named, tuple(nodes)))
    column = SPECIAL.reshape(1, 1, -1, 1)
    return graph, {"x": np.repeat(column, 20, axis=3), "single": column}


def _node(op: str, limits: str, attrs: Any, x: Value, w: Value) -> Node:
    name = f"{op} {limits}"
    return Node(op, name, (x.name, w.name), (name,), attrs(activation=limits))


def dtype_of(array: np.ndarray) -> Any:
    """The graph's name of an array's type."""
    return Value.constant("x", array).dtype
