"""Layers that take every tile, every line and every finish of the kernels with lanes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, product

import numpy as np

from tests.c.conformance import graph_of
from tests.ops.build import Built, Case, build_s8
from tinyrt.ir import Graph, QParams
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

WEIGHTED = frozenset({1, 2})

CONVOLUTIONS = [
    # batch, height, width, channels, filters, kernel, stride
    (1, 1, 1, 8, 33, 1, 1),
    (2, 1, 1, 6, 129, 1, 1),
    (1, 1, 3, 4, 130, 1, 1),
    (1, 1, 5, 16, 65, 1, 1),
    (1, 2, 3, 3, 64, 1, 1),
    (2, 3, 3, 8, 100, 1, 1),
    (1, 3, 3, 4, 17, 3, 1),
    (1, 4, 5, 8, 16, 3, 1),
    (2, 4, 5, 16, 9, 3, 1),
    (1, 5, 5, 3, 16, 3, 2),
    (1, 6, 6, 5, 40, 3, 1),
    (1, 7, 4, 1, 80, 2, 1),
    (1, 9, 9, 4, 8, 3, 2),
    (1, 4, 4, 12, 12, 1, 1),
    (1, 8, 3, 2, 48, 1, 2),
    (1, 1, 1, 8, 12, 1, 1),
    (1, 1, 7, 16, 16, 1, 1),
    (2, 1, 7, 8, 9, 1, 1),
    (1, 2, 4, 8, 16, 1, 1),
]

DEPTHWISE = [
    # batch, height, width, channels, multiplier, kernel, stride
    (2, 5, 6, 8, 1, (3, 3), 1),
    (1, 4, 5, 8, 1, (3, 3), 1),
    (1, 5, 5, 20, 1, (3, 3), 1),
    (2, 2, 1, 16, 1, (2, 3), 1),
    (1, 1, 7, 16, 1, (3, 3), 1),
    (1, 6, 4, 3, 5, (3, 3), 2),
    (1, 7, 9, 17, 1, (4, 3), 2),
    (1, 3, 8, 4, 2, (1, 3), 1),
    (1, 8, 8, 8, 1, (3, 3), 2),
    (1, 6, 6, 16, 1, (5, 5), 1),
    (2, 9, 1, 40, 1, (3, 1), 1),
    (1, 12, 1, 16, 1, (5, 1), 1),
    (1, 1, 13, 9, 2, (1, 10), 1),
    (1, 15, 1, 18, 1, (15, 1), 1),
    (1, 20, 1, 4, 1, (18, 1), 1),
    (1, 12, 1, 8, 1, (3, 1), 2),
]

DILATED = [
    # height, width, channels, kernel, dilation
    *((1, 13, 9, (1, 3), d) for d in ((1, 2), (1, 3), (2, 1))),
    *((13, 1, 16, (4, 1), d) for d in ((2, 1), (3, 1), (1, 2))),
    *((9, 8, 8, (3, 3), d) for d in ((2, 1), (1, 2), (2, 2))),
    *((9, 7, 16, (2, 3), d) for d in ((2, 1), (1, 2), (3, 2))),
]
"""Of convolutions and of depthwise ones."""

STEPPED = [
    # input, weights, strides
    ("conv2d", (1, 7, 6, 8), (8, 3, 2, 4), (2, 1)),
    ("conv2d", (1, 6, 9, 4), (9, 2, 3, 4), (1, 2)),
    ("depthwise_conv2d", (1, 7, 9, 8), (1, 3, 3, 8), (1, 2)),
    ("depthwise_conv2d", (1, 7, 9, 16), (1, 3, 3, 16), (2, 1)),
    ("depthwise_conv2d", (1, 7, 9, 16), (1, 5, 3, 16), (1, 1)),
    ("depthwise_conv2d", (1, 4, 6, 8), (1, 3, 3, 8), (1, 1)),
]
"""Of two groups, of strides that differ, of more rows than lines have; none has a bias."""

DENSE = [(1, 4, 10), (1, 7, 16), (1, 12, 33), (3, 8, 20), (9, 5, 130), (1, 640, 128), (1, 8, 300)]

FINISHES = ("general", "clamped", "signed", "relu")


def cases() -> Iterator[tuple[str, Case, str]]:
    """Names, layers, and how their sums are to become outputs, in turn."""
    finishes = cycle(FINISHES)
    for n, h, w, c, filters, kernel, stride in CONVOLUTIONS:
        for finish in FINISHES if filters in (16, 33, 64, 130) else [next(finishes)]:
            attrs = Conv2dAttrs((stride, stride), "SAME", (1, 1), _activation(finish))
            shapes = ((n, h, w, c), (filters, kernel, kernel, c), (filters,))
            yield f"conv {shapes} {finish}", Case("conv2d", attrs, shapes, WEIGHTED), finish
    paddings = cycle(("SAME", "SAME", "VALID"))
    for (n, h, w, c, times, kernel, stride), padding in zip(DEPTHWISE, paddings, strict=False):
        fits = all(k <= size for k, size in zip(kernel, (h, w), strict=True))
        for finish in FINISHES if c == 8 else [next(finishes)]:
            attrs = DepthwiseConv2dAttrs(
                (stride, stride), padding if fits else "SAME", (1, 1), _activation(finish)
            )
            shapes = ((n, h, w, c), (1, *kernel, c * times), (c * times,))
            case = Case("depthwise_conv2d", attrs, shapes, WEIGHTED)
            yield f"depthwise {shapes} {stride} {finish}", case, finish
    for h, w, c, kernel, dilation in DILATED:
        finish, x = next(finishes), (1, h, w, c)
        for attrs_of, op, first in (
            (Conv2dAttrs, "conv2d", 12),
            (DepthwiseConv2dAttrs, "depthwise_conv2d", 1),
        ):
            attrs = attrs_of((1, 1), "SAME", dilation, _activation(finish))
            shapes = (x, (first, *kernel, c), (12 if first > 1 else c,))
            yield f"{op} {shapes} by {dilation} {finish}", Case(op, attrs, shapes, WEIGHTED), finish
    for op, x, w, stride in STEPPED:
        finish = next(finishes)
        attrs_of = Conv2dAttrs if op == "conv2d" else DepthwiseConv2dAttrs
        attrs = attrs_of(stride, "SAME", (1, 1), _activation(finish))
        case = Case(op, attrs, (x, w), frozenset({1}))
        yield f"{op} {x} {w} {stride} without a bias {finish}", case, finish
    for (rows, length, channels), finish in product(DENSE, FINISHES):
        attrs = FullyConnectedAttrs(activation=_activation(finish))
        shapes = ((rows, length), (channels, length), (channels,))
        yield f"dense {shapes} {finish}", Case("fully_connected", attrs, shapes, WEIGHTED), finish


def _activation(finish: str) -> str:
    return "RELU" if finish == "clamped" else "NONE"


def build(case: Case, rng: np.random.Generator, finish: str) -> Built:
    """The layer with an output whose scale and zero point ask for that finish."""
    built = build_s8(case, rng)
    (name,) = built.graph.outputs
    y, x = built.graph.value(name), built.graph.value("in0")
    scale = 20.0 * y.q.scales[0]
    if finish == "general":
        # The multiplier of a channel is more than a half: its shift goes left, or nowhere.
        scale = float(np.min(x.q.scales[0] * np.array(built.graph.value("in1").q.scales))) * 1.5
    zero_point = {"relu": -128, "signed": 7, "clamped": -60, "general": -3}[finish]
    values = dict(built.graph.values)
    values[name] = replace(y, q=QParams((scale,), zero_point, y.q.axis))
    return replace(built, graph=replace(built.graph, values=values))


@dataclass(frozen=True)
class Layer:
    case: Case
    finish: str


def layers_of_every_tile() -> tuple[Graph, dict[str, np.ndarray]]:
    """All layers in one graph, and data for it."""
    named = {name: partial(_layer, case, finish) for name, case, finish in cases()}
    return graph_of(named, [1], lambda layer, rng: build(layer.case, rng, layer.finish))


def _layer(case: Case, finish: str, rng: np.random.Generator) -> Layer:
    del rng
    return Layer(case, finish)
