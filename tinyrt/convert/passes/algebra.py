"""Identities of arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import (
    Names,
    bypass,
    is_private,
    producer,
    spend_on_arrays,
    split_constant,
)
from tinyrt.convert.passes.patterns import number
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs


def zero_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X * 0 = 0."""
    split = split_constant(graph, node)
    if split is None or np.any(split[1]):
        return None
    output = graph.value(node.output)
    if output.name in graph.outputs:
        return Refusal(node.name, "its output is the model's own, which an op must compute")
    spend_on_arrays(f"the zeros of '{output.name}'", output.size)
    zeros = Value.constant(output.name, np.zeros(output.shape, np.float32))
    return Patch(remove=(node,), values=(zeros,))


def merge_constants(graph: Graph, node: Node) -> Patch | Refusal | None:
    """(x * c) * d = x * (c * d), (x + c) + d = x + (c + d)."""
    outer = split_constant(graph, node)
    first = producer(graph, node, outer[0], op=node.op) if outer is not None else None
    inner = split_constant(graph, first) if first is not None else None
    if outer is None or first is None or inner is None:
        return None
    if not is_private(graph, first.output):
        return Refusal(node.name, f"the output of '{first.name}' has other readers")
    activation = fused_activation(first)
    if activation != "NONE":
        return Refusal(node.name, f"'{first.name}' has a fused {activation}")
    shape = np.broadcast_shapes(inner[1].shape, outer[1].shape)
    spend_on_arrays(f"the constants of '{node.name}'", 4 * math.prod(shape))
    c, d = inner[1].astype(np.float64), outer[1].astype(np.float64)
    with np.errstate(over="ignore"):
        both = (c * d if node.op == "mul" else c + d).astype(np.float32)
    if not np.isfinite(both).all():
        return Refusal(node.name, "the constants together overflow")
    constant = Value.constant(Names(graph).new(f"{node.output}.constant"), both)
    merged = replace(node, inputs=(first.inputs[inner[0]], constant.name))
    return Patch(remove=(first, node), add=(merged,), values=(constant,))


def as_product(graph: Graph, node: Node) -> Patch:
    """-x = x * -1 and square(x) = x * x: products fold into weights, and have an integer form."""
    x = node.inputs[0]
    if node.op == "square":
        square = replace(node, op="mul", inputs=(x, x), attrs=MulAttrs())
        return Patch(remove=(node,), add=(square,))
    name = Names(graph).new(f"{node.output}.minus_one")
    constant = Value.constant(name, np.full(1, -1, np.float32))
    product = replace(node, op="mul", inputs=(x, name), attrs=MulAttrs())
    return Patch(remove=(node,), add=(product,), values=(constant,))


INVOLUTIONS = {"neg": "neg", "logical_not": "logical_not"}
"""Ops that undo themselves."""

SIGN_BLIND = ("abs", "square")
"""Ops that give the same for x, -x and |x|."""


def cancel_signs(graph: Graph, node: Node) -> Patch | Refusal | None:
    """-(-x) = x, |(-x)| = |x|, abs(abs(x)) = abs(x), not (not x) = x."""
    first = producer(graph, node)
    if first is None:
        return None
    if INVOLUTIONS.get(node.op) == first.op:
        return bypass(graph, node, first.inputs[0])
    if node.op in SIGN_BLIND and first.op in ("neg", "abs"):
        return Patch(remove=(node,), add=(replace(node, inputs=first.inputs),))
    return None


def write_out_power(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X ** 2 = x * x, x ** 3 = x * x * x, x ** 0.5 = sqrt(x), x ** -0.5 = 1 / sqrt(x), x ** 1 = x.

    x ** 1.5 = x * sqrt(x), x ** -1 = 1 / x.
    """
    exponent = number(graph, node.inputs[1])
    if exponent is None:
        return None
    x, output = graph.value(node.inputs[0]), graph.value(node.output)
    if x.shape != output.shape:
        return Refusal(node.name, "it makes its operand larger")
    if exponent == 1:
        return bypass(graph, node, x.name)
    if exponent in (0.5, -0.5):
        root = "sqrt" if exponent > 0 else "rsqrt"
        return Patch(
            remove=(node,), add=(Node(root, node.name, (x.name,), node.outputs, NoAttrs()),)
        )
    if exponent == -1:
        one = Value.constant(Names(graph).new(f"{output.name}.one"), np.ones(1, np.float32))
        quotient = Node("div", node.name, (one.name, x.name), node.outputs, DivAttrs())
        return Patch(remove=(node,), add=(quotient,), values=(one,))
    if exponent == 2:
        square = Node("mul", node.name, (x.name, x.name), node.outputs, MulAttrs())
        return Patch(remove=(node,), add=(square,))
    if exponent not in (1.5, 3):
        supported = "-1, -0.5, 0.5, 1, 1.5, 2 and 3"
        return Refusal(node.name, f"the exponent {exponent:g} is none of {supported}")
    name = Names(graph).new(f"{output.name}.part")
    square = Node("mul", name, (x.name, x.name), (name,), MulAttrs())
    half = Node("sqrt", name, (x.name,), (name,), NoAttrs())
    last = Node("mul", node.name, (name, x.name), node.outputs, MulAttrs())
    first = square if exponent == 3 else half
    return Patch(remove=(node,), add=(first, last), values=(replace(output, name=name),))


def merge_slices(graph: Graph, node: Node) -> Patch | Refusal | None:
    """slice(slice(x)) = slice(x)."""
    first = producer(graph, node, op="slice")
    if first is None:
        return None
    inner, outer = first.attrs_as(SliceAttrs), node.attrs_as(SliceAttrs)
    if inner.dropped:
        return Refusal(node.name, f"'{first.name}' drops dimensions")
    pairs = zip(inner.begin, outer.begin, inner.strides, strict=True)
    begin = tuple(a + b * step for a, b, step in pairs)
    strides = tuple(a * b for a, b in zip(inner.strides, outer.strides, strict=True))
    attrs = SliceAttrs(begin, outer.size, strides, outer.dropped)
    return Patch(remove=(node,), add=(replace(node, inputs=first.inputs, attrs=attrs),))


ZERO_PRODUCT = Rule("zero_product", ("mul",), zero_product)
MERGE_CONSTANTS = Rule("merge_constants", ("mul", "add"), merge_constants)
AS_PRODUCT = Rule("as_product", ("neg", "square"), as_product)
CANCEL_SIGNS = Rule("cancel_signs", (*INVOLUTIONS, *SIGN_BLIND), cancel_signs)
WRITE_OUT_POWER = Rule("write_out_power", ("pow",), write_out_power)
MERGE_SLICES = Rule("merge_slices", ("slice",), merge_slices)
