"""Ops that the .tflite format lacks become a formula, unless another rule has absorbed them."""

from __future__ import annotations

from tinyrt.convert.passes.formula import Formula
from tinyrt.ir import Graph, Node, Patch, Rule

TERMS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
P = 0.3275911
"""Abramowitz and Stegun, formula 7.1.26: an absolute error below 1.5e-7, float32's own."""


def write_out_erf(graph: Graph, node: Node) -> Patch:
    """erf(x) = sign(x) * (1 - t * (a1 + t * (a2 + ...)) * exp(-x**2)), t = 1 / (1 + p |x|)."""
    f, x = Formula(graph, node), node.inputs[0]
    size = erf_of_size(f, f.emit("abs", "abs", x))
    f.emit("mul", "erf", f.emit("sign", "sign", x), size)
    return f.patch()


def erf_of_size(f: Formula, x: str) -> str:
    """erf(x) for x of 0 and more."""
    t = f.emit("div", "t", 1.0, f.emit("add", "divisor", f.emit("mul", "scaled", x, P), 1.0))
    poly = f.emit("mul", "poly", t, TERMS[4])
    for i in (3, 2, 1, 0):
        poly = f.emit("mul", f"poly{i}", f.emit("add", f"sum{i}", poly, TERMS[i]), t)
    negative = f.emit("mul", "negative", f.emit("mul", "square", x, x), -1.0)
    tail = f.emit("mul", "tail", poly, f.emit("exp", "exp", negative))
    return f.emit("sub", "size", 1.0, tail)


WRITE_OUT_ERF = Rule("write_out_erf", ("erf",), write_out_erf)
