"""A residual sum and the norm that it reads become one layer, which rounds once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.convert.passes.common import Array, Names, is_private
from tinyrt.ir import DType, Graph, Node, Shape, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import OPS, verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.spec import Form
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.methods.affine import LAYERS
from tinyrt.quantize.methods.channels import HOMOGENEOUS
from tinyrt.quantize.methods.turned import layer_name
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import ACTIVATIONS, named_schemes

FACTORS: tuple[float, ...] = tuple(2.0 ** (k / 4) for k in range(-40, 41))
"""What the other operand may be multiplied by: so far apart that rounded weights tell which."""


@dataclass(frozen=True, slots=True)
class Affine:
    """``merge_affine``'s layer: ``y = x * factors + shifts``.

    Attributes:
        layer: the layer, between two reshapes.
        rows: what it reads, (1, 1, rows, channels).
        source: what that is a reshape of.
        output: its answer, in the shape of the source.
        factors: one per channel.
        shifts: likewise.

    """

    layer: Node
    rows: str
    source: str
    output: str
    factors: Array
    shifts: Array


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum that has become one layer.

    Attributes:
        node: the sum.
        affine: the affine layer whose answer it reads.
        other: the layer whose answer it reads beside that.
        factor: what that answer is multiplied by.
        scaled: the names of what is multiplied, as the layer gives it and in rows.
        both: the name of what is joined.
        layer: the name of the sum in rows.

    """

    node: Node
    affine: Affine
    other: Node
    factor: float
    scaled: tuple[str, str]
    both: str
    layer: str


Chosen = Callable[[Affine, Node, Node], float | None]
"""An affine layer, a sum behind it, the other operand's layer -> factor; None: the sum stays."""


def merge_sums(
    graph: Graph, ranges: Mapping[str, Range], config: QuantConfig
) -> tuple[Graph, dict[str, Range]]:
    """X * factors + shifts + y = depthwise([x, a y]): a window over both, one above the other.

    Where a residual sum reads a norm, as in BERT, int8 rounds the norm's answer, then the sum. The
    layer's sums have 32 bits, so the norm's answer is not rounded at all. Its window has two taps
    for each channel: the norm's factor, and 1 / a. What is joined shares one scale: y's own layer
    multiplies it by ``a``, so that both fill their range. Dense layers that read the norm, too,
    take its factors and shifts into their weights and biases.

    Args:
        graph: an optimised float graph, behind ``merge_affine``.
        ranges: value name -> range, from calibration.
        config: the user's choices; where activations are no int8, or patterns name an op, it stays.

    Returns:
        The graph, and the ranges with those of what is new.

    """
    known = dict(ranges)
    if ACTIVATIONS[config.scheme] is not DType.INT8:
        return graph, known
    named = named_schemes(graph, config)

    def chosen(affine: Affine, node: Node, other: Node) -> float | None:
        readers = (reader.output for reader in graph.consumers(affine.output))
        ends = (affine.layer.output, affine.output, other.output)
        if not named.keys().isdisjoint((*ends, *readers)):
            return None
        maker = graph.producer(affine.source)
        if maker is not None and _is_prescribed(maker):
            return None
        return factor_for(affine, ranges[affine.rows], ranges[affine.output], ranges[other.output])

    graph, sums = with_sums(graph, chosen)
    for found in sums:
        x, y = ranges[found.affine.rows], ranges[found.other.output]
        scaled = Range(y.low * found.factor, y.high * found.factor)
        known.update(dict.fromkeys(found.scaled, scaled))
        known.update({found.both: x.union(scaled), found.layer: ranges[found.node.output]})
    return graph, known


def _is_prescribed(node: Node) -> bool:
    """Whether the op prescribes its answer's scale: joined with others, that is rounded again."""
    form = OPS[node.op].forms.get(Form.INT8)
    return form is not None and form.fixed_output is not None


