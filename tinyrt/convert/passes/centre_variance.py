"""The variance as JAX's layers write it, which cancels where the mean is large."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.convert.passes.common import Names
from tinyrt.convert.passes.patterns import is_near, scaled
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Shape, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mean import MeanAttrs, axes_of
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation


@dataclass(frozen=True, slots=True)
class _Mean:
    """A mean: of what, along which axes, and by what factor its sum misses it."""

    x: str
    axes: tuple[int, ...]
    keep_dims: bool
    excess: float


def centre_variance(graph: Graph, node: Node) -> Patch | Refusal | None:
    """mean(x**2) - mean(x)**2 = mean((x - mean(x))**2), which does not cancel."""
    if fused_activation(node) != "NONE":
        return None
    mean = _squared(graph, node.inputs[1])
    of_squares = _mean_of(graph, node.inputs[0])
    of_x = None if mean is None else _mean_of(graph, mean)
    if mean is None or of_squares is None or of_x is None:
        return None
    if len({graph.value(name).shape for name in (*node.inputs, node.output)}) > 1:
        return Refusal(node.name, "the two means differ in shape")
    if _squared(graph, of_squares.x) != of_x.x or of_squares.axes != of_x.axes:
        return Refusal(node.name, "the two means are not of the same elements")
    for found in (of_squares, of_x):
        if not is_near(found.excess, 1.0):
            return Refusal(node.name, f"a sum is {found.excess:g} times the mean")
    return _centred(graph, node, mean, of_x, of_squares.keep_dims)


def _squared(graph: Graph, name: str) -> str | None:
    """``x`` where the value is ``x * x``."""
    node = graph.producer(name)
    if node is None or fused_activation(node) != "NONE":
        return None
    is_square = node.op == "square" or (node.op == "mul" and len(set(node.inputs)) == 1)
    return node.inputs[0] if is_square else None


def _mean_of(graph: Graph, name: str) -> _Mean | None:
    """A mean, or a sum that is multiplied by a number."""
    product = scaled(graph, name)
    node = graph.producer(name if product is None else product[0])
    if node is None or node.op != ("mean" if product is None else "sum"):
        return None
    attrs, (x,) = node.attrs_as(MeanAttrs), node.inputs
    if graph.value(name).shape != graph.value(node.output).shape:
        return None
    axes = axes_of(attrs, graph.value(x).shape)
    count = graph.value(x).size / graph.value(node.output).size
    excess = 1.0 if product is None else product[1] * count
    return _Mean(x, axes, attrs.keep_dims, excess)


def _centred(graph: Graph, node: Node, mean: str, of_x: _Mean, keep_dims: bool) -> Patch:
    """The mean of the squares of what is left without the mean."""
    names, x = Names(graph), graph.value(of_x.x)
    kept: Shape = tuple(1 if i in of_x.axes else n for i, n in enumerate(x.shape))
    nodes: list[Node] = []
    values: list[Value] = []

    def add(op: str, shape: Shape, attrs: object, *inputs: str) -> str:
        name = names.new(f"{node.output}.{op}")
        values.append(Value(name, x.dtype, shape))
        nodes.append(Node(op, name, inputs, (name,), attrs))
        return name

    if graph.value(mean).shape != kept:
        mean = add("reshape", kept, ReshapeAttrs(kept), mean)
    centred = add("sub", x.shape, AddAttrs(), x.name, mean)
    square = add("mul", x.shape, MulAttrs(), centred, centred)
    attrs = MeanAttrs(of_x.axes, keep_dims=keep_dims)
    nodes.append(Node("mean", node.name, (square,), node.outputs, attrs))
    return Patch(remove=(node,), add=tuple(nodes), values=tuple(values))


CENTRE_VARIANCE = Rule("centre_variance", ("sub",), centre_variance)
