"""Activations fused into other ops: clamps of real values (float) or of raw values (integer)."""

from __future__ import annotations

import math
import sys
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.fixedpoint import round_half_away
from tinyrt.floatmath import buffers
from tinyrt.floatmath.function import constant
from tinyrt.floatmath.parallel import each_part, part_size
from tinyrt.ir import BoundNode, Node, Value
from tinyrt.ops.shared.spec import limits_of, qparams

BOUNDS: dict[str, tuple[float, float]] = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}

ALONE: dict[str, tuple[float, float]] = {"RELU_0_TO_1": (0.0, 1.0)}
"""Clamps that exist only as ops: no other op can absorb them as a fused activation."""

FLOATS = (np.float32, np.float64)
"""Dtypes that compiled loops take; importing Numba for them alone would be slow."""


def fused_activation(node: Node | BoundNode) -> str:
    """The activation fused into a node; NONE too if the op has no such attribute."""
    activation = getattr(node.attrs, "activation", "NONE")
    return str(activation)


def with_activation(node: Node | BoundNode, activation: str) -> object:
    """The node's attributes with this fused activation; the op must have that attribute."""
    attrs = node.attrs
    if not is_dataclass(attrs) or isinstance(attrs, type):
        raise TypeError(f"{node.op} '{node.name}' has {attrs}, which holds no activation")
    return replace(attrs, activation=activation)


def bounds(activation: str) -> tuple[float, float]:
    """Least and greatest real value.

    Raises:
        ShapeError: the activation is not one that ops can absorb.

    """
    if activation not in BOUNDS:
        raise ShapeError(f"fused activation '{activation}'", expected=", ".join(BOUNDS))
    return BOUNDS[activation]


def clamp_of(activation: str) -> tuple[float, float]:
    """Bounds of an activation, whether it is fused into an op or is a separate op."""
    return ALONE.get(activation) or bounds(activation)


def activate(x: NDArray[Any], activation: str) -> NDArray[Any]:
    """Clamp values that are not quantised, any shape."""
    if activation == "NONE":
        return x
    low, high = (None if math.isinf(v) else x.dtype.type(v) for v in clamp_of(activation))
    y = buffers.empty(x.shape, x.dtype)
    flat, out = np.ascontiguousarray(x).reshape(-1), y.reshape(-1)
    if "numba" in sys.modules and x.dtype in FLOATS:
        _compiled_clamp(flat, low, high, out)
    else:
        each_part(
            out.size, 2 * y.nbytes, lambda part: np.clip(flat[part], low, high, out=out[part])
        )
    return y


def _compiled_clamp(x: NDArray[Any], low: Any, high: Any, out: NDArray[Any]) -> None:
    """As ``numpy.clip``, in a fifth of its time; every activation has a lower bound."""
    from tinyrt.floatmath.activation_loops import at_least, within

    size = part_size(out.size, 2 * out.nbytes)
    if high is None:
        at_least(out.size, size, x, low, out)
    else:
        within(out.size, size, x, low, high, out)


def activation_grad(output: NDArray[Any], grad: NDArray[Any], activation: str) -> NDArray[Any]:
    """The clamp's gradient: ``grad`` where the output lies strictly inside the bounds, else 0."""
    if activation == "NONE":
        return grad
    low, high = clamp_of(activation)
    y = constant(output)
    if not isinstance(grad, np.ndarray):
        return grad * ((y > low) & (y < high))
    # Importing Numba is slow, and only training needs it.
    from tinyrt.floatmath.activation_loops import pass_within

    passed = buffers.empty(grad.shape, grad.dtype)
    rows, arrived, out = (a.reshape(-1) for a in (y, grad, passed))
    limits = grad.dtype.type(low), grad.dtype.type(high)
    size = part_size(out.size, 3 * grad.nbytes)
    pass_within(out.size, size, rows, arrived, *limits, out)
    return passed


def act_range(activation: str, output: Value) -> tuple[int, int]:
    """Least and greatest raw value of an int8 or int16 output with this activation.

    Bounds are divided by the scale in float32, as TFLite does.
    """
    scale, zp = qparams(output)
    low, high = clamp_of(activation)
    lowest, highest = limits_of(output.dtype)
    least = lowest if low == -np.inf else zp + _steps(low, scale)
    most = highest if high == np.inf else zp + _steps(high, scale)
    return max(lowest, least), min(highest, most)


def _steps(real: float, scale: np.float32) -> int:
    # The caller clips to the dtype's limits anyway. This limit keeps a tiny scale from overflowing.
    steps = min(max(float(np.float32(real)) / float(scale), -(2.0**18)), 2.0**18)
    return round_half_away(float(np.float32(steps)))
