"""Places that ONNX graphs compute: negative ones are counted from the end.

Integers that are a model's own input, such as tokens and classes, are counted from the front:
looking whether each is negative would cost three ops.
"""

from __future__ import annotations

import numpy as np

from tinyrt import budget
from tinyrt.convert.onnx.call import Builder, Call
from tinyrt.ir import DType, Node, Value

NEVER_NEGATIVE = {
    *("abs", "arg_max", "arg_min", "exp", "logistic", "relu", "relu6", "relu_0_to_1", "softmax"),
    *("sqrt", "square", "squared_difference", "topk_v2"),
}
"""Ops whose answers are never negative, or are places."""

AS_FIRST_INPUT = {
    *("broadcast_to", "cast", "ceil", "cumsum", "embedding", "floor", "gather", "mean"),
    *("reduce_max", "reduce_min", "reshape", "round", "slice", "sum", "tile", "transpose"),
}
"""Ops whose answers are negative only where numbers of the first input are."""

AS_ALL_INPUTS = {"add", "concatenation", "div", "floor_div", "minimum", "mul"}
"""The same, of any of the inputs."""

DEEPEST = 64
"""So many ops back places are followed."""


def never_negative(builder: Builder, name: str, depth: int = 0) -> bool:
    """Whether a value is known to hold no negative number; integers of the input count as none."""
    value, node = builder.values[name], builder.producers.get(name)
    budget.current().spend(budget.OP // 4, "looking where places come from")
    if value.data is not None:
        budget.current().spend(value.size, "looking where places come from")
        return not (value.data < 0).any()
    if value.dtype is DType.BOOL:
        return True
    if node is None:
        return value.dtype in (DType.INT32, DType.INT64)
    if node.op in NEVER_NEGATIVE:
        return True
    return depth < DEEPEST and _as_inputs(builder, node, depth + 1)


def _as_inputs(builder: Builder, node: Node, depth: int) -> bool:
    """Whether no answer is negative because some inputs are not."""
    if node.op == "maximum":
        return any(never_negative(builder, name, depth) for name in node.inputs)
    if node.op == "floor_mod":  # has the divisor's sign
        return never_negative(builder, node.inputs[1], depth)
    read = node.inputs[1:] if node.op == "select_v2" else node.inputs
    if node.op in AS_FIRST_INPUT:
        read = node.inputs[:1]
    elif node.op not in AS_ALL_INPUTS | {"select_v2"}:
        return False
    return all(never_negative(builder, name, depth) for name in dict.fromkeys(read))


def from_the_front(call: Call, places: Value, count: int) -> Value:
    """Places (int32) along a dimension of that length, those from its end counted anew."""
    if never_negative(call.builder, places.name):
        return places
    name = call.result

    def number(what: str, n: int) -> Value:
        return call.builder.constant(f"{name}.{what}", np.full(1, n, np.int32))

    is_negative = call.emit("less", places, number("none", 0), name=f"{name}.is_negative")
    wrapped = call.emit("add", places, number("count", count), name=f"{name}.from_the_end")
    return call.emit("select_v2", is_negative, wrapped, places, name=f"{name}.place")
