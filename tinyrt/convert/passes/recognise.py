"""Formulas that exporters write out become the op that they stand for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import Names, constant_data, is_private, producer, spend_on_arrays
from tinyrt.convert.passes.patterns import (
    is_near,
    is_read_by,
    number,
    op_before,
    products_with,
    scaled,
)
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

CUBIC = 0.044715
"""The cubic's coefficient in the approximation of gelu by tanh."""


def recognise_gelu(graph: Graph, node: Node) -> Patch | Refusal | None:
    """0.5 * x * (1 + erf(x / sqrt(2))) = gelu(x), also with tanh(sqrt(2 / pi) * (x + c * x**3))."""
    x = _erf_argument(graph, node) if node.op == "erf" else _tanh_argument(graph, node)
    if x is None:
        return None
    if not is_read_by(graph, node.output):
        return Refusal(node.name, "others read what would vanish")
    (one_added,) = graph.consumers(node.output)
    plus = scaled(graph, one_added.output, op="add")
    if plus is None or not is_near(plus[1], 1.0):
        return Refusal(node.name, "1 is not added to it")
    attrs = GeluAttrs(approximate=node.op == "tanh")
    return _with_factor(graph, node, one_added.output, x, 0.5, "gelu", attrs)


def _with_factor(
    graph: Graph, node: Node, gate: str, x: str, target: float, op: str, attrs: object
) -> Patch | Refusal:
    """``op(x)`` in place of ``gate * x * target``."""
    coefficient = None
    for product, coefficient in products_with(graph, gate, x):
        if is_near(coefficient, target):
            return _replaced(product, op, x, attrs)
    if coefficient is None:
        return Refusal(node.name, "it is not multiplied with what it is computed of")
    return Refusal(node.name, f"it is multiplied by {coefficient:g} in place of {target:g}")


def _replaced(last: Node, op: str, x: str, attrs: object) -> Patch:
    """One op in place of the last node of a formula; dead code goes by itself."""
    return Patch(remove=(last,), add=(Node(op, last.name, (x,), last.outputs, attrs),))


def _erf_argument(graph: Graph, node: Node) -> str | None:
    product = scaled(graph, node.inputs[0])
    return product[0] if product is not None and is_near(product[1], math.sqrt(0.5)) else None


def _tanh_argument(graph: Graph, node: Node) -> str | None:
    outer = scaled(graph, node.inputs[0])
    if outer is None or not is_near(outer[1], math.sqrt(2 / math.pi)):
        return None
    total = op_before(graph, outer[0], "add")
    if total is None:
        return None
    for x, other in (total.inputs, total.inputs[::-1]):
        cube = scaled(graph, other)
        if cube is not None and is_near(cube[1], CUBIC) and _is_cube(graph, cube[0], x):
            return x
    return None


def _is_cube(graph: Graph, name: str, x: str) -> bool:
    node = op_before(graph, name, "mul")
    if node is None:
        power = op_before(graph, name, "pow")
        return power is not None and power.inputs[0] == x and number(graph, power.inputs[1]) == 3
    squares = [op_before(graph, n, "mul") for n in node.inputs if n != x]
    return x in node.inputs and any(s is not None and s.inputs == (x, x) for s in squares)


