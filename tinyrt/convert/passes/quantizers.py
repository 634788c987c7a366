"""fake_quantize moves to where it costs nothing: right behind the op whose output it rounds."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import ACTIVATIONS, bypass, is_private, producer
from tinyrt.ir import DType, Graph, Node, Patch, Refusal, Rule
from tinyrt.ops import ops_where
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.activation import BOUNDS, fused_activation
from tinyrt.ops.shared.spec import limits_of

SELECTING = ops_where(lambda spec: spec.traits.selects)
"""Ops whose outputs are elements of their inputs: rounding before them is rounding behind them."""

ONE_OPERAND = ops_where(lambda spec: spec.arity == (1, 1)) & SELECTING - {"pad"}
"""Those of them whose outputs are elements of one tensor; a pad brings zeros."""


def has_own_grids(graph: Graph) -> bool:
    """Whether the graph brings its own quantisation grids."""
    rounds = any(node.op == "fake_quantize" for node in graph.nodes)
    return rounds or any(
        v.q is not None and v.dtype is DType.FLOAT32 for v in graph.values.values()
    )


def remove_requantize(graph: Graph, node: Node) -> Patch | Refusal | None:
    """q(select(q(x), q(y), ...)) = select(q(x), q(y), ...), all q to one grid."""
    if not _is_on_grid(graph, node.inputs[0], node.attrs_as(FakeQuantizeAttrs)):
        return None
    return bypass(graph, node, node.inputs[0])


def _is_on_grid(graph: Graph, name: str, grid: FakeQuantizeAttrs) -> bool:
    """Whether ops that select from values on the grid compute the value."""
    pending, visited = [name], set()
    while pending:
        current = pending.pop()
        maker = graph.producer(current)
        if current in visited:
            continue
        visited.add(current)
        if maker is None:
            return False
        if maker.op == "fake_quantize":
            if maker.attrs != grid:
                return False
        elif _selects(maker):
            pending += maker.inputs
        else:
            return False
    return True


def _selects(node: Node) -> bool:
    fused = fused_activation(node) != "NONE"
    filled = isinstance(node.attrs, PadAttrs) and node.attrs.value != 0
    return node.op in SELECTING and not fused and not filled


def clamp_before(graph: Graph, node: Node) -> Patch | Refusal | None:
    """relu(q(x)) = q(relu(x)), so that the clamp fuses into the op that computes x."""
    rounding = producer(graph, node, op="fake_quantize")
    if rounding is None:
        return None
    if not is_private(graph, rounding.output):
        return Refusal(node.name, f"the output of '{rounding.name}' has other readers")
    bounds = BOUNDS[ACTIVATIONS[node.op]]
    grid = rounding.attrs_as(FakeQuantizeAttrs)
    if not all(_is_step(grid, bound) for bound in bounds):
        return Refusal(node.name, f"its bounds are not on the grid of '{rounding.name}'")
    clamp = replace(node, inputs=rounding.inputs, outputs=rounding.outputs)
    behind = replace(rounding, inputs=rounding.outputs, outputs=node.outputs)
    return Patch(remove=(rounding, node), add=(clamp, behind))


def _is_step(grid: FakeQuantizeAttrs, bound: float) -> bool:
    """Whether the bound is on the grid, or beyond all of it."""
    least, most = ((q - grid.zero_point) * grid.scale for q in limits_of(grid.dtype))
    return not least < bound < most or (bound / grid.scale).is_integer()


def hoist_quantizer(graph: Graph, node: Node) -> Patch | Refusal | None:
    """q(select(x)) = select(q(x)), where x is computed and not rounded."""
    root = graph.producer(_selected_from(graph, node))
    return None if root is None or root.op == "fake_quantize" else _hoisted(graph, node)


def hoist_to_input(graph: Graph, node: Node) -> Patch | Refusal | None:
    """q(select(x)) = select(q(x)), where x is the model's input, which then is on the grid."""
    return _hoisted(graph, node) if _selected_from(graph, node) in graph.inputs else None


def _selected_from(graph: Graph, node: Node) -> str:
    """The tensor whose elements a rounding reads, behind all ops that select from it."""
    name, maker = node.inputs[0], graph.producer(node.inputs[0])
    while maker is not None and maker.op in ONE_OPERAND and _selects(maker):
        name = maker.inputs[0]
        maker = graph.producer(name)
    return name


def _hoisted(graph: Graph, node: Node) -> Patch | Refusal | None:
    """The rounding in front of the op that selects, if there is one."""
    selecting = graph.producer(node.inputs[0])
    if selecting is None or selecting.op not in ONE_OPERAND or not _selects(selecting):
        return None
    source = graph.value(selecting.inputs[0])
    if not is_private(graph, selecting.output) or not is_private(graph, source.name):
        return Refusal(node.name, f"'{selecting.name}' or what it reads has other readers")
    rounded = replace(source, name=graph.unique_name(f"{source.name}.rounded"))
    first = replace(node, name=rounded.name, inputs=(source.name,), outputs=(rounded.name,))
    inputs = (rounded.name, *selecting.inputs[1:])
    last = replace(selecting, inputs=inputs, outputs=node.outputs)
    return Patch(remove=(selecting, node), add=(first, last), values=(rounded,))


REMOVE_REQUANTIZE = Rule("remove_requantise", ("fake_quantize",), remove_requantize)
CLAMP_BEFORE = Rule("clamp_before_quantiser", tuple(ACTIVATIONS), clamp_before)
HOIST_QUANTIZER = Rule("hoist_quantiser", ("fake_quantize",), hoist_quantizer)
HOIST_TO_INPUT = Rule("hoist_to_input", ("fake_quantize",), hoist_to_input)
"""No pass: layouts move transposes behind roundings. It is for graphs that become integers next."""
