"""Checks that shape rules share; ``ShapeError`` is the only error that they raise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Array, Function, Gradient
from tinyrt.ir import DType, Shape, TensorType
from tinyrt.ops.shared.activation import bounds

Inputs = Sequence[TensorType | None]


def operand(inputs: Inputs, i: int, name: str, rank: int | None = None) -> TensorType:
    """Input ``i``, which must be present, have positive dimensions and the given rank.

    Raises:
        ShapeError: it is absent, a dimension is not positive, or the rank differs.

    """
    type_ = inputs[i] if i < len(inputs) else None
    if type_ is None:
        raise ShapeError(f"{name} (input {i}) is missing", expected="a tensor")
    if any(d < 1 for d in type_.shape):
        raise ShapeError(
            f"{name} is {type_}",
            expected="dimensions that are known and positive",
            hint="export the model with a fixed input shape",
        )
    if rank is not None and len(type_.shape) != rank:
        raise ShapeError(f"{name} is {type_}", expected=f"{rank} dimensions")
    return type_


def optional_operand(inputs: Inputs, i: int, name: str) -> TensorType | None:
    """Input ``i`` checked as ``operand`` does, or None where it is absent."""
    if i >= len(inputs) or inputs[i] is None:
        return None
    return operand(inputs, i, name)


def size_of(shape: Shape) -> int:
    """Number of elements."""
    return math.prod(shape)


def check_weighted(
    x: TensorType, w: TensorType, bias: TensorType | None, channels: int, wide: bool = False
) -> None:
    """Raise ``ShapeError`` unless input, weights and bias are all float or all of int8 inference.

    Args:
        x: the activation, float32, int8 or int16.
        w: the weights: float32; int8 or int4; int8.
        bias: None, or (channels,): float32; int32; int64 or int32.
        channels: number of output channels.
        wide: whether weights are int16 beside int8 activations.

    """
    weights, biases = WEIGHTED.get(x.dtype, ((), ()))
    if wide and x.dtype is DType.INT8:
        weights = (DType.INT16,)
    if w.dtype not in weights:
        raise ShapeError(
            f"input {x}, weights {w}",
            expected="both float32, int8 with int8 or int4 weights, or int16 with int8 weights",
        )
    if bias is not None and (bias.shape != (channels,) or bias.dtype not in biases):
        raise ShapeError(
            f"bias is {bias}",
            expected=f"one element per output channel: {biases[0].short}[{channels}]",
        )


WEIGHTED: dict[DType, tuple[tuple[DType, ...], tuple[DType, ...]]] = {
    DType.FLOAT32: ((DType.FLOAT32,), (DType.FLOAT32,)),
    DType.INT8: ((DType.INT8, DType.INT4), (DType.INT32,)),
    DType.INT16: ((DType.INT8,), (DType.INT64, DType.INT32)),
}
"""Dtype of the activation -> dtypes allowed for weights and for biases."""


def check_computable(x: TensorType, op: str) -> None:
    """Raise ``ShapeError`` unless the tensor is float32, int8 or int16."""
    if x.dtype not in (DType.FLOAT32, DType.INT8, DType.INT16):
        raise ShapeError(f"input is {x}", expected=f"{op} takes float32, int8 or int16")


def axis_of(axis: int, rank: int) -> int:
    """The axis as an index from the front; a negative ``axis`` counts from the end.

    Raises:
        ShapeError: there is no such axis.

    """
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} of {rank} dimensions", expected=f"{-rank} to {rank - 1}")
    return axis % rank


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape that both shapes broadcast to by NumPy's rules.

    Raises:
        ShapeError: two dimensions differ and neither is 1.

    """
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(m != n and 1 not in (m, n) for m, n in zip(left, right, strict=True)):
        raise ShapeError(
            f"shapes {list(a)} and {list(b)} do not broadcast",
            expected="dimensions, aligned at the last, that are equal or 1",
        )
    return tuple(max(m, n) for m, n in zip(left, right, strict=True))


def infer_binary(inputs: Inputs, activation: str = "NONE") -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape; indices and bool take no activation."""
    bounds(activation)
    a, b = operand(inputs, 0, "the first input"), operand(inputs, 1, "the second input")
    if a.dtype is not b.dtype:
        raise ShapeError(f"inputs are {a} and {b}", expected="one dtype")
    if activation != "NONE":
        check_computable(a, "an op with fused activation")
    return (TensorType(a.dtype, broadcast(a.shape, b.shape)),)


def infer_arithmetic(inputs: Inputs, activation: str = "NONE") -> tuple[TensorType, ...]:
    """As ``infer_binary``, for arithmetic: truth values and unsigned integers are refused."""
    (y,) = infer_binary(inputs, activation)
    if y.dtype in (DType.BOOL, DType.UINT32, DType.UINT64):
        raise ShapeError(
            f"inputs are {y.dtype.short}", expected="signed numbers: cast other values first"
        )
    return (y,)


def sum_to(grad: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """The gradient of a broadcast from ``shape``: ``grad`` summed over the repeated axes."""
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    inner = enumerate(shape, extra)
    repeated = tuple(i for i, d in inner if d == 1 and grad.shape[i] != 1)
    total: NDArray[Any] = grad.sum(axis=(*range(extra), *repeated))
    return total.reshape(shape)


def _repeat(shape: Shape, x: NDArray[Any]) -> NDArray[Any]:
    return np.broadcast_to(x, shape)


def _repeat_vjp(
    shape: Shape, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    del shape, output
    return (sum_to(grad, inputs[0].shape),)


REPEAT = Function("repeat", _repeat, _repeat_vjp)
"""``(shape, x)``: x broadcast to the shape; ``sum_to`` is its gradient."""


def infer_float_binary(inputs: Inputs, activation: str = "NONE") -> tuple[TensorType, ...]:
    """Two float32 inputs -> their broadcast shape."""
    (y,) = infer_binary(inputs, activation)
    if y.dtype is not DType.FLOAT32:
        raise ShapeError(f"inputs are {y.dtype.short}", expected="float32: no integer form")
    return (y,)
