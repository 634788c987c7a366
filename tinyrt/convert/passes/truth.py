"""Truth values: arithmetic on them becomes a choice, and choices become named functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.convert.passes.common import (
    BINARY,
    UNARY,
    Array,
    Names,
    constant_data,
    is_private,
    producer,
    split_constant,
)
from tinyrt.convert.passes.formula import Formula
from tinyrt.convert.passes.patterns import number, op_before, scaled
from tinyrt.ir import DType, Graph, Node, Patch, Refusal, Rule, Value
from tinyrt.ops import OPS
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.spec import NoAttrs

NEGATED = {"equal": "not_equal", "not_equal": "equal"}
"""Comparisons and their opposites, whatever they compare; NaN is no opposite of less or greater."""

ABOVE, BELOW = ("greater", "greater_equal"), ("less", "less_equal")


def cast_as_choice(graph: Graph, node: Node) -> Patch | None:
    """cast(truth) = truth ? 1 : 0, cast(x) to truth = x != 0: both have integer forms."""
    x, y = graph.value(node.inputs[0]), graph.value(node.output)
    f = Formula(graph, node)
    if (x.dtype, y.dtype) == (DType.BOOL, DType.FLOAT32):
        f.emit("select_v2", "choice", x.name, 1.0, 0.0)
    elif (x.dtype, y.dtype) == (DType.FLOAT32, DType.BOOL):
        f.emit("not_equal", "truth", x.name, 0.0)
    else:
        return None
    return f.patch()


def negate_comparison(graph: Graph, node: Node) -> Patch | Refusal | None:
    """Not (x == y) = x != y."""
    compared = producer(graph, node)
    if compared is None or compared.op not in NEGATED:
        return None
    if not is_private(graph, compared.output):
        return Refusal(node.name, f"the output of '{compared.name}' has other readers")
    negated = replace(compared, op=NEGATED[compared.op], outputs=node.outputs)
    return Patch(remove=(compared, node), add=(negated,))


def swap_choices(graph: Graph, node: Node) -> Patch | None:
    """(not t) ? a : b = t ? b : a."""
    negated = producer(graph, node, op="logical_not")
    if negated is None:
        return None
    _, a, b = node.inputs
    return Patch(remove=(node,), add=(replace(node, inputs=(negated.inputs[0], b, a)),))


def fold_into_choice(graph: Graph, node: Node) -> Patch | Refusal | None:
    """f(t ? a : b, c) = t ? f(a, c) : f(b, c), for numbers a, b and c."""
    split = split_constant(graph, node) if node.op in BINARY else (0, None)
    choice = op_before(graph, node.inputs[split[0]], "select_v2") if split is not None else None
    if split is None or choice is None:
        return None
    at, constant = split
    data = [constant_data(graph, name) for name in choice.inputs[1:]]
    numbers = [d for d in (*data, constant) if d is not None]
    if len(numbers) < 2 + (constant is not None) or any(d.size != 1 for d in numbers):
        return Refusal(node.name, "what is chosen from, or joins it, is no number")
    if not is_private(graph, choice.output):
        return Refusal(node.name, f"the output of '{choice.name}' has other readers")
    names = Names(graph)
    sides = [_applied(names, node, at, d, constant) for d in data if d is not None]
    folded = replace(choice, inputs=(choice.inputs[0], *(v.name for v in sides)))
    shape = graph.value(choice.inputs[0]).shape
    if graph.value(node.output).shape != shape:
        return Refusal(node.name, "it gives its operand more dimensions")
    return Patch(
        remove=(choice, node), add=(replace(folded, outputs=node.outputs),), values=tuple(sides)
    )


def _applied(names: Names, node: Node, at: int, data: Array, constant: Array | None) -> Value:
    ref: Callable[..., Any] | None = OPS[node.op].ref_f32
    assert ref is not None, "element-wise ops compute in float"
    operands = [data] if constant is None else [data, constant][:: 1 if at == 0 else -1]
    with np.errstate(all="ignore"):
        result = np.asarray(ref(node.attrs, *operands), np.float32).reshape(data.shape)
    return Value.constant(names.new(f"{node.output}.choice"), result)


def choose_factor(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X * (t ? 1 : 0) = t ? x : 0, for finite x."""
    for i, name in enumerate(node.inputs):
        choice = op_before(graph, name, "select_v2")
        if choice is None:
            continue
        factors = tuple(number(graph, n) for n in choice.inputs[1:])
        if factors not in ((1.0, 0.0), (0.0, 1.0)):
            continue
        activation = fused_activation(node)
        if activation != "NONE":
            return Refusal(node.name, f"it has a fused {activation}")
        f, x = Formula(graph, node), node.inputs[1 - i]
        truth = choice.inputs[0]
        f.emit("select_v2", "choice", truth, *((x, 0.0) if factors[0] else (0.0, x)))
        return f.patch()
    return None


def recognise_choice(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X > 0 ? x : a x = leaky_relu(x); with a = 0 it is relu(x), with -1 abs(x)."""
    sides = _sides(graph, node)
    if sides is None:
        return None
    x, positive, negative = sides
    if positive != x:
        return None
    slope = 0.0 if number(graph, negative) == 0 else _slope(graph, negative, x)
    if slope is None:
        return Refusal(node.name, f"below 0 it is no product of '{x}' with a number")
    if graph.value(x).shape != graph.value(node.output).shape:
        return Refusal(node.name, "it makes its operand larger")
    op = {0.0: "relu", -1.0: "abs"}.get(slope, "leaky_relu")
    attrs = LeakyReluAttrs(slope) if op == "leaky_relu" else NoAttrs()
    return Patch(remove=(node,), add=(replace(node, op=op, inputs=(x,), attrs=attrs),))


def _sides(graph: Graph, node: Node) -> tuple[str, str, str] | None:
    """``(x, chosen above 0, chosen below)`` of a choice by the sign of x."""
    compared = producer(graph, node)
    if compared is None or compared.op not in (*ABOVE, *BELOW):
        return None
    above = compared.op in ABOVE
    x, limit = compared.inputs
    if number(graph, x) == 0:
        x, limit, above = limit, x, not above
    if number(graph, limit) != 0:
        return None
    _, a, b = node.inputs
    return (x, a, b) if above else (x, b, a)


def _slope(graph: Graph, name: str, x: str) -> float | None:
    """The number that ``x`` is multiplied with."""
    negated = op_before(graph, name, "neg")
    if negated is not None:
        return -1.0 if negated.inputs[0] == x else None
    product = scaled(graph, name)
    return product[1] if product is not None and product[0] == x else None


CAST_AS_CHOICE = Rule("cast_as_choice", ("cast",), cast_as_choice)
NEGATE_COMPARISON = Rule("negate_comparison", ("logical_not",), negate_comparison)
SWAP_CHOICES = Rule("swap_choices", ("select_v2",), swap_choices)
FOLDING = tuple(sorted((BINARY | UNARY) - {"fake_quantize"}))
"""Element-wise ops; roundings to a grid stay, for they say what integers a model has."""

FOLD_INTO_CHOICE = Rule("fold_into_choice", FOLDING, fold_into_choice)
CHOOSE_FACTOR = Rule("choose_factor", ("mul",), choose_factor)
RECOGNISE_CHOICE = Rule("recognise_choice", ("select_v2",), recognise_choice)
