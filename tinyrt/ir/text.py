"""A readable dump of a graph, one line per node, for errors and golden tests."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from tinyrt.ir.graph import Graph, Value


def dump(graph: Graph) -> str:
    """The graph as text: inputs, then ``%out = op(%in, ...) {attrs}``, then outputs."""
    lines = [f"graph {graph.name}"]
    lines += [f"  input  {_typed(v)}" for v in graph.input_values]
    for bound in graph.bound():
        inputs = ", ".join(_operand(v) for v in bound.inputs)
        outputs = ", ".join(_typed(v) for v in bound.outputs)
        lines.append(f"  {outputs} = {bound.op}({inputs}){_attrs(bound.attrs)}")
    lines += [f"  output %{name}" for name in graph.outputs]
    return "\n".join(lines)


def _typed(value: Value) -> str:
    q = value.q
    quant = "" if q is None else f" q({len(q.scales)} scales, zp {q.zero_point})"
    if q is not None and len(q.scales) == 1:
        quant = f" q({q.scale:.6g}, zp {q.zero_point})"
    return f"%{value.name}: {value.type}{quant}"


def _operand(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"const {value.type}" if value.is_constant else f"%{value.name}"


def _attrs(attrs: Any) -> str:
    if not is_dataclass(attrs) or not fields(attrs):
        return ""
    text = ", ".join(f"{f.name}={getattr(attrs, f.name)}" for f in fields(attrs) if f.repr)
    return f" {{{text}}}"
