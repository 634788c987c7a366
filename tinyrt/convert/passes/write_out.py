"""Ops that the .tflite format lacks become a formula, where no rule has found what they are for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import Names
from tinyrt.ir import Graph, Node, Patch, Rule, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.spec import NoAttrs

TERMS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
P = 0.3275911
"""Abramowitz and Stegun, formula 7.1.26: an absolute error below 1.5e-7, float32's own."""

Emit = Callable[..., str]


def write_out_erf(graph: Graph, node: Node) -> Patch:
    """erf(x) = sign(x) * (1 - t * (a1 + t * (a2 + ...)) * exp(-x**2)), t = 1 / (1 + p |x|)."""
    names, values, nodes = Names(graph), [], []
    output = graph.value(node.outputs[0])

    def emit(op: str, wish: str, *inputs: str | float, last: bool = False) -> str:
        operands = []
        for operand in inputs:
            if isinstance(operand, str):
                operands.append(operand)
                continue
            constant = np.full(1, operand, np.float32)
            values.append(Value.constant(names.new(f"{output.name}.c"), constant))
            operands.append(values[-1].name)
        name = output.name if last else names.new(f"{output.name}.{wish}")
        if not last:
            values.append(replace(output, name=name))
        attrs = {"mul": MulAttrs(), "add": AddAttrs(), "sub": AddAttrs(), "div": DivAttrs()}
        nodes.append(Node(op, name, tuple(operands), (name,), attrs.get(op, NoAttrs())))
        return name

    _erf(emit, node.inputs[0])
    return Patch(remove=(node,), add=tuple(nodes), values=tuple(values))


def _erf(emit: Emit, x: str) -> str:
    scaled = emit("mul", "scaled", emit("abs", "abs", x), P)
    t = emit("div", "t", 1.0, emit("add", "divisor", scaled, 1.0))
    poly = emit("mul", "poly", t, TERMS[4])
    for i in (3, 2, 1, 0):
        poly = emit("mul", f"poly{i}", emit("add", f"sum{i}", poly, TERMS[i]), t)
    negative = emit("mul", "negative", emit("mul", "square", x, x), -1.0)
    tail = emit("mul", "tail", poly, emit("exp", "exp", negative))
    size = emit("sub", "size", 1.0, tail)
    return emit("mul", "", emit("sign", "sign", x), size, last=True)


WRITE_OUT_ERF = Rule("write_out_erf", ("erf",), write_out_erf)
