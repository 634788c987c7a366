"""Ops around arg_max and arg_min, which depend only on the order of their inputs."""

from __future__ import annotations

import math
from dataclasses import replace

from tinyrt.convert.passes.common import Names, is_private, producer
from tinyrt.ir import DType, Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.arg import CHOICES, ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.reshape import ReshapeAttrs

SATURATING = ("logistic", "tanh")
"""Increasing functions of which a float has but one value for all large inputs."""


def skip_monotonic(graph: Graph, node: Node) -> Patch | Refusal | None:
    """arg_max(softmax(x)) = arg_max(x), and of log_softmax; in int8 it has fewer ties, too."""
    function = producer(graph, node)
    if function is None or function.op not in ("softmax", "log_softmax", *SATURATING):
        return None
    if function.op in SATURATING:
        return Refusal(node.name, f"{function.op} has one value for all large inputs")
    if node.op == "arg_min":
        return Refusal(node.name, f"{function.op} has one value for all very small inputs")
    axis = node.attrs_as(ArgAttrs).axis
    if axis % len(graph.value(node.inputs[0]).shape) != _last_axis(graph, node):
        return Refusal(node.name, f"it does not choose along the axis of '{function.name}'")
    if not is_private(graph, function.output):
        return Refusal(node.name, f"the output of '{function.name}' has other readers")
    return Patch(remove=(function, node), add=(replace(node, inputs=function.inputs),))


def _last_axis(graph: Graph, node: Node) -> int:
    return len(graph.value(node.inputs[0]).shape) - 1


def choose_as(graph: Graph, node: Node) -> Patch | Refusal | None:
    """cast(arg_max(x)) = arg_max(x) that gives the cast's integers itself."""
    choice, dtype = _choice_before(graph, node), node.attrs_as(CastAttrs).dtype
    if choice is None or dtype not in (DType.INT32, DType.INT64):
        return None
    if not is_private(graph, choice.output):
        return Refusal(node.name, f"the output of '{choice.name}' has other readers")
    attrs = replace(choice.attrs_as(ArgAttrs), dtype=dtype)
    return Patch(remove=(choice, node), add=(replace(choice, outputs=node.outputs, attrs=attrs),))


def choose_shaped(graph: Graph, node: Node) -> Patch | Refusal | None:
    """reshape(arg_max(x)) = arg_max(reshape(x)) for a model's output: this copies nothing."""
    choice = _choice_before(graph, node)
    if choice is None or node.output not in graph.outputs:
        return None
    if not is_private(graph, choice.output):
        return Refusal(node.name, f"the output of '{choice.name}' has other readers")
    x, target = graph.value(choice.inputs[0]), graph.value(node.output).shape
    old_attrs = choice.attrs_as(ArgAttrs)
    axis = old_attrs.axis % len(x.shape)
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    parts = (i for i in range(len(target), -1, -1) if math.prod(target[:i]) == before)
    at = next((i for i in parts if math.prod(target[i:]) == behind), None)
    if at is None:
        return Refusal(node.name, "its shape does not part where the axis is")
    shape = (*target[:at], x.shape[axis], *target[at:])
    name = Names(graph).new(f"{x.name}.reshaped")
    reshape = replace(node, name=name, inputs=(x.name,), outputs=(name,), attrs=ReshapeAttrs(shape))
    attrs = replace(old_attrs, axis=at)
    new_choice = replace(choice, inputs=(name,), outputs=node.outputs, attrs=attrs)
    value = replace(x, name=name, shape=shape, data=None)
    return Patch(remove=(choice, node), add=(reshape, new_choice), values=(value,))


def _choice_before(graph: Graph, node: Node) -> Node | None:
    maker = producer(graph, node)
    return maker if maker is not None and maker.op in CHOICES else None


SKIP_MONOTONIC = Rule("skip_monotonic", CHOICES, skip_monotonic)
CHOOSE_AS = Rule("choose_as", ("cast",), choose_as)
CHOOSE_SHAPED = Rule("choose_shaped", ("reshape",), choose_shaped)
