"""An LSTM's steps and their gradients as compiled loops, over samples that do not see each other.

Gates lie side by side in the order input, forget, output, cell. All arrays are of one float type,
and C-contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath import elementary_formulas as formulas
from tinyrt.floatmath import elementary_loops  # noqa: F401  (the formulas are compiled there)
from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.matrix_loops import multiply


@compiled
def steps(
    gates: Any, turned: Any, before: Any, cells: Any, outputs: Any, clip: float, part: Any
) -> None:
    """Gates, cell states and outputs of some samples.

    Args:
        gates: (t, n, 4 units), what input and bias add to each gate; the gates themselves after it.
        turned: (units, 4 units), the hidden state's weights.
        before: (2, n, units), hidden and cell state before the first step.
        cells: (t, n, units), the cell states before they are limited.
        outputs: (t, n, units), the hidden states.
        clip: limit of the cell state; infinity for none.
        part: first sample, and the one behind the last.

    """
    first, last = part
    units, count = turned.shape[0], last - first
    products = np.empty((count, 4 * units), gates.dtype)
    c, bent = before[1, first:last].copy(), np.empty(units, gates.dtype)
    for t in range(gates.shape[0]):
        multiply_into(
            outputs[t - 1, first:last] if t > 0 else before[0, first:last], turned, products
        )
        for i in range(count):
            gate, free, y = gates[t, first + i], cells[t, first + i], outputs[t, first + i]
            memory = c[i]
            for q in range(4 * units):
                gate[q] += products[i, q]
            sigmoid(gate[: 3 * units])
            tanh(gate[3 * units :])
            for q in range(units):
                free[q] = gate[units + q] * memory[q] + gate[q] * gate[3 * units + q]
                memory[q] = min(max(free[q], -clip), clip)
                bent[q] = memory[q]
            tanh(bent)
            for q in range(units):
                y[q] = gate[2 * units + q] * bent[q]


@compiled
def steps_back(
    gates: Any, weights: Any, before: Any, cells: Any, grad: Any, sums: Any, clip: float, part: Any
) -> None:
    """Gradients of the gates' sums, from those of the outputs.

    Args:
        gates: (t, n, 4 units), after their functions.
        weights: (4 units, units), the hidden state's.
        before: (n, units), the cell state before the first step; its gradient after it.
        cells: (t, n, units), the cell states before they are limited.
        grad: (t, n, units).
        sums: (t, n, 4 units), the result.
        clip: limit of the cell state; infinity for none.
        part: first sample, and the one behind the last.

    """
    first, last = part
    units, count, steps = weights.shape[1], last - first, gates.shape[0]
    dh, dc = np.zeros((count, units), grad.dtype), np.zeros((count, units), grad.dtype)
    memory, bent = np.empty(units, grad.dtype), np.empty(units, grad.dtype)
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            multiply_into(sums[t + 1, first:last], weights, dh)
        for i in range(count):
            gate, own, free = gates[t, first + i], sums[t, first + i], cells[t, first + i]
            for q in range(units):
                bent[q] = min(max(free[q], -clip), clip)
                memory[q] = before[first + i, q]
            tanh(bent)
            if t > 0:
                for q in range(units):
                    memory[q] = min(max(cells[t - 1, first + i, q], -clip), clip)
            for q in range(units):
                y, o = dh[i, q] + grad[t, first + i, q], gate[2 * units + q]
                slope = dc[i, q] + y * o * (1 - bent[q] * bent[q])
                own[2 * units + q] = y * bent[q] * o * (1 - o)
                dc[i, q] = slope if abs(free[q]) <= clip else slope * 0
            for q in range(units):
                one, f, g = gate[q], gate[units + q], gate[3 * units + q]
                own[q] = dc[i, q] * g * one * (1 - one)
                own[units + q] = dc[i, q] * memory[q] * f * (1 - f)
                own[3 * units + q] = dc[i, q] * one * (1 - g * g)
                dc[i, q] *= f
    for i in range(count):  # an assignment of slices would take seconds to compile
        for q in range(units):
            before[first + i, q] = dc[i, q]


@compiled
def multiply_into(a: Any, b: Any, y: Any) -> None:
    """``y = a @ b`` of (m, k) and (k, n)."""
    size = b.itemsize
    places = (np.int64(a.ctypes.data), np.int64(b.ctypes.data), np.int64(y.ctypes.data))
    rows, k, columns = a.shape[0], a.shape[1], b.shape[1]
    multiply(
        np.zeros(columns, b.dtype),
        places,
        (0, k * size, size),
        (0, columns * size, size),
        (0, columns * size, size),
        (1, rows, k),
    )


# In place: a loop over two arrays is not vectorised where they are the same.
@compiled
def sigmoid(x: Any) -> None:
    """``1 / (1 + exp(-x))`` in the place of each element."""
    for i in range(x.size):
        x[i] = 1.0 / (1.0 + formulas.exp(-np.float64(x[i])))


@compiled
def tanh(x: Any) -> None:
    """``1 - 2 / (1 + exp(2 x))``, the hyperbolic tangent, in the place of each element."""
    for i in range(x.size):
        x[i] = 1.0 - 2.0 / (1.0 + formulas.exp(2.0 * np.float64(x[i])))
