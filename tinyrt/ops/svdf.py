"""svdf: a dense layer over a time window; its weights are products of feature and time weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, multiply_by_quantized_multiplier, wrap_int32
from tinyrt.floatmath.products import matmul
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.activation import activate, bounds
from tinyrt.ops.shared.requant import multiplier, weight_scales
from tinyrt.ops.shared.shapes import operand, optional_operand
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    limits_of,
    qparams,
    require_s8,
)

STATE = 4
"""The input with the past features; the second output is the state for the next run."""

DTYPES = {
    DType.FLOAT32: (DType.FLOAT32, (DType.FLOAT32,), DType.FLOAT32),
    DType.INT8: (DType.INT8, (DType.INT16, DType.INT8), DType.INT32),
}
"""Dtype of the input -> dtypes of the feature weights, of time weights and state, of the bias."""


@dataclass(frozen=True, slots=True)
class SvdfAttrs:
    """TFLite's SVDFOptions.

    Attributes:
        rank: filters that make up one output.
        activation: fused activation; the integer form ignores it and clamps to int8 only.

    """

    rank: int = 1
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class SvdfS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        rank: filters that make up one output.
        x_zp: the input's zero point.
        feature: mantissa and exponent from sums of input times feature weights to the state.
        state_zp: the state's zero point.
        state_dtype: int16, or int8.
        time: mantissa and exponent from sums of state times time weights to the output.
        y_zp: the output's zero point.

    """

    rank: int
    x_zp: int
    feature: tuple[int, int]
    state_zp: int
    state_dtype: DType
    time: tuple[int, int]
    y_zp: int


def infer(attrs: SvdfAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, k), feature weights (f, k), time weights (f, m), bias (f / rank,), state (n, f * m).

    Returns:
        (n, f / rank), and the next state.

    """
    x, features = operand(inputs, 0, "input", 2), operand(inputs, 1, "feature weights", 2)
    time, state = operand(inputs, 2, "time weights", 2), operand(inputs, STATE, "state", 2)
    filters, memory = time.shape
    fits = features.shape == (filters, x.shape[1]) and state.shape == (x.shape[0], filters * memory)
    if not fits or attrs.rank < 1 or filters % attrs.rank:
        raise ShapeError(
            f"input {x}, feature weights {features}, time weights {time}, state {state}, "
            f"rank {attrs.rank}",
            expected="(n, k), (f, k), (f, m), (n, f * m), and a rank that divides f",
        )
    bias = optional_operand(inputs, 3, "bias")
    dtypes = DTYPES.get(x.dtype)
    if (
        dtypes is None
        or features.dtype is not dtypes[0]
        or time.dtype not in dtypes[1]
        or state.dtype is not time.dtype
        or (bias is not None and bias != TensorType(dtypes[2], (filters // attrs.rank,)))
    ):
        raise ShapeError(
            f"input {x}, feature weights {features}, time weights {time}, bias {bias}, "
            f"state {state}",
            expected="all float32; or input and feature weights int8, time weights and state both "
            "int16 or both int8, bias int32",
        )
    bounds(attrs.activation)
    return (TensorType(x.dtype, (x.shape[0], filters // attrs.rank)), state)


def _next_state(state: Array, newest: Array, memory: int) -> Array:
    """The state shifted by one time step, with ``newest`` at its end; (n, filters, memory)."""
    rows = state.reshape(*newest.shape, memory)
    return np.concatenate([rows[:, :, 1:], newest[:, :, None].astype(state.dtype)], axis=2)


def _sums(products: Array, rank: int) -> Array:
    """(n, filters, memory) -> (n, units): over time and over the filters of each output."""
    return np.asarray(products.sum(axis=2).reshape(len(products), -1, rank).sum(axis=2))


def ref_f32(
    attrs: SvdfAttrs, x: Array, features: Array, time: Array, bias: Array | None, state: Array
) -> tuple[Array, Array]:
    """``activation(bias + sum(state * time))``; ``x @ features.T`` is the newest step of state."""
    rows = _next_state(state, matmul(x, features.T), time.shape[1])
    y = _sums(rows * time, attrs.rank)
    y = y if bias is None else y + bias
    return activate(y, attrs.activation), rows.reshape(state.shape)


def prepare_s8(node: BoundNode) -> SvdfS8:
    """Both multipliers: ratios of scales in float32, as in TFLM."""
    x, state, y = node.input(0), node.input(STATE), node.output
    require_s8(x, y)
    if node.outputs[1].q != state.q:
        raise VerifyError(
            "the next state has another scale or zero point",
            tensor=node.outputs[1].describe(),
            expected="the state's",
        )
    features, time = node.input(1), node.input(2)
    f_scale = weight_scales(features, axis=0, channels=1)[0]
    t_scale, t_zp = qparams(time)
    if t_zp:
        raise VerifyError(
            f"zero point {t_zp}", tensor=time.describe(), expected="time weights with zero point 0"
        )
    (x_scale, x_zp), (s_scale, s_zp), (y_scale, y_zp) = map(qparams, (x, state, y))
    return SvdfS8(
        rank=node.attrs_as(SvdfAttrs).rank,
        x_zp=x_zp,
        feature=multiplier(float(np.float32(x_scale * f_scale) / s_scale)),
        state_zp=s_zp,
        state_dtype=state.dtype,
        time=multiplier(float(np.float32(s_scale * t_scale) / y_scale)),
        y_zp=y_zp,
    )


def ref_s8(
    p: SvdfS8,
    x: NDArray[np.int8],
    features: NDArray[np.int8],
    time: Array,
    bias: NDArray[np.int32] | None,
    state: Array,
) -> tuple[Array, Array]:
    """As ``ref_f32``; sums over time wrap at 32 bits, as a register does."""
    products = (x.astype(np.int64) - p.x_zp) @ features.astype(np.int64).T
    newest = multiply_by_quantized_multiplier(products, *p.feature)
    # TFLM clamps the features before it adds the zero point, so the sum may wrap.
    limited = np.clip(newest, *limits_of(p.state_dtype)) + p.state_zp
    rows = _next_state(state, limited, time.shape[1])
    acc = _sums((rows.astype(np.int64) - p.state_zp) * time, p.rank)
    acc = wrap_int32(acc if bias is None else acc + bias)
    y = multiply_by_quantized_multiplier(acc, *p.time) + p.y_zp
    return np.clip(y, INT8_MIN, INT8_MAX).astype(np.int8), rows.reshape(state.shape)


def macs(node: BoundNode) -> int:
    """For each filter, the length of the input plus the length of its state."""
    (filters, k), memory = node.input(1).shape, node.input(2).shape[1]
    return node.output.shape[0] * filters * (k + memory)


SVDF = OpSpec(
    name="svdf",
    attrs=SvdfAttrs,
    arity=(3, 5),
    infer=infer,
    quant=Quant.STATEFUL,
    ref_f32=ref_f32,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8)},
    macs=macs,
)