def recognise_hard_swish(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X * relu6(x + 3) / 6 = hard_swish(x), x * clip(x / 6 + 0.5, 0, 1) = hard_swish(x)."""
    gate = _hard_gate(graph, node)
    if gate is None:
        return None
    x, target = gate
    return _with_factor(graph, node, node.output, x, target, "hard_swish", NoAttrs())


def _hard_gate(graph: Graph, node: Node) -> tuple[str, float] | None:
    """The operand that is gated, and the ratio of the gate to hard_swish's."""
    if node.op == "relu_0_to_1":
        shifted = scaled(graph, node.inputs[0], op="add")
        inner = scaled(graph, shifted[0]) if shifted is not None and shifted[1] == 0.5 else None
        return (inner[0], 1.0) if inner is not None and is_near(inner[1], 1 / 6) else None
    if node.op == "relu6":
        shifted = scaled(graph, node.inputs[0], op="add")
        return (shifted[0], 1 / 6) if shifted is not None and shifted[1] == 3 else None
    if fused_activation(node) != "RELU6":
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        if number(graph, other) == 3:
            return x, 1 / 6
    return None


def recognise_logistic(graph: Graph, node: Node) -> Patch | Refusal | None:
    """Y / (1 + exp(-x)) = y * logistic(x)."""
    added = scaled(graph, node.inputs[1], op="add")
    exponential = op_before(graph, added[0], "exp") if added and added[1] == 1 else None
    if exponential is None:
        return None
    negated = op_before(graph, exponential.inputs[0], "neg")
    inner = scaled(graph, exponential.inputs[0])
    x = negated.inputs[0] if negated is not None else inner[0] if inner and inner[1] == -1 else None
    if x is None:
        return Refusal(node.name, "its exponent is not negated")
    shape = graph.value(x).shape
    if graph.value(node.output).shape != shape or fused_activation(node) != "NONE":
        return Refusal(node.name, "it changes the shape, or clamps")
    if number(graph, node.inputs[0]) == 1:
        return _replaced(node, "logistic", x, NoAttrs())
    gate = Names(graph).new(f"{node.output}.gate")
    product = Node("mul", node.name, (node.inputs[0], gate), node.outputs, MulAttrs())
    return Patch(
        remove=(node,),
        add=(Node("logistic", gate, (x,), (gate,), NoAttrs()), product),
        values=(replace(graph.value(x), name=gate),),
    )


def recognise_softmax(graph: Graph, node: Node) -> Patch | Refusal | None:
    """exp(x - m) / sum(exp(x - m)) = softmax(x) along the last dimension, for any m per row."""
    exponential = op_before(graph, node.inputs[0], "exp")
    # The dimension that is summed up may come back behind the sum.
    back = op_before(graph, node.inputs[1], "reshape")
    total = op_before(graph, back.inputs[0] if back is not None else node.inputs[1], "sum")
    if exponential is None or total is None or total.inputs[0] != exponential.output:
        return None
    shape = graph.value(exponential.output).shape
    axes = tuple(a % len(shape) for a in total.attrs_as(ReduceAttrs).axes)
    if axes != (len(shape) - 1,) or graph.value(node.inputs[1]).shape != (*shape[:-1], 1):
        return Refusal(node.name, "the sum is not along the last dimension")
    activation = fused_activation(node)
    if activation != "NONE":
        return Refusal(node.name, f"it has a fused {activation}")
    x = exponential.inputs[0]
    lowered = op_before(graph, x, "sub")
    if lowered is not None:
        least = graph.value(lowered.inputs[1]).shape
        if least == (*shape[:-1], 1) and graph.value(lowered.inputs[0]).shape == shape:
            x = lowered.inputs[0]
    return _replaced(node, "softmax", x, SoftmaxAttrs())


def scale_into_softmax(graph: Graph, node: Node) -> Patch | Refusal | None:
    """softmax(x * c) = softmax(x, beta = c), for a constant c above 0."""
    product = op_before(graph, node.inputs[0], "mul")
    if product is None:
        return None
    operands = scaled(graph, node.inputs[0])
    if operands is None:
        return Refusal(node.name, f"'{product.name}' is no product with one number")
    x, factor = operands
    if not factor > 0:
        return Refusal(node.name, f"the factor {factor:g} is not above 0")
    if graph.value(x).shape != graph.value(node.inputs[0]).shape:
        return Refusal(node.name, "the product makes its operand larger")
    attrs = _sharpened(node, factor)
    return Patch(remove=(node,), add=(replace(node, inputs=(x,), attrs=attrs),))


def _sharpened(node: Node, factor: float) -> SoftmaxAttrs:
    """The softmax's attributes where its input is multiplied by a factor."""
    attrs = node.attrs_as(SoftmaxAttrs)
    return replace(attrs, beta=attrs.beta * factor)


def scale_through_product(graph: Graph, node: Node) -> Patch | Refusal | None:
    """softmax((x * c) @ y) = softmax(x @ y, beta = c), also where x * c is moved on its way."""
    product = producer(graph, node, op="batch_matmul")
    if product is None or not is_private(graph, product.output):
        return None
    refusal = None
    for name in product.inputs:
        factor = _behind_moves(graph, name)
        operands = scaled(graph, factor.output) if factor is not None else None
        if factor is None or operands is None:
            continue
        x, scale = operands
        if not is_private(graph, factor.output):
            refusal = Refusal(node.name, f"the output of '{factor.name}' has other readers")
        elif not scale > 0:
            refusal = Refusal(node.name, f"the factor {scale:g} is not above 0")
        elif graph.value(x).shape == graph.value(factor.output).shape:
            attrs = _sharpened(node, scale)
            return Patch(
                remove=(factor, node),
                add=(replace(node, attrs=attrs),),
                rename={factor.output: x},
            )
    return refusal


def _behind_moves(graph: Graph, name: str) -> Node | None:
    """The product that the value is, behind reshapes and transposes that nothing else reads."""
    node = graph.producer(name)
    while node is not None and node.op in ("reshape", "transpose"):
        if not is_private(graph, node.output):
            return None
        node = graph.producer(node.inputs[0])
    return node if node is not None and node.op == "mul" else None


def divide_by_root(graph: Graph, node: Node) -> Patch | None:
    """Y / sqrt(x) = y * rsqrt(x): the last step of layer norm and RMS norm written out."""
    root = op_before(graph, node.inputs[1], "sqrt")
    if root is None:
        return None
    activation = fused_activation(node)
    one = number(graph, node.inputs[0]) == 1 and activation == "NONE"
    source = graph.value(root.inputs[0])
    if one and graph.value(node.output).shape == source.shape:
        return _replaced(node, "rsqrt", source.name, NoAttrs())
    inverse = Names(graph).new(f"{node.output}.inverse")
    attrs = MulAttrs(activation)
    product = Node("mul", node.name, (node.inputs[0], inverse), node.outputs, attrs)
    return Patch(
        remove=(node,),
        add=(Node("rsqrt", inverse, (source.name,), (inverse,), NoAttrs()), product),
        values=(replace(source, name=inverse),),
    )


def divide_by_constant(graph: Graph, node: Node) -> Patch | Refusal | None:
    """X / c = x * (1 / c), which folds into weights."""
    data = constant_data(graph, node.inputs[1])
    if data is None or data.dtype != np.float32:
        return None
    if not data.all():
        return Refusal(node.name, "the divisor has zeros")
    spend_on_arrays(f"the reciprocals of '{node.inputs[1]}'", data.size)
    names = Names(graph)
    value = replace(
        graph.value(node.inputs[1]),
        name=names.new(f"{node.inputs[1]}.reciprocal"),
        data=1 / data,
        q=None,
    )
    product = replace(
        node, op="mul", inputs=(node.inputs[0], value.name), attrs=MulAttrs(fused_activation(node))
    )
    return Patch(remove=(node,), add=(product,), values=(value,))


RECOGNISE_GELU = Rule("recognise_gelu", ("erf", "tanh"), recognise_gelu)
RECOGNISE_HARD_SWISH = Rule(
    "recognise_hard_swish", ("relu6", "relu_0_to_1", "add"), recognise_hard_swish
)
RECOGNISE_LOGISTIC = Rule("recognise_logistic", ("div",), recognise_logistic)
RECOGNISE_SOFTMAX = Rule("recognise_softmax", ("div",), recognise_softmax)
SCALE_INTO_SOFTMAX = Rule("scale_into_softmax", ("softmax",), scale_into_softmax)
SCALE_THROUGH_PRODUCT = Rule("scale_through_product", ("softmax",), scale_through_product)
DIVIDE_BY_ROOT = Rule("divide_by_root", ("div",), divide_by_root)
DIVIDE_BY_CONSTANT = Rule("divide_by_constant", ("div",), divide_by_constant)
