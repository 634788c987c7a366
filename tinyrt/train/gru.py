"""A GRU's arithmetic for training: all gates of a step at once, and its gradients.

TFLite has no such op: a traced GRU is its steps. Gates lie side by side in the order reset, update,
new; time comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tinyrt.floatmath.products import matmul
from tinyrt.ops.batch_matmul import float_product
from tinyrt.ops.lstm_gradient import by_samples, joined, sigmoid, tanh
from tinyrt.train.core.function import Array, Function, Gradient


@dataclass(slots=True, eq=False)
class Gru:
    """One application of a GRU.

    Attributes:
        kept: gates, and what the reset gate was multiplied with, for the way back.

    """

    kept: tuple[Array, Array] | None = None


def forward(attrs: Gru, x: Array, w: Array, b: Array, u: Array, c: Array, h: Array) -> Array:
    """The hidden state after each step.

    ``r, z = sigmoid(x w' + b + h u' + c)``, ``n = tanh(x w' + b + r * (h u' + c))``,
    ``h = (1 - z) * n + z * h`` (Cho et al. 2014, with the reset after the product).

    Args:
        attrs: keeps what the gradient needs.
        x: (t, n, k).
        w: (3 units, k).
        b: (3 units,).
        u: (3 units, units).
        c: (3 units,).
        h: (n, units), the hidden state before the first step.

    Returns:
        (t, n, units).

    """
    gates = matmul(x, w.T) + b
    turned, before = (np.ascontiguousarray(a, gates.dtype) for a in (u.T, h))
    inner, outputs = (np.empty((*x.shape[:2], h.shape[1]), gates.dtype) for _ in range(2))
    steps, bias = _loops().steps, c.astype(gates.dtype)
    by_samples(gates, lambda part: steps(gates, turned, bias, before, inner, outputs, part))
    attrs.kept = gates, inner
    return outputs


def vjp(attrs: Gru, inputs: Sequence[Array], output: Array, grad: Array) -> tuple[Gradient, ...]:
    """Gradients of x, w, b, u, c and h, by backpropagation through time."""
    x, w, _, u, _, h = inputs
    (count, n, k), units = x.shape, u.shape[1]
    before = joined(0, h.reshape(1, n, units), output[: count - 1])
    back = _back if isinstance(grad, np.ndarray) else _back_recorded
    of_x, of_h, dh = back(attrs, inputs, before, grad)
    return (
        lambda: float_product(of_x, w).reshape(count, n, k),
        lambda: float_product(of_x, x.reshape(count * n, k), adj_x=True),
        lambda: of_x.sum(axis=0),
        lambda: float_product(of_h, before.reshape(count * n, units), adj_x=True),
        lambda: of_h.sum(axis=0),
        dh,
    )


def _back(
    attrs: Gru, inputs: Sequence[Array], before: Array, grad: Array
) -> tuple[Array, Array, Array]:
    """Gradients of what input and hidden state add to the gates, (t n, 3 units), and of h."""
    assert attrs.kept is not None, "the way back follows the way forward"
    (gates, inner), h = attrs.kept, inputs[5]
    sums = np.empty((2, *gates.shape), gates.dtype)
    weights, hidden, grad = (
        np.ascontiguousarray(a, gates.dtype) for a in (inputs[3], before, grad)
    )
    dh, back = np.empty(h.shape, gates.dtype), _loops().steps_back
    by_samples(gates, lambda part: back(gates, weights, hidden, inner, grad, sums, dh, part))
    of_x, of_h = sums.reshape(2, -1, gates.shape[2])
    return of_x, of_h, dh


def _back_recorded(
    attrs: Gru, inputs: Sequence[Any], before: Any, grad: Any
) -> tuple[Any, Any, Any]:
    """As ``_back``, of tensors, which record it."""
    del attrs
    x, w, b, u, c, h = inputs
    size, count = u.shape[1], x.shape[0]
    of_x, of_h = float_product(x, w, adj_y=True) + b, float_product(before, u, adj_y=True) + c
    gates = sigmoid(of_x[:, :, : 2 * size] + of_h[:, :, : 2 * size])
    r, z, inner = gates[:, :, :size], gates[:, :, size:], of_h[:, :, 2 * size :]
    new = tanh(of_x[:, :, 2 * size :] + r * inner)
    to_new = (1 - z) * (1 - new * new)
    to_reset, to_update = to_new * inner * r * (1 - r), (before - new) * z * (1 - z)
    rows, state_rows, dh = list[Any](), list[Any](), h * 0
    for t in reversed(range(count)):
        y = dh + grad[t]
        reset, update, of_new = y * to_reset[t], y * to_update[t], y * to_new[t]
        rows.insert(0, joined(1, reset, update, of_new))
        state_rows.insert(0, joined(1, reset, update, of_new * r[t]))
        dh = y * z[t] + float_product(state_rows[0], u)
    return joined(0, *rows), joined(0, *state_rows), dh


@cache
def _loops() -> Any:
    # Importing Numba is slow.
    from tinyrt.floatmath import gru_loops

    return gru_loops


GRU = Function("gru", forward, vjp)
