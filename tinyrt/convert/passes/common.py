"""Queries and patches that several passes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt import budget
from tinyrt.ir import DType, Graph, Node, Patch, QParams, Refusal, Shape, Value
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.shared.activation import fused_activation, with_activation
from tinyrt.ops.shared.spec import Quant

Array = NDArray[Any]

CHANNEL_AXIS = {
    name: spec.weight_axis for name, spec in OPS.items() if spec.quant is Quant.WEIGHTED
}
"""Ops with weights -> the dimension of the weights that counts output channels."""

ACTIVATIONS = {name: spec.traits.activation for name, spec in OPS.items() if spec.traits.activation}
"""Ops that clamp -> the name of the same clamp fused into another op."""

ELEMENTWISE = ops_where(
    lambda spec: spec.traits.elementwise and spec.quant is not Quant.BOUNDARY
) - {"pointwise"}  # which no pass meets: quantisation makes it
"""Element-wise ops of a float graph; inputs broadcast where there are some."""

UNARY = ops_where(lambda spec: spec.arity == (1, 1) and not spec.traits.truth) & ELEMENTWISE
"""Element-wise functions of one real number."""

BINARY = ops_where(lambda spec: spec.arity == (2, 2) and not spec.traits.truth) & ELEMENTWISE
"""Element-wise functions of two, which broadcast."""


AFFINE = ("mul", "add", "sub")
"""Ops that scale and shift, where one operand is constant."""


class Names:
    """New value names for one patch, all different."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._names: set[str] = set()

    def new(self, wish: str) -> str:
        """``wish``, with a number where the name is taken."""
        name = self._graph.unique_name(wish, self._names)
        self._names.add(name)
        return name


def is_private(graph: Graph, name: str) -> bool:
    """Whether exactly one node reads the value and it is no output of the model."""
    return name not in graph.outputs and len(graph.consumers(name)) == 1


def producer(graph: Graph, node: Node, i: int = 0, op: str = "") -> Node | None:
    """The node that computes input ``i``, if it is of that op (any by default)."""
    maker = graph.producer(node.inputs[i]) if i < len(node.inputs) else None
    return maker if maker is not None and op in ("", maker.op) else None


def constant_data(graph: Graph, name: str) -> Array | None:
    """The elements of a constant; None for anything else."""
    return graph.value(name).data if name else None


def split_constant(graph: Graph, node: Node) -> tuple[int, Array] | None:
    """Of a binary op with one constant operand: the other's position, and the constant.

    None for constants of integers, too: rules compute with numbers.
    """
    first, second = (constant_data(graph, n) for n in node.inputs)
    if (first is None) == (second is None):
        return None
    if graph.value(node.inputs[0]).dtype is not DType.FLOAT32:
        return None
    return (0, second) if second is not None else (1, first)  # type: ignore[return-value]


def scale_and_shift(op: str, constant: Array, position: int) -> tuple[Array, Array]:
    """Factor and shift that an op of ``AFFINE`` applies to the operand at the other position."""
    one, zero = np.ones_like(constant), np.zeros_like(constant)
    if op == "mul":
        return constant, zero
    if op == "add":
        return one, constant
    return (one, -constant) if position == 0 else (-one, constant)


def channel_vector(data: Array, shape: Shape) -> Array | None:
    """``data``, which broadcasts to ``shape``, as one element per channel (the last dimension).

    None where it differs along other dimensions, or would make ``shape`` larger.
    """
    channels = shape[-1] if shape else 1
    widens = data.ndim > len(shape) or data.size not in (1, channels)
    if widens or (data.size > 1 and data.shape[-1] != channels):
        return None
    return np.broadcast_to(data.reshape(-1), (channels,))


def bypass(graph: Graph, node: Node, source: str) -> Patch | Refusal:
    """Remove a node whose one output equals the value ``source``.

    The model's outputs keep their names: where the node computes one, its name moves to the value.
    """
    if len(node.outputs) > 1:
        return Refusal(node.name, "it has other outputs, too")
    output = node.output
    if output not in graph.outputs:
        return Patch(remove=(node,), rename={output: source})
    maker = graph.producer(source)
    if maker is None or source in graph.outputs:
        return Refusal(node.name, "its output and its input are both the model's own")
    renamed = replace(graph.value(source), name=output)
    nodes = (_swap(n, source, output) for n in graph.nodes if n is not node)
    return Patch(remove=graph.nodes, add=tuple(nodes), values=(renamed,))


