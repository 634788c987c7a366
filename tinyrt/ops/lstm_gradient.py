"""An LSTM's float arithmetic for training: all gates of a step at once, and its gradients.

Gates lie side by side in the order input, forget, output, cell: three that go through sigmoid, and
one through tanh. Time comes first. Both directions look at whole sequences but for what goes from
one step to the next; the gradient computes the gates anew from the outputs, so nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tinyrt.floatmath.function import Array, Function, Gradient, constant
from tinyrt.floatmath.parallel import each_part
from tinyrt.floatmath.products import matmul
from tinyrt.ops import concatenation, logistic
from tinyrt.ops import tanh as tanh_op
from tinyrt.ops.batch_matmul import float_product
from tinyrt.ops.shared.spec import NoAttrs

STEP = 64
"""What the functions of a step cost, in products of one unit."""


@dataclass(slots=True, eq=False)
class Lstm:
    """One application of an LSTM.

    Attributes:
        cell_clip: the cell state is limited to ``[-cell_clip, cell_clip]``; 0 for no limit.
        kept: gates and cell states of the forward computation, for the way back.

    """

    cell_clip: float = 0.0
    kept: tuple[Array, Array] | None = None

    @property
    def limit(self) -> float:
        """The cell state's greatest magnitude."""
        return self.cell_clip if self.cell_clip > 0 else math.inf


def forward(attrs: Lstm, x: Array, w: Array, r: Array, b: Array, h: Array, c: Array) -> Array:
    """The hidden state after each step.

    ``i, f, o, g = x w' + h r' + b``; ``c = sigmoid(f) c + sigmoid(i) tanh(g)``,
    ``h = sigmoid(o) tanh(c)`` (Hochreiter & Schmidhuber 1997, with the forget gate of Gers 2000).

    Args:
        attrs: the limit of the cell state; keeps what the gradient needs.
        x: (t, n, k).
        w: (4 units, k).
        r: (4 units, units).
        b: (4 units,).
        h: (n, units), the hidden state before the first step.
        c: (n, units), the cell state before it.

    Returns:
        (t, n, units).

    """
    gates = matmul(x, w.T) + b
    turned, before = np.ascontiguousarray(r.T, gates.dtype), np.stack([h, c]).astype(gates.dtype)
    cells, outputs = (np.empty((*x.shape[:2], c.shape[1]), gates.dtype) for _ in range(2))
    clip = gates.dtype.type(attrs.limit)
    steps = _loops().steps
    by_samples(gates, lambda part: steps(gates, turned, before, cells, outputs, clip, part))
    attrs.kept = gates, cells
    return outputs


