"""Inputs and outputs of another type than the model computes in, as a product has them.

Each gets an op between the port and the network: quantisation, its inverse, or a change between
integers. Real values stay what they are, but for the roundings of the narrower type.

    uint8: zero point 128 higher, the same scale: pixels as a camera gives them.
    int16: of an int8 port, zero point 0, a 128th of the scale: every int8 has its int16, exactly.
    float32: real values.
"""

from __future__ import annotations

from dataclasses import replace

from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import NoAttrs

PORT_TYPES = (DType.FLOAT32, DType.UINT8, DType.INT16, DType.INT8)
"""Types that a port may be given."""

FINER = 128
"""Steps of int16 to one of int8, of which an int8 is at most 255 away from its zero point."""

REACHED = {
    DType.INT8: PORT_TYPES,
    DType.UINT8: PORT_TYPES,
    DType.INT16: (DType.INT16, DType.FLOAT32),
}
"""A model's type -> types of ports that hold its values."""


def port_type_of(name: str) -> DType:
    """The type of that name.

    Raises:
        UnsupportedError: a port cannot have it.

    """
    found = next((dtype for dtype in PORT_TYPES if dtype.value == name), None)
    if found is None:
        raise UnsupportedError(
            f"there are no inputs and outputs of type '{name}'",
            expected=", ".join(dtype.value for dtype in PORT_TYPES),
        )
    return found


def with_port_types(graph: Graph, inputs: DType | None, outputs: DType | None) -> Graph:
    """The graph with all inputs and all outputs of these types; states stay as they are.

    Args:
        graph: a quantised model.
        inputs: type of the inputs; None for the model's own.
        outputs: type of the outputs; None likewise.

    Raises:
        UnsupportedError: a port is of a type that the other one does not hold.

    """
    for name in graph.fed if inputs is not None else ():
        graph = _turned(graph, name, inputs, is_input=True)
    for name in graph.answers if outputs is not None else ():
        graph = _turned(graph, name, outputs, is_input=False)
    return graph


def _turned(graph: Graph, name: str, dtype: DType | None, *, is_input: bool) -> Graph:
    """The graph with one port of that type, under the same name."""
    port = graph.value(name)
    if dtype is None or port.dtype is dtype:
        return graph
    if port.q is None or dtype not in REACHED.get(port.dtype, ()):
        held = ", ".join(t.value for t in REACHED.get(port.dtype, ()) if port.q is not None)
        raise UnsupportedError(
            f"a port of {dtype.value} does not hold what the model computes with",
            tensor=port.describe(),
            expected=held or "a port of the model's own type: it has no scale",
            hint="leave the type out, or quantise the model",
        )
    if DType.UINT8 in (port.dtype, dtype) and DType.INT8 not in (port.dtype, dtype):
        # Between uint8 and the wider types, int8 is a step on the way.
        graph = _turned(graph, name, DType.INT8, is_input=is_input)
        port = graph.value(name)
    inner = replace(port, name=graph.unique_name(f"{name}/{port.dtype.value}"))
    outer = Value(name, dtype, port.shape, _scale_of(port, dtype))
    renamed = {name: inner.name}
    nodes = [_renamed(node, renamed) for node in graph.nodes]
    ends = (outer, inner) if is_input else (inner, outer)
    change = _change(*ends, graph.unique_name(f"{name}/as_{dtype.value}"))
    nodes = [change, *nodes] if is_input else [*nodes, change]
    values = {**graph.values, name: outer, inner.name: inner}
    return verify(replace(graph, nodes=tuple(nodes), values=values))


def _scale_of(port: Value, dtype: DType) -> QParams | None:
    """The parameters of a port of that type, whose real values are those of the other one."""
    assert port.q is not None
    q = port.q
    if dtype is DType.FLOAT32:
        return None
    if dtype is DType.INT16:
        return QParams((q.scale / FINER,), 0)
    return QParams(q.scales, q.zero_point + (128 if dtype is DType.UINT8 else -128))


def _change(before: Value, after: Value, name: str) -> Node:
    """The op between two types of the same tensor."""
    ports = (before.name,), (after.name,)
    if after.dtype is DType.FLOAT32:
        return Node("dequantize", name, *ports, NoAttrs())
    return Node("quantize", name, *ports, QuantizeAttrs(after.dtype))


def _renamed(node: Node, names: dict[str, str]) -> Node:
    return replace(
        node,
        inputs=tuple(names.get(n, n) for n in node.inputs),
        outputs=tuple(names.get(n, n) for n in node.outputs),
    )