def _swap(node: Node, old: str, new: str) -> Node:
    if old not in node.inputs and old not in node.outputs:
        return node
    inputs = tuple(new if n == old else n for n in node.inputs)
    return replace(node, inputs=inputs, outputs=tuple(new if n == old else n for n in node.outputs))


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes ``perm``."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def permuted(shape: Sequence[int], perm: Sequence[int]) -> Shape:
    """The shape of a transpose."""
    return tuple(shape[i] for i in perm)


def moves_only_units(shape: Shape, perm: Sequence[int]) -> bool:
    """Whether a transpose of that shape leaves all elements where they are."""
    large = [i for i in perm if shape[i] != 1]
    return large == sorted(large)


def rescaled(
    graph: Graph, node: Node, factor: Array, shift: Array, last: Node, activation: str = "NONE"
) -> Patch | Refusal:
    """Fold ``y * factor + shift`` behind an op with weights into its weights and bias.

    Args:
        graph: the graph.
        node: the op with weights, whose output only ``last`` reads.
        factor: one per output channel.
        shift: one per output channel.
        last: the op that is folded; its output becomes the new op's.
        activation: what ``last`` clamps to.

    """
    if not is_private(graph, node.output):
        return Refusal(last.name, f"the output of '{node.name}' has other readers")
    before = fused_activation(node)
    if before != "NONE":
        return Refusal(last.name, f"'{node.name}' has a fused {before}")
    if activation != "NONE" and not OPS[node.op].traits.fuses:
        return Refusal(last.name, f"it clamps ({activation}), which no transposed convolution does")
    w, bias = weights_and_bias(graph, node)
    if w is None or bias is None:
        return Refusal(last.name, f"the weights of '{node.name}' are not constant")
    along = [1] * w.ndim
    along[CHANNEL_AXIS[node.op]] = -1
    names = Names(graph)
    spend_on_arrays(f"the weights of '{node.name}'", 3 * w.size, bias.size, factor.size)
    # In float64, so that folding rounds each weight once.
    weights = graph.value(node.inputs[1])
    q = _rescaled_params(weights, factor, CHANNEL_AXIS[node.op])
    new_w = derived(names, weights.name, w * factor.astype(np.float64).reshape(along), q)
    wish = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else f"{node.output}.bias"
    new_bias = derived(names, wish, bias * factor.astype(np.float64) + shift)
    folded = replace(
        node,
        inputs=(node.inputs[0], new_w.name, new_bias.name),
        outputs=last.outputs,
        attrs=with_activation(node, activation),
    )
    return Patch(remove=(node, last), add=(folded,), values=(new_w, new_bias))


def spend_on_arrays(what: str, *elements: int, itemsize: int = 8) -> None:
    """Spend the budget on arrays that a rule is about to compute.

    Raises:
        BudgetError: they take more memory or work than is left.

    """
    count, limits = sum(elements), budget.current()
    limits.reserve(itemsize * count, what)
    limits.spend(count, f"computing {what}")


def weights_and_bias(graph: Graph, node: Node) -> tuple[Array | None, Array | None]:
    """Weights and bias of an op with weights, zeros for no bias; None where not constant."""
    w = constant_data(graph, node.inputs[1])
    if w is None:
        return None, None
    if len(node.inputs) < 3 or not node.inputs[2]:
        return w, np.zeros(w.shape[CHANNEL_AXIS[node.op]], np.float32)
    return w, constant_data(graph, node.inputs[2])


def derived(names: Names, wish: str, data: Array, q: QParams | None = None) -> Value:
    """A constant that comes from the one named, in float32."""
    folded = f"{wish.removesuffix('.folded')}.folded"
    return Value.constant(names.new(folded), data.astype(np.float32), q)


def _rescaled_params(weights: Value, factor: Array, axis: int) -> QParams | None:
    """The grid that weights lie on after a product with one factor per output channel.

    Their integers stay, or change their sign. None where the weights lie on no grid, or where the
    products do not.
    """
    if weights.q is None:
        return None
    scales = np.abs(factor.astype(np.float64)) * np.asarray(weights.q.scales)
    if not np.all((scales >= np.finfo(np.float32).tiny) & np.isfinite(scales)):
        return None
    new_scales = tuple(float(np.float32(s)) for s in scales)
    return QParams(new_scales[:1]) if len(set(new_scales)) == 1 else QParams(new_scales, 0, axis)


def reordered(value: Value, name: str, data: Array) -> Value:
    """A constant with the elements of another in another order or shape, on the same grid."""
    one_scale = value.q is not None and value.q.axis is None
    return Value.constant(name, data, value.q if one_scale else None)
