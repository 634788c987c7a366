"""Ops that a runtime lacks become ops that it has."""

from __future__ import annotations

import math
from dataclasses import replace

from tinyrt.convert.passes.common import Names, permuted
from tinyrt.convert.passes.formula import Formula
from tinyrt.convert.passes.moves import Move
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.convert.passes.write_out import erf_of_size
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import (
    DType,
    Graph,
    Node,
    Patch,
    Refusal,
    RewriteLog,
    Rule,
    Shape,
    Stage,
    Value,
    rewrite,
)
from tinyrt.ops import verify
from tinyrt.ops.arg import CHOICES, ArgAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.repeat import TileAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

MAX_FACTORS = 64
"""A product of more elements is not written out."""

MOVED_DIMENSIONS = 5
"""TFLM's TRANSPOSE moves no more."""


def lower_gelu(graph: Graph, node: Node) -> Patch:
    """gelu(x) = (x + |x| erf(|x| / sqrt(2))) / 2, or by tanh where that is what it stands for."""
    f, x = Formula(graph, node), node.inputs[0]
    if node.attrs_as(GeluAttrs).approximate:
        cube = f.emit("mul", "cube", f.emit("mul", "square", x, x), x)
        inner = f.emit("add", "inner", x, f.emit("mul", "part", cube, 0.044715))
        tanh = f.emit("tanh", "tanh", f.emit("mul", "scaled", inner, math.sqrt(2 / math.pi)))
        gate = f.emit("mul", "gate", f.emit("add", "raised", tanh, 1.0), 0.5)
        f.emit("mul", "gelu", x, gate)
        return f.patch()
    size = f.emit("abs", "abs", x)
    erf = erf_of_size(f, f.emit("mul", "scaled_size", size, math.sqrt(0.5)))
    f.emit("mul", "gelu", f.emit("add", "both", x, f.emit("mul", "product", size, erf)), 0.5)
    return f.patch()


def lower_clamp(graph: Graph, node: Node) -> Patch:
    """relu_0_to_1(x) = min(relu(x), 1), relu_n1_to_1(x) = max(min(x, 1), -1)."""
    f, x = Formula(graph, node), node.inputs[0]
    if node.op == "relu_0_to_1":
        f.emit("minimum", "upper", f.emit("relu", "lower", x), 1.0)
    else:
        f.emit("maximum", "lower", f.emit("minimum", "upper", x, 1.0), -1.0)
    return f.patch()


def lower_sign(graph: Graph, node: Node) -> Patch:
    """sign(x) = 1 where x > 0, -1 where x < 0, else 0."""
    f, x = Formula(graph, node), node.inputs[0]
    below = f.emit("select_v2", "lower", f.emit("less", "below", x, 0.0), -1.0, 0.0)
    f.emit("select_v2", "sign", f.emit("greater", "above", x, 0.0), 1.0, below)
    return f.patch()


def lower_tile(graph: Graph, node: Node) -> Patch | Refusal:
    """tile(x) = concatenations of x with itself."""
    f, x = Formula(graph, node), node.inputs[0]
    multiples = node.attrs_as(TileAttrs).multiples
    repeated = [(axis, n) for axis, n in enumerate(multiples) if n > 1]
    if max(multiples, default=1) > MAX_FACTORS:
        return Refusal(node.name, f"it repeats its input {multiples} times")
    if not repeated:
        f.emit("reshape", "same", x, attrs=ReshapeAttrs(graph.value(x).shape))
    for axis, count in repeated:
        x = f.emit("concatenation", f"axis{axis}", *[x] * count, attrs=ConcatenationAttrs(axis))
    return f.patch()


def lower_product(graph: Graph, node: Node) -> Patch | Refusal:
    """reduce_prod(x) = the product of its slices."""
    f, x = Formula(graph, node), node.inputs[0]
    axes = node.attrs_as(ReduceAttrs).axes
    for axis in sorted((a % len(graph.value(x).shape) for a in axes), reverse=True):
        shape = f.type_of(x).shape
        if shape[axis] > MAX_FACTORS:
            return Refusal(node.name, f"it multiplies {shape[axis]} elements")
        size = tuple(1 if i == axis else d for i, d in enumerate(shape))
        parts = []
        for i in range(shape[axis]):
            begin = tuple(i if a == axis else 0 for a in range(len(shape)))
            attrs = SliceAttrs(begin, size, (1,) * len(shape))
            parts.append(f.emit("slice", f"part{axis}_{i}", x, attrs=attrs))
        x = parts[0]
        for i, part in enumerate(parts[1:]):
            x = f.emit("mul", f"product{axis}_{i}", x, part)
    f.emit("reshape", "shaped", x, attrs=ReshapeAttrs(graph.value(node.output).shape))
    return f.patch()


