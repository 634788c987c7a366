"""What a layer reads turned, such as the heads of attention, its window gathers itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import groupby

from tinyrt.convert.passes.common import (
    UNARY,
    Array,
    Names,
    constant_data,
    is_private,
    producer,
    spend_on_arrays,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.windowed import ConvolutionAttrs
from tinyrt.ops.transpose import TransposeAttrs

WINDOWS = ("FRF", "RFRF")
"""The dimensions of rows (R) and of what a row is made of (F), as a window of (h, 1) finds them."""


def heads_into_layer(graph: Graph, node: Node) -> Patch | Refusal | None:
    """join(f(transpose(x))) @ w.T = conv(f(x), w'), where x is (b, h, n, d) and a row has h and d.

    A window of (h, 1) reads what the transpose brings side by side; f are functions of one number.
    """
    joined = producer(graph, node, op="reshape")
    between, turn = _before(graph, joined) if joined is not None else ([], None)
    weights = graph.value(node.inputs[1])
    w = constant_data(graph, weights.name)
    if joined is None or turn is None or w is None or not reads_rows(node, w.shape):
        return None
    source, output = graph.value(turn.inputs[0]), graph.value(node.output)
    picture = _picture(source.shape, turn.attrs_as(TransposeAttrs).perm, w.shape[-1])
    if picture is None:
        return Refusal(node.name, f"no window reads what '{turn.name}' moves")
    if not all(is_private(graph, n.output) for n in (turn, *between, joined)):
        return Refusal(node.name, f"what '{turn.name}' moves has other readers")
    names, shape = Names(graph), picture.shape
    spend_on_arrays(f"the weights of '{node.name}'", w.size, itemsize=w.itemsize)
    # Rows keep their places, and so their scales.
    window = Value.constant(names.new(f"{weights.name}.window"), picture.window(w), weights.q)
    image = names.new(f"{source.name}.image")
    nodes = [Node("reshape", image, (source.name,), (image,), ReshapeAttrs(shape))]
    for function in between:
        nodes.append(replace(function, inputs=(nodes[-1].output,)))
    y = replace(
        output, name=names.new(f"{output.name}.image"), shape=(shape[0], 1, shape[2], len(w))
    )
    attrs = Conv2dAttrs(padding="VALID", activation=fused_activation(node))
    inputs = (nodes[-1].output, window.name, *node.inputs[2:])
    nodes += [
        Node("conv2d", y.name, inputs, (y.name,), attrs),
        Node("reshape", node.name, (y.name,), node.outputs, ReshapeAttrs(output.shape)),
    ]
    turned = (replace(graph.value(n.output), shape=shape) for n in between)
    values = (window, replace(source, name=image, shape=shape), *turned, y)
    return Patch(remove=(turn, *between, joined, node), add=tuple(nodes), values=values)


def _before(graph: Graph, joined: Node) -> tuple[list[Node], Node | None]:
    """The functions of one number in front of the reshape, and the transpose before them."""
    between: list[Node] = []
    maker = producer(graph, joined)
    while maker is not None and maker.op in UNARY:
        between.insert(0, maker)
        maker = producer(graph, maker)
    return between, maker if maker is not None and maker.op == "transpose" else None


def reads_rows(node: Node, weights: Shape) -> bool:
    """Whether the layer computes each row of its input by itself."""
    if node.op == "fully_connected":
        return True
    attrs = node.attrs_as(ConvolutionAttrs)
    return weights[1:3] == (1, 1) and attrs.stride == (1, 1)


@dataclass(frozen=True, slots=True)
class _Picture:
    """What is to be turned, as an image whose rows a window goes through.

    Attributes:
        shape: (batches, height of the window, rows, channels).
        features: the sizes of the dimensions that a row has, in the order in which it has them.
        order: these dimensions in the order in which they are stored.

    """

    shape: Shape
    features: Shape
    order: tuple[int, ...]

    def window(self, w: Array) -> Array:
        """The layer's weights (c_out, ..., features) as (c_out, height, 1, channels)."""
        _, height, _, channels = self.shape
        parted = w.reshape(len(w), *self.features).transpose(0, *(i + 1 for i in self.order))
        return parted.reshape(len(w), height, 1, channels)


def _picture(shape: Shape, perm: tuple[int, ...], columns: int) -> _Picture | None:
    """The image in a tensor that is to be turned into rows of so many columns."""
    axes = [axis for axis in perm if shape[axis] != 1]
    starts = (i for i in range(len(axes)) if math.prod(shape[a] for a in axes[i:]) == columns)
    start = next(starts, None)
    if start is None:
        return None
    rows, features = axes[:start], axes[start:]
    runs = [(kind, [*run]) for kind, run in groupby(sorted(axes), lambda a: "RF"[a in features])]
    if "".join(kind for kind, _ in runs) not in WINDOWS or rows != sorted(rows):
        return None
    sizes = [math.prod(shape[axis] for axis in run) for _, run in runs]
    order = tuple(features.index(axis) for axis in sorted(features))
    return _Picture((1, *sizes)[-4:], tuple(shape[axis] for axis in features), order)


HEADS_INTO_LAYER = Rule("heads_into_layer", ("fully_connected", "conv2d"), heads_into_layer)
