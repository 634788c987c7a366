"""Graphs on uint8, as older converters made them -> the same on int8.

Activations and their zero points move by 128. Weights lose their zero point, for the int8 scheme
knows none: those that then do not fit int8 are sums of parts, each of which reads the input. So do
weights of dense layers on int8, whose zero point TFLM computes with. Model inputs and outputs stay
what they were. Scales of convolutions keep the arithmetic of uint8, in which their product is a
float32; dense layers, means of windows, rows of length 1 and images that are resized keep its
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import OP, current
from tinyrt.convert.weight_parts import in_parts, least_of, parts_of
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, TensorType, Value
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.quantize import QuantizeAttrs

HALF = 128
"""The difference between a uint8 and the int8 of the same real value."""

WIDENED = 10
"""Bytes that one weight takes on its way, and its work."""

WEIGHTED = ops_where(lambda spec: spec.traits.biased)
"""Ops whose weights may have a zero point; a transposed convolution's are refused if they do."""

ROUNDED = ("average_pool2d", "fully_connected", "l2_normalization", "resize_bilinear")
"""Ops that LiteRT rounds in another way on uint8 than on int8, and whose attributes say so."""

LEGACY = (*ROUNDED, "quantize")
"""These, and what rescales the tensors that a concatenation joins."""


def to_signed(graph: Graph) -> Graph:
    """The graph with int8 wherever it has uint8, and dense layers without zero points of weights.

    It is the same graph where it has neither.

    Raises:
        UnsupportedError: weights with a zero point are computed at run time.
        ShapeError: such weights do not fit their op.
        BudgetError: constants take more memory than the file may cost.

    """
    unsigned = [v for v in graph.values.values() if v.dtype is DType.UINT8 and v.q is not None]
    changes = bool(unsigned) or any(map(_is_off_zero, graph.bound()))
    return _Signed(graph, unsigned).graph() if changes else graph


def _is_off_zero(node: BoundNode) -> bool:
    """Whether it is a dense layer on int8 whose constant weights have a zero point.

    With a scale for each output there is none: runtimes read it as 0, or not at all.
    """
    weights = node.optional(1) if node.op == "fully_connected" else None
    if weights is None or weights.data is None or weights.q is None:
        return False
    is_int8 = weights.dtype is DType.INT8 and node.input(0).dtype is DType.INT8
    return is_int8 and weights.q.zero_point != 0 and weights.q.axis is None


