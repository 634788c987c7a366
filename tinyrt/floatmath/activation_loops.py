"""Compiled loops of a clamp and of its gradient, each in one pass over memory."""

from __future__ import annotations

from typing import Any

from tinyrt.floatmath.compiled import compiled


@compiled
def pass_within(y: Any, grad: Any, low: Any, high: Any, out: Any) -> None:
    """``out = grad`` where ``y`` lies strictly between the bounds, else 0; all (n,)."""
    for i in range(y.size):
        out[i] = grad[i] if low < y[i] < high else 0


@compiled
def at_least(x: Any, low: Any, out: Any) -> None:
    """``out = max(x, low)``, NaN where ``x`` is, ``low`` where both are zeros; all (n,)."""
    for i in range(x.size):
        out[i] = low if x[i] <= low else x[i]


@compiled
def within(x: Any, low: Any, high: Any, out: Any) -> None:
    """``out = min(max(x, low), high)``, NaN where ``x`` is; all (n,)."""
    for i in range(x.size):
        above = low if x[i] < low else x[i]
        out[i] = high if above > high else above