def factor_for(affine: Affine, x: Range, answer: Range, y: Range) -> float | None:
    """The factor with which the sum has the least noise; None where it has less as it is."""
    gain = float((affine.factors.astype(np.float64) ** 2).mean())

    def noise(factor: float) -> float:
        joined = x.union(Range(y.low * factor, y.high * factor))
        return joined.width**2 * (gain + factor**-2)

    best = min(FACTORS, key=noise)
    apart = x.width**2 * gain + answer.width**2 + y.width**2
    return best if noise(best) < apart else None


def nearest_factor(taps: Array) -> float:
    """The factor that a layer of rounded taps was made with, (2, channels)."""
    # The two taps of a channel share a scale: the least of the norm's factors leaves fine steps.
    inverse = float(taps[1, np.abs(taps[0]).argmin()])
    off = [abs(inverse * factor - 1) for factor in FACTORS]
    return FACTORS[off.index(min(off))]


def with_sums(graph: Graph, chosen: Chosen) -> tuple[Graph, list[Sum]]:
    """The graph with a layer in place of each sum that is chosen, and these sums."""
    merger = _Merger(graph)
    for node in graph.nodes:
        affine = _affine(graph, node) if node.op == "depthwise_conv2d" else None
        if affine is not None:
            merger.merge(affine, chosen)
    return (merger.graph(), merger.sums) if merger.sums else (graph, [])


def _affine(graph: Graph, node: Node) -> Affine | None:
    """The layer, if ``merge_affine`` has made it."""
    before = graph.producer(node.inputs[0])
    after = graph.consumers(node.output)[0] if is_private(graph, node.output) else None
    constants = [graph.value(name).data for name in node.inputs[1:] if name]
    if before is None or after is None or len(constants) != 2:
        return None
    weights, bias = constants
    if weights is None or bias is None:
        return None
    x, y, rows = (graph.value(n) for n in (before.inputs[0], after.output, node.inputs[0]))
    is_one = weights.shape == (1, 1, 1, rows.shape[-1]) and rows.shape[:2] == (1, 1)
    moves = before.op == after.op == "reshape" and x.shape == y.shape
    if not is_one or not moves or fused_activation(node) != "NONE":
        return None
    return Affine(node, rows.name, x.name, y.name, weights.reshape(-1), bias)


def _other_operand(graph: Graph, affine: Affine, node: Node) -> tuple[Node, ...]:
    """What gives the sum's other operand, if only the sum reads it: reshapes, last a layer."""
    others = [name for name in node.inputs if name != affine.output]
    alike = len({graph.value(name).shape for name in (*node.inputs, node.output)}) == 1
    if node.op != "add" or len(others) != 1 or not alike:
        return ()
    found: list[Node] = []
    maker = graph.producer(others[0])
    while maker is not None and is_private(graph, maker.output):
        found.append(maker)
        if maker.op in LAYERS:
            shape = graph.value(maker.output).shape
            scales = shape[-1] == len(affine.factors) and fused_activation(maker) in HOMOGENEOUS
            return tuple(found) if scales and _is_constant(graph, maker) else ()
        maker = graph.producer(maker.inputs[0]) if maker.op == "reshape" else None
    return ()


def _is_constant(graph: Graph, layer: Node) -> bool:
    return all(graph.value(name).is_constant for name in layer.inputs[1:] if name)


def _reads_channels(graph: Graph, affine: Affine, node: Node) -> bool:
    """Whether the node is a dense layer of the affine one's channels."""
    if node.op != "fully_connected" or not _is_constant(graph, node):
        return False
    return graph.value(node.inputs[1]).shape[-1] == len(affine.factors)


