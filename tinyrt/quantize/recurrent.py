"""Sequence LSTMs that begin anew with each run: their states' parameters and their constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT16_MAX
from tinyrt.ir import BoundNode, DType, QParams, Value
from tinyrt.ops.unidirectional_sequence_lstm import CELL, DTYPES, HIDDEN, LstmAttrs, ref_f32
from tinyrt.quantize.ranges import Range, quantize_bias, quantize_weights, weight_params

OP = "unidirectional_sequence_lstm"
FINEST = -15
"""Exponent of the cell state's smallest scale: that of the gates' outputs."""


def begins_anew(node: BoundNode) -> bool:
    """Whether the node is a sequence LSTM whose states are constants."""
    return node.op == OP and node.input(HIDDEN).is_constant and node.input(CELL).is_constant


def cell_states(node: BoundNode, x: NDArray[Any]) -> NDArray[Any]:
    """The float node's cell state after each step (steps, n, units), for its input."""
    constants = [np.asarray(v.data) for v in node.inputs[1:] if v is not None]
    *constants, h, c = constants
    states = []
    attrs = node.attrs_as(LstmAttrs)
    axis = 0 if attrs.time_major else 1
    for t in range(x.shape[axis]):
        _, h, c = ref_f32(attrs, x.take([t], axis), *constants, h, c)
        states.append(c)
    return np.stack(states)


def cell_params(cell_range: Range) -> QParams:
    """int16 parameters that cover the cell state's range: the least power of two that does."""
    peak = max(-cell_range.low, cell_range.high)
    mantissa, exponent = math.frexp(peak / INT16_MAX)
    power = exponent - (mantissa == 0.5) if peak > 0 else FINEST
    return QParams((2.0 ** min(max(power, FINEST), 0),), 0)


def stored_inputs(
    node: BoundNode, x: Value, hidden: QParams, cell: QParams, weights: DType = DType.INT8
) -> Iterator[Value]:
    """All inputs but the first in the input's integers, weights with one scale each.

    Weights are in int8, since no runtime has LSTMs with int4 ones. Where these are asked for, four
    bits hold the values, and exported C packs them so.

    Args:
        node: the float node.
        x: its input, quantised.
        hidden: parameters of the hidden state and the output.
        cell: parameters of the cell state.
        weights: whose range the weights keep to, INT8 or INT4.

    """
    assert x.q is not None, "the plan quantises the input of an op on integers"
    _, bias_dtype, _ = DTYPES[x.dtype]
    limited = x.dtype is DType.INT8
    scales: list[QParams] = []
    for i in range(1, 9):
        w = np.asarray(node.input(i).data)
        bias = np.asarray(node.input(i + 8).data) if limited and i < 5 else None
        scales.append(weight_params(w, bias, x.q.scale, None, weights))
        stored = quantize_weights(w, scales[-1], weights)
        yield Value.constant(node.input(i).name, stored, scales[-1])
    for i, w_q in enumerate(scales[:4], 9):
        data, q = quantize_bias(np.asarray(node.input(i).data), x.q.scale, w_q, bias_dtype)
        yield Value.constant(node.input(i).name, data, q)
    for i, q, dtype in ((HIDDEN, hidden, x.dtype), (CELL, cell, DType.INT16)):
        data = np.full(node.input(i).shape, q.zero_point, dtype.numpy)
        yield Value.constant(node.input(i).name, data, q)
