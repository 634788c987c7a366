"""The integers that values of a model which brings its own quantisation stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, QParams, Value
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.shared.spec import Quant, limits_of
from tinyrt.quantize.ranges import Range, quantize_bias

MAX_STEPS = 255
"""Of a weight, from its zero point: what 8 bits with any zero point can have."""


def is_activation(value: Value) -> bool:
    """Whether the value is a float activation, which may be quantised."""
    return value.dtype is DType.FLOAT32 and not value.is_constant


def has_weights(node: BoundNode) -> bool:
    """Whether weights are constant, on a grid of at most ``MAX_STEPS``, and a bias constant."""
    w, bias = node.input(1), node.optional(2)
    if w.data is None or w.q is None or w.q.zero_point or (bias is not None and bias.data is None):
        return False
    steps = weight_steps(w)
    return bool(np.abs(steps).max(initial=0) <= MAX_STEPS)


def weight_steps(w: Value) -> NDArray[np.float64]:
    """The integers that weights stand for, counted from their zero points."""
    assert w.data is not None
    assert w.q is not None
    scales = np.asarray(w.q.scales, np.float64)
    if w.q.axis is not None:
        scales = scales.reshape([-1 if i == w.q.axis else 1 for i in range(w.data.ndim)])
    return np.asarray(np.rint(w.data.astype(np.float64) / scales))


def stored_weights(w: Value) -> NDArray[np.int8] | None:
    """The integers that weights stand for; None where int8 does not hold them."""
    steps = weight_steps(w)
    low, high = limits_of(DType.INT8)
    if steps.min(initial=0) < low or steps.max(initial=0) > high:
        return None
    return steps.astype(np.int8)


def in_integers(
    node: BoundNode, dtype: DType, params: Mapping[str, tuple[DType, QParams]]
) -> BoundNode:
    """The node with integer inputs and outputs, to check it against its op's rules."""
    weighted = is_weighted(node)

    def stored(i: int, value: Value | None) -> Value | None:
        if value is None:
            return None
        if weighted and i == 1:
            zeros = np.zeros(value.shape, np.int8)
            return replace(value, dtype=DType.INT8, data=zeros)
        if weighted and i == 2:
            q, w_q = params[node.input(0).name][1], node.input(1).q
            assert value.data is not None
            assert w_q is not None
            wide = DType.INT64 if dtype is DType.INT16 else DType.INT32
            data, bias_q = quantize_bias(value.data, q.scale, w_q, wide)
            return replace(value, dtype=wide, data=data, q=bias_q)
        if value.dtype is not DType.FLOAT32:
            return value
        if value.is_constant:
            q, zeros = constant_params(value, dtype), np.zeros(value.shape, dtype.numpy)
            return replace(value, dtype=dtype, q=q, data=zeros)
        return replace(value, dtype=dtype, q=params[value.name][1])

    inputs = tuple(stored(i, v) for i, v in enumerate(node.inputs))
    output = node.output
    if OPS[node.op].quant is not Quant.INPUTS_ONLY:
        output = replace(output, dtype=dtype, q=params[output.name][1])
    if OPS[node.op].quant is Quant.SAME_AS_INPUT:
        # Inputs on other grids are rescaled in front of the op.
        inputs = tuple(v and (replace(v, q=output.q) if v.q else v) for v in inputs)
    return BoundNode(node.index, node.node, inputs, (output,))


def constant_params(value: Value, dtype: DType) -> QParams:
    """A constant operand's own grid, or one that covers its values."""
    fits = value.q is not None and value.q.axis is None
    low, high = limits_of(dtype) if dtype is DType.INT8 else (0, 0)
    if value.q is not None and fits and low <= value.q.zero_point <= high:
        return value.q
    assert value.data is not None
    return Range.of(value.data).params(dtype)
