"""A GRU's steps and their gradients as compiled loops, over samples that do not see each other.

Gates lie side by side in the order reset, update, new. All arrays are of one float type, and
C-contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.lstm_loops import multiply_into, sigmoid, tanh


@compiled
def steps(
    gates: Any, turned: Any, bias: Any, before: Any, inner: Any, outputs: Any, part: Any
) -> None:
    """Gates and outputs of some samples.

    Args:
        gates: (t, n, 3 units), what input and bias add to each gate; the gates themselves after it.
        turned: (units, 3 units), the hidden state's weights.
        bias: (3 units,), what is added to the products with them.
        before: (n, units), the hidden state before the first step.
        inner: (t, n, units), what the reset gate is multiplied with.
        outputs: (t, n, units), the hidden states.
        part: first sample, and the one behind the last.

    """
    first, last = part
    units, count = turned.shape[0], last - first
    products = np.empty((count, 3 * units), gates.dtype)
    h = before[first:last].copy()
    for t in range(gates.shape[0]):
        multiply_into(h, turned, products)
        for i in range(count):
            gate, kept, y = gates[t, first + i], inner[t, first + i], outputs[t, first + i]
            for q in range(2 * units):
                gate[q] += products[i, q] + bias[q]
            sigmoid(gate[: 2 * units])
            for q in range(units):
                kept[q] = products[i, 2 * units + q] + bias[2 * units + q]
                gate[2 * units + q] += gate[q] * kept[q]
            tanh(gate[2 * units :])
            for q in range(units):
                new = gate[2 * units + q]
                y[q] = new + gate[units + q] * (h[i, q] - new)
                h[i, q] = y[q]


@compiled
def steps_back(
    gates: Any, weights: Any, hidden: Any, inner: Any, grad: Any, sums: Any, first_h: Any, part: Any
) -> None:
    """Gradients of the gates' sums, from those of the outputs.

    Args:
        gates: (t, n, 3 units), after their functions.
        weights: (3 units, units), the hidden state's.
        hidden: (t, n, units), the hidden state before each step.
        inner: (t, n, units), what the reset gate was multiplied with.
        grad: (t, n, units).
        sums: (2, t, n, 3 units), the results: of what the input adds, and of the hidden state's
            products.
        first_h: (n, units), the gradient of the hidden state before the first step.
        part: first sample, and the one behind the last.

    """
    first, last = part
    units, count, number = weights.shape[1], last - first, gates.shape[0]
    dh, products = np.zeros((count, units), grad.dtype), np.zeros((count, units), grad.dtype)
    for t in range(number - 1, -1, -1):
        for i in range(count):
            gate, own, of_h = gates[t, first + i], sums[0, t, first + i], sums[1, t, first + i]
            for q in range(units):
                r, z, new = gate[q], gate[units + q], gate[2 * units + q]
                y = dh[i, q] + products[i, q] + grad[t, first + i, q]
                of_new = y * (1 - z) * (1 - new * new)
                own[q] = of_new * inner[t, first + i, q] * r * (1 - r)
                own[units + q] = y * (hidden[t, first + i, q] - new) * z * (1 - z)
                own[2 * units + q] = of_new
                of_h[q], of_h[units + q] = own[q], own[units + q]
                of_h[2 * units + q] = of_new * r
                dh[i, q] = y * z
        multiply_into(sums[1, t, first:last], weights, products)
    for i in range(count):
        for q in range(units):
            first_h[first + i, q] = dh[i, q] + products[i, q]
