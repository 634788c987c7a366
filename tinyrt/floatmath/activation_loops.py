"""Compiled loops of sums, of clamps and of their gradients, each in one pass over memory."""

from __future__ import annotations

from typing import Any

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.crew import Span, shared

# Loops over slices begin at 0, so that no index can be below it: then they are made of vectors.


@compiled
def _sum(span: Span, a: Any, b: Any, out: Any) -> None:
    a, b, out = a[span[1] : span[2]], b[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(a.size):
        out[i] = a[i] + b[i]


@compiled
def _pass_within(span: Span, y: Any, grad: Any, low: Any, high: Any, out: Any) -> None:
    y, grad, out = y[span[1] : span[2]], grad[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(y.size):
        out[i] = grad[i] if low < y[i] < high else 0


@compiled
def _at_least(span: Span, x: Any, low: Any, out: Any) -> None:
    x, out = x[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(x.size):
        out[i] = low if x[i] <= low else x[i]


@compiled
def _within(span: Span, x: Any, low: Any, high: Any, out: Any) -> None:
    x, out = x[span[1] : span[2]], out[span[1] : span[2]]
    for i in range(x.size):
        above = low if x[i] < low else x[i]
        out[i] = high if above > high else above


add = shared(_sum)
"""``out = a + b``; all (n,)."""
pass_within = shared(_pass_within)
"""``out = grad`` where ``y`` lies strictly between the bounds, else 0; all (n,)."""
at_least = shared(_at_least)
"""``out = max(x, low)``, NaN where ``x`` is, ``low`` where both are zeros; all (n,)."""
within = shared(_within)
"""``out = min(max(x, low), high)``, NaN where ``x`` is; all (n,)."""
