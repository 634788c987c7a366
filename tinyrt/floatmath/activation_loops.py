"""A compiled loop that computes the gradient of a clamp in one pass over memory."""

from __future__ import annotations

from typing import Any

from tinyrt.floatmath.compiled import compiled


@compiled
def pass_within(y: Any, grad: Any, low: Any, high: Any, out: Any) -> None:
    """``out = grad`` where ``y`` lies strictly between the bounds, else 0; all (n,)."""
    for i in range(y.size):
        out[i] = grad[i] if low < y[i] < high else 0