class _Merger:
    """The graph being rebuilt.

    Attributes:
        sums: what has become one layer.

    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self._names = graph, Names(graph)
        self._made: dict[str, list[Node]] = {}
        self._values: dict[str, Value] = {}
        self.sums: list[Sum] = []

    def graph(self) -> Graph:
        nodes = [n for node in self._graph.nodes for n in self._made.get(node.output, [node])]
        return verify(drop_unused_values(self._graph.with_nodes(nodes, self._values.values())))

    def merge(self, affine: Affine, chosen: Chosen) -> None:
        """One layer in place of each sum behind the affine one, which goes if nothing reads it."""
        readers = self._graph.consumers(affine.output)
        left = [node for node in readers if not self._sum(affine, node, chosen)]
        if len(left) == len(readers):
            return
        folded = [self._fold(affine, node) for node in left]
        if all(folded) and affine.output not in self._graph.outputs:
            self._made.update({affine.output: [], affine.layer.output: []})

    def _sum(self, affine: Affine, node: Node, chosen: Chosen) -> bool:
        """Whether the node is a sum that becomes one layer."""
        *reshapes, other = _other_operand(self._graph, affine, node) or (None,)
        factor = chosen(affine, node, other) if other is not None else None
        if other is None or factor is None:
            return False
        output, shape = node.output, self._graph.value(affine.rows).shape
        self._made.update({reshape.output: [] for reshape in reshapes})
        scaled = self._scale(other, factor)
        rows = self._tensor(f"{output}.rows", shape)
        both = self._tensor(f"{output}.both", (1, 2, *shape[2:]))
        layer = self._tensor(layer_name(output), shape)
        taps = np.stack([affine.factors, np.full(shape[-1], 1 / factor)])
        weights = self._constant(f"{output}.weights", taps.reshape(1, 2, 1, -1))
        bias = self._constant(f"{output}.bias", affine.shifts)
        attrs = DepthwiseConv2dAttrs(padding="VALID", activation=fused_activation(node))
        back = ReshapeAttrs(self._graph.value(output).shape)
        self._made[output] = [
            Node("reshape", rows, (scaled,), (rows,), ReshapeAttrs(shape)),
            Node("concatenation", both, (affine.rows, rows), (both,), ConcatenationAttrs(1)),
            Node("depthwise_conv2d", layer, (both, weights, bias), (layer,), attrs),
            Node("reshape", node.name, (layer,), (output,), back),
        ]
        self.sums.append(Sum(node, affine, other, factor, (scaled, rows), both, layer))
        return True

    def _scale(self, node: Node, factor: float) -> str:
        """The name of the layer's answer times the factor."""
        name = self._tensor(f"{node.output}.times", self._graph.value(node.output).shape)
        constants = [a * factor for a in self._constants(node)]
        self._change(node, constants, self._now(node).inputs[0], name)
        return name

    def _fold(self, affine: Affine, node: Node) -> bool:
        """Whether it is a dense layer of the affine one's channels, which reads what that does."""
        if not _reads_channels(self._graph, affine, node):
            return False
        w, *bias = self._constants(node)
        shifts = sum(bias, w @ affine.shifts)
        self._change(node, [w * affine.factors, shifts], affine.source, self._now(node).output)
        return True

    def _now(self, node: Node) -> Node:
        (now,) = self._made.get(node.output, [node])
        return now

    def _constants(self, node: Node) -> list[Array]:
        """Weights and bias as they are now, in float64."""
        names = [name for name in self._now(node).inputs[1:] if name]
        values = (self._values.get(name) or self._graph.value(name) for name in names)
        return [v.data.astype(np.float64) for v in values if v.data is not None]

    def _change(self, node: Node, constants: list[Array], source: str, output: str) -> None:
        """The layer with other constants, between these tensors."""
        kinds = zip(("weights", "bias"), constants, strict=False)
        names = [self._constant(f"{node.output}.{kind}", data) for kind, data in kinds]
        changed = replace(self._now(node), inputs=(source, *names), outputs=(output,))
        self._made[node.output] = [changed]

    def _constant(self, wish: str, data: Array) -> str:
        name = self._names.new(wish)
        self._values[name] = Value.constant(name, data.astype(np.float32))
        return name

    def _tensor(self, wish: str, shape: Shape) -> str:
        name = self._names.new(wish)
        self._values[name] = Value(name, DType.FLOAT32, shape)
        return name