def lower_transpose(graph: Graph, node: Node) -> Patch | Refusal | None:
    """transpose(x) of six dimensions = transposes of fewer, with reshapes in between."""
    x, y = graph.value(node.inputs[0]), graph.value(node.output)
    if len(x.shape) <= MOVED_DIMENSIONS:
        return None
    names, nodes, values = Names(graph), list[Node](), list[Value]()

    def emit(op: str, after: Shape, attrs: object) -> None:
        value = replace(x, name=names.new(f"{y.name}.part"), shape=after, data=None)
        source = nodes[-1].output if nodes else x.name
        nodes.append(Node(op, value.name, (source,), (value.name,), attrs))
        values.append(value)

    move = Move.of(x.shape, node.attrs_as(TransposeAttrs).perm)
    for part in move.in_parts(MOVED_DIMENSIONS) if len(move.shape) > 1 else ():
        emit("reshape", part.shape, ReshapeAttrs(part.shape))
        emit("transpose", permuted(part.shape, part.perm), TransposeAttrs(part.perm))
    source = nodes[-1].output if nodes else x.name
    last = Node("reshape", node.name, (source,), node.outputs, ReshapeAttrs(y.shape))
    return Patch(remove=(node,), add=(*nodes, last), values=tuple(values))


MOVES = {"tflm": Rule("lower_transpose", ("transpose",), lower_transpose)}
"""Runtime -> the rule for moves of more dimensions than it has, of floats and of integers."""

LOWERINGS: dict[str, tuple[Rule, ...]] = {
    "tflm": (
        Rule("lower_gelu", ("gelu",), lower_gelu),
        Rule("lower_clamp", ("relu_0_to_1", "relu_n1_to_1"), lower_clamp),
        Rule("lower_sign", ("sign",), lower_sign),
        Rule("lower_tile", ("tile",), lower_tile),
        Rule("lower_product", ("reduce_prod",), lower_product),
    )
}
"""Runtime -> rules for the ops whose float form it lacks."""

LACKING = {
    "tflm": frozenset(
        {
            *("gelu", "pow", "reduce_prod", "relu_0_to_1", "relu_n1_to_1"),
            *("sign", "tile", "topk_v2"),
        }
    )
}
"""Runtime -> ops whose float form it lacks."""


def _verified(graph: Graph) -> Graph:
    return verify(graph, Stage.FLOAT)


def _with_short_places(graph: Graph) -> Graph:
    """The graph with int32 wherever arg_max or arg_min answers with int64.

    TFLM has no int64 there. Outputs of the model become int32, too; a cast reads either.

    Raises:
        UnsupportedError: another op needs int64.

    """
    nodes, values = list(graph.nodes), dict(graph.values)
    for node in graph.bound():
        if node.op not in CHOICES or node.output.dtype is not DType.INT64:
            continue
        others = [n for n in graph.consumers(node.output.name) if n.op != "cast"]
        if others:
            raise UnsupportedError(
                f"tflm has no {node.op} to int64, which '{others[0].name}' ({others[0].op}) reads",
                op=node.describe(),
                tensor=node.output.describe(),
                expected="places that are cast, or that are the model's output",
                hint="cast the places to int32 in the model, or leave --target out",
            )
        attrs = replace(node.attrs_as(ArgAttrs), dtype=DType.INT32)
        nodes[node.index] = replace(node.node, attrs=attrs)
        values[node.output.name] = replace(node.output, dtype=DType.INT32)
    return replace(graph, nodes=tuple(nodes), values=values)


def lower_for(graph: Graph, target: str, log: RewriteLog | None = None) -> Graph:
    """The graph in ops that the runtime has; results stay within float rounding.

    Ops on integers stay as they are, except for moves.

    Args:
        graph: an optimised graph.
        target: a key of ``LOWERINGS``.
        log: what was applied and refused is added to it.

    Raises:
        DataError: there is no such target.
        UnsupportedError: an op has no form in the runtime's ops.

    """
    if target not in LOWERINGS:
        raise DataError(
            f"there is no target '{target}'", expected=", ".join(LOWERINGS), hint="choose one"
        )
    log = log if log is not None else RewriteLog()
    if graph.is_quantized:
        return rewrite(graph, (MOVES[target],), verify, log)
    rules = (*LOWERINGS[target], MOVES[target], REMOVE_DEAD)
    lowered = verify(_with_short_places(rewrite(graph, rules, _verified, log)), Stage.FLOAT)
    for node in lowered.bound():
        if node.op in LACKING[target]:
            why = next((r for (_, name), r in log.refused.items() if name == node.name), "")
            raise UnsupportedError(
                f"{target} has no {node.op}" + (f": {why}" if why else ""),
                op=node.describe(),
                tensor=node.output.describe(),
                expected="an op that can be written in others",
                hint="replace the op in the model, or leave --target out",
            )
    return lowered


__all__ = ["LACKING", "LOWERINGS", "MOVED_DIMENSIONS", "lower_for"]