class _Signed:
    """One conversion: values by name as they are now, nodes so far."""

    def __init__(self, graph: Graph, unsigned: Sequence[Value]) -> None:
        self._graph = graph
        self._values = dict(graph.values)
        self._nodes: list[Node] = []
        self._ports: dict[str, str] = {}
        self._tried: dict[str, int] = {}
        for value in unsigned:
            self._values[value.name] = _signed(value)

    def graph(self) -> Graph:
        """Everything on int8, between ports on uint8."""
        for name in dict.fromkeys((*self._graph.inputs, *self._graph.outputs)):
            self._keep_port(name)
        for name in self._graph.inputs:
            if name in self._ports:
                self._recode(name, self._ports[name], DType.INT8)
        for node in self._graph.bound():
            weights = node.optional(1)
            shifted = weights is not None and weights.dtype is DType.UINT8
            weighted = _is_off_zero(node) or (node.op in WEIGHTED and shifted)
            if weights is not None and weighted:
                self._weighted(node, weights)
            elif node.op == "transpose_conv" and weights is not None and shifted:
                self._transposed(node, weights)
            else:
                if node.op == "prelu" and shifted:
                    self._keep_products(node.node.inputs[1])
                self._append(node.node)
        for name in self._graph.outputs:
            if name in self._ports and name not in self._graph.inputs:
                self._recode(self._ports[name], name, DType.UINT8)
        used = {n for node in self._nodes for n in (*node.inputs, *node.outputs)}
        used.update(self._graph.inputs, self._graph.outputs)
        values = {name: value for name, value in self._values.items() if name in used}
        return replace(self._graph, nodes=tuple(self._nodes), values=values)

    def _keep_port(self, name: str) -> None:
        """Give a model input or output on uint8 an int8 copy, which the ops use."""
        port = self._graph.value(name)
        if port.dtype is not DType.UINT8 or port.q is None:
            return
        twin = self._unused(f"{name}/int8")
        self._values[twin] = replace(self._values[name], name=twin)
        self._values[name] = port
        self._ports[name] = twin

    def _recode(self, source: str, target: str, dtype: DType) -> None:
        node = Node("quantize", target, (source,), (target,), QuantizeAttrs(dtype))
        self._nodes.append(node)

    def _keep_products(self, name: str) -> None:
        """Mark slopes, whose scale is multiplied in float32."""
        value = self._values[self._now(name)]
        q = value.q and replace(value.q, product_f32=True)
        self._values[value.name] = replace(value, q=q)

    def _append(self, node: Node) -> None:
        inputs = tuple(self._now(n) for n in node.inputs)
        outputs = tuple(self._now(n) for n in node.outputs)
        attrs: Any = node.attrs
        if node.op == "quantize" and attrs.dtype is DType.UINT8:
            attrs = replace(attrs, dtype=DType.INT8)
        if node.op in ROUNDED and self._graph.value(node.output).dtype is DType.UINT8:
            attrs = replace(attrs, legacy=True)
        self._nodes.append(replace(node, inputs=inputs, outputs=outputs, attrs=attrs))

    def _now(self, name: str) -> str:
        """The name of the int8 value that ops use."""
        return self._ports.get(name, name)

    def _weighted(self, node: BoundNode, weights: Value) -> None:
        if weights.data is None or weights.q is None:
            raise UnsupportedError(
                "weights on uint8 are computed while the model runs",
                op=node.describe(),
                tensor=weights.describe(),
                expected="constants",
            )
        OPS[node.op].infer(node.attrs, [_signed_type(v) for v in node.inputs])
        current().spend(OP + WIDENED * weights.size, "converting weights")
        current().reserve(WIDENED * weights.size, f"converting {weights.describe()}")
        centred = weights.data.astype(np.int16) - weights.q.zero_point
        in_f32 = node.op != "fully_connected"
        q = QParams(weights.q.scales, 0, weights.q.axis, product_f32=in_f32)
        parts = parts_of(centred, least_of(node.op, centred))
        if len(parts) == 1:
            name = self._constant(weights, parts[0], q)
            self._append(_with_inputs(node.node, {1: name}))
            return
        self._in_parts(node, weights, q, parts)

    def _transposed(self, node: BoundNode, weights: Value) -> None:
        """A transposed convolution; the op itself refuses weights with a zero point."""
        signed = self._values[weights.name]
        assert signed.q is not None, "only quantised values are converted"
        name = self._unused(f"{weights.name}/int8")
        self._values[name] = replace(signed, name=name, q=replace(signed.q, product_f32=True))
        self._append(_with_inputs(node.node, {1: name}))

    def _in_parts(
        self, node: BoundNode, weights: Value, q: QParams, parts: Sequence[NDArray[Any]]
    ) -> None:
        """The op on copies of its input along the channels, one for each part of the weights."""
        x = self._values[self._now(node.input(0).name)]
        op = in_parts(node, x, parts, self._added)
        self._nodes += op.nodes
        moved = op.channel_axis is not None and q.axis is not None
        stacked = self._constant(
            weights, op.weights, replace(q, axis=op.channel_axis) if moved else q
        )
        self._append(_with_inputs(op.node, {1: stacked}))

    def _constant(self, like: Value, data: NDArray[Any], q: QParams) -> str:
        name = self._unused(f"{like.name}/int8")
        current().hold(data.size, f"the weights '{name}'")
        self._values[name] = Value.constant(name, data.astype(np.int8), q)
        return name

    def _added(self, value: Value) -> Value:
        name = self._unused(value.name)
        self._values[name] = replace(value, name=name)
        return self._values[name]

    def _unused(self, wish: str) -> str:
        name, i = wish, self._tried.get(wish, 0)
        while name in self._values:
            i += 1
            name = f"{wish}_{i}"
        self._tried[wish] = i
        return name


def _signed(value: Value) -> Value:
    """The value on int8, for the same real values."""
    assert value.q is not None, "only quantised values are converted"
    if value.data is not None:
        current().hold(value.data.size, f"the constant {value.describe()}")
    # Of a single number, NumPy makes no array.
    data = None if value.data is None else np.asarray(value.data ^ np.uint8(HALF)).view(np.int8)
    q = replace(value.q, zero_point=value.q.zero_point - HALF)
    return replace(value, dtype=DType.INT8, q=q, data=data)


def _signed_type(value: Value | None) -> TensorType | None:
    if value is None or value.dtype is not DType.UINT8:
        return None if value is None else value.type
    return TensorType(DType.INT8, value.shape)


def _with_inputs(node: Node, replacements: dict[int, str]) -> Node:
    return replace(node, inputs=tuple(replacements.get(i, n) for i, n in enumerate(node.inputs)))