def by_samples(gates: Array, work: Callable[[tuple[int, int]], None]) -> None:
    """Work on parts of the samples (first one, one behind the last), in threads if that pays.

    Args:
        gates: (t, n, gates * units).
        work: what is done with a part.

    """
    _, samples, width = gates.shape
    cost = gates.nbytes * (width // 4 + STEP)
    each_part(samples, cost // 4, lambda part: work((part.start, min(part.stop, samples))))


def clipped(attrs: Lstm, c: Array) -> Array:
    """The cell state within its limits."""
    limit = c.dtype.type(attrs.limit)
    return np.clip(c, -limit, limit)


def cell_states(attrs: Lstm, gates: tuple[Array, ...], c: Array) -> Array:
    """The cell state after each step (t, n, units), before its limits are applied."""
    i, f, _, g = gates
    added, states = i * g, np.empty_like(f)
    for t in range(len(f)):
        states[t] = f[t] * c + added[t]
        c = clipped(attrs, states[t])
    return states


def gates_of(x: Any, w: Any, r: Any, b: Any, before: Any) -> tuple[Any, ...]:
    """Input, forget, output and cell gate of all steps, each (t, n, units).

    Args:
        x: (t, n, k).
        w: (4 units, k).
        r: (4 units, units).
        b: (4 units,).
        before: (t, n, units), the hidden state before each step.

    """
    units = r.shape[1]
    sums = float_product(x, w, adj_y=True) + float_product(before, r, adj_y=True) + b
    gates, g = sigmoid(sums[:, :, : 3 * units]), sums[:, :, 3 * units :]
    i, f, o = (gates[:, :, k * units : (k + 1) * units] for k in range(3))
    return i, f, o, tanh(g)


class Gradients(NamedTuple):
    """Gradients of an LSTM's operands; all but the last are computed when called.

    Attributes:
        x: (t, n, k).
        blocks: those of w, r and b.
        h: (n, units).
        c: (n, units).

    """

    x: Callable[[], Array]
    blocks: tuple[Callable[[], Array], ...]
    h: Callable[[], Array]
    c: Array


def gradients(attrs: Lstm, inputs: Sequence[Array], output: Array, grad: Array) -> Gradients:
    """Backpropagation through time, of arrays or tensors; operands as in ``forward``."""
    x, w, r, _, h, _ = inputs
    (count, n, k), units = x.shape, r.shape[1]
    before = joined(0, h.reshape(1, n, units), output[: count - 1])
    back = _back if isinstance(grad, np.ndarray) else _back_recorded
    rows, dc = back(attrs, inputs, before, grad)
    return Gradients(
        lambda: float_product(rows, w).reshape(count, n, k),
        (
            lambda: float_product(rows, x.reshape(count * n, k), adj_x=True),
            lambda: float_product(rows, before.reshape(count * n, units), adj_x=True),
            lambda: rows.sum(axis=0),
        ),
        lambda: float_product(rows[:n], r),
        dc,
    )


def vjp(attrs: Lstm, inputs: Sequence[Array], output: Array, grad: Array) -> tuple[Gradient, ...]:
    """Gradients of x, w, r, b, h and c."""
    found = gradients(attrs, inputs, output, grad)
    return (found.x, *found.blocks, found.h, found.c)


def _back(attrs: Lstm, inputs: Sequence[Array], before: Array, grad: Array) -> tuple[Array, Array]:
    """Gradients of the gates' sums, (t n, 4 units), and of the first cell state."""
    x, w, r, b, _, c = inputs
    if attrs.kept is None:
        parts = gates_of(x, w, r, b, before)
        gates, cells = np.concatenate(parts, axis=2), cell_states(attrs, parts, c)
    else:
        gates, cells = attrs.kept
    sums, dc = np.empty_like(gates), c.astype(gates.dtype)
    weights, grad = np.ascontiguousarray(r, gates.dtype), np.ascontiguousarray(grad, gates.dtype)
    clip = gates.dtype.type(attrs.limit)
    back = _loops().steps_back
    by_samples(gates, lambda part: back(gates, weights, dc, cells, grad, sums, clip, part))
    return sums.reshape(-1, gates.shape[2]), dc


def _back_recorded(attrs: Lstm, inputs: Sequence[Any], before: Any, grad: Any) -> tuple[Any, Any]:
    """As ``_back``, of tensors, which record it."""
    x, w, r, b, _, c = inputs
    count = x.shape[0]
    i, f, o, g = gates_of(x, w, r, b, before)
    states, inside = _states(attrs, (i, f, g), c)
    bent = tanh(states[1:])
    of_cell, of_output = o * (1 - bent * bent) * inside, bent * o * (1 - o)
    of_input, of_forget, of_gate = g * i * (1 - i), states[:count] * f * (1 - f), i * (1 - g * g)
    rows: list[Any] = []
    dc: Any = c * 0
    for t in reversed(range(count)):
        dh = grad[t] + float_product(rows[0], r) if rows else grad[t]
        dc = dh * of_cell[t] + dc * inside[t]
        parts = (dc * of_input[t], dc * of_forget[t], dh * of_output[t], dc * of_gate[t])
        rows.insert(0, joined(1, *parts))
        dc = dc * f[t]
    return joined(0, *rows), dc


def _states(attrs: Lstm, gates: tuple[Any, ...], c: Any) -> tuple[Any, Array]:
    """Cell states from before the first step on (t + 1, n, units), and where none was limited."""
    i, f, g = gates
    added, parts, inside = i * g, [c], []
    for t in range(f.shape[0]):
        free = f[t] * parts[-1] + added[t]
        elements = constant(free)
        mask = (np.abs(elements) <= attrs.limit).astype(elements.dtype)
        parts.append(free * mask + clipped(attrs, elements) * (1 - mask))
        inside.append(mask)
    return joined(0, *(p.reshape(1, *c.shape) for p in parts)), np.stack(inside)


def joined(axis: int, *parts: Any) -> Any:
    """Arrays or tensors one behind the other."""
    return _JOIN(concatenation.ConcatenationAttrs(axis), *parts)


def sigmoid(x: Any) -> Any:
    """Of an array or tensor."""
    return _SIGMOID(NoAttrs(), x)


def tanh(x: Any) -> Any:
    """Of an array or tensor."""
    return _TANH(NoAttrs(), x)


@cache
def _loops() -> Any:
    # Importing Numba is slow.
    from tinyrt.floatmath import lstm_loops

    return lstm_loops


_SIGMOID = Function("logistic", logistic.ref_f32, logistic.vjp)
_TANH = Function("tanh", tanh_op.ref_f32, tanh_op.vjp)
_JOIN = Function("concatenation", concatenation.ref_f32, concatenation.vjp)
LSTM = Function("lstm", forward, vjp)
